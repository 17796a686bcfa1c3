"""What DataHub's SDK asks over GraphQL: scrolls with its own filters, people by address, policies by hand."""

import json

import pytest

from tests.clients.test_datahub_sdk import GRAPH


@pytest.fixture
def program(datahub, site, tmp_path):
    """Run a program that has a graph, and return the JSON it prints last."""
    return lambda text: datahub.program(GRAPH + text, site=site, home=tmp_path)


def test_urns_by_every_filter_of_the_sdk(program):
    found = program(
        """
def table(name, platform="hive", env="PROD"): return f"urn:li:dataset:(urn:li:dataPlatform:{platform},gql.{name},{env})"
for urn in (table("a"), table("b"), table("c", "kafka"), table("d", env="DEV")):
    graph.emit(Change(entityUrn=urn, aspect=DatasetPropertiesClass(name=urn.split(".")[1].split(",")[0])))
graph.emit(Change(entityUrn=table("a"), aspect=GlobalTagsClass(tags=[TagAssociationClass(tag="urn:li:tag:gql")])))
graph.emit(Change(entityUrn=table("b"), aspect=ContainerClass(container="urn:li:container:gql")))
graph.soft_delete_entity(table("d", env="DEV"))
def urns(**more): return sorted(graph.get_urns_by_filter(entity_types=["dataset"], query="gql", **more))
from datahub.ingestion.graph.filters import RemovedStatusFilter as Removed
print(json.dumps({
    "all": urns(),
    "paged": urns(batch_size=1),
    "platform": urns(platform="kafka"),
    "env": urns(env="PROD"),
    "container": urns(container="urn:li:container:gql"),
    "removed": urns(status=Removed.ONLY_SOFT_DELETED),
    "tag": urns(extraFilters=[{"field": "tags", "values": ["urn:li:tag:gql"], "condition": "EQUAL"}]),
    "results": [one["entity"]["urn"] for one in graph.get_results_by_filter(entity_types=["dataset"], query="gql")],
    "roles": sorted(graph.get_urns_by_filter(entity_types=["DATAHUB_ROLE"])),
    "policies": sorted(graph.get_urns_by_filter(entity_types=["dataHubPolicy"]))[:1],
}))
"""
    )

    def table(name, platform="hive", env="PROD"):
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},gql.{name},{env})"

    whole = sorted([table("a"), table("b"), table("c", "kafka")])
    assert found["all"] == found["paged"] == found["env"] == sorted(found["results"]) == whole
    assert found["platform"] == [table("c", "kafka")]
    assert found["container"] == [table("b")]
    assert found["removed"] == [table("d", env="DEV")]
    assert found["tag"] == [table("a")]
    assert "urn:li:dataHubRole:Admin" in found["roles"]
    assert found["policies"]


def test_people_are_found_and_policies_are_made(program):
    found = program(
        """
from datahub.sdk import DataHubClient
user = "urn:li:corpuser:gql"
graph.emit(Change(entityUrn=user, aspect=CorpUserInfoClass(active=True, displayName="Gql", email="gql@example.com")))
client = DataHubClient(graph=graph)
me = graph.execute_graphql("query me { me { corpUser { urn } } }", operation_name="me")
made = graph.execute_graphql(
    "mutation createPolicy($input: PolicyUpdateInput!) { createPolicy(input: $input) }",
    variables={"input": {
        "type": "METADATA", "name": "By GraphQL", "state": "ACTIVE", "description": "",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [user], "resourceOwners": False, "allUsers": False, "allGroups": False},
    }})["createPolicy"]
info = graph.get_aspect(made, DataHubPolicyInfoClass)
gone = graph.execute_graphql("mutation d($urn: String!) { deletePolicy(urn: $urn) }", variables={"urn": made})
try:
    graph.execute_graphql("{ entity(urn: \\"urn:li:tag:none\\") { urn } }")
except Exception as error:
    refused = str(error)
print(json.dumps({
    "me": me["me"]["corpUser"]["urn"],
    "user": str(client.resolve.user(email="gql@example.com")),
    "named": str(client.resolve.user(name="Gql")),
    "actors": info.actors.users,
    "gone": gone["deletePolicy"] == made and not graph.exists(made),
    "refused": refused,
}))
"""
    )
    assert found["me"] == "urn:li:corpuser:datahub"
    assert found["user"] == found["named"] == "urn:li:corpuser:gql"
    assert found["actors"] == ["urn:li:corpuser:gql"]
    assert found["gone"]
    assert "There is no entity urn:li:tag:none." in found["refused"]


def test_tags_are_made_and_searched_for(datahub, program, cli):
    if datahub.version.startswith("1.3."):
        pytest.skip("This release has no command to search.")
    made = program(
        """
tag = graph.create_tag("replayed")
table = "urn:li:dataset:(urn:li:dataPlatform:hive,replayed,PROD)"
graph.emit(Change(entityUrn=table, aspect=DatasetPropertiesClass(name="replayed table")))
graph.emit(Change(entityUrn=table, aspect=GlobalTagsClass(tags=[TagAssociationClass(tag=tag)])))
print(json.dumps({"tag": tag, "removed": graph.remove_tag(tag, table),
                  "left": [one.tag for one in graph.get_aspect(table, GlobalTagsClass).tags]}))
"""
    )
    assert made == {"tag": "urn:li:tag:replayed", "removed": True, "left": []}
    found = json.loads(cli("search", "replayed", "--format", "json"))
    urns = {one["entity"]["urn"] for one in found["searchResults"]}
    assert urns == {"urn:li:tag:replayed", "urn:li:dataset:(urn:li:dataPlatform:hive,replayed,PROD)"}
    assert {one["field"] for one in found["facets"]} >= {"_entityType", "platform"}
