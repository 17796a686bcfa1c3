"""The net change over stored worlds: the numbers are those of asking about every pair before and after."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from catalog.models import Entity
from catalog.reports.kinds.policy_impact import differences
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import Partition, SnapshotState
from policies.authoring.services import net_change
from policies.authoring.services.net_change import NetChange, Tally
from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import Question, Statement
from policies.engine.selectors import EVERYTHING
from policies.engine.snapshot import Snapshot
from policies.identity.services import groups, roles, users
from policies.identity.services.staged_people import StagedPeople
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
KINDS = ["join", "leave", "assign", "assign_group", "unassign", "unassign_group", "suspend", "activate"]
PEOPLE_CHANGES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(strategies.USERS),
        st.sampled_from(strategies.GROUPS),
        st.sampled_from(strategies.ROLES),
    ),
    min_size=1,
    max_size=4,
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
        change = net_change.compare_snapshots(
            before=before, after=after, policies=list(changes), by=authorizer.SYSTEM, limit=1000
        )
    check_difference(change, was, now)
    for side, pairs in ((change.gained, now - was), (change.lost, was - now)):
        names = {privilege for _, privilege, _ in pairs}
        assert dict(side.by_privilege) == {name: tally({pair for pair in pairs if pair[1] == name}) for name in names}
        assert all((item.actor, item.privilege, urn) in pairs for item in side.items for urn in item.examples)
        numbers = [item.entities for item in side.items]
        assert numbers == sorted(numbers, reverse=True)


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
        change = net_change.compare_snapshots(
            before=before, after=after, policies=list(changes), by=authorizer.SYSTEM, limit=1000
        )
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


@with_database
@given(world=strategies.worlds(), changes=PEOPLE_CHANGES)
def test_changes_of_people_are_those_of_the_writes_themselves(
    world: World, changes: list[tuple[str, str, str, str]]
) -> None:
    snapshot = world.snapshot()
    with undone():
        stored.store(world.having([]))
        add_roles()
        staged = StagedPeople(authorizer.SYSTEM)
        for item in changes:
            stage(staged, *item)
        change = net_change.compare_snapshots(
            before=snapshot,
            after=snapshot,
            policies=(),
            by=authorizer.SYSTEM,
            people=staged.load_actors(),
            privileges=strategies.PRIVILEGES,
            limit=1000,
        )
        was = list_allowed(snapshot)
        for kind, user, group, role in changes:
            write(kind, user, group, role)
        now = list_allowed(snapshot)
    check_difference(change, was, now)


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


def stage(staged: StagedPeople, kind: str, user: str, group: str, role: str) -> None:
    """Stage one drawn change."""
    holder = group if kind.endswith("_group") else user
    match kind:
        case "join":
            staged.add_members(group=group, members=[user])
        case "leave":
            staged.remove_members(group=group, members=[user])
        case "assign" | "assign_group":
            staged.assign_roles(role=role, actors=[holder])
        case "unassign" | "unassign_group":
            staged.unassign_roles(role=role, actors=[holder])
        case _:
            staged.set_active(user=user, is_active=kind == "activate")


def write(kind: str, user: str, group: str, role: str) -> None:
    """Do what `stage` stages."""
    holder = group if kind.endswith("_group") else user
    match kind:
        case "join":
            groups.add_members(urn=group, members=[user], **BY_SYSTEM)
        case "leave":
            groups.remove_members(urn=group, members=[user], **BY_SYSTEM)
        case "assign" | "assign_group":
            roles.grant(urn=role, actors=[holder], **BY_SYSTEM)
        case "unassign" | "unassign_group":
            roles.revoke(urn=role, actors=[holder], **BY_SYSTEM)
        case "activate":
            users.activate(urn=user, **BY_SYSTEM)
        case _:
            users.suspend(urn=user, **BY_SYSTEM)


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
