"""Generators of changes, one for each kind, over the worlds of `tests.strategies`: names collide as they do there."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from catalog.entities import changes as entity_changes
from catalog.external_roles import changes as external_role_changes
from policies.authoring import changes as policy_changes
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes.kinds import Change
from policies.identity.changes import accounts, members, roles
from tests import strategies
from tests.strategies import Dice
from tests.worlds import criterion, document, matching_all

POLICIES = [f"urn:li:dataHubPolicy:{name}" for name in ("p0", "p1", "p2")]
NEW_ROLE, EXTERNAL_ROLE = "urn:li:dataHubRole:new", "urn:li:role:reader"
TERMS = strategies.GLOSSARY[:2]
HOLDERS = [*strategies.USERS, *strategies.GROUPS]
TREES = [strategies.DOMAINS[:2], strategies.CONTAINERS[:2], [strategies.GLOSSARY[0], strategies.GLOSSARY[2]]]
#: An end long after any test.
LATER = datetime(2100, 1, 1, tzinfo=UTC)

#: Fields that changes touch, with values that they have.
_TESTED_VALUES = {
    "TAG": strategies.TAGS,
    "DOMAIN": strategies.DOMAINS,
    "CONTAINER": strategies.CONTAINERS,
    "GLOSSARY": strategies.GLOSSARY,
    "OWNER": HOLDERS,
}

#: Kinds whose inverse is not looked for: nobody gets back what was deleted.
DELETIONS = {"delete_user", "delete_group", "delete_role"}


def roll_policy(dice: Dice) -> dict[str, Any]:
    """Draw a policy about a value that changes touch, or for owners."""
    field = dice.pick(*_TESTED_VALUES)
    tested = criterion(field, dice.pick(*_TESTED_VALUES[field]), condition=dice.pick(*strategies.CONDITIONS))
    actors = dice.pick(
        {"allUsers": True},
        {"resourceOwners": True},
        {"resourceOwners": True, "resourceOwnersTypes": [strategies.OWNER_TYPES[0]]},
        {"groups": [strategies.GROUPS[0]]},
        {"roles": [strategies.ROLES[0]]},
        {"allUsers": True, "excludedResourceOwnersTypes": [strategies.OWNER_TYPES[0]]},
        {"allUsers": True, "excludedUsers": [strategies.USERS[0]], "excludedGroups": [strategies.GROUPS[0]]},
    )
    privileges = [dice.pick(*strategies.PRIVILEGES)]
    resources = matching_all(*dice.pick([tested], [tested], []))
    effect = {"effect": dice.pick("ALLOW", "ALLOW", "DENY")}
    return {"editable": True, **document(privileges=privileges, actors=actors, resources=resources, **effect)}


def _roll_put(dice: Dice) -> Change:
    draft = PolicyInput("datahub", roll_policy(dice))
    return policy_changes.PutPolicy(dice.pick(*POLICIES, "urn:li:dataHubPolicy:added"), draft)


def _roll_exceptions(dice: Dice) -> dict[str, Any]:
    return {"policy": dice.pick(*POLICIES), "actors": tuple(dice.some([*HOLDERS, *strategies.ROLES]))}


def _roll_members(dice: Dice) -> dict[str, Any]:
    return {"group": dice.pick(*strategies.GROUPS), "members": tuple(dice.some(strategies.USERS))}


def _roll_holders(dice: Dice) -> dict[str, Any]:
    return {"role": dice.pick(*strategies.ROLES, NEW_ROLE), "actors": tuple(dice.some(HOLDERS))}


def _roll_owners(dice: Dice) -> dict[str, Any]:
    types = [None, "", *strategies.OWNER_TYPES]
    owners = tuple((dice.pick(*HOLDERS), dice.pick(*types)) for _ in range(dice.pick(1, 2)))
    return {"entity": _pick_entity(dice), "owners": owners}


def _pick_entity(dice: Dice) -> str:
    return dice.pick(*strategies.ASSETS, *strategies.ENTITIES)


def _roll_tags(dice: Dice) -> dict[str, Any]:
    return {"entity": _pick_entity(dice), "tags": (dice.pick(*strategies.TAGS),)}


def _roll_terms(dice: Dice) -> dict[str, Any]:
    return {"entity": _pick_entity(dice), "terms": (dice.pick(*TERMS),)}


def roll_move(dice: Dice) -> Change:
    """Draw a move of a node below another one or to the top."""
    tree = dice.pick(*TREES)
    return entity_changes.Move(dice.pick(*tree), dice.pick(*tree, None))


def _roll_external(dice: Dice) -> dict[str, Any]:
    return {"role": EXTERNAL_ROLE, "actors": tuple(dice.some(HOLDERS))}


#: Kind → what draws a change of it. Grants have generators of their own (`tests.cdap.test_preview_grants`).
GENERATORS: Mapping[str, Callable[[Dice], Change]] = {
    "put_policy": _roll_put,
    "delete_policy": lambda dice: policy_changes.DeletePolicy(dice.pick(*POLICIES)),
    "set_state": lambda dice: policy_changes.SetState(dice.pick(*POLICIES), dice.pick("ACTIVE", "INACTIVE")),
    "add_exceptions": lambda dice: policy_changes.AddExceptions(**_roll_exceptions(dice)),
    "remove_exceptions": lambda dice: policy_changes.RemoveExceptions(**_roll_exceptions(dice)),
    "add_members": lambda dice: members.AddMembers(**_roll_members(dice), valid_until=dice.pick(None, LATER)),
    "remove_members": lambda dice: members.RemoveMembers(**_roll_members(dice)),
    "assign_roles": lambda dice: roles.AssignRoles(**_roll_holders(dice), valid_until=dice.pick(None, LATER)),
    "unassign_roles": lambda dice: roles.UnassignRoles(**_roll_holders(dice)),
    "put_role": lambda dice: roles.PutRole(dice.pick(NEW_ROLE, *strategies.ROLES), dice.pick("New", "Other"), ""),
    "suspend": lambda dice: accounts.Suspend(dice.pick(*strategies.USERS)),
    "activate": lambda dice: accounts.Activate(dice.pick(*strategies.USERS)),
    "add_owners": lambda dice: entity_changes.AddOwners(**_roll_owners(dice)),
    "remove_owners": lambda dice: entity_changes.RemoveOwners(**_roll_owners(dice)),
    "set_domain": lambda dice: entity_changes.SetDomain(_pick_entity(dice), dice.pick(*strategies.DOMAINS[:2], None)),
    "add_tags": lambda dice: entity_changes.AddTags(**_roll_tags(dice)),
    "remove_tags": lambda dice: entity_changes.RemoveTags(**_roll_tags(dice)),
    "add_terms": lambda dice: entity_changes.AddTerms(**_roll_terms(dice)),
    "remove_terms": lambda dice: entity_changes.RemoveTerms(**_roll_terms(dice)),
    "move": roll_move,
    "assign_external_role": lambda dice: external_role_changes.AssignExternalRole(**_roll_external(dice)),
    "unassign_external_role": lambda dice: external_role_changes.UnassignExternalRole(**_roll_external(dice)),
    "delete_user": lambda dice: accounts.DeleteUser(dice.pick(*strategies.USERS)),
    "delete_group": lambda dice: accounts.DeleteGroup(dice.pick(*strategies.GROUPS)),
    "delete_role": lambda dice: roles.DeleteRole(dice.pick(*strategies.ROLES)),
}


def roll_changes(dice: Dice, size: int) -> list[Change]:
    """Draw several changes, or one deletion, now and then."""
    if dice.seldom():
        return [GENERATORS[dice.pick(*DELETIONS_IN_ORDER)](dice)]
    kinds = [kind for kind in GENERATORS if kind not in DELETIONS]
    return [GENERATORS[dice.pick(*kinds)](dice) for _ in range(size)]


DELETIONS_IN_ORDER = sorted(DELETIONS)
