"""What answers show of a policy: its document, and who and what its URNs are."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ariadne import ObjectType

from catalog import urns
from catalog.access import aspect_documents
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node
from policies.authoring.queries import policies
from policies.authoring.services.policies import MANAGE
from policies.engine.families import datahub, datahub_fields
from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.models import Policy
from policies.models.fields import storable
from policies.models.policy import POLICY_PREFIX
from policies.pdp import authorizer

actors = ObjectType("ActorFilter")
criterion = ObjectType("PolicyMatchCriterion")
value = ObjectType("PolicyMatchCriterionValue")
entity = ObjectType("DataHubPolicy")
ownership_type = ObjectType("OwnershipTypeEntity")

_FLAGS = {"resourceOwners": False, "allUsers": False, "allGroups": False}


def many(rows: Sequence[Policy], info: Info) -> list[dict[str, Any]]:
    """Return policies as answers show them; whom they name is looked up for all of them at once."""
    shown = [_shown(row) for row in rows]
    for one in shown:
        for name in ("users", "groups", "roles", "resourceOwnersTypes"):
            info.context.note(one["actors"].get(name) or ())
    return shown


def _shown(row: Policy) -> dict[str, Any]:
    document = row.document
    return {
        "urn": row.urn,
        "type": row.type,
        "policyType": row.type,
        "name": row.name,
        "displayName": row.name,
        "description": row.description,
        "state": row.state,
        "privileges": document.get("privileges") or [],
        "resources": _resources(document.get("resources")),
        "actors": {**_FLAGS, **_without_nulls(document.get("actors") or {})},
        "editable": row.is_editable,
    }


def _resources(block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if block is None:
        return None
    constraints = block.get(datahub_fields.CONSTRAINTS)
    return {
        **block,
        "allResources": bool(block.get("allResources")),
        "privilegeConstraints": constraints,
        "policyConstraints": constraints,
    }


def _without_nulls(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in found.items() if one is not None}


@actors.field("resolvedUsers")
@actors.field("resolvedGroups")
@actors.field("resolvedRoles")
def resolved(clause: Mapping[str, Any], info: Info) -> list[Node]:
    """Return whom one of the lists of an actor clause names."""
    return nodes.many(clause.get(info.field_name.removeprefix("resolved").lower()) or (), info)


@actors.field("resolvedOwnershipTypes")
def resolved_types(clause: Mapping[str, Any], info: Info) -> list[Node]:
    """Return the ownership types that an actor clause names."""
    return nodes.many(clause.get("resourceOwnersTypes") or (), info)


@actors.field("resourceOwnersTypesUrns")
def types_urns(clause: Mapping[str, Any], _info: Info) -> list[str] | None:
    """Return the URNs of the ownership types that an actor clause names."""
    return clause.get("resourceOwnersTypes")


@criterion.field("values")
def values(one: Mapping[str, Any], _info: Info) -> list[str]:
    """Return the values of a criterion."""
    return list(one.get("values") or ())


@criterion.field("condition")
def condition(one: Mapping[str, Any], _info: Info) -> str:
    """Return how a criterion compares."""
    return one.get("condition") or "EQUALS"


@value.field("value")
def text(one: str, _info: Info) -> str:
    """Return a value as it stands in the document."""
    return one


@value.field("entity")
def meant(one: str, info: Info) -> Node | None:
    """Return what a value is the URN of."""
    return nodes.one(one, info) if urns.problem(one, "") is None else None


@ownership_type.field("info")
def described(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the name and description of an ownership type."""
    found = info.context.look_up(node.urn, "ownership types", _types)
    return None if found is None or not found.get("name") else found


def _types(asked: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    mine = [urn for urn in asked if urns.type_of(urn) == "ownershipType"]
    found = aspect_documents.documents(urns=mine) if mine else {}
    return {urn: said["ownershipTypeInfo"].value for urn, said in found.items() if "ownershipTypeInfo" in said}


def of_entity(node: Node, info: Info) -> Any:
    """Return a field of the document of a policy that an answer names; needs MANAGE_POLICIES."""
    here = info.context
    found = here.look_up(node.urn, "policies", lambda asked: _policies(asked, here.by))
    if isinstance(found, Forbidden):
        raise found
    return None if found is None else _shown(found)[info.field_name]


def _policies(asked: Collection[str], by: Actor) -> Mapping[str, Policy | Forbidden]:
    """Return those of these policies that are stored; asked once for all of them whether the caller may read any."""
    mine = [urn for urn in storable(asked) if urn.startswith(POLICY_PREFIX)]
    try:
        authorizer.require(by=by, any_of=MANAGE)
    except Forbidden as refusal:
        return dict.fromkeys(mine, refusal)
    return {row.urn: row for row in policies.policies(family=datahub.NAME).filter(urn__among=mine)}


for _name in (
    "policyType",
    "name",
    "displayName",
    "description",
    "state",
    "privileges",
    "resources",
    "actors",
    "editable",
):
    entity.set_field(_name, of_entity)

BINDABLES = (actors, criterion, value, entity, ownership_type)
