"""What was not used: a table of cases, and that what somebody holds is what the oracle says."""

import pytest
from hypothesis import given, settings

from catalog.reports.kinds.policy_hygiene import hygiene
from catalog.reports.kinds.unused_access import unused
from catalog.reports.kinds.unused_access.unused import NOT_SEEN, UNUSED, USED, Usage
from catalog.reports.kinds.unused_access.usage import UsageRow
from policies.engine.families import load_vocabularies
from tests import oracle, strategies
from tests.spark.slices import actors_of, cut, known
from tests.worlds import World, document, urn

VIEW, EDIT = "VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"
JO, AL, READERS, OTHERS = urn("jo"), urn("al"), urn("group:readers"), urn("group:others")
P = "urn:li:dataHubPolicy:"
PLATFORM = {one.name for some in load_vocabularies().values() for one in some.platform_privileges()}


def look(world: World, uses: list[UsageRow], *, is_sure: bool = True, slices: int = 1, wanted=()):
    actors, shared = actors_of(world), known(world)
    policies = hygiene.group_by_policy(shared.snapshot.statements, {f"{P}{name}": name for name, _ in world.policies})
    ask = unused.build_query(policies, actors, wanted)
    found = {row for part in cut(world, slices) for row in unused.find_held(part, ask)}
    found |= set(unused.find_held_on_platform(shared.snapshot, ask))
    usage = Usage(uses, policies, is_sure=is_sure)
    privileges, people = unused.build_privilege_rows(ask, found, usage)
    bound: dict[str, set[str]] = {}
    for holder, role in world.raw["roles"]:
        bound.setdefault(holder, set()).add(role)
    roles = {holder: frozenset(some) for holder, some in bound.items()}
    return {
        "policies": unused.build_policy_rows(policies, actors, usage),
        "privileges": privileges,
        "people": people,
        "memberships": unused.find_unused_memberships(policies, actors, roles, usage),
        "held": found,
    }


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["readers", "others"])
    made.user("al", groups=["readers"])
    made.user("gone", groups=["readers"], is_suspended=True)
    made.group("readers", roles=["r"])
    made.group("others")
    made.entity("dataset:orders")
    made.policy("view", document(privileges=[VIEW], actors={"roles": [urn("role:r")]}))
    made.policy("edit", document(privileges=[EDIT], actors={"users": [JO]}))
    made.policy("all", document(privileges=["EDIT_ENTITY_DOCS"], actors={"allUsers": True}))
    made.policy("platform", document(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [AL]}))
    return made


def test_what_was_used_and_what_was_not(world):
    told = look(world, [UsageRow(JO, VIEW, f"{P}view", "2026-01-02"), UsageRow(JO, VIEW, f"{P}view", "2026-01-01")])
    assert told["policies"][-1] == {
        "policy": f"{P}view",
        "people": 2,
        "used_by": 1,
        "last": "2026-01-02",
        "state": USED,
    }
    assert [(row["policy"], row["people"], row["state"]) for row in told["policies"][:-1]] == [
        (f"{P}all", 2, UNUSED),
        (f"{P}edit", 1, UNUSED),
        (f"{P}platform", 1, UNUSED),
    ]
    states = {row["privilege"]: (row["people"], row["used_by"], row["state"]) for row in told["privileges"]}
    assert states == {
        VIEW: (2, 1, USED),
        "VIEW_ENTITY": (2, 0, UNUSED),
        EDIT: (1, 0, UNUSED),
        "MANAGE_POLICIES": (1, 0, UNUSED),
    }
    assert {(row["person"], row["privilege"]) for row in told["people"]} == {
        (AL, VIEW),
        (AL, "VIEW_ENTITY"),
        (JO, "VIEW_ENTITY"),
        (JO, EDIT),
        (AL, "MANAGE_POLICIES"),
    }
    assert [(row["person"], row["group"]) for row in told["memberships"]] == [(AL, READERS), (JO, OTHERS)]


def test_denies_and_exclusions_are_of_use(world):
    """A deny is no access that anybody could use, and a membership that narrows is not called idle."""
    world.policy("deny", document(privileges=[EDIT], actors={"groups": [OTHERS]}, effect="DENY"))
    told = look(world, [])
    assert f"{P}deny" not in {row["policy"] for row in told["policies"]}
    assert (JO, OTHERS) not in {(row["person"], row["group"]) for row in told["memberships"]}
    assert (JO, READERS) in {(row["person"], row["group"]) for row in told["memberships"]}
    assert (JO, EDIT) not in {(row["person"], row["privilege"]) for row in told["people"]}


def test_what_everybody_gets_but_some_is_looked_at(world):
    actors = {"allUsers": True, "excludedGroups": [OTHERS]}
    world.policy("most", document(privileges=["EDIT_ENTITY_DOC_LINKS"], actors=actors))
    told = look(world, [])
    (row,) = [row for row in told["policies"] if row["policy"] == f"{P}most"]
    assert (row["people"], row["state"]) == (1, UNUSED)
    assert (AL, "EDIT_ENTITY_DOC_LINKS") in {(row["person"], row["privilege"]) for row in told["people"]}
    assert (JO, OTHERS) not in {(row["person"], row["group"]) for row in told["memberships"]}


def test_counts_that_may_be_missing_call_nothing_unused(world):
    told = look(world, [], is_sure=False)
    rows = [row for name in ("policies", "privileges", "people", "memberships") for row in told[name]]
    assert {row["state"] for row in rows} == {NOT_SEEN}


def test_a_use_counts_for_what_the_policy_gives(world):
    told = look(world, [UsageRow(JO, EDIT, f"{P}view", "2026-01-01"), UsageRow(JO, EDIT, f"{P}deleted", "2026-01-01")])
    states = {row["privilege"]: row["state"] for row in told["privileges"]}
    assert (states[EDIT], states[VIEW]) == (USED, UNUSED)


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("owners", {READERS, OTHERS}),
        ("groups", {READERS, OTHERS}),
        ("deleted", {READERS, OTHERS}),
        ("others", {OTHERS}),
        ("edit", set()),
    ],
)
def test_a_membership_is_used_wherever_it_could_have_been(world, policy, kept):
    world.policy("owners", document(privileges=[EDIT], actors={"resourceOwners": True}))
    world.policy("groups", document(privileges=[EDIT], actors={"allGroups": True}))
    world.policy("others", document(privileges=[EDIT], actors={"groups": [OTHERS]}))
    told = look(world, [UsageRow(JO, EDIT, f"{P}{policy}", "2026-01-01")])
    assert {row["group"] for row in told["memberships"] if row["person"] == JO} == {READERS, OTHERS} - kept


def test_only_what_is_asked_for(world):
    told = look(world, [], wanted=["EDIT_ENTITY_DOCS"])
    assert [(row["privilege"], row["people"]) for row in told["privileges"]] == [("EDIT_ENTITY_DOCS", 2)]


@settings(deadline=None, max_examples=50)
@given(world=strategies.worlds())
def test_what_is_held_is_what_the_oracle_says(world: World):
    told = look(world, [], wanted=strategies.PRIVILEGES)
    assert told == look(world, [], wanted=strategies.PRIVILEGES, slices=3)
    active = [user for user in world.raw["users"] if user not in world.raw["suspended"]]
    expected = {
        (privilege, user)
        for user in active
        for privilege in strategies.PRIVILEGES
        if (
            oracle.authorize(world.raw, world.policies, user, privilege)[0]
            if privilege in PLATFORM
            else oracle.what(world.raw, world.policies, user, privilege)
        )
    }
    assert {tuple(one) for one in told["held"]} == expected
