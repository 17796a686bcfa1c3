"""The executable schema: the files of `schema/` with the resolvers of the modules."""

from functools import cache
from pathlib import Path

from ariadne import load_schema_from_path, make_executable_schema
from graphql import GraphQLSchema

from catalog.protocols.datahub_graphql import (
    access_tokens,
    annotations,
    attachments,
    contents,
    dataset_schemas,
    datasets_and_roles,
    empty_lists,
    entities,
    entity_privileges,
    external_roles,
    invitations,
    lineage,
    nodes,
    platforms,
    policies,
    policy_types,
    privileges,
    relationships,
    roles,
    saved_queries,
    scalars,
    search,
    service_accounts,
    user_group_fields,
    users_groups,
    vocabulary,
)

#: Modules with resolvers; each has BINDABLES.
_RESOLVER_MODULES = (
    scalars,
    nodes,
    entities,
    user_group_fields,
    policies,
    policy_types,
    privileges,
    users_groups,
    invitations,
    access_tokens,
    service_accounts,
    roles,
    datasets_and_roles,
    external_roles,
    platforms,
    annotations,
    dataset_schemas,
    empty_lists,
    entity_privileges,
    vocabulary,
    attachments,
    saved_queries,
    contents,
    search,
    relationships,
    lineage,
)


@cache
def build_schema() -> GraphQLSchema:
    """Return the executable schema, built once."""
    definitions = load_schema_from_path(Path(__file__).parent / "schema")
    return make_executable_schema(
        definitions, *(bindable for module in _RESOLVER_MODULES for bindable in module.BINDABLES)
    )
