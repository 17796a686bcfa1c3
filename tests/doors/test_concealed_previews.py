"""A preview tells somebody who may not ask about others numbers, and no name of a hidden population.

Hidden are people, a group, policies, guardrails and a dataset, all called zzyx; whoever gains or loses by a change is
one of them, or Bob, whose access is nobody's business either. Each kind of change is previewed over the API, and on
each page that shows what it would give and take.
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from django.test import Client

from catalog.cdap import grant_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities import services as entity_services
from policies.authoring.services import policies, policy_drafts
from policies.changes.kinds import read_change
from policies.changes.pages.net_change_wording import CONCEALED
from policies.changes.shapes import ChangeIn
from policies.errors import GuardrailBroken
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles, users
from policies.models import Gate, User, open_write
from policies.pdp import actor_resolution, authorizer
from policies.writes.admin_lockout import Manageability, Management, refuse_loss
from tests.catalog.conftest import said, tell
from tests.doors.conftest import DOOR, ROOT, Caller, calling, refreshing_at_once
from tests.doors.graphql.conftest import close_the_reading_policies

pytestmark = pytest.mark.django_db

MARK, SUBJECT = "zzyx", "bob-subject"
HIDDEN, BOB, MAX = (f"urn:li:corpuser:{name}" for name in (f"{MARK}-one", SUBJECT, "max"))
ALICE, KEEPER, CHECKER = (f"urn:li:corpuser:{name}" for name in ("alice", "keeper", "checker"))
CREW, PLAIN, EMPTY = (f"urn:li:corpGroup:{name}" for name in (f"{MARK}-crew", "plain", "empty"))
ROLE, ROBOT = "urn:li:dataHubRole:Extra", "urn:li:corpuser:service_robot"
ORDERS, ITEMS, SECRET = (
    f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items", f"{MARK}.secret")
)
HOT, RISKY = "urn:li:tag:hot", "urn:li:tag:risky"
SALES, TOP, TERM = "urn:li:domain:sales", f"urn:li:domain:{MARK}-top", "urn:li:glossaryTerm:revenue"
BOX, CRATE = "urn:li:container:box", "urn:li:container:crate"
CLICKS, HELD = "urn:li:stream:ns1.clicks", "urn:li:stream:ns1.held"
STREAMS = "urn:li:stream:ns1.*"
RULE = {
    "never": {
        "actors": {"everybody_except": {"users": [ROOT, HIDDEN], "groups": [CREW]}},
        "privileges": ["DELETE_ENTITY"],
        "resources": {
            "filter": {"criteria": [{"field": "TAG", "values": [RISKY]}, {"field": "TYPE", "values": ["dataset"]}]}
        },
    }
}
#: A rule that no change here touches.
OTHER_RULE = {"never": {"actors": RULE["never"]["actors"], "privileges": ["MANAGE_SECRETS"]}}

#: Kinds of changes -> one of which some of the hidden people, or Bob, gain or lose something.
CHANGES: dict[str, dict[str, Any] | str] = {
    "add_tags": {"entity": ORDERS, "tags": [HOT]},
    "remove_tags": {"entity": ITEMS, "tags": [HOT]},
    "add_terms": {"entity": ORDERS, "terms": [TERM]},
    "remove_terms": {"entity": ITEMS, "terms": [TERM]},
    "set_domain": {"entity": ORDERS, "domain": SALES},
    "move": {"entity": CRATE, "parent": BOX},
    "add_owners": {"entity": ORDERS, "owners": [{"owner": BOB}]},
    "remove_owners": {"entity": ITEMS, "owners": [{"owner": BOB}]},
    "add_members": {"group": EMPTY, "members": [BOB]},
    "remove_members": {"group": PLAIN, "members": [BOB]},
    "suspend": BOB,
    "activate": MAX,
    "grant": {"principal": PLAIN, "entity": CLICKS, "privileges": ["READ"]},
    "revoke": {"principal": PLAIN, "entity": HELD},
}
#: Kinds that need MANAGE_POLICIES, with which everything is told.
POLICY_CHANGES = {
    "put_policy",
    "delete_policy",
    "set_state",
    "add_exceptions",
    "remove_exceptions",
    "assign_roles",
    "unassign_roles",
    "put_role",
}
#: Kinds by which nobody gains or loses anything here.
OUTSIDE_CHANGES = {"assign_external_role", "unassign_external_role"}

#: Pages that ask before a change -> the form that they are sent for it; None for a question.
PAGES: dict[str, dict[str, Any] | None] = {
    f"/catalog/edit/tags/{quote(ORDERS, safe='')}": {"tags": [HOT]},
    f"/catalog/edit/terms/{quote(ORDERS, safe='')}": {"terms": [TERM]},
    f"/catalog/edit/domains/{quote(ORDERS, safe='')}": {"domains": [SALES]},
    f"/catalog/edit/owners/{quote(ORDERS, safe='')}": {"owners": [BOB]},
    f"/catalog/grants/{CLICKS}": {"principals": [PLAIN], "privileges": ["READ"]},
    f"/catalog/patterns/{CLICKS}": None,
    f"/catalog/revoke/{HELD}?principal={PLAIN}&privilege=READ": None,
    f"/settings/identities/groups/add/{EMPTY}": {"members": [BOB]},
    f"/settings/identities/groups/take/{PLAIN}?member={BOB}": None,
    f"/settings/identities/groups/delete/{PLAIN}": None,
    f"/settings/identities/users/suspend/{BOB}": None,
    f"/settings/identities/users/activate/{MAX}": None,
    f"/settings/identities/users/remove/{BOB}": None,
    f"/settings/identities/users/groups/{BOB}": {"groups": [EMPTY]},
    f"/settings/identities/service-accounts/delete/{ROBOT}": None,
}


def store(name: str, *privileges: str, criteria: dict[str, str] | None = None, **document: Any) -> None:
    filters = [{"field": field, "values": [value]} for field, value in (criteria or {}).items()]
    whole = {
        "displayName": name,
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "resources": {"filter": {"criteria": filters}} if filters else {},
    }
    policies.create(
        draft=policy_drafts.PolicyInput("datahub", whole | document),
        by=authorizer.SYSTEM,
        channel=DOOR,
        urn=f"urn:li:dataHubPolicy:{name}",
    )


@pytest.fixture(scope="module")
def _made(_bootstrapped: None, django_db_blocker: Any) -> Any:
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as `_bootstrapped` does
    with django_db_blocker.unblock(), around:
        with refreshing_at_once():
            fill_world()
        yield
        transaction.set_rollback(True)


def fill_world() -> None:
    """Store the hidden population, and who previews."""
    by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
    close_the_reading_policies()
    # Owners may do much by it, so that whoever joins a group could.
    shipped = "urn:li:dataHubPolicy:asset-owners-metadata-policy"
    policies.set_states(urns=[shipped], state="INACTIVE", **by)
    for urn in (HIDDEN, BOB, MAX, ALICE, KEEPER, CHECKER):
        users.create(username=urn.rpartition(":")[2], display_name=f"{urn.rpartition(':')[2].title()} Name", **by)
    users.create(username="service_robot", kind=User.Kind.SERVICE, **by)
    for urn, members in ((CREW, [HIDDEN]), (PLAIN, [BOB]), (EMPTY, [])):
        groups.create(identifier=urn.rpartition(":")[2], name=f"{urn.rpartition(':')[2]} name", members=members, **by)
    roles.create(name="Extra", identifier="Extra", **by)
    users.suspend(urn=MAX, **by)
    documents = [
        *[(urn, "datasetProperties", {"name": urn.split(",")[1]}) for urn in (ORDERS, ITEMS, SECRET)],
        *[(urn, "globalTags", {"tags": [{"tag": HOT}]}) for urn in (ITEMS, SECRET)],
        (ITEMS, "glossaryTerms", {"terms": [{"urn": TERM}], "auditStamp": {"time": 1, "actor": ROOT}}),
        (ITEMS, "ownership", {"owners": [{"owner": BOB, "type": "NONE"}]}),
        (TOP, "domainProperties", {"name": f"{MARK} top"}),
        (SALES, "domainProperties", {"name": "Sales", "parentDomain": TOP}),
        (TERM, "glossaryTermInfo", {"name": "Revenue", "definition": "", "termSource": "INTERNAL"}),
        *[(urn, "containerProperties", {"name": urn}) for urn in (BOX, CRATE)],
        *[(urn, "tagProperties", {"name": urn}) for urn in (HOT, RISKY)],
    ]
    tell(*(said(*document) for document in documents))
    hidden = {"actors": {"groups": [CREW]}}
    store(f"{MARK}-tag", "DELETE_ENTITY", criteria={"TAG": HOT, "TYPE": "dataset"}, **hidden)
    store(f"{MARK}-term", "EDIT_ENTITY_OPERATIONS", criteria={"GLOSSARY": TERM}, **hidden)
    store(f"{MARK}-domain", "EDIT_ENTITY_DOCS", criteria={"DOMAIN": SALES}, **hidden)
    store(f"{MARK}-box", "DELETE_ENTITY", criteria={"CONTAINER": BOX}, actors={"users": [HIDDEN]})
    store(f"{MARK}-owners", "EDIT_ENTITY_DOCS", actors={"resourceOwners": True})
    for group, urn in ((PLAIN, SECRET), (EMPTY, ORDERS)):
        store(f"{MARK}-in-{group[-5:]}", "EDIT_ENTITY_DOCS", criteria={"URN": urn}, actors={"groups": [group]})
    store(f"{MARK}-max", "EDIT_ENTITY_DOCS", criteria={"URN": SECRET}, actors={"users": [MAX, ROBOT]})
    store(f"{MARK}-platform", "MANAGE_INGESTION", type="PLATFORM", actors={"groups": [PLAIN, EMPTY]})
    for name, rule in (("in-the-way", RULE), (f"{MARK}-other", OTHER_RULE)):
        guardrails.create(name=f"{name} rail", rule=rule, urn=f"urn:li:guardrail:{name}", mode="enforce", **by)
    edited = {"actors": {"users": [ALICE]}}
    for urn in (ORDERS, ITEMS, CRATE):
        store(
            f"of-alice-{urn.partition(',')[2] or 'crate'}",
            "EDIT_ENTITY",
            "VIEW_ENTITY_PAGE",
            criteria={"URN": urn},
            **edited,
        )
    for urn in (SALES, TERM, BOX):
        store(f"of-alice-{urn.split(':')[2]}", "VIEW_ENTITY_PAGE", criteria={"URN": urn}, **edited)
    store("of-alice-people", "VIEW_ENTITY_PAGE", criteria={"URN": BOB}, **edited)
    managing = ["MANAGE_USERS_AND_GROUPS", "MANAGE_SERVICE_ACCOUNTS"]
    store("of-keeper", *managing, type="PLATFORM", actors={"users": [KEEPER]})
    checking = [*managing, "CHECK_ACCESS"]
    store("of-checker", *checking, type="PLATFORM", actors={"users": [CHECKER]})
    store("of-checker-data", "EDIT_ENTITY", "VIEW_ENTITY_PAGE", actors={"users": [CHECKER]})
    for group in (PLAIN, EMPTY):
        store(f"members-{group.rpartition(':')[2]}", "EDIT_GROUP_MEMBERS", criteria={"URN": group}, **edited)
    bodies = [{"type": "namespace", "urn": "urn:li:namespace:ns1"}]
    bodies += [{"type": "stream", "urn": urn} for urn in (CLICKS, HELD)]
    entity_services.create(bodies=bodies, by=authorizer.SYSTEM, channel=DOOR)
    grants = [GrantRequest(holder, urn, ("ADMIN",)) for holder in (ALICE, CHECKER) for urn in (CLICKS, HELD, STREAMS)]
    grants += [GrantRequest(PLAIN, HELD, ("READ",)), GrantRequest(CREW, CLICKS, ("WRITE",))]
    grant_services.grant(requests=grants, by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture(params=[False, True], ids=["open", "view authorization"])
def world(_made: None, db: None, request: pytest.FixtureRequest, settings: Any) -> None:
    settings.VIEW_AUTHORIZATION_ENABLED = request.param


def find_caller(kind: str) -> Caller:
    """Return somebody with just the privileges that a kind of change needs."""
    return calling(KEEPER if kind in ("suspend", "activate") else ALICE)


def preview(caller: Caller, *changes: dict[str, Any], **options: Any) -> Any:
    return caller.post("/api/v1/preview", {"changes": list(changes), **options})


def list_names(text: str) -> list[str]:
    """Return what of the hidden population, and of Bob, a text names."""
    names = (MARK, SUBJECT, "max name", "dataHubPolicy", "MANAGE_INGESTION", "Manage Metadata Ingestion")
    return [name for name in names if name.lower() in text.lower()]


def test_every_kind_of_change_is_previewed_here() -> None:
    assert set(ChangeIn().fields) == CHANGES.keys() | POLICY_CHANGES | OUTSIDE_CHANGES
    assert {read_change({kind: value}).kind for kind, value in CHANGES.items()} == set(CHANGES)


@pytest.mark.parametrize("kind", CHANGES)
def test_a_preview_is_numbers_and_names_nobody(world: None, kind: str) -> None:
    answer = preview(find_caller(kind), {kind: CHANGES[kind]}, proof=True)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["gained"]["pairs"] + body["lost"]["pairs"] > 0
    assert sum(tally["pairs"] for side in ("gained", "lost") for tally in body[side]["by_privilege"].values()) > 0
    assert body["is_concealed"]
    assert body["gained"]["items"] == body["lost"]["items"] == body["kept"] == body["guardrails"] == []
    assert not list_names(answer.content.decode())


@pytest.mark.parametrize("world", [True], indirect=True, ids=["view authorization"])
@pytest.mark.parametrize("kind", CHANGES)
def test_who_may_ask_about_others_is_told_the_same_numbers_with_names(world: None, kind: str) -> None:
    told, concealed = (
        preview(calling(CHECKER), {kind: CHANGES[kind]}),
        preview(find_caller(kind), {kind: CHANGES[kind]}),
    )
    assert told.status_code == 200, told.content
    for side in ("gained", "lost"):
        numbers = [{**body[side], "items": []} for body in (told.json(), concealed.json())]
        assert numbers[0] == numbers[1]
    assert not told.json()["is_concealed"]
    assert list_names(told.content.decode())
    assert "dataHubPolicy" not in told.content.decode(), "CHECK_ACCESS does not show policies"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_numbers_and_names_nobody(world: None, path: str) -> None:
    form = PAGES[path]
    of_keeper = path.startswith("/settings/identities") and "/groups/add/" not in path and "/groups/take/" not in path
    client = Client()
    client.force_login(
        User.objects.get(urn=KEEPER if of_keeper else ALICE), backend="django.contrib.auth.backends.ModelBackend"
    )
    if path.startswith("/catalog/patterns/"):
        form = {"pattern": "ns1.*", "kind": "stream", "principals": [PLAIN], "privileges": ["READ"]}
    answer = client.get(path) if form is None else client.post(path, {**form, "go": "look"})
    assert answer.status_code == 200, answer.content.decode()[:2000]
    sentences = list(answer.context["effect"])
    assert CONCEALED in sentences
    assert not list_names(" ".join(sentences))


def test_what_concerns_the_caller_is_named(world: None) -> None:
    store("for-alice", "DELETE_ENTITY", criteria={"TAG": HOT, "TYPE": "dataset"}, actors={"users": [ALICE]})
    body = preview(calling(ALICE), {"add_tags": CHANGES["add_tags"]}).json()
    assert body["gained"]["people"] == 2
    assert body["gained"]["items"] == [
        {"actor": ALICE, "privilege": "DELETE_ENTITY", "entities": 1, "examples": [ORDERS]}
    ]


@pytest.fixture
def forbidden(world: None) -> None:
    """A group whose members may delete what the guardrail keeps."""
    store("risk", "DELETE_ENTITY", criteria={"TAG": RISKY, "TYPE": "dataset"}, actors={"groups": [EMPTY]})


def send_preview(caller: Caller) -> str:
    body = preview(caller, {"add_members": CHANGES["add_members"]})
    (verdict,) = body.json()["guardrails"]
    assert (verdict["urn"], verdict["is_added"]) == ("urn:li:guardrail:in-the-way", True)
    return json.dumps(verdict)


def send_members(caller: Caller) -> str:
    answer = caller.post(f"/api/v1/groups/{quote(EMPTY, safe='')}/members/", {"members": [BOB]})
    assert answer.status_code == 409, answer.content
    assert answer.json()["guardrail"] == "urn:li:guardrail:in-the-way"
    return str(answer.content.decode())


def send_mutation(caller: Caller) -> str:
    query = f'mutation {{addGroupMembers(input: {{groupUrn: "{EMPTY}", userUrns: ["{BOB}"]}})}}'
    (error,) = caller.post("/api/graphql", {"query": query}).json()["errors"]
    assert error["extensions"]["type"] == "CONFLICT"
    return str(error["message"])


@pytest.mark.parametrize("send", [send_preview, send_members, send_mutation])
def test_a_refusal_by_a_guardrail_names_nobody_whom_the_caller_may_not_see(
    forbidden: None, send: Callable[[Caller], str]
) -> None:
    text = send(calling(ALICE))
    assert not list_names(text)
    assert "Nobody but a person you may not see" in text
    assert "For example somebody" in text or '"actor": null' in text
    told = send(calling(CHECKER))
    assert SUBJECT in told.lower()


def test_the_example_of_a_refusal_keeps_what_may_be_seen(forbidden: None) -> None:
    answer = calling(ALICE).post(f"/api/v1/groups/{quote(EMPTY, safe='')}/members/", {"members": [BOB]})
    example = answer.json()["example"]
    assert (example["actor"], example["privilege"]) == (None, "DELETE_ENTITY")
    assert example["resource"]["tags"] == [RISKY]
    # A manager of users sees the record, and so the person.
    answer = calling(KEEPER).post(f"/api/v1/groups/{quote(EMPTY, safe='')}/members/", {"members": [BOB]})
    assert answer.json()["example"]["actor"]["urn"] == BOB


def test_the_built_in_guardrail_keeps_its_managers_from_who_may_not_see_them(world: None) -> None:
    User.objects.update(password="")
    actors = actor_resolution.load_actors(urns=[BOB, ALICE, CHECKER])
    before = Management(Manageability.LASTING, actors[BOB])
    for urn, manager in ((ALICE, None), (CHECKER, BOB)):
        with pytest.raises(GuardrailBroken) as refusal, open_write(Gate.PEOPLE):
            refuse_loss(before=before, loss="the policy", by=actors[urn])
        example = refusal.value.example
        assert example is not None
        assert (example["actor"] and example["actor"]["urn"], example["privilege"]) == (manager, "MANAGE_POLICIES")


@pytest.mark.parametrize("world", [True], indirect=True, ids=["view authorization"])
@pytest.mark.parametrize(
    "change",
    [
        {"set_domain": {"entity": ORDERS, "domain": TOP}},
        {"move": {"entity": TOP, "parent": SALES}},
        {"move": {"entity": SALES, "parent": TOP}},
        {"add_tags": {"entity": SECRET, "tags": [HOT]}},
        {"add_owners": {"entity": SECRET, "owners": [{"owner": BOB}]}},
        {"add_members": {"group": CREW, "members": [BOB]}},
        {"add_members": {"group": EMPTY, "members": [HIDDEN]}},
    ],
    ids=lambda change: f"{next(iter(change))} {MARK in str(next(iter(change.values())))}",
)
def test_what_is_hidden_looks_absent(world: None, change: dict[str, Any]) -> None:
    answers = []
    for word in (MARK, "absent"):
        answer = preview(calling(ALICE), json.loads(json.dumps(change).replace(MARK, word)))
        answers.append((answer.status_code, answer.content.decode().replace(MARK, word).replace("absent", MARK)))
    assert answers[0][0] in (400, 403)
    assert answers[0][0] == answers[1][0]
    assert answers[0][1].replace("absent", MARK) == answers[1][1].replace("absent", MARK)


@pytest.mark.parametrize("world", [True], indirect=True, ids=["view authorization"])
def test_a_hidden_owner_looks_like_an_absent_one(world: None, settings: Any) -> None:
    alice = calling(ALICE)
    answers = []
    for owner in (CREW, CREW.replace("crew", "none"), HIDDEN, HIDDEN.replace("one", "none")):
        change = {"add_owners": {"entity": ORDERS, "owners": [{"owner": owner}]}}
        found = preview(alice, change)
        owned = f'resourceUrn: "{ORDERS}", ownerUrn: "{owner}", ownerEntityType: CORP_USER'
        query = f"mutation {{addOwner(input: {{{owned}}})}}"
        written = alice.post("/api/graphql", {"query": query})
        answers.append(
            (found.status_code, found.content.decode().replace(owner, ""), written.content.decode().replace(owner, ""))
        )
    assert answers[0][0] == 400
    assert answers[0] == answers[1]
    assert answers[2] == answers[3]
    settings.VIEW_AUTHORIZATION_ENABLED = False
    assert preview(alice, {"add_owners": {"entity": ORDERS, "owners": [{"owner": CREW}]}}).status_code == 200
