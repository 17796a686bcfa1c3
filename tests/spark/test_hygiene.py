"""What is wrong with policies: a table of cases, and that what is called idle changes nothing when it is taken away."""

import sys

import pytest
from hypothesis import given, settings

from catalog.reports.kinds.policy_hygiene import hygiene
from catalog.reports.kinds.policy_hygiene import job as policy_hygiene_job
from catalog.reports.kinds.policy_hygiene.hygiene import HygieneFacts
from catalog.reports.kinds.policy_hygiene.redundancy import RedundancySearch
from policies.engine import families
from policies.engine.model import StatementOrigin
from policies.engine.snapshot import Snapshot
from tests import oracle, strategies
from tests.spark.slices import actors_of, cut, known
from tests.worlds import World, criterion, document, matching_all, urn

VIEW, EDIT = "VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"
JO, AL, READERS, PII, SALES = urn("jo"), urn("al"), urn("group:readers"), urn("tag:pii"), urn("domain:sales")
PREFIX = "urn:li:dataHubPolicy:"


def findings(world: World, slices: int = 1) -> list[dict]:
    actors, shared = actors_of(world), known(world)
    names = {f"{PREFIX}{name}": name for name, raw in world.policies if raw["state"] == "ACTIVE"}
    policies = hygiene.group_by_policy(shared.snapshot.statements, names)
    look = hygiene.build_query(policies)
    look = policy_hygiene_job.watch_wide_roles(look, policies, actors)
    seen = HygieneFacts(row for part in cut(world, slices) for row in hygiene.collect_facts(part, look))
    people = {*world.raw["users"], *world.raw["groups"], urn("role:Reader"), urn("role:r")}
    return [
        *policy_hygiene_job.find_idle(policies, look, actors, seen, people),
        *policy_hygiene_job.find_redundant(RedundancySearch(shared.snapshot, lambda: False).find(policies), look),
        *policy_hygiene_job.list_antipatterns(policies, actors, shared.descendants, seen),
    ]


def told(world: World) -> set[tuple[str, str]]:
    return {(one["type"], one["policy"].removeprefix(PREFIX)) for one in findings(world)}


def on(field: str, *values: str) -> dict:
    return matching_all(criterion(field, *values))


def both(field: str, value: str, other_field: str, other_value: str) -> dict:
    return matching_all(criterion(field, value), criterion(other_field, other_value))


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["readers"])
    made.user("al")
    made.user("gone", is_suspended=True)
    made.group("readers")
    made.group("empty")
    made.entity("dataset:orders", tags=["tag:pii"], domains=["domain:emea"], owners=["al"])
    made.entity("dataset:open", containers=["container:schema"])
    made.entity("domain:sales")
    made.under("domain:emea", "domain:sales")
    return made


def policy(**changes) -> dict:
    return document(privileges=[VIEW], actors={"users": [JO]}, resources=on("TYPE", "dataset")) | changes


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([policy()], set()),
        ([policy(actors={"users": [JO, urn("left")]})], {("ORPHAN", "p0")}),
        ([policy(actors={"groups": [READERS, urn("group:left")]})], {("ORPHAN", "p0")}),
        ([policy(resources=on("TAG", PII, urn("tag:left")))], {("ORPHAN", "p0")}),
        ([policy(resources=on("TAG", urn("tag:left")))], {("ORPHAN", "p0"), ("REACHES_NOTHING", "p0")}),
        ([policy(resources=on("DOMAIN", SALES))], set()),
        ([policy(actors={"groups": [urn("group:empty")]})], {("REACHES_NOBODY", "p0")}),
        ([policy(actors={"users": [urn("gone")]})], {("REACHES_NOBODY", "p0")}),
        ([policy(actors={})], {("REACHES_NOBODY", "p0")}),
        ([policy(actors={"resourceOwners": True})], set()),
        (
            [policy(actors={"resourceOwners": True}, resources=on("URN", urn("dataset:open")))],
            {("REACHES_NOBODY", "p0")},
        ),
        ([policy(), policy()], {("DUPLICATE", "p0"), ("DUPLICATE", "p1")}),
        ([policy(), policy(state="INACTIVE")], set()),
        ([policy(), policy(privileges=[VIEW, EDIT])], {("SHADOWED", "p0")}),
        # What carries the tag may be something else one day, and who is in a group may leave it.
        ([policy(), policy(resources=on("TAG", PII))], set()),
        ([policy(), policy(resources=both("TYPE", "dataset", "TAG", PII))], {("SHADOWED", "p1")}),
        ([policy(actors={"groups": [READERS]}), policy()], set()),
        ([policy(actors={"users": [AL], "groups": [READERS]}), policy(actors={"users": [AL]})], {("SHADOWED", "p1")}),
        ([policy(actors={"groups": [READERS]}), policy(actors={"users": [JO, AL]})], set()),
        ([policy(actors={"allUsers": True}), policy(actors={"resourceOwners": True})], {("SHADOWED", "p1")}),
        ([policy(actors={"resourceOwners": True}), policy(actors={"users": [AL]}, resources=on("TAG", PII))], set()),
        (
            [policy(), policy(resources=on("TAG", PII)), policy(resources=on("URN", urn("dataset:open")))],
            # The last two together are the first only as the catalog is now.
            {("SHADOWED", "p2")},
        ),
        (
            [
                policy(actors={"users": [JO, AL]}),
                policy(resources=on("TAG", PII), actors={"users": [JO, AL, urn("gone")]}),
            ],
            set(),
        ),
        (
            [policy(type="PLATFORM", privileges=["MANAGE_POLICIES"], resources=None)] * 2,
            {("DUPLICATE", "p0"), ("DUPLICATE", "p1")},
        ),
        (
            [
                policy(type="PLATFORM", privileges=["MANAGE_POLICIES"], resources=None),
                policy(type="PLATFORM", privileges=["MANAGE_POLICIES"], resources=None, actors={"allUsers": True}),
            ],
            {("SHADOWED", "p0")},
        ),
        # What is denied altogether is not given; a deny gives nothing, and an exclusion leaves somebody without it.
        ([policy(), policy(effect="DENY")], {("SHADOWED", "p0")}),
        ([policy(), policy(effect="DENY", privileges=[VIEW, EDIT])], {("SHADOWED", "p0")}),
        ([policy(), policy(effect="DENY", resources=on("TAG", PII))], set()),
        ([policy(effect="DENY", privileges=[VIEW, EDIT]), policy(effect="DENY")], {("SHADOWED", "p1")}),
        # A deny of a privilege under an umbrella is none of the umbrella.
        ([policy(effect="DENY", privileges=["EDIT_ENTITY"]), policy(effect="DENY", privileges=[EDIT])], set()),
        ([policy(privileges=["EDIT_ENTITY"]), policy(privileges=[EDIT])], set()),
        ([policy(effect="DENY"), policy(privileges=[VIEW, EDIT])], set()),
        ([policy(effect="DENY"), policy(effect="DENY")], {("DUPLICATE", "p0"), ("DUPLICATE", "p1")}),
        (
            [policy(), policy(privileges=[VIEW, EDIT], actors={"users": [JO, AL], "excludedUsers": [JO]})],
            set(),
        ),
        # Jo is never Al: the two give the same.
        ([policy(), policy(actors={"users": [JO], "excludedUsers": [AL]})], {("SHADOWED", "p0"), ("SHADOWED", "p1")}),
        # Nothing there could ever be is of two types.
        (
            [policy(resources=both("TYPE", "dataset", "TYPE", "chart"))],
            {("REACHES_NOTHING", "p0"), ("NEVER_MATCHES", "p0")},
        ),
        ([policy(actors={"groups": [READERS], "excludedUsers": [JO]})], {("REACHES_NOBODY", "p0")}),
        ([policy(actors={"users": [JO], "excludedGroups": [urn("group:left")]})], {("ORPHAN", "p0")}),
        (
            [policy(effect="DENY", resources=on("DOMAIN", SALES, urn(f"domain:{one}"))) for one in "abc"],
            {("ORPHAN", f"p{number}") for number in range(3)},
        ),
        # A question without a resource is given by the wider one alone.
        ([policy(resources=None), policy(resources=on("TYPE", "dataset", "domain"))], {("SHADOWED", "p1")}),
        # The guide's anti-patterns.
        (
            [policy(actors={"users": [one]}) for one in (JO, AL, urn("gone"))],
            {("REACHES_NOBODY", "p2"), *(("ONE_POLICY_PER_USER", f"p{number}") for number in range(3))},
        ),
        (
            [policy(resources=on("URN", f"{urn('dataset:orders')}", f"urn:li:x:{number}")) for number in range(3)],
            {(kind, f"p{number}") for number in range(3) for kind in ("ORPHAN", "URN_SPECIFIC")},
        ),
        (
            [
                policy(actors={"groups": [READERS]}, resources=on("DOMAIN", SALES, f"urn:li:domain:{one}"))
                for one in "abc"
            ],
            {(kind, f"p{number}") for number in range(3) for kind in ("ORPHAN", "OVERLAPPING_DOMAINS")},
        ),
    ],
)
def test_findings(world, policies, expected):
    for number, raw in enumerate(policies):
        world.policy(f"p{number}", raw)
    assert told(world) == expected


def test_denies_for_one_user_each(world):
    for name in ("jo", "al", "gone"):
        world.policy(name, policy(actors={"users": [urn(name)]}, effect="DENY"))
    sentences = {one["sentence"] for one in findings(world) if one["type"] == "ONE_POLICY_PER_USER"}
    assert sentences == {
        "3 policies deny the same privileges for one user each; one policy for a group of them says it once."
    }


def test_deep_domains(world):
    world.under("domain:rome", "domain:emea")
    world.policy("deep", policy(resources=on("DOMAIN", SALES)))
    (one,) = findings(world)
    assert (one["type"], one["entity"]) == ("DEEP_DOMAINS", SALES)
    assert one["sentence"] == "The tree of this domain has 3 levels; keep domains shallow where they are a boundary."


def test_container_chains(world):
    world.under("container:schema", "container:database")
    world.entity("container:database")
    world.policy("chain", policy(resources=on("CONTAINER", urn("container:database"))))
    world.policy("leaf", policy(resources=on("CONTAINER", urn("container:schema")), privileges=[EDIT]))
    assert told(world) == {("CONTAINER_CHAIN", "chain")}


@pytest.mark.parametrize(
    ("raw", "who"),
    [
        (policy(actors={"groups": [READERS]}, resources=on("DOMAIN", SALES)), JO),
        (policy(actors={"resourceOwners": True}), AL),
        (policy(actors={"groups": [READERS]}, resources=on("TAG", PII)), None),
        (policy(actors={"allUsers": True}, resources=on("DOMAIN", SALES)), None),
        (policy(actors={"resourceOwners": True}, privileges=[EDIT]), None),
        (policy(actors={"groups": [READERS], "excludedUsers": [JO]}, resources=on("DOMAIN", SALES)), None),
        (policy(actors={"groups": [READERS]}, resources=on("DOMAIN", SALES), effect="DENY"), None),
    ],
)
def test_a_role_that_shows_everything_beside_isolation(world, raw, who):
    world.raw["roles"] += [[JO, urn("role:Reader")], [AL, urn("role:Reader")]]
    world.policy("mine", raw)
    assert [one["person"] for one in findings(world) if one["type"] == "ROLE_BESIDE_ISOLATION"] == (
        [who] if who else []
    )


def test_many_urns_in_one_policy(world):
    world.policy(
        "many", policy(resources=on("URN", urn("dataset:orders"), *(f"urn:li:dataset:{n}" for n in range(20))))
    )
    (one,) = [one for one in findings(world) if one["type"] == "URN_SPECIFIC"]
    assert "names 21 entities" in one["sentence"]


def test_what_others_give_together(world):
    tagged, untagged = (
        matching_all(criterion("TYPE", "dataset"), criterion("TAG", PII, condition=condition))
        for condition in ("EQUALS", "NOT_EQUALS")
    )
    world.policy("all", policy())
    world.policy("pii", policy(resources=tagged, privileges=[VIEW, EDIT]))
    world.policy("rest", policy(resources=untagged))
    shadowed = {one["policy"].removeprefix(PREFIX): one for one in findings(world)}
    assert shadowed.keys() == {"all", "rest"}
    assert shadowed["all"]["sentence"] == (
        f"In every possible catalog, everything that it gives is given, or denied, by {PREFIX}pii, {PREFIX}rest, too."
    )
    assert shadowed["rest"]["other"] == f"{PREFIX}all"


def datazone(*statements: dict) -> dict:
    return {"name": "Several", "statements": list(statements), "roles": [urn("role:r")]}


def test_one_statement_of_several_changes_nothing():
    allow = {"resource": "dataset:*", "actions": ["dataset:read", "dataset:update"], "effect": "allow"}
    narrow = {"resource": f"dataset:{1:024x}", "actions": ["dataset:read"], "effect": "allow"}
    deny = {"resource": f"dataset:{2:024x}", "actions": ["dataset:read"], "effect": "deny"}
    found = find_proven(datazone(allow, narrow, deny, deny))
    assert {one["type"] for one in found} == {"REDUNDANT_STATEMENT"}
    beginning, ending = "In every possible catalog, everything that its statement", "by other statements of it, too."
    assert [one["sentence"] for one in found] == [
        f"{beginning} 2 gives is given, or denied, {ending}",
        f"{beginning} 3 denies is denied {ending}",
        f"{beginning} 4 denies is denied {ending}",
    ]
    assert len({one["key"] for one in found}) == 3


def find_proven(document: dict, is_over=lambda: False) -> list[dict]:
    origin = StatementOrigin(f"{PREFIX}several", "Several")
    statements = families.get("datazone").compile(document, origin)
    policies = hygiene.group_by_policy(statements, {origin.policy: origin.name})
    search = RedundancySearch(Snapshot.build(1, [(origin.policy, statements)]), is_over)
    found = list(policy_hygiene_job.find_redundant(search.find(policies), hygiene.build_query(policies)))
    assert search.unknown_count == (1 if is_over() else 0)
    return found


def test_what_is_not_proved_in_time_is_not_said():
    narrow = {"resource": f"dataset:{1:024x}", "actions": ["dataset:read"], "effect": "allow"}
    assert find_proven(datazone(narrow, narrow), lambda: True) == []


def test_without_a_solver_nothing_is_called_redundant(world, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    world.policy("one", policy())
    world.policy("wide", policy(privileges=[VIEW, EDIT]))
    assert told(world) == set()


def answers(world: World, policies: list) -> list[bool]:
    return [
        oracle.authorize(world.raw, policies, user, privilege, name, (), kind)[0]
        for user in world.raw["users"]
        for privilege in strategies.PRIVILEGES
        for name, kind in [(None, None), *((name, None) for name in world.raw["entities"])]
    ]


def in_order(found: list[dict]) -> list[list]:
    return sorted([one[name] or "" for name in sorted(one)] for one in found)


@settings(deadline=None, max_examples=50)
@given(world=strategies.worlds())
def test_what_is_idle_can_be_taken_away(world: World):
    found = findings(world)
    assert in_order(found) == in_order(findings(world, slices=3))
    before = answers(world, world.policies)
    for one in found:
        if one["type"] in ("REACHES_NOBODY", "REACHES_NOTHING", "SHADOWED", "DUPLICATE", "NEVER_MATCHES"):
            rest = [pair for pair in world.policies if f"{PREFIX}{pair[0]}" != one["policy"]]
            assert answers(world, rest) == before, one
