"""The net change of facts over stored worlds: the pairs are those of writing them and asking before and after."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.entities import annotations, moves, vocabulary
from catalog.entities.annotations import AnnotationEdit
from catalog.entities.staged_catalog import StagedCatalog
from policies.authoring.services import net_change
from policies.engine.families.vocabulary import load_datahub
from policies.errors import Invalid, NotFound
from policies.identity.services.staged_people import StagedPeople
from policies.pdp import authorizer
from tests import stored, strategies
from tests.catalog import test_net_change
from tests.catalog.conftest import said, tell, undone
from tests.catalog.test_net_change import (
    BY_SYSTEM,
    EDITS,
    PEOPLE_CHANGES,
    check_difference,
    compile_edits,
    list_allowed,
    with_database,
)
from tests.strategies import Dice
from tests.worlds import World, criterion, document, matching_all

pytestmark = pytest.mark.django_db

TERMS = strategies.GLOSSARY[:2]
ENTITIES = st.sampled_from(strategies.ENTITIES)
TREES = [strategies.DOMAINS[:2], strategies.CONTAINERS[:2], [strategies.GLOSSARY[0], strategies.GLOSSARY[2]]]
#: Fields that changes touch, with values that they have.
TESTED_VALUES = {
    "TAG": strategies.TAGS,
    "DOMAIN": strategies.DOMAINS,
    "CONTAINER": strategies.CONTAINERS,
    "GLOSSARY": strategies.GLOSSARY,
    "OWNER": [*strategies.USERS, *strategies.GROUPS],
}


FactChange = tuple[str, str, Any]


def roll_move(dice: Dice) -> FactChange:
    """Draw a move of a node below another one or to the top."""
    tree = dice.pick(*TREES)
    return "move", dice.pick(*tree), dice.pick(*tree, None)


def roll_change(dice: Dice) -> FactChange:
    """Draw one change of facts."""
    kind = dice.pick(
        "add_owners", "move", "set_domain", "add_tags", "remove_owners", "remove_tags", "add_terms", "move"
    )
    if kind == "move":
        return roll_move(dice)
    entity = dice.pick(*strategies.ASSETS, *strategies.ENTITIES)
    match kind:
        case "add_owners" | "remove_owners":
            names, types = [*strategies.USERS, *strategies.GROUPS], ["", *strategies.OWNER_TYPES]
            return kind, entity, [(dice.pick(*names), dice.pick(*types)) for _ in range(dice.pick(1, 2))]
        case "set_domain":
            return kind, entity, dice.pick(*strategies.DOMAINS[:2], None)
        case "add_terms":
            return dice.pick(kind, "remove_terms"), entity, [dice.pick(*TERMS)]
        case _:
            return kind, entity, [dice.pick(*strategies.TAGS)]


def roll_policy(dice: Dice) -> dict:
    """Draw a policy about a value that changes touch, or for owners."""
    field = dice.pick(*TESTED_VALUES)
    tested = criterion(field, dice.pick(*TESTED_VALUES[field]), condition=dice.pick(*strategies.CONDITIONS))
    actors = dice.pick(
        {"allUsers": True},
        {"resourceOwners": True},
        {"resourceOwners": True, "resourceOwnersTypes": [strategies.OWNER_TYPES[0]]},
        {"groups": [strategies.GROUPS[0]]},
        {"allUsers": True, "excludedResourceOwnersTypes": [strategies.OWNER_TYPES[0]]},
    )
    privileges = [dice.pick(*strategies.PRIVILEGES)]
    resources = matching_all(*dice.pick([tested], [tested], []))
    effect = {"effect": dice.pick("ALLOW", "ALLOW", "DENY")}
    return document(privileges=privileges, actors=actors, resources=resources, **effect)


FACT_CHANGES = st.integers(1, 5).flatmap(
    lambda size: strategies.rolled(6 * size, lambda dice: [roll_change(dice) for _ in range(size)])
)
POLICIES = strategies.rolled(32, lambda dice: [roll_policy(dice) for _ in range(4)])


MOVES = st.integers(1, 3).flatmap(
    lambda size: strategies.rolled(3 * size, lambda dice: [roll_move(dice) for _ in range(size)])
)


@with_database
@given(
    world=strategies.worlds(),
    policies=POLICIES,
    facts=FACT_CHANGES,
    edits=st.just([]) | EDITS,
    people_changes=st.just([]) | PEOPLE_CHANGES,
)
def test_the_pairs_are_those_of_the_writes_themselves(
    world: World,
    policies: list[dict],
    facts: list[FactChange],
    edits: list[tuple[str, dict | None]],
    people_changes: list[tuple[str, str, str, str]],
) -> None:
    named_policies = [*world.policies, *((f"x{number}", policy) for number, policy in enumerate(policies))]
    compare(World(world.raw, named_policies), facts, edits, people_changes)


@with_database
@given(world=strategies.worlds(), facts=MOVES)
def test_moves_change_what_lies_below(world: World, facts: list[FactChange]) -> None:
    resources = [
        matching_all(criterion(field, nodes[0], condition=condition))
        for field, nodes in (("DOMAIN", TREES[0]), ("CONTAINER", TREES[1]), ("GLOSSARY", TREES[2][::-1]))
        for condition in ("EQUALS", "STARTS_WITH", "NOT_EQUALS")
    ]
    names = [privilege.name for privilege in load_datahub().metadata_privileges()]
    policies = [
        (f"x{number}", document(privileges=[name], actors={"allUsers": True}, resources=block))
        for number, (name, block) in enumerate(zip(names, resources, strict=False))
    ]
    compare(World(world.raw, policies), facts, privileges=names[: len(policies)])


def compare(
    world: World,
    facts: Sequence[FactChange],
    edits: Sequence[tuple[str, dict | None]] = (),
    people_changes: Sequence[tuple[str, str, str, str]] = (),
    privileges: Sequence[str] = strategies.PRIVILEGES,
) -> None:
    """Compare the net change of these changes with what writing them changes."""
    before = world.snapshot()
    changes = compile_edits(edits)
    after = before.replace(2, changes)
    with undone():
        stored.store(world.having([]))
        add_what_changes_name()
        catalog, people = StagedCatalog(authorizer.SYSTEM), StagedPeople(authorizer.SYSTEM)
        for item in people_changes:
            test_net_change.stage(people, *item)
        staged = [is_staged(catalog, *item) for item in facts]
        assert not catalog.check()
        change = net_change.compare_snapshots(
            before=before,
            after=after,
            policies=list(changes),
            by=authorizer.SYSTEM,
            people=people.load_actors(),
            facts=catalog.load_changes(),
            privileges=privileges,
            limit=1000,
        )
        was = list_allowed(before, privileges)
        for item in people_changes:
            test_net_change.write(*item)
        assert [is_written(*item) for item in facts] == staged
        now = list_allowed(after, privileges)
    check_difference(change, was, now)


def add_what_changes_name() -> None:
    """Store the roles and ownership types that a world may lack."""
    test_net_change.add_roles()
    for urn in strategies.OWNER_TYPES:
        tell(said(urn, "ownershipTypeInfo", {"name": urn}))


def is_staged(catalog: StagedCatalog, kind: str, entity: str, value: Any) -> bool:
    """Stage one drawn change; return whether it is possible."""
    name = {"set_domain": "domain", "move": "parent"}.get(kind, kind.partition("_")[2])
    try:
        getattr(catalog, kind)(entity=entity, **{name: value})
    except (Invalid, NotFound):
        return False
    return True


def is_written(kind: str, entity: str, value: Any) -> bool:
    """Write one drawn change; return whether it is possible."""
    try:
        write(kind, entity, value)
    except (Invalid, NotFound):
        return False
    return True


def write(kind: str, entity: str, value: Any) -> None:
    """Do what is staged by `is_staged`, by the services of the pages and protocols."""
    edit = AnnotationEdit([entity], **BY_SYSTEM)
    match kind:
        case "add_owners":
            annotations.edit_owners(edit, add=value)
        case "remove_owners":
            for owner, type_ in value:
                if type_:
                    annotations.edit_owners(edit, remove=[(owner, type_)])
                else:
                    annotations.remove_owners(edit, [owner])
        case "set_domain":
            annotations.set_domain(edit, value)
        case "move" if entity.startswith("urn:li:container:"):
            moves.set_parent(edit, value, pointer="")
        case "move":
            vocabulary.move(urn=entity, parent=value, **BY_SYSTEM)
        case _:
            aspect = {"tags": "globalTags", "terms": "glossaryTerms"}[kind.partition("_")[2]]
            annotations.edit_urns(edit, aspect, **{kind.partition("_")[0]: value})
