"""Statements of their own: a Datazone policy with one allow, for a role that one person holds (docs/datazone.md).

Datazone's policies apply to the holders of roles, so that a role is made with each. Nothing else names the role.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from policies.engine.families import datazone, datazone_resource_patterns
from policies.engine.selectors import ID
from policies.models import Role
from policies.models.roles import ROLE_PREFIX
from policies.pdp import ports
from policies.requests.ways.asked_items import AskedAccess, Giver
from policies.requests.ways.own_names import name_own

#: Most roles that are made for the same access of the same person, one after the other.
_MAX_ROLES = 20


class ObjectId(NamedTuple):
    """The entity type and the object id by which a statement names an entity."""

    type: str
    id: str


def load_object_ids(urns: Collection[str]) -> Mapping[str, ObjectId]:
    """Return those of the entities that have an object id, with it; wildcards alone cover the others."""
    resources = ports.facet_source().load(urns=list(urns), fields=[ID]) if urns else {}
    return {
        urn: ObjectId(resource.type, object_id)
        for urn, resource in resources.items()
        for object_id in resource.facets.get(ID, ())
    }


def list_object_types(entity_type: str) -> frozenset[str]:
    """Return the types by which a question may name an entity of this type: for users and roles there are two."""
    kinds = (datazone_resource_patterns.entity_types(kind) for kind in datazone_resource_patterns.list_types())
    return next((types for types in kinds if entity_type in types), frozenset((entity_type,)))


def build_changes(item: AskedAccess, until: datetime | None) -> list[dict[str, Any]] | None:
    """Return the changes that give what statements can give of an item; None where no statement can name an entity."""
    places = {entity: names for entity, names in item.select_places(Giver.STATEMENT).items() if entity is not None}
    object_ids = load_object_ids(places)
    changes: list[dict[str, Any]] = []
    for entity, actions in places.items():
        role = _find_free_role(item, entity, actions)
        kinds = {action.partition(":")[0] for action in actions}
        if role is None or entity not in object_ids or len(kinds) != 1:
            return None
        (kind,) = kinds
        if object_ids[entity].type not in datazone_resource_patterns.entity_types(kind):
            return None
        statement = {
            "resource": f"{kind}:{object_ids[entity].id}",
            "actions": list(actions),
            "effect": "allow",
        } | _find_branch(item, entity)
        changes += _build_place(role, name_own(item.actor, actions, entity), statement, item.actor.urn, until)
    return changes


def _build_place(
    role: str, name: str, statement: Mapping[str, Any], actor: str, until: datetime | None
) -> list[dict[str, Any]]:
    """Return the changes for one entity: the role, its policy, and the assignment, of which the last two end."""
    end = {} if until is None else {"valid_until": until.isoformat()}
    document = {"name": name, "statements": [statement], "roles": [role]}
    return [
        {"put_role": {"urn": role, "name": name}},
        {"put_policy": {"family": datazone.NAME, "document": document} | end},
        {"assign_roles": {"role": role, "actors": [actor]} | end},
    ]


def _find_branch(item: AskedAccess, entity: str) -> dict[str, str]:
    """Return the branch that is asked about, if the question says one of the entity."""
    resource = item.request.resource
    return {"branch": resource.branch} if resource is not None and resource.urn == entity and resource.branch else {}


def _find_free_role(item: AskedAccess, entity: str, actions: Sequence[str]) -> str | None:
    """Return the URN of a role that is not stored, the same one until somebody makes it; None: all are taken.

    A role of an earlier time stays with its policy, and others may hold it by now.
    """
    text = json.dumps([item.actor.urn, entity, sorted(actions), _find_branch(item, entity)])
    first_urn = f"{ROLE_PREFIX}own-{sha256(text.encode()).hexdigest()[:20]}"
    urns = [first_urn, *(f"{first_urn}-{number}" for number in range(2, _MAX_ROLES + 1))]
    taken_urns = set(Role.objects.filter(urn__in=urns).values_list("urn", flat=True))
    return next((urn for urn in urns if urn not in taken_urns), None)
