"""The net change over stored worlds: the numbers are those of asking about every pair before and after."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from catalog.models import Entity, Facet
from catalog.reports.kinds.policy_impact import differences
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import Partition, SnapshotState
from policies.changes import comparison
from policies.changes.comparison import EffectQuestion
from policies.changes.kinds import Change
from policies.changes.net_change import NetChange, Tally, find_net_change
from policies.changes.worlds import ChangedWorld, StagedWorld
from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import Question, Statement
from policies.engine.selectors import EVERYTHING, Resource
from policies.engine.snapshot import Snapshot
from policies.identity.changes.accounts import DeleteGroup, Suspend
from policies.identity.changes.members import RemoveMembers
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Policy, Role, User
from policies.pdp import actor_resolution, authorizer, ports
from tests import stored, strategies
from tests.catalog.conftest import undone
from tests.depth import count_examples
from tests.worlds import World

pytestmark = pytest.mark.django_db

EDITS = st.lists(
    st.tuples(st.sampled_from(["p0", "p1", "p2"]), st.none() | strategies.policies()), min_size=1, max_size=3
)
BY_SYSTEM: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
_FEW_EXAMPLES = settings(
    max_examples=count_examples(usual=20, whole=80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

Pairs = set[tuple[str, str, str]]


def with_database(law: Callable[..., None]) -> Callable[..., None]:
    """Try fewer examples of a law than of those that ask no database, and on one database."""
    marked: Callable[..., None] = pytest.mark.on_postgresql(_FEW_EXAMPLES(law))
    return marked


@with_database
@given(world=strategies.worlds(), edits=EDITS)
def test_the_numbers_are_those_of_every_pair(world: World, edits: list[tuple[str, dict | None]]) -> None:
    before = world.snapshot()
    changes = compile_edits(edits)
    after = before.replace(2, changes)
    with undone():
        stored.store(world.having([]))
        was, now = list_allowed(before), list_allowed(after)
        change = find_net_change(ChangedWorld(authorizer.SYSTEM, before, after, list(changes)), EffectQuestion(1000))
    check_difference(change, was, now)
    for side, pairs in ((change.gained, now - was), (change.lost, was - now)):
        names = {privilege for _, privilege, _ in pairs}
        assert dict(side.by_privilege) == {name: tally({pair for pair in pairs if pair[1] == name}) for name in names}
        assert all((item.actor, item.privilege, urn) in pairs for item in side.items for urn in item.examples)
        numbers = [item.entities for item in side.items]
        assert numbers == sorted(numbers, reverse=True)


#: More policies for owners, and for a group, than the database tests one by one.
MANY = 1_200


@pytest.fixture(scope="module")
def many_policies() -> Snapshot:
    """Policies for owners of each of many tags, for a group on each, and one on the platform."""
    world = World(
        policies=[
            *(
                (f"p{number}", build_policy(f"urn:li:tag:{number}", {"resourceOwners": True} if number % 2 else CREW))
                for number in range(MANY)
            ),
            ("administrators", {**build_policy("", {"users": [ANN]}), "type": "PLATFORM", "privileges": PLATFORM}),
        ]
    )
    return world.snapshot()


ANN, BEN = "urn:li:corpuser:ann", "urn:li:corpuser:ben"
CREW = {"groups": ["urn:li:corpGroup:crew"]}
PLATFORM = ["MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS"]


def build_policy(tag: str, actors: dict[str, Any]) -> dict[str, Any]:
    criteria = [{"field": "TYPE", "values": ["dataset"]}, {"field": "TAG", "values": [tag]}]
    return {
        "displayName": tag,
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": actors,
        "resources": {"filter": {"criteria": criteria}},
    }


@pytest.fixture
def crew(db: None) -> None:
    """Two people in a group, a dataset that it reaches by its tag, one that it owns, and others."""
    for name in ("ann", "ben"):
        users.create(username=name, **BY_SYSTEM)
    groups.create(identifier="crew", name="Crew", members=[ANN, BEN], **BY_SYSTEM)
    for name, tag, owners in (("tagged", 2, ()), ("owned", 3, CREW["groups"]), ("other", 5, ())):
        entity = Entity.objects.create(urn=f"urn:li:dataset:{name}", type="dataset")
        Facet.objects.create(entity=entity, field="TAG", value=f"urn:li:tag:{tag}")
        Facet.objects.bulk_create(Facet(entity=entity, field="OWNER", value=owner) for owner in owners)


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("kind", ["delete a group", "take three out", "suspend"])
def test_what_people_lose_is_counted_exactly_however_many_policies_there_are(
    many_policies: Snapshot, kind: str
) -> None:
    changed = {
        "delete a group": DeleteGroup(CREW["groups"][0]),
        "take three out": RemoveMembers(CREW["groups"][0], [ANN, BEN]),
        "suspend": Suspend(ANN),
    }[kind]
    # Without what everybody may do with oneself.
    change = compare([changed], many_policies, ["EDIT_ENTITY_TAGS", *PLATFORM])
    losing = [ANN] if kind == "suspend" else [ANN, BEN]
    lost = {(person, "EDIT_ENTITY_TAGS", f"urn:li:dataset:{name}") for person in losing for name in ("tagged", "owned")}
    assert change.is_exact
    assert (change.lost.total, change.gained.total.pairs) == (tally(lost), 0)
    assert [tuple(item) for item in change.platform_lost] == (
        [(ANN, privilege) for privilege in PLATFORM] if kind == "suspend" else []
    )


@pytest.mark.usefixtures("crew")
def test_of_too_many_entities_the_first_are_counted(many_policies: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_ENTITIES", 1)
    # Without what everybody may do with oneself.
    change = compare([Suspend(ANN)], many_policies, ["EDIT_ENTITY_TAGS", *PLATFORM])
    assert (change.is_exact, change.lost.total) == (False, Tally(1, 1, 1))
    assert [item.privilege for item in change.platform_lost] == PLATFORM


@with_database
@given(world=strategies.worlds(), edits=EDITS)
def test_the_report_of_impact_gives_the_same_numbers_and_items(
    world: World, edits: list[tuple[str, dict | None]]
) -> None:
    before = world.snapshot()
    changes = compile_edits(edits)
    after = before.replace(2, changes)
    with undone():
        stored.store(world.having([]))
        change = find_net_change(ChangedWorld(authorizer.SYSTEM, before, after, list(changes)), EffectQuestion(1000))
        actors = list(actor_resolution.load_actors(urns=list(User.objects.values_list("urn", flat=True))).values())
        report_change = differences.compare_policies(before, after, changes, actors)
        fields = before.tested_fields(report_change.privileges) | after.tested_fields(report_change.privileges)
        postings = ports.postings_source().load_postings(
            covering=[EVERYTHING], fields=fields, limit=1000, with_people=True
        )
    assert postings is not None
    partition = Partition(pa.array(range(len(postings.urns)), pa.int64()), postings)
    facts = PartitionFacts(SnapshotState("", before, actors, {}), partition)
    report_rows = [
        *differences.compare_platform(before, report_change),
        *differences.compare_partition(facts, report_change),
    ]
    rows = differences.aggregate_rows(report_rows, actors)[2]
    platform = families.platform_privileges()
    for name, side, people in (
        ("gained", change.gained, change.platform_gained),
        ("lost", change.lost, change.platform_lost),
    ):
        counts = {(row["person"], row["privilege"]): row[name] for row in rows if row[name]}
        assert {key for key in counts if key[1] in platform} == {(item.actor, item.privilege) for item in people}
        assert {key: count for key, count in counts.items() if key[1] not in platform} == {
            (item.actor, item.privilege): item.entities for item in side.items
        }
        assert side.total.pairs == sum(count for key, count in counts.items() if key[1] not in platform)


def compare(changes: Sequence[Change], snapshot: Snapshot, privileges: Sequence[str]) -> NetChange:
    """Return the net change of changes of people where these are the policies."""
    world = StagedWorld(authorizer.SYSTEM)
    for change in changes:
        change.stage(world)
    changed_world = replace(world.finish(), before=snapshot, after=snapshot)
    return find_net_change(changed_world, EffectQuestion(1000, privileges))


def compile_edits(edits: Sequence[tuple[str, dict | None]]) -> dict[str, tuple[Statement, ...]]:
    """Return policy → its statements after these edits, none for one that is gone."""
    return {
        f"urn:li:dataHubPolicy:{name}": () if raw is None else World(policies=[(name, raw)]).statements()[0][1]
        for name, raw in edits
    }


def check_difference(change: NetChange, was: Pairs, now: Pairs) -> None:
    """Assert that a net change says exactly what was allowed and is not, and the other way round."""
    assert change.is_exact
    for side, pairs in ((change.gained, now - was), (change.lost, was - now)):
        assert side.total == tally(pairs)
        counted = Counter((actor, privilege) for actor, privilege, _ in pairs)
        assert {(item.actor, item.privilege): item.entities for item in side.items} == counted


def add_roles() -> None:
    """Store the roles that a world lacks."""
    for role in strategies.ROLES:
        if not Role.objects.filter(urn=role).exists():
            roles.create(name=role, identifier=role.rpartition(":")[2], **BY_SYSTEM)


def list_allowed(snapshot: Snapshot, privileges: Sequence[str] = strategies.PRIVILEGES) -> Pairs:
    """Return every pair of an active person and a present resource that the engine allows, asked one by one."""
    urns = sorted(list_resources())
    fields = snapshot.tested_fields(privileges)
    resources = OrmFacetSource().load(urns=urns, fields=fields)
    people = User.objects.filter(state=User.State.ACTIVE, is_removed=False).values_list("urn", flat=True)
    return {
        (actor.urn, privilege, urn)
        for actor in actor_resolution.load_actors(urns=list(people)).values()
        for privilege in privileges
        for urn in urns
        if decide(snapshot, Question(actor, privilege, resources[urn])).is_allowed
    }


def list_allowed_on(snapshot: Snapshot, resource: Resource) -> Pairs:
    """Return every pair of a person and what is deleted, as if its facts were still there."""
    people = User.objects.filter(state=User.State.ACTIVE, is_removed=False).values_list("urn", flat=True)
    return {
        (actor.urn, privilege, resource.urn)
        for actor in actor_resolution.load_actors(urns=list(people)).values()
        for privilege in strategies.PRIVILEGES
        if decide(snapshot, Question(actor, privilege, resource)).is_allowed
    }


def list_resources() -> set[str]:
    """Return the URNs of all entities, users, groups, roles and policies that are not removed."""
    return {
        *Entity.objects.filter(is_removed=False).values_list("urn", flat=True),
        *User.objects.filter(is_removed=False).values_list("urn", flat=True),
        *GroupProfile.objects.filter(is_removed=False).values_list("urn", flat=True),
        *Role.objects.values_list("urn", flat=True),
        *Policy.objects.values_list("urn", flat=True),
    }


def tally(pairs: Pairs) -> Tally:
    """Count pairs, and the people and entities in them."""
    return Tally(len(pairs), len({actor for actor, _, _ in pairs}), len({urn for _, _, urn in pairs}))
