"""Who manages the children of a term group: makes, changes, moves and deletes what is in it, by every channel.

Manage Direct Glossary Children on the group itself, Manage All Glossary Children on it or on one above it
(rules/datahub.md c, ADR 22).
"""

import json

import pytest

from catalog.models import Entity
from tests.doors.conftest import calling, give, proposal, token_of
from tests.doors.graphql.conftest import asking
from tests.doors.test_data_products import somebody
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

DIRECT, ALL = "MANAGE_GLOSSARY_CHILDREN", "MANAGE_ALL_GLOSSARY_CHILDREN"
TOP, MIDDLE, OTHER = (f"urn:li:glossaryNode:{name}" for name in ("top", "middle", "other"))
TERM, LOOSE, NEW = (f"urn:li:glossaryTerm:{name}" for name in ("term", "loose", "new"))


def node(urn, parent=None):
    return proposal(
        urn, "glossaryNodeInfo", {"name": urn, "definition": "", **({"parentNode": parent} if parent else {})}
    )


def term(urn, parent=None, **more):
    info = {"name": urn, "definition": "", "termSource": "INTERNAL", **({"parentNode": parent} if parent else {})}
    return proposal(urn, "glossaryTermInfo", info | more)


@pytest.fixture
def glossary(root):
    """A term in a group in a group, and one beside them."""
    answer = root.write(node(TOP), node(MIDDLE, TOP), node(OTHER), term(TERM, MIDDLE), term(LOOSE))
    assert answer.status_code == 200, answer.content
    return root


def make(parent):
    """Return what makes a term in a group, as DataHub's clients write it."""
    return [term(NEW, parent), proposal(NEW, "glossaryRelatedTerms", {"isRelatedTerms": [TERM]})]


GRAPHQL = {
    "make": ("mutation c($input: CreateGlossaryEntityInput!) {createGlossaryTerm(input: $input)}", "input"),
    "delete": ("mutation d($urn: String!) {deleteGlossaryEntity(urn: $urn)}", "urn"),
    "move": ("mutation m($input: UpdateParentNodeInput!) {updateParentNode(input: $input)}", "input"),
    "rename": ("mutation n($input: UpdateNameInput!) {updateName(input: $input)}", "input"),
}


@pytest.mark.parametrize(
    ("privilege", "held_on", "is_allowed"),
    [
        (DIRECT, MIDDLE, True),
        (ALL, MIDDLE, True),
        (ALL, TOP, True),
        (DIRECT, TOP, False),
        (DIRECT, OTHER, False),
        (ALL, OTHER, False),
        (ALL, TERM, False),
    ],
)
def test_what_is_in_a_group_is_managed_with_privileges_on_it_and_above(glossary, privilege, held_on, is_allowed):
    keeper = somebody("keeper", ([privilege], [held_on]))
    status = 200 if is_allowed else 403
    assert keeper.write(*make(MIDDLE)).status_code == status
    assert keeper.write(term(TERM, MIDDLE, definition="Changed")).status_code == status
    by_graphql = asking(keeper.urn)
    sent = {
        "make": {"id": "made", "name": "Made", "parentNode": MIDDLE},
        "rename": {"urn": TERM, "name": "Renamed"},
        "delete": TERM,
    }
    for what, given in sent.items():
        query, variable = GRAPHQL[what]
        answer = by_graphql.send(query, {variable: given}).json()
        assert ("errors" not in answer) is is_allowed, (what, answer)
    assert Entity.objects.filter(urn=TERM).exists() is not is_allowed
    assert Entity.objects.filter(urn="urn:li:glossaryTerm:made").exists() is is_allowed


def test_other_parts_of_a_term_need_their_own_privileges(glossary):
    keeper = somebody("keeper", ([ALL], [TOP]))
    assert keeper.write(proposal(TERM, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]})).status_code == 403
    assert keeper.write(proposal(TERM, "ownership", {"owners": [{"owner": keeper.urn}]})).status_code == 403
    assert keeper.write(term(LOOSE, definition="In no group")).status_code == 403
    assert keeper.write(node(TOP)).status_code == 403
    assert keeper.write(node("urn:li:glossaryNode:beside")).status_code == 403


@pytest.mark.parametrize(
    ("held", "is_allowed"),
    [
        ([([DIRECT], [MIDDLE, OTHER])], True),
        ([([ALL], [TOP]), ([DIRECT], [OTHER])], True),
        ([([DIRECT], [MIDDLE])], False),
        ([([ALL], [OTHER])], False),
        ([(["EDIT_ENTITY"], [TERM])], True),
    ],
)
def test_a_move_needs_both_groups(glossary, held, is_allowed):
    mover = somebody("mover", *held)
    query, _ = GRAPHQL["move"]
    answer = asking(mover.urn).send(query, {"input": {"resourceUrn": TERM, "parentNode": OTHER}}).json()
    assert ("errors" not in answer) is is_allowed
    assert Entity.objects.get(urn=TERM).parent == (OTHER if is_allowed else MIDDLE)
    assert mover.write(term(TERM, OTHER)).status_code == (200 if is_allowed else 403)


def test_nobody_takes_a_term_out_of_a_group_into_none(glossary):
    keeper = somebody("keeper", ([ALL], [TOP]))
    gone = proposal(TERM, "glossaryTermInfo", None, changeType="DELETE")
    for batch in ([term(TERM)], [gone], [term(TERM, MIDDLE), gone], [term(TERM, MIDDLE), term(TERM)]):
        assert keeper.write(*batch).status_code == 403, batch
    assert Entity.objects.get(urn=TERM).parent == MIDDLE
    # Nor one of no group, or of another, into one of their own.
    assert keeper.write(term(LOOSE, MIDDLE)).status_code == 403


def test_groups_of_the_same_batch_count_as_they_will_be(glossary):
    keeper = somebody("keeper", ([ALL], [TOP]))
    inner = "urn:li:glossaryNode:inner"
    assert keeper.write(term(NEW, inner), node(inner, OTHER)).status_code == 403
    assert keeper.write(term(NEW, inner), node(inner, MIDDLE)).status_code == 200
    assert Entity.objects.get(urn=NEW).parent == inner


def test_our_api_makes_terms_in_groups(glossary, client):
    keeper = somebody("keeper", ([DIRECT], [MIDDLE]))
    info = {"name": "New", "definition": "", "termSource": "INTERNAL"}

    def send(**more):
        body = [{"type": "glossaryTerm", "urn": NEW, "aspects": {"glossaryTermInfo": info | more}}]
        headers = {"authorization": f"Bearer {token_of(keeper.urn)}"}
        return client.post("/api/v1/entities/", json.dumps(body), content_type="application/json", headers=headers)

    assert send().status_code == 403
    refused = send(parentNode=OTHER)
    assert [{"entity": OTHER, "privilege": DIRECT}] in refused.json()["missing_any"]
    assert send(parentNode=MIDDLE).status_code == 201


def test_the_group_of_a_hidden_term_is_not_named(glossary, settings):
    stranger = somebody("stranger", (["VIEW_ENTITY_PAGE"], [OTHER]))
    close_the_reading_policies(glossary)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    absent = calling(stranger.urn).write(term("urn:li:glossaryTerm:none", OTHER))
    hidden = calling(stranger.urn).write(term(TERM, OTHER))
    assert absent.status_code == hidden.status_code == 403
    assert MIDDLE not in hidden.content.decode()
    assert hidden.content.decode().replace(TERM, "X") == absent.content.decode().replace(
        "urn:li:glossaryTerm:none", "X"
    )


def test_a_privilege_by_the_glossary_above_reaches_every_group_below(glossary):
    keeper = somebody("keeper")
    below = {"filter": {"criteria": [{"field": "GLOSSARY", "values": [TOP]}]}}
    give(keeper.urn, DIRECT, resources=below)
    assert keeper.write(*make(MIDDLE)).status_code == 200


@pytest.mark.parametrize("parent", [MIDDLE, "urn:li:glossaryNode:absent"])
def test_groups_that_the_caller_may_not_view_are_not_named(glossary, settings, parent):
    reader = somebody("reader", (["VIEW_ENTITY_PAGE"], [MIDDLE]))
    close_the_reading_policies(glossary)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    for refused in (reader.write(term(NEW, parent)), reader.write(node(MIDDLE, parent))):
        assert refused.status_code == 403
        assert TOP not in refused.content.decode()
    assert f"MANAGE_GLOSSARY_CHILDREN on {MIDDLE}" in reader.write(term(NEW, MIDDLE)).content.decode()
