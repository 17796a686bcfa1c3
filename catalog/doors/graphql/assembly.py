"""The schema: the files of `schema/`, one for each room, and what the rooms bind to them."""

from functools import cache
from pathlib import Path

from ariadne import load_schema_from_path, make_executable_schema
from graphql import GraphQLSchema

from catalog.doors.graphql import (
    access,
    annotations,
    attachments,
    catalogue,
    contents,
    corp,
    entities,
    entity_privileges,
    granted,
    lineage,
    nodes,
    people,
    people_links,
    platforms,
    policies,
    policy_shapes,
    relating,
    roles,
    scalars,
    schemas,
    searching,
    tokens,
    tokens_services,
    unkept,
    vocabulary,
)

#: Rooms of the door; each has BINDABLES.
_ROOMS = (
    scalars,
    nodes,
    entities,
    corp,
    policies,
    policy_shapes,
    granted,
    people,
    people_links,
    tokens,
    tokens_services,
    roles,
    catalogue,
    access,
    platforms,
    annotations,
    schemas,
    unkept,
    entity_privileges,
    vocabulary,
    attachments,
    contents,
    searching,
    relating,
    lineage,
)


@cache
def schema() -> GraphQLSchema:
    """Return the schema, made once."""
    definitions = load_schema_from_path(Path(__file__).parent / "schema")
    return make_executable_schema(definitions, *(one for room in _ROOMS for one in room.BINDABLES))
