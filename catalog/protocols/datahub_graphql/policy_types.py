"""GraphQL fields of a policy: its document, and the entities of its URNs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ariadne import ObjectType

from catalog import urns
from catalog.access import aspect_documents
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info, load_rows
from catalog.protocols.datahub_graphql.nodes import Node
from policies.authoring.queries import policies
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.engine.families import datahub, datahub_fields
from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.models import Policy
from policies.models.policy import POLICY_PREFIX
from policies.pdp import authorizer

actor_filter_type = ObjectType("ActorFilter")
criterion_type = ObjectType("PolicyMatchCriterion")
criterion_value_type = ObjectType("PolicyMatchCriterionValue")
policy_type = ObjectType("DataHubPolicy")
ownership_type = ObjectType("OwnershipTypeEntity")

_FLAGS = {"resourceOwners": False, "allUsers": False, "allGroups": False}


def render_policies(rows: Sequence[Policy], info: Info) -> list[dict[str, Any]]:
    """Return policies as response objects; the actors and ownership types that they name are added to the batch."""
    policies = [_render_policy(row) for row in rows]
    for policy in policies:
        for name in ("users", "groups", "roles", "resourceOwnersTypes"):
            info.context.add_to_batch(policy["actors"].get(name) or ())
    return policies


def _render_policy(row: Policy) -> dict[str, Any]:
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
        "resources": _render_resources(document.get("resources")),
        "actors": {**_FLAGS, **without_nulls(document.get("actors") or {})},
        "editable": row.is_editable,
        **{name: document.get(name) for name in datahub_fields.OWN_FIELDS},
    }


def _render_resources(block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if block is None:
        return None
    constraints = block.get(datahub_fields.CONSTRAINTS)
    return {
        **block,
        "allResources": bool(block.get("allResources")),
        "privilegeConstraints": constraints,
        "policyConstraints": constraints,
    }


def without_nulls(value: Any) -> Any:
    """Return a value without members that are null, at every level."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value


@actor_filter_type.field("resolvedUsers")
@actor_filter_type.field("resolvedGroups")
@actor_filter_type.field("resolvedRoles")
def resolve_actors(clause: Mapping[str, Any], info: Info) -> list[Node]:
    """Return the users, groups or roles of an actor clause."""
    return nodes.build_many(clause.get(info.field_name.removeprefix("resolved").lower()) or (), info)


@actor_filter_type.field("resolvedOwnershipTypes")
def resolve_ownership_types(clause: Mapping[str, Any], info: Info) -> list[Node]:
    """Return the ownership types of an actor clause."""
    return nodes.build_many(clause.get("resourceOwnersTypes") or (), info)


@actor_filter_type.field("resourceOwnersTypesUrns")
def resolve_ownership_type_urns(clause: Mapping[str, Any], _info: Info) -> list[str] | None:
    """Return the URNs of the ownership types of an actor clause."""
    return clause.get("resourceOwnersTypes")


@criterion_type.field("values")
def resolve_values(criterion: Mapping[str, Any], _info: Info) -> list[str]:
    """Return the values of a criterion."""
    return list(criterion.get("values") or ())


@criterion_type.field("condition")
def resolve_condition(criterion: Mapping[str, Any], _info: Info) -> str:
    """Return the comparison of a criterion, EQUALS by default."""
    return criterion.get("condition") or "EQUALS"


@criterion_value_type.field("value")
def resolve_value(value: str, _info: Info) -> str:
    """Return a value as in the document."""
    return value


@criterion_value_type.field("entity")
def resolve_value_entity(value: str, info: Info) -> Node | None:
    """Return the entity of a value, None if the value is no URN."""
    return nodes.build_one(value, info) if urns.find_problem(value, "") is None else None


@ownership_type.field("info")
def resolve_ownership_type_info(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the name and description of an ownership type."""
    type_info = info.context.load_batched(node.urn, "ownership types", _load_ownership_types)
    return None if type_info is None or not type_info.get("name") else type_info


def _load_ownership_types(entity_urns: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    type_urns = [urn for urn in entity_urns if urns.entity_type(urn) == "ownershipType"]
    documents = aspect_documents.load_documents(urns=type_urns) if type_urns else {}
    return {
        urn: aspects["ownershipTypeInfo"].value for urn, aspects in documents.items() if "ownershipTypeInfo" in aspects
    }


def resolve_policy_field(node: Node, info: Info) -> Any:
    """Return a field of a policy to which a response refers. Raises Forbidden without MANAGE_POLICIES."""
    context = info.context
    policy = context.load_batched(node.urn, "policies", lambda entity_urns: _load_policies(entity_urns, context.by))
    if isinstance(policy, Forbidden):
        raise policy
    return None if policy is None else _render_policy(policy)[info.field_name]


def _load_policies(entity_urns: Collection[str], by: Actor) -> Mapping[str, Policy | Forbidden]:
    """Return URN → policy for the stored ones, or Forbidden for each; MANAGE_POLICIES is checked once for all."""
    try:
        authorizer.require(by=by, any_of=MANAGE_POLICIES)
    except Forbidden as refusal:
        return dict.fromkeys((urn for urn in entity_urns if urn.startswith(POLICY_PREFIX)), refusal)
    return load_rows(entity_urns, POLICY_PREFIX, lambda: policies.list_policies(family=datahub.NAME))


for _policy_field in (
    "policyType",
    "name",
    "displayName",
    "description",
    "state",
    "privileges",
    "resources",
    "actors",
    "editable",
    *datahub_fields.OWN_FIELDS,
):
    policy_type.set_field(_policy_field, resolve_policy_field)

BINDABLES = (actor_filter_type, criterion_type, criterion_value_type, policy_type, ownership_type)
