"""Queries that are saved with datasets: their fields and mutations."""

from collections.abc import Mapping, Sequence
from typing import Any

from ariadne import MutationType, ObjectType

from catalog import urns
from catalog.entities import saved_queries
from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import load_document
from catalog.protocols.datahub_graphql.entities import validate_entries, validate_urn
from catalog.protocols.datahub_graphql.nodes import Node

mutation = MutationType()
query_type, properties_type = ObjectType("QueryEntity"), ObjectType("QueryProperties")


@mutation.field("createQuery")
def create_query(_root: None, info: Info, *, input: Mapping[str, Any]) -> Node:
    """Save a query about datasets, and return it."""
    urn = saved_queries.create(
        properties=input["properties"], datasets=_parse_datasets(input["subjects"]), by=info.context.by, channel=CHANNEL
    )
    return nodes.build_one(urn, info)


@mutation.field("updateQuery")
def update_query(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Change a query where the input says something, and return it."""
    subjects = input.get("subjects")
    saved_queries.update(
        urn=validate_urn(urn, "query"),
        properties=input.get("properties") or {},
        datasets=None if subjects is None else _parse_datasets(subjects),
        by=info.context.by,
        channel=CHANNEL,
    )
    return nodes.build_one(urn, info)


@mutation.field("deleteQuery")
def delete_query(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a query."""
    deletes.delete(urn=validate_urn(urn, "query"), by=info.context.by, channel=CHANNEL)
    return True


@query_type.field("subjects")
def list_subjects(node: Node, info: Info) -> list[Mapping[str, Node]] | None:
    """Return the datasets of a query; columns are shown as their dataset."""
    document = load_document(node, info, "querySubjects")
    if document is None:
        return None
    subject_urns = [entry["entity"] for entry in document.get("subjects") or ()]
    dataset_urns = [dataset for urn in subject_urns for dataset in urns.field_dataset_urns(urn) or (urn,)]
    datasets = nodes.build_many(dict.fromkeys(urn for urn in dataset_urns if urns.entity_type(urn) == "dataset"), info)
    return [{"dataset": dataset} for dataset in datasets]


@properties_type.field("source")
def resolve_source(properties: Mapping[str, Any], info: Info) -> str | None:
    """Return the author of the query: a person, or the system."""
    return nodes.enum_value(properties.get("source"), "QuerySource", info.schema)


@properties_type.field("statement")
def resolve_statement(properties: Mapping[str, Any], info: Info) -> Mapping[str, Any] | None:
    """Return the text of the query and its language."""
    statement = properties.get("statement")
    if not isinstance(statement, Mapping) or not isinstance(statement.get("value"), str):
        return None
    return {
        "value": statement["value"],
        "language": nodes.enum_value(statement.get("language"), "QueryLanguage", info.schema),
    }


def _parse_datasets(subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    return [validate_urn(entry["datasetUrn"], "dataset") for entry in validate_entries(subjects, "/subjects")]


BINDABLES = (mutation, query_type, properties_type)
