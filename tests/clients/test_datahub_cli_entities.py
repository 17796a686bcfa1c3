"""What DataHub's SDK and CLI do over OpenAPI, with patches, relationships, snapshots and deletions by query."""

import json

import pytest

from tests.clients.test_datahub_sdk import GRAPH

#: A graph that says it is an SDK: such a client writes by OpenAPI where the server is new enough.
SDK = GRAPH.replace(
    "retry_max_times=1", "retry_max_times=1, client_mode=ClientMode.SDK, datahub_component='tests'"
).replace(
    "from datahub.metadata.schema_classes import *",
    "from datahub.metadata.schema_classes import *\n"
    "from datahub.ingestion.graph.config import ClientMode\n"
    "from datahub.emitter.rest_emitter import EmitMode",
)
# Which calls it takes is settled once it has asked the server what it is.
SDK += "graph.test_connection()\n"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"


@pytest.fixture
def program(datahub, site, tmp_path):
    """Run a program that has a graph in the SDK's mode, and return the JSON it prints last."""
    return lambda text: datahub.program(SDK + text, site=site, home=tmp_path)


def test_the_sdk_writes_by_openapi_and_waits_for_its_traces(program):
    found = program(
        """
urn = "urn:li:dataset:(urn:li:dataPlatform:hive,openapi.written,PROD)"
modes = [EmitMode.SYNC_PRIMARY, EmitMode.ASYNC, EmitMode.ASYNC_WAIT, EmitMode.SYNC_WAIT]
read = []
for mode in modes:
    graph.emit_mcp(Change(entityUrn=urn, aspect=DatasetPropertiesClass(name=str(mode))), emit_mode=mode)
    read.append(graph.get_aspect(urn, DatasetPropertiesClass).name == str(mode))
tags = [f"urn:li:tag:openapi{n}" for n in range(450)]
graph.emit_mcps(
    [Change(entityUrn=tag, aspect=TagPropertiesClass(name=tag)) for tag in tags], emit_mode=EmitMode.ASYNC_WAIT
)
read.append(graph.get_aspect(tags[-1], TagPropertiesClass).name == tags[-1])
several = graph.get_entities("tag", tags[:3] + ["urn:li:tag:never"], ["tagProperties"], with_system_metadata=True)
read.append(sorted(several) == tags[:3] and several[tags[0]]["tagProperties"][1] is not None)
if hasattr(graph, "scroll_entities"):
    seen, place = [], None
    while place is not None or not seen:
        page = graph.scroll_entities(entity_names=["tag"], aspects=["tagProperties"], count=200, scroll_id=place)
        seen, place = seen + list(page.entities), page.scroll_id
    read.append(set(tags) <= set(seen) and len(seen) == len(set(seen)) == page.total_count)
else:
    read.append(True)
print(json.dumps([graph._openapi_ingestion, read]))
"""
    )
    assert found == [True, [True] * 7]


PATCHES = """
from datahub.specific.dataset import DatasetPatchBuilder
from datahub.specific.datajob import DataJobPatchBuilder
PROPERTY = "urn:li:structuredProperty:io.x.y"
def owner(name, type="DATAOWNER"): return OwnerClass(owner=f"urn:li:corpuser:{name}", type=type)
def tag(name): return TagAssociationClass(tag=f"urn:li:tag:{name}")
def term(name): return GlossaryTermAssociationClass(urn=f"urn:li:glossaryTerm:{name}")
def edge(urn): return EdgeClass(destinationUrn=urn)
def column(name): return f"urn:li:schemaField:({up},{name})"
def fine(name): return FineGrainedLineageClass(
    upstreamType="FIELD_SET", downstreamType="FIELD", upstreams=[column(name)], downstreams=[column("down")]
)
def emit(builder):
    for one in builder.build():
        graph.emit(one)
urn = "urn:li:dataset:(urn:li:dataPlatform:hive,%s,PROD)"
up = "urn:li:dataset:(urn:li:dataPlatform:hive,a/b/up,PROD)"
for _ in range(2):
    first = DatasetPatchBuilder(urn).add_owner(owner("jo")).add_owner(owner("al")).add_tag(tag("a")).add_tag(tag("b"))
    first = first.add_term(term("x.y")).add_term(term("z"))
    first = first.add_custom_property("p/q", "1").add_custom_property("r", "2")
    first = first.set_description("Described").set_display_name("Shown").add_structured_property(PROPERTY, "v")
    first = first.add_upstream_lineage(UpstreamClass(dataset=up, type="TRANSFORMED"))
    first = first.add_fine_grained_lineage(fine("a")).add_fine_grained_lineage(fine("b"))
    first.for_field("col/umn").add_tag(tag("f")).add_term(term("g"))
    first.for_field("other").add_tag(tag("h"))
    emit(first)
emit(DatasetPatchBuilder(urn).add_owner(owner("al", "PRODUCER")))
second = DatasetPatchBuilder(urn).remove_owner("urn:li:corpuser:al").remove_tag("urn:li:tag:a")
second = second.remove_term("urn:li:glossaryTerm:z").remove_custom_property("p/q").remove_tag("urn:li:tag:never")
second = second.remove_fine_grained_lineage(fine("a"))
second.for_field("other").remove_tag("urn:li:tag:h")
for _ in range(2):
    emit(second)
job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),%s)"
emit(DataJobPatchBuilder(job).add_input_dataset(edge(urn)).add_output_dataset(edge(up)).add_input_dataset(edge(up)))
emit(DataJobPatchBuilder(job).remove_input_dataset(up))
read = lambda urn, kind: graph.get_aspect(urn, kind)
fields = read(urn, EditableSchemaMetadataClass).editableSchemaFieldInfo
lineage = read(job, DataJobInputOutputClass)
print(json.dumps({
    "owners": [one.owner for one in read(urn, OwnershipClass).owners],
    "tags": [one.tag for one in read(urn, GlobalTagsClass).tags],
    "terms": [one.urn for one in read(urn, GlossaryTermsClass).terms],
    "custom": read(urn, DatasetPropertiesClass).customProperties,
    "described": [read(urn, DatasetPropertiesClass).description, read(urn, DatasetPropertiesClass).name],
    "structured": [one.propertyUrn for one in read(urn, StructuredPropertiesClass).properties],
    "upstreams": [one.dataset for one in read(urn, UpstreamLineageClass).upstreams],
    "fine": [[one.upstreams, one.downstreams] for one in read(urn, UpstreamLineageClass).fineGrainedLineages],
    "fields": [[one.fieldPath, [t.tag for t in one.globalTags.tags]] for one in fields],
    "inputs": [one.destinationUrn for one in lineage.inputDatasetEdges],
    "outputs": [one.destinationUrn for one in lineage.outputDatasetEdges],
}))
"""


@pytest.mark.parametrize("mode", ["sdk", "restli"])
def test_the_patch_builders(datahub, site, tmp_path, mode):
    name = f"patched.{mode}.{datahub.version}"
    head = SDK if mode == "sdk" else GRAPH
    found = datahub.program(head + PATCHES % (name, name), site=site, home=tmp_path)
    urn, up = TABLE.format(name), TABLE.format("a/b/up")
    assert found == {
        "owners": ["urn:li:corpuser:jo"],
        "tags": ["urn:li:tag:b"],
        "terms": ["urn:li:glossaryTerm:x.y"],
        "custom": {"r": "2"},
        "described": ["Described", "Shown"],
        "structured": ["urn:li:structuredProperty:io.x.y"],
        "upstreams": [up],
        "fine": [[[f"urn:li:schemaField:({up},b)"], [f"urn:li:schemaField:({up},down)"]]],
        "fields": [["col/umn", ["urn:li:tag:f"]], ["other", []]],
        "inputs": [urn],
        "outputs": [up],
    }


def test_related_entities(program):
    found = program(
        """
from datahub.ingestion.graph.client import DataHubGraph
group, role, external = "urn:li:corpGroup:related", "urn:li:dataHubRole:Reader", "urn:li:role:related"
users = [f"urn:li:corpuser:related{n}" for n in range(3)]
for user in users:
    graph.emit(Change(entityUrn=user, aspect=CorpUserInfoClass(active=True)))
    graph.emit(Change(entityUrn=user, aspect=GroupMembershipClass(groups=[group])))
graph.emit(Change(entityUrn=group, aspect=RoleMembershipClass(roles=[role])))
graph.emit(Change(entityUrn=external, aspect=ActorsClass(users=[RoleUserClass(user=users[0])])))
into, out = DataHubGraph.RelationshipDirection.INCOMING, DataHubGraph.RelationshipDirection.OUTGOING
def related(*asked): return [[one.relationship_type, one.urn] for one in graph.get_related_entities(*asked)]
print(json.dumps([
    related(group, ["IsMemberOfGroup", "IsMemberOfNativeGroup"], into),
    related(group, ["IsMemberOfRole"], out),
    related(users[0], ["Has"], into),
    related(users[0], ["OwnedBy"], into),
]))
"""
    )
    users = [f"urn:li:corpuser:related{n}" for n in range(3)]
    assert found == [
        [["IsMemberOfGroup", user] for user in users],
        [["IsMemberOfRole", "urn:li:dataHubRole:Reader"]],
        [["Has", "urn:li:role:related"]],
        [],
    ]


def test_entities_are_upserted_updated_and_deleted(program):
    found = program(
        """
from datahub.sdk import DataHubClient, Dataset
client = DataHubClient(graph=graph)
name = "sdk.lifecycle"
client.entities.upsert(Dataset(platform="hive", name=name, env="PROD", description="d", tags=["urn:li:tag:pii"]))
urn = str(Dataset(platform="hive", name=name, env="PROD").urn)
table = client.entities.get(urn)
table.add_owner("urn:li:corpuser:jo")
table.set_description("e")
client.entities.update(table)
again = client.entities.get(urn)
client.entities.delete(urn)
removed = graph.get_aspect(urn, StatusClass).removed
client.entities.upsert(again)
client.entities.delete(urn, hard=True) if "hard" in client.entities.delete.__code__.co_varnames else None
print(json.dumps([again.description, [str(one.owner) for one in again.owners], removed]))
"""
    )
    assert found == ["e", ["urn:li:corpuser:jo"], True]


def test_a_snapshot_as_older_programs_emit_it(program):
    found = program(
        """
urn = "urn:li:dataset:(urn:li:dataPlatform:hive,snapshot,PROD)"
table = DatasetSnapshotClass(urn=urn, aspects=[DatasetPropertiesClass(name="s"), StatusClass(removed=False)])
graph.emit(MetadataChangeEventClass(proposedSnapshot=table))
user = CorpUserSnapshotClass(urn="urn:li:corpuser:snap", aspects=[CorpUserInfoClass(active=True, displayName="Snap")])
graph.emit(MetadataChangeEventClass(proposedSnapshot=user))
count = graph.get_aspect_counts("datasetProperties", "urn:li:dataset:(urn:li:dataPlatform:hive,snapshot%")
print(json.dumps([
    graph.get_aspect(urn, DatasetPropertiesClass).name,
    graph.get_aspect("urn:li:corpuser:snap", CorpUserInfoClass).displayName,
    count,
    graph.get_timeseries_values(urn, DatasetProfileClass, {"or": []}),
]))
"""
    )
    assert found == ["s", "Snap", 1, []]


# -- the command line -------------------------------------------------------------------------------------------------


def proposals_file(tmp_path, urns):
    told = [
        {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"json": value},
        }
        for urn in urns
        for aspect, value in {"datasetProperties": {"name": urn}, "status": {"removed": False}}.items()
    ]
    (tmp_path / "told.json").write_text(json.dumps(told))
    return str(tmp_path / "told.json")


@pytest.mark.parametrize("endpoint", ["RESTLI", "OPENAPI"])
def test_an_ingest_gives_owners_by_pattern(cli, site, datahub, tmp_path, endpoint):
    urns = [TABLE.format(f"{endpoint}.{datahub.version}.{part}.{n}") for part in ("sales", "other") for n in range(60)]
    rules = {".*sales.*": ["urn:li:corpuser:jo", "urn:li:corpGroup:crew"], ".*": ["urn:li:corpuser:al"]}
    recipe = {
        "source": {"type": "file", "config": {"path": proposals_file(tmp_path, urns)}},
        "transformers": [
            {
                "type": "pattern_add_dataset_ownership",
                "config": {"owner_pattern": {"rules": rules}, "ownership_type": "DATAOWNER"},
            }
        ],
        "sink": {
            "type": "datahub-rest",
            "config": {"server": site.address, "token": site.token, "endpoint": endpoint},
        },
    }
    (tmp_path / "recipe.yml").write_text(json.dumps(recipe))
    assert "Pipeline finished successfully" in cli("ingest", "-c", str(tmp_path / "recipe.yml"))
    text = f"""
urns = {urns!r}
print(json.dumps([[one.owner for one in graph.get_aspect(urn, OwnershipClass).owners] for urn in (urns[0], urns[-1])]))
"""
    sales, other = datahub.program(GRAPH + text, site=site, home=tmp_path)
    assert {"urn:li:corpuser:jo", "urn:li:corpGroup:crew"} <= set(sales)
    assert other == ["urn:li:corpuser:al"]


def test_a_delete_by_query(cli, datahub, tmp_path):
    prefix = f"urn:li:role:by-query-{datahub.version}"
    (tmp_path / "role.json").write_text(json.dumps({"name": f"Doomed {datahub.version}", "type": "READ"}))
    for n in range(2):
        cli("put", "--urn", f"{prefix}-{n}", "-a", "roleProperties", "-d", str(tmp_path / "role.json"))
    cli("delete", "--entity-type", "role", "--query", f"Doomed {datahub.version}", "--soft", "--force")
    for n in range(2):
        assert json.loads(cli("get", "--urn", f"{prefix}-{n}", "-a", "status"))["status"]["removed"] is True
        cli("delete", "--urn", f"{prefix}-{n}", "--hard", "--force")
        assert "false" in cli("exists", "--urn", f"{prefix}-{n}").lower()


def test_runs_are_listed_as_none_and_not_rolled_back(cli, datahub, site, tmp_path):
    assert "runId" in cli("ingest", "list-runs")
    done = datahub.run("-m", "datahub", "ingest", "rollback", "--run-id", "r", "-f", site=site, home=tmp_path)
    assert "delete what it wrote by URN" in done.stdout + done.stderr
