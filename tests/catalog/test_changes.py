"""Every kind of change: to stage it and compare says what writing it changes; it is stored as JSON, and taken back."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from policies.changes.applying import apply_changes
from policies.changes.comparison import EffectQuestion
from policies.changes.kinds import Change, load_kinds
from policies.changes.net_change import find_net_change
from policies.changes.shapes import dump_changes, load_changes
from policies.changes.worlds import StagedWorld
from policies.engine.errors import InvalidPolicy
from policies.engine.families import datahub
from policies.engine.families.vocabulary import load_datahub
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.models import ChangeSet, PolicyVersion
from policies.pdp import authorizer, snapshot_store
from tests import stored, strategies
from tests.catalog.conftest import said, tell, undone
from tests.catalog.generated_changes import (
    DELETIONS,
    EXTERNAL_ROLE,
    GENERATORS,
    roll_changes,
    roll_move,
    roll_policy,
)
from tests.catalog.test_net_change import (
    BY_SYSTEM,
    add_roles,
    check_difference,
    list_allowed,
    list_allowed_on,
    list_resources,
    with_database,
)
from tests.worlds import World, criterion, document, matching_all

pytestmark = pytest.mark.django_db

_REFUSALS = (Conflict, Forbidden, Invalid, NotFound)
CHANGES = st.integers(1, 4).flatmap(lambda size: strategies.rolled(10 * size, lambda dice: roll_changes(dice, size)))
MOVES = st.integers(1, 3).flatmap(
    lambda size: strategies.rolled(3 * size, lambda dice: [roll_move(dice) for _ in range(size)])
)
POLICIES = strategies.rolled(32, lambda dice: [roll_policy(dice) for _ in range(4)])
#: Kinds of grants, whose generators are in `tests.cdap.test_preview_grants`.
GRANT_KINDS = {"grant", "revoke"}


def test_every_kind_has_a_generator() -> None:
    assert GENERATORS.keys() | GRANT_KINDS == load_kinds().keys()


@with_database
@given(world=strategies.worlds(), policies=POLICIES, changes=CHANGES)
def test_to_stage_and_compare_says_what_writing_changes(
    world: World, policies: list[dict], changes: list[Change]
) -> None:
    # The first policies are those that changes name.
    named_policies = [*((f"p{number}", policy) for number, policy in enumerate(policies)), *list_storable(world)]
    with undone():
        store(World(world.raw, named_policies))
        compare_with_writes(changes)


@with_database
@given(world=strategies.worlds(), changes=MOVES)
def test_moves_change_what_lies_below(world: World, changes: list[Change]) -> None:
    fields = (
        ("DOMAIN", strategies.DOMAINS[0]),
        ("CONTAINER", strategies.CONTAINERS[0]),
        ("GLOSSARY", "urn:li:glossaryNode:a"),
    )
    resources = [
        matching_all(criterion(field, node, condition=condition))
        for field, node in fields
        for condition in ("EQUALS", "STARTS_WITH", "NOT_EQUALS")
    ]
    names = [privilege.name for privilege in load_datahub().metadata_privileges()]
    policies = [
        (f"x{number}", document(privileges=[name], actors={"allUsers": True}, resources=block))
        for number, (name, block) in enumerate(zip(names, resources, strict=False))
    ]
    with undone():
        store(World(world.raw, policies))
        compare_with_writes(changes, names[: len(policies)])


@with_database
@given(world=strategies.worlds(), policies=POLICIES, changes=CHANGES)
def test_changes_are_one_write_that_is_taken_back(world: World, policies: list[dict], changes: list[Change]) -> None:
    with undone():
        store(World(world.raw, [(f"p{number}", policy) for number, policy in enumerate(policies)]))
        assert load_changes(dump_changes(changes)) == changes
        snapshot = load_snapshot()
        was, version, sets = list_allowed(snapshot), PolicyVersion.load_version(), ChangeSet.objects.count()
        try:
            applied = apply_changes(changes=changes, **BY_SYSTEM)
        except _REFUSALS:
            assert (list_allowed(load_snapshot()), ChangeSet.objects.count()) == (was, sets)
            return
        # One write: one version of all policies, and one entry of the change log for everything else.
        assert ChangeSet.objects.count() <= sets + 1
        assert PolicyVersion.load_version() <= version + 1
        assert all(change.describe({}).endswith(".") for change in applied.changes)
        if applied.inverses is None:
            return
        inverses = load_changes(dump_changes(applied.inverses))
        apply_changes(changes=inverses, **BY_SYSTEM)
        assert list_allowed(load_snapshot()) == was


def list_storable(world: World) -> list[tuple[str, dict]]:
    """Return the policies of a world that may be stored, under names that no change has."""
    found = []
    for number, (_, policy) in enumerate(world.policies):
        with suppress(InvalidPolicy):
            datahub.parse(policy)
            found.append((f"x{number}", policy))
    return found


def store(world: World) -> None:
    """Store a world, and what changes name beside it."""
    stored.store(world)
    add_roles()
    for urn in strategies.OWNER_TYPES:
        tell(said(urn, "ownershipTypeInfo", {"name": urn}))
    tell(said(EXTERNAL_ROLE, "roleProperties", {"name": "Reader", "type": "READ"}))


def load_snapshot() -> Snapshot:
    """Return the policies as they are stored now."""
    snapshot_store.reset()
    return snapshot_store.get_current()


def compare_with_writes(changes: Sequence[Change], privileges: Sequence[str] = strategies.PRIVILEGES) -> None:
    """Stage changes and compare; write them, and ask about every pair before and after."""
    before, world = load_snapshot(), StagedWorld(authorizer.SYSTEM)
    staged = [is_possible(partial(change.stage, world)) for change in changes]
    assert not world.check_facts()
    found = find_net_change(world.finish(), EffectQuestion(1000, privileges))
    if not found.is_exact:
        # Whom a policy names as owner of what it covers is taken out of the owners by its deletion.
        assert world.people.deleted_owners
        return
    was, known_urns, deleted = list_allowed(before, privileges), list_resources(), load_deleted(changes, before)
    assert [is_possible(partial(change.apply, **BY_SYSTEM)) for change in changes] == staged
    after = load_snapshot()
    now = list_allowed(after, privileges)
    for resource in deleted:
        now |= list_allowed_on(after, resource)
    # What is new is no entity of the preview.
    check_difference(found, was, {pair for pair in now if pair[2] in known_urns})


def load_deleted(changes: Sequence[Change], snapshot: Snapshot) -> list[Resource]:
    """Return what changes delete, with its facts: it stays an entity as long as nothing is written."""
    urns = [change.subject for change in changes if change.kind in {*DELETIONS, "delete_policy"}]
    return list(OrmFacetSource().load(urns=urns, fields=snapshot.tested_fields(strategies.PRIVILEGES)).values())


def is_possible(act: Callable[[], object]) -> bool:
    """Whether a change is not refused."""
    try:
        act()
    except _REFUSALS:
        return False
    return True
