"""Mapping of AuthZEN names to ours: types of subjects and resources, names of actions.

The tables are AUTHZEN_SUBJECT_TYPES, AUTHZEN_RESOURCE_TYPES and AUTHZEN_ACTIONS; a name in none of them stands for
itself. An id may be a URN; any other id becomes one with its type.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from catalog import urns
from catalog.protocols.authzen.request_models import Action, EntityRef, MalformedRequest, TypeRef
from policies.engine import property_conditions
from policies.kept_settings import kept_settings
from policies.models.people import USER_PREFIX

_USER_TYPE = "corpuser"
_URN_PREFIX = "urn:li:"

#: Ids of Datazone objects, which are looked up by type and id.
_OBJECT_ID = re.compile(r"[0-9a-f]{24}")


def actor_urn(subject: EntityRef) -> str | None:
    """Return the URN of the user that a subject denotes, None for a type or URN that cannot act here."""
    if subject.id.startswith(USER_PREFIX):
        return subject.id
    return f"{USER_PREFIX}{subject.id}" if is_person(subject.type) and not subject.id.startswith(_URN_PREFIX) else None


def is_person(type_: str) -> bool:
    """Whether subjects of this type are users."""
    type_name: str = kept_settings.AUTHZEN_SUBJECT_TYPES.get(type_, type_)
    return type_name == _USER_TYPE


def privilege_name(action: Action) -> str:
    """Return the privilege of an action: its entry in AUTHZEN_ACTIONS, else its own name."""
    name: str = kept_settings.AUTHZEN_ACTIONS.get(action.name, action.name)
    return name


def action_names(privileges: Mapping[str, Any]) -> list[str]:
    """Return the sorted action names for these privileges: their aliases in AUTHZEN_ACTIONS, else their own names."""
    aliased_privileges = set(settings.AUTHZEN_ACTIONS.values())
    aliases = [action for action, privilege in settings.AUTHZEN_ACTIONS.items() if privilege in privileges]
    return sorted({*aliases, *(privilege for privilege in privileges if privilege not in aliased_privileges)})


def entity_type(resource: TypeRef) -> str:
    """Return the entity type that a resource type denotes."""
    type_name: str = kept_settings.AUTHZEN_RESOURCE_TYPES.get(resource.type, resource.type)
    return type_name


def parse_resource(resource: EntityRef) -> dict[str, str]:
    """Return a resource as questions contain it (api.md section 1). Raises MalformedRequest for an invalid id."""
    kind = entity_type(resource)
    if _OBJECT_ID.fullmatch(resource.id):
        return {"type": kind, "id": resource.id}
    urn = resource.id if resource.id.startswith(_URN_PREFIX) else f"{_URN_PREFIX}{kind}:{resource.id}"
    problem = urns.find_problem(urn, "")
    if problem is not None:
        raise MalformedRequest(f"resource.id: {problem.detail}")
    return {"urn": urn, "type": kind}


def fact_overrides(resource: EntityRef) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the properties of a resource as (field, values) pairs that override stored facts."""
    return tuple(resource.facets(property_conditions.RESOURCE).items())


def actor_attributes(subject: EntityRef, action: Action | None = None) -> dict[str, frozenset[str]]:
    """Return the properties of subject and action as field → values that override those of the actor."""
    properties = subject.facets(property_conditions.ACTOR)
    return properties if action is None else properties | action.facets(property_conditions.ACTION)


def entity_id(urn: str, type_: str) -> str:
    """Return the id of an entity: the part of its URN after the type."""
    return urn.removeprefix(f"{_URN_PREFIX}{type_}:")
