"""Assertions against the naive oracle, however the catalog is cut, and each failure with its reason."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.reports.kinds.dataset_access_check import checks
from catalog.reports.kinds.dataset_access_check.checks import build_claims
from tests import oracle, strategies
from tests.spark.slices import actors_of, cut, known, restricted
from tests.worlds import World, criterion, document, matching_all, urn

JO, AL, ORDERS, SECRETS = urn("jo"), urn("al"), urn("dataset:orders"), urn("dataset:secrets")
READERS, NOBODYS = urn("group:readers"), urn("group:empty")
VIEW = "VIEW_ENTITY_PAGE"


def claim(kind: str, **changes: Any) -> dict[str, Any]:
    said = {
        "name": "It",
        "line": 3,
        "kind": kind,
        "holders": [],
        "privileges": [],
        "platform": [],
        "on": [],
        "expected": [],
    }
    return said | changes


def tagged(tag: str) -> list[dict[str, Any]]:
    return [{"field": "TAG", "condition": "EQUALS", "values": [urn(tag)]}]


def answer(actor: str, privilege: str, entity: str, is_allowed: bool) -> dict[str, Any]:
    return {"actor": actor, "privilege": privilege, "entity": entity, "is_allowed": is_allowed}


def check(world: World, *said: dict[str, Any], slices: int = 1, snapshot=None):
    shared = known(world, snapshot)
    bound: dict[str, set[str]] = {}
    for holder, role in world.raw["roles"]:
        bound.setdefault(holder, set()).add(role)
    claims = build_claims(said, actors_of(world), {holder: frozenset(some) for holder, some in bound.items()})
    rows = [row for part in cut(world, slices, snapshot) for row in checks.check_partition(part, claims)]
    seen = frozenset((row.claim_index, row.answer_index) for row in rows)
    rows += checks.check_platform(shared.snapshot, claims)
    rows += checks.check_unknown_entities(shared.snapshot, claims, seen)
    return checks.aggregate_rows(claims, rows)


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["readers"])
    made.user("al")
    made.user("gone", is_suspended=True)
    made.group("readers")
    made.group("empty", roles=["r"])
    made.entity("dataset:orders", tags=["tag:pii"], domains=["domain:emea"])
    made.entity("dataset:secrets", tags=["tag:pii"], owners=["al"])
    made.entity("dataset:open")
    made.under("domain:emea", "domain:sales")
    pii = matching_all(criterion("TAG", urn("tag:pii")))
    made.policy("readers", document(privileges=[VIEW], actors={"groups": [READERS]}, resources=pii))
    made.policy("owners", document(privileges=[VIEW], actors={"resourceOwners": True}, resources=pii))
    made.policy("platform", document(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [AL]}))
    return made


def test_nobody_else_fails_with_the_statement_that_allows_it(world):
    (line,), (failure,) = check(world, claim("nobody", holders=[READERS], privileges=[VIEW], on=tagged("tag:pii")))
    assert line == {
        "assertion": "It",
        "state": "FAIL",
        "people": 1,
        "entities": 1,
        "line": 3,
        "claim": f"Nobody else may {VIEW}.",
    }
    assert failure == {
        "assertion": "It",
        "person": AL,
        "privilege": VIEW,
        "decision": "ALLOW",
        "entities": 1,
        "entity": SECRETS,
        "policy": "urn:li:dataHubPolicy:owners",
        "because": f"{AL} owns the dataset; the dataset is tagged {urn('tag:pii')}.",
        "nearest": None,
        "lacks": None,
    }


@pytest.mark.parametrize("holders", [[READERS, AL], [urn("jo"), AL]])
def test_nobody_else_passes_when_everybody_who_may_is_named(world, holders):
    (line,), failures = check(world, claim("nobody", holders=holders, privileges=[VIEW], on=tagged("tag:pii")))
    assert (line["state"], line["people"], failures) == ("PASS", 0, [])


def test_every_fails_with_the_nearest_miss(world):
    (line,), (failure,) = check(world, claim("every", holders=[AL], privileges=[VIEW], on=tagged("tag:pii")))
    assert (line["state"], failure["entity"], failure["decision"]) == ("FAIL", ORDERS, "DENY")
    assert (failure["policy"], failure["nearest"]) == (None, "urn:li:dataHubPolicy:owners")
    assert failure["lacks"] == f"{AL} is not an owner of the resource."


def test_every_of_an_empty_group_is_asked_of_somebody_who_has_nothing_else(world):
    said = claim("every", holders=[NOBODYS], privileges=[VIEW], on=tagged("tag:pii"))
    (line,), (failure,) = check(world, said)
    assert (line["state"], failure["person"], failure["entities"]) == ("FAIL", NOBODYS, 2)
    world.policy("r", document(privileges=[VIEW], actors={"roles": [urn("role:r")]}))
    assert check(world, said)[0][0]["state"] == "PASS"


def test_the_platform(world):
    said = [
        claim("nobody", holders=[AL], platform=["MANAGE_POLICIES"]),
        claim("nobody", holders=[JO], platform=["MANAGE_POLICIES"]),
        claim("every", holders=[READERS], platform=["MANAGE_POLICIES"]),
    ]
    lines, failures = check(world, *said)
    assert [line["state"] for line in lines] == ["PASS", "FAIL", "FAIL"]
    assert [(one["person"], one["decision"], one["entity"]) for one in failures] == [
        (AL, "ALLOW", None),
        (JO, "DENY", None),
    ]


def test_expected_answers(world):
    stranger, nothing = urn("stranger"), urn("dataset:not-there")
    world.policy("all", document(privileges=["EDIT_ENTITY"], actors={"allUsers": True}))
    said = claim(
        "expect",
        expected=[
            answer(JO, VIEW, ORDERS, True),
            answer(JO, VIEW, urn("dataset:open"), True),
            answer(AL, "MANAGE_POLICIES", "", True),
            answer(JO, "EDIT_ENTITY", nothing, True),
            answer(stranger, VIEW, ORDERS, True),
            answer(urn("gone"), "EDIT_ENTITY", ORDERS, True),
        ],
    )
    (line,), failures = check(world, said)
    assert (line["state"], line["claim"]) == ("FAIL", "6 answers are as expected.")
    assert [(one["person"], one["entity"]) for one in failures] == [
        (JO, urn("dataset:open")),
        (stranger, ORDERS),
        (urn("gone"), ORDERS),
    ]
    assert failures[1]["lacks"].startswith("There is no such person.")
    assert failures[2]["lacks"] == "This person may not act at all."


def test_a_privilege_that_no_policy_gives(world):
    _, (failure,) = check(world, claim("expect", expected=[answer(JO, "EDIT_LINEAGE", ORDERS, True)]))
    assert (failure["policy"], failure["nearest"]) == (None, None)
    assert failure["lacks"] == "No policy gives this privilege to anybody."


@settings(deadline=None)
@given(
    world=strategies.worlds(),
    kind=st.sampled_from(["nobody", "every"]),
    holders=st.sets(st.sampled_from([*strategies.USERS, *strategies.GROUPS, *strategies.ROLES]), min_size=1),
    tags=st.sets(st.sampled_from(strategies.TAGS)),
)
def test_claims_equal_the_oracle_however_the_catalog_is_cut(world: World, kind, holders, tags):
    on = [{"field": "TAG", "condition": "EQUALS", "values": sorted(tags)}] if tags else []
    said = claim(kind, holders=sorted(holders), privileges=list(strategies.PRIVILEGES), on=on)
    whole = check(world, said)
    assert whole == check(world, said, slices=2) == check(world, said, slices=7)
    raw = world.raw
    scope = {name for name, entity in raw["entities"].items() if not tags or tags & set(entity["tags"])}
    wrong = set()
    for user in raw["users"]:
        names = {user, *oracle.groups_of(raw, user), *oracle.roles_of(raw, user)}
        is_meant = user in holders if user in raw["suspended"] and kind == "every" else user not in raw["suspended"]
        if not is_meant or bool(names & holders) == (kind == "nobody"):
            continue
        for privilege in strategies.PRIVILEGES:
            may = set(oracle.what(raw, world.policies, user, privilege)) & scope
            wrong |= {(user, privilege, name) for name in (may if kind == "nobody" else scope - may)}
    failures = [one for one in whole[1] if one["person"] in raw["users"]]
    found = {(one["person"], one["privilege"]): one["entities"] for one in failures}
    assert found == {
        pair: sum(pair == (user, privilege) for user, privilege, _ in wrong) for pair in {one[:2] for one in wrong}
    }
    assert all((one["person"], one["privilege"], one["entity"]) in wrong for one in failures)


@settings(deadline=None)
@given(world=strategies.worlds(), which=st.lists(st.booleans(), min_size=6, max_size=6))
def test_what_restrictions_leave_open_is_decided(world: World, which):
    snapshot = restricted(world, which)
    said = claim("nobody", privileges=[VIEW])
    whole = check(world, said, snapshot=snapshot)
    assert whole == check(world, said, slices=3, snapshot=snapshot)
    (part,) = cut(world, 1, snapshot)
    for actor in actors_of(world):
        allowed = {place for place in range(len(part.urns)) if part.decide(actor, VIEW, place).is_allowed}
        assert set(part.find_allowed(actor, VIEW)) == allowed
