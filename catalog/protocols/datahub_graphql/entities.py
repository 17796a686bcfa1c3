"""Entities by URN, and the caller."""

from collections.abc import Sequence
from typing import TypeVar

from ariadne import ObjectType, QueryType

from catalog import urns
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node
from policies.errors import Invalid, NotFound
from policies.pdp import display_names

query = QueryType()

#: Most entities that one field returns by their URNs.
MAX_ENTITIES = 1_000
#: Most entries of each list of an input: entities, tags, terms, owners.
MAX_ENTRIES = 100

InputEntry = TypeVar("InputEntry")
authenticated_user_type = ObjectType("AuthenticatedUser")


@query.field("me")
def resolve_me(_root: None, info: Info) -> Node:
    """Return the caller."""
    return nodes.build_one(info.context.by.urn, info)


@authenticated_user_type.field("corpUser")
def resolve_corp_user(caller: Node, _info: Info) -> Node:
    """Return the caller as a user."""
    return caller


@query.field("entityExists")
def resolve_entity_exists(_root: None, info: Info, *, urn: str) -> bool:
    """Whether an entity with this URN is stored and the caller may learn that. Raises Invalid for a malformed URN."""
    unknowable_urns = view_permissions.find_unknowable(urns=[validate_urn(urn)], by=info.context.by)
    return not unknowable_urns and aspect_documents.load_aspects(urn=urn) is not None


@query.field("entity")
def resolve_entity(_root: None, info: Info, *, urn: str) -> Node:
    """Return the entity with this URN."""
    return get_entity(urn, info)


@query.field("entities")
def list_entities(
    _root: None,
    info: Info,
    *,
    urns: list[str],
    checkForExistence: bool | None = None,  # noqa: ARG001, N803  # the schema's
) -> list[Node | None]:
    """Return the entities with these URNs in their order; None for one that is not stored or may not be viewed.

    Raises Invalid for more than MAX_ENTITIES and for invalid URNs.
    """
    entity_urns = [validate_urn(urn) for urn in validate_entries(urns, "/urns", MAX_ENTITIES)]
    existing_urns = (
        entity_lists.list_stored_urns(urns=entity_urns) | display_names.load_names(urns=entity_urns).keys()
    ) - view_permissions.find_hidden(urns=entity_urns, by=info.context.by)
    nodes_by_urn = {node.urn: node for node in nodes.build_many(sorted(existing_urns), info)}
    return [nodes_by_urn.get(urn) for urn in entity_urns]


def validate_entries(entries: Sequence[InputEntry], pointer: str, max_count: int = MAX_ENTRIES) -> Sequence[InputEntry]:
    """Return the entries of a list. Raises Invalid for more than `max_count`."""
    if len(entries) > max_count:
        detail = f"This list has at most {max_count} entries."
        raise Invalid.from_problem(code="list.long", pointer=pointer, detail=detail)
    return entries


def validate_urn(urn: str, *kinds: str) -> str:
    """Return the URN. Raises Invalid if it is malformed or of none of these types."""
    problem = urns.find_problem(urn, "/urn", kinds)
    if problem is not None:
        raise Invalid([problem])
    return urn


def get_entity(urn: str, info: Info, *kinds: str) -> Node:
    """Return the entity with this URN, of one of these types.

    Raises Invalid, and NotFound, also for an entity that the caller may not view.
    """
    if (
        view_permissions.find_hidden(urns=[validate_urn(urn, *kinds)], by=info.context.by)
        or aspect_documents.load_aspects(urn=urn) is None
    ):
        raise NotFound(f"There is no entity {urn}.")
    return nodes.build_one(urn, info)


BINDABLES = (query, authenticated_user_type)
