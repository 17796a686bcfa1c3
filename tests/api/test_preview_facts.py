"""The preview of changes of what entities carry: owners, domains, tags, terms and parents."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from catalog.models import Aspect, Facet
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes import staging
from policies.changes.kinds import read_change
from policies.changes.pages.net_change_wording import describe_changes
from policies.changes.pages.verdict_wording import build_verdicts
from policies.identity.services import groups
from policies.pdp import account_turns, authorizer
from policies.pdp.account_turns import hold_turn
from policies.pdp.actor_resolution import load_actor
from tests.api.conftest import document_of, pointers_of, problem_of
from tests.api.test_preview import PREVIEW, TALLY_OF_NONE, previewed, put
from tests.catalog.conftest import said, tell

JO, ADA = "urn:li:corpuser:jo", "urn:li:corpuser:ada"
CREW = "urn:li:corpGroup:crew"
ORDERS, ITEMS = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items"))
PII, OPEN = "urn:li:tag:pii", "urn:li:tag:open"
FINANCE, SALES, EUROPE = (f"urn:li:domain:{name}" for name in ("finance", "sales", "europe"))
SHELF, BOX = "urn:li:container:shelf", "urn:li:container:box"
GROUP, TERM = "urn:li:glossaryNode:group", "urn:li:glossaryTerm:term"
STEWARD = "urn:li:ownershipType:steward"
EDITOR = "urn:li:corpuser:editor"


@pytest.fixture(autouse=True)
def _world(client_of: Callable[..., APIClient], db: None) -> None:
    client_of("jo")
    client_of("ada")
    groups.create(name="Crew", identifier="crew", members=[ADA], by=authorizer.SYSTEM, channel="test")
    tell(
        *[said(urn, "datasetProperties", {"name": urn}) for urn in (ORDERS, ITEMS)],
        *[said(urn, "tagProperties", {"name": urn}) for urn in (PII, OPEN)],
        *[said(urn, "domainProperties", {"name": urn}) for urn in (FINANCE, SALES)],
        said(EUROPE, "domainProperties", {"name": EUROPE, "parentDomain": SALES}),
        *[said(urn, "containerProperties", {"name": urn}) for urn in (SHELF, BOX)],
        said(GROUP, "glossaryNodeInfo", {"name": GROUP, "definition": ""}),
        said(TERM, "glossaryTermInfo", {"name": TERM, "definition": "", "termSource": "INTERNAL"}),
        said(STEWARD, "ownershipTypeInfo", {"name": STEWARD}),
    )


@pytest.fixture
def editor(client_of: Callable[..., APIClient]) -> APIClient:
    """Somebody who may edit every entity and manage policies."""
    client = client_of("editor", "MANAGE_POLICIES")
    store("edits", document_of(privileges=["EDIT_ENTITY"], actors={"users": ["urn:li:corpuser:editor"]}))
    return client


def about(field: str, *values: str, condition: str = "EQUALS", **changes: Any) -> dict[str, Any]:
    criteria = [{"field": field, "values": list(values), "condition": condition}]
    actors = changes.pop("actors", {"users": [JO]})
    resources = {"filter": {"criteria": criteria if field else []}}
    return document_of(privileges=["EDIT_ENTITY_DOCS"], actors=actors, resources=resources) | changes


def store(name: str, document: dict[str, Any]) -> None:
    urn = f"urn:li:dataHubPolicy:{name}"
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test", urn=urn)


def changed(client: APIClient, *changes: dict[str, Any]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the pairs of a person and an entity that are gained, and those that are lost."""
    body = previewed(client, *changes, privileges=["EDIT_ENTITY_DOCS"])
    assert body["is_exact"]
    gained, lost = (
        {(item["actor"], urn) for item in body[side]["items"] for urn in item["examples"]}
        for side in ("gained", "lost")
    )
    assert (len(gained), len(lost)) == (body["gained"]["pairs"], body["lost"]["pairs"])
    return gained, lost


def test_a_tag_gives_what_policies_say_of_it_and_nothing_is_stored(editor: APIClient) -> None:
    store("of-tag", about("TAG", PII))
    store("not-of-tag", about("TAG", PII, condition="NOT_EQUALS", actors={"users": [ADA]}))
    facts = set(Facet.objects.values_list("entity__urn", "field", "value", "type"))
    documents = Aspect.objects.count()
    assert changed(editor, {"add_tags": {"entity": ORDERS, "tags": [PII]}}) == ({(JO, ORDERS)}, {(ADA, ORDERS)})
    assert (set(Facet.objects.values_list("entity__urn", "field", "value", "type")), Aspect.objects.count()) == (
        facts,
        documents,
    )
    tell(said(ORDERS, "globalTags", {"tags": [{"tag": PII}]}))
    assert changed(editor, {"remove_tags": {"entity": ORDERS, "tags": [PII]}}) == ({(ADA, ORDERS)}, {(JO, ORDERS)})
    assert changed(editor, {"remove_tags": {"entity": ORDERS, "tags": [OPEN]}}) == (set(), set())
    assert changed(
        editor,
        {"remove_tags": {"entity": ORDERS, "tags": [PII]}},
        {"add_tags": {"entity": ORDERS, "tags": [PII, OPEN]}},
    ) == (set(), set())


def test_facts_and_policies_are_one_change(editor: APIClient) -> None:
    tag = {"add_tags": {"entity": ORDERS, "tags": [PII]}}
    policy = put(about("TAG", PII, actors={"groups": [CREW]}))
    member = {"add_members": {"group": CREW, "members": [JO]}}
    assert changed(editor, tag) == (set(), set())
    assert changed(editor, policy) == (set(), set())
    assert changed(editor, tag, policy) == ({(ADA, ORDERS)}, set())
    document = document_of(
        type="PLATFORM", privileges=["MANAGE_USERS_AND_GROUPS"], actors={"users": ["urn:li:corpuser:editor"]}
    )
    store("members", document)
    assert changed(editor, tag, policy, member) == ({(ADA, ORDERS), (JO, ORDERS)}, set())


def test_what_is_kept_says_through_what(editor: APIClient) -> None:
    store("of-tag", about("TAG", PII))
    store("of-all", about("", actors={"users": [JO]}))
    tell(said(ORDERS, "globalTags", {"tags": [{"tag": PII}]}))
    body = previewed(editor, {"remove_tags": {"entity": ORDERS, "tags": [PII]}}, privileges=["EDIT_ENTITY_DOCS"])
    assert body["lost"] == TALLY_OF_NONE
    through = ["urn:li:dataHubPolicy:of-all"]
    assert body["kept"] == [{"actor": JO, "privilege": "EDIT_ENTITY_DOCS", "entities": 1, "through": through}]


def test_owners_gain_and_lose(editor: APIClient) -> None:
    store("of-owners", about("", actors={"resourceOwners": True}))
    store(
        "of-stewards",
        about(
            "",
            actors={"users": [], "resourceOwners": True, "resourceOwnersTypes": [STEWARD]},
            privileges=["EDIT_ENTITY_TAGS"],
        ),
    )
    owners = [{"owner": JO}, {"owner": CREW, "type": STEWARD}]
    assert changed(editor, {"add_owners": {"entity": ORDERS, "owners": owners}}) == (
        {(JO, ORDERS), (ADA, ORDERS)},
        set(),
    )
    body = previewed(editor, {"add_owners": {"entity": ORDERS, "owners": owners}}, privileges=["EDIT_ENTITY_TAGS"])
    assert [item["actor"] for item in body["gained"]["items"]] == [ADA]
    tell(said(ORDERS, "ownership", {"owners": [{"owner": JO}, {"owner": JO, "typeUrn": STEWARD}]}))
    typed = {"remove_owners": {"entity": ORDERS, "owners": [{"owner": JO, "type": STEWARD}]}}
    assert changed(editor, typed) == (set(), set())
    assert previewed(editor, typed, privileges=["EDIT_ENTITY_TAGS"])["lost"]["pairs"] == 1
    assert changed(editor, {"remove_owners": {"entity": ORDERS, "owners": [{"owner": JO}]}}) == (set(), {(JO, ORDERS)})


def test_a_domain_is_the_only_one(editor: APIClient) -> None:
    store("of-finance", about("DOMAIN", FINANCE))
    store("of-sales", about("DOMAIN", SALES, actors={"users": [ADA]}))
    tell(said(ORDERS, "domains", {"domains": [FINANCE]}))
    moved = changed(editor, {"set_domain": {"entity": ORDERS, "domain": EUROPE}})
    assert moved == ({(ADA, ORDERS)}, {(JO, ORDERS)})
    assert changed(editor, {"set_domain": {"entity": ORDERS, "domain": None}}) == (set(), {(JO, ORDERS)})


def test_what_lies_below_a_moved_domain_moves_with_it(editor: APIClient) -> None:
    store("of-finance", about("DOMAIN", FINANCE))
    store("of-sales", about("DOMAIN", SALES, actors={"users": [ADA]}))
    tell(said(ORDERS, "domains", {"domains": [EUROPE]}))
    below = {(JO, ORDERS), (JO, EUROPE)}
    away = {(ADA, ORDERS), (ADA, EUROPE)}
    assert changed(editor, {"move": {"entity": EUROPE, "parent": FINANCE}}) == (below, away)
    assert changed(editor, {"move": {"entity": EUROPE, "parent": None}}) == (set(), away)
    all_of_sales = {(JO, urn) for urn in (ORDERS, EUROPE, SALES)}
    assert changed(editor, {"move": {"entity": SALES, "parent": FINANCE}}) == (all_of_sales, set())
    into = {"set_domain": {"entity": ORDERS, "domain": SALES}}
    assert changed(editor, {"move": {"entity": SALES, "parent": FINANCE}}, into) == (all_of_sales, set())


def test_containers_terms_and_groups_move(editor: APIClient) -> None:
    store("of-shelf", about("CONTAINER", SHELF))
    store("of-group", about("GLOSSARY", GROUP, actors={"users": [ADA]}))
    tell(said(ORDERS, "container", {"container": BOX}), said(ITEMS, "glossaryTerms", {"terms": [{"urn": TERM}]}))
    assert changed(editor, {"move": {"entity": BOX, "parent": SHELF}}) == ({(JO, BOX), (JO, ORDERS)}, set())
    assert changed(editor, {"move": {"entity": TERM, "parent": GROUP}}) == ({(ADA, TERM), (ADA, ITEMS)}, set())
    tell(said(BOX, "container", {"container": SHELF}))
    assert changed(editor, {"move": {"entity": BOX, "parent": None}}) == (set(), {(JO, BOX), (JO, ORDERS)})
    term = {"add_terms": {"entity": ORDERS, "terms": [TERM]}}
    into = {"move": {"entity": TERM, "parent": GROUP}}
    assert changed(editor, term, into) == ({(ADA, TERM), (ADA, ITEMS), (ADA, ORDERS)}, set())
    assert changed(editor, into, {"remove_terms": {"entity": ITEMS, "terms": [TERM]}}) == ({(ADA, TERM)}, set())


def test_changes_of_facts_need_what_they_need(client_of: Callable[..., APIClient]) -> None:
    tagger = client_of("tagger")
    store("tags", document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": ["urn:li:corpuser:tagger"]}))
    tag = {"add_tags": {"entity": ORDERS, "tags": [PII]}}
    assert previewed(tagger, tag)["is_exact"]
    problem_of(client_of("nobody").post(PREVIEW, {"changes": [tag]}), 403)
    for change in (
        {"add_owners": {"entity": ORDERS, "owners": [{"owner": JO}]}},
        {"set_domain": {"entity": ORDERS, "domain": FINANCE}},
        {"add_terms": {"entity": ORDERS, "terms": [TERM]}},
        {"move": {"entity": EUROPE, "parent": FINANCE}},
    ):
        problem_of(tagger.post(PREVIEW, {"changes": [tag, change]}), 403)


def test_every_problem_of_facts_has_its_place(editor: APIClient) -> None:
    unknown = ORDERS.replace("orders", "none")
    answer = editor.post(
        PREVIEW,
        {
            "changes": [
                {"add_tags": {"entity": unknown, "tags": [PII]}},
                {"add_owners": {"entity": ORDERS, "owners": [{"owner": JO}, {"owner": "urn:li:corpuser:none"}]}},
                {"add_owners": {"entity": ORDERS, "owners": [{"owner": JO, "type": "urn:li:ownershipType:none"}]}},
                {"set_domain": {"entity": ORDERS, "domain": "urn:li:domain:none"}},
                {"move": {"entity": ORDERS, "parent": None}},
                {"move": {"entity": SALES, "parent": EUROPE}},
                {"move": {"entity": SALES, "parent": GROUP}},
                {"move": {"entity": SALES, "parent": "urn:li:domain:none"}},
                {"move": {"entity": "urn:li:domain:none", "parent": None}},
                {"move": {"entity": FINANCE, "parent": EUROPE}},
                {"move": {"entity": SALES, "parent": FINANCE}},
            ]
        },
    )
    assert sorted(pointer for _, pointer in pointers_of(answer)) == [
        "/changes/0/add_tags/entity",
        "/changes/1/add_owners/owners/1/owner",
        "/changes/10/move/parent",
        "/changes/2/add_owners/owners/0/type",
        "/changes/3/set_domain/domain",
        "/changes/4/move/entity",
        "/changes/5/move/parent",
        "/changes/6/move/parent",
        "/changes/7/move/parent",
        "/changes/8/move/entity",
    ]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"add_tags": {"entity": ORDERS, "tags": [TERM]}}, "/add_tags/tags/0"),
        ({"add_tags": {"entity": ORDERS, "tags": [PII] * 101}}, "/add_tags/tags"),
        ({"add_terms": {"entity": "orders", "terms": [TERM]}}, "/add_terms/entity"),
        ({"set_domain": {"entity": ORDERS}}, "/set_domain/domain"),
        ({"set_domain": {"entity": ORDERS, "domain": SHELF}}, "/set_domain/domain"),
        ({"add_owners": {"entity": ORDERS, "owners": [{"owner": PII}]}}, "/add_owners/owners/0/owner"),
        ({"move": {"entity": SALES}}, "/move/parent"),
    ],
)
def test_what_is_no_change_of_facts_is_refused(editor: APIClient, change: dict[str, Any], pointer: str) -> None:
    answer = editor.post(PREVIEW, {"changes": [change]})
    assert f"/changes/0{pointer}" in {place for _, place in pointers_of(answer)}


def count_queries(client: APIClient, *changes: dict[str, Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        previewed(client, *changes)
    return len(queries)


@pytest.mark.parametrize(
    "changes",
    [
        [{"add_tags": {"entity": ORDERS, "tags": [PII]}}] * 100,
        [{"add_tags": {"entity": ORDERS, "tags": [f"urn:li:tag:t{number}"]}} for number in range(100)],
        [{"add_owners": {"entity": ORDERS, "owners": [{"owner": JO}]}}] * 100,
        [{"add_tags": {"entity": entity, "tags": [PII]}} for entity in (ORDERS, ITEMS) * 50],
    ],
    ids=["equal", "different", "owners", "two entities"],
)
def test_changes_of_an_entity_are_checked_once(editor: APIClient, changes: list[dict[str, Any]]) -> None:
    previewed(editor, changes[0])
    assert count_queries(editor, *changes) <= count_queries(editor, *changes[:2]) + 1


def test_what_a_later_change_takes_back_is_no_change(editor: APIClient) -> None:
    store("pii", about("TAG", PII))
    tag = {"entity": ORDERS, "tags": [PII]}
    assert changed(editor, {"add_tags": tag}, {"remove_tags": tag}) == (set(), set())
    assert changed(editor, {"add_tags": tag}, {"remove_tags": tag}, {"add_tags": tag}) == ({(JO, ORDERS)}, set())


def test_privileges_are_asked_for_by_what_the_changes_leave(client_of: Callable[..., APIClient]) -> None:
    tagger = client_of("tagger")
    store("tags", document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": ["urn:li:corpuser:tagger"]}))
    changes: list[dict[str, Any]] = [
        {"add_tags": {"entity": ORDERS, "tags": [PII]}},
        {"set_domain": {"entity": ORDERS, "domain": FINANCE}},
        {"add_terms": {"entity": ITEMS, "terms": [TERM]}},
    ]
    refusal = problem_of(tagger.post(PREVIEW, {"changes": changes}), 403)
    assert {missing["entity"] for missing in refusal["missing"]} == {ORDERS, ITEMS}
    # A problem of one change does not hide that another one is forbidden.
    changes.append({"move": {"entity": ORDERS, "parent": None}})
    problem_of(tagger.post(PREVIEW, {"changes": changes}), 403)


def test_changes_that_there_is_no_time_for_are_refused(editor: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "STAGING_SECONDS", 0.0)
    tag = {"add_tags": {"entity": ORDERS, "tags": [PII]}}
    previewed(editor, tag)
    refusal = problem_of(editor.post(PREVIEW, {"changes": [tag] * 3}), 503)
    assert refusal["detail"].startswith("Only 1 of 3 changes could be looked at in time")


def test_an_account_has_one_preview_at_a_time(editor: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_turns, "WAIT_SECONDS", 0.1)
    tag = {"add_tags": {"entity": ORDERS, "tags": [PII]}}
    with hold_turn(EDITOR):
        answer = editor.post(PREVIEW, {"changes": [tag]})
        assert problem_of(answer, 429)["code"] == "busy"
        assert answer["Retry-After"] == "5"
        sentences = describe_changes(changes=[read_change(tag)], by=load_actor(urn=EDITOR))
        assert sentences == ["Another preview of this account is still running. Ask again when it has ended."]
        assert build_verdicts(changes=[read_change(tag)], by=load_actor(urn=EDITOR)) == {"proofs": sentences}
    previewed(editor, tag)
