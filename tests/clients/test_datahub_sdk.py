"""What programs do with DataHub's Python SDK: emit, read typed aspects, list, delete; and what they are told."""

import pytest

from catalog.protocols.datahub_rest import pegasus_names
from tests.clients.installations import PROJECT

GRAPH = """
import json, os
from datahub.emitter.mcp import MetadataChangeProposalWrapper as Change
from datahub.ingestion.graph.client import DataHubGraph, DatahubClientConfig
from datahub.metadata.schema_classes import *
server = os.environ["DATAHUB_GMS_URL"]
graph = DataHubGraph(DatahubClientConfig(server=server, token=os.environ["DATAHUB_GMS_TOKEN"], retry_max_times=1))
"""


@pytest.fixture
def program(datahub, site, tmp_path):
    """Run a program that has a graph, and return the JSON it prints last."""
    return lambda text: datahub.program(GRAPH + text, site=site, home=tmp_path)


def test_the_table_of_names_is_that_of_the_package(datahub, site, tmp_path):
    theirs = datahub.program(
        """
import json
from datahub.metadata.schema_classes import ASPECT_NAME_MAP
found = {name: cls.RECORD_SCHEMA.fullname for name, cls in ASPECT_NAME_MAP.items()}
print(json.dumps({name: full.replace(".pegasus2avro", "") for name, full in found.items()}))
""",
        site=site,
        home=tmp_path,
    )
    assert {aspect: pegasus_names.full_name(aspect) for aspect in theirs} == theirs


def test_aspects_of_every_kind_come_back_typed(program):
    found = program(
        """
table = "urn:li:dataset:(urn:li:dataPlatform:hive,sdk.typed,PROD)"
def stamp(): return AuditStampClass(time=1, actor="urn:li:corpuser:datahub")
told = {
    table: [
        DatasetPropertiesClass(name="typed", customProperties={"a": "b"}),
        StatusClass(removed=False),
        SubTypesClass(typeNames=["Table"]),
        OwnershipClass(owners=[OwnerClass(owner="urn:li:corpuser:jo", type="DATAOWNER")], lastModified=stamp()),
        GlobalTagsClass(tags=[TagAssociationClass(tag="urn:li:tag:pii")]),
        GlossaryTermsClass(terms=[GlossaryTermAssociationClass(urn="urn:li:glossaryTerm:a.b")], auditStamp=stamp()),
        DomainsClass(domains=["urn:li:domain:sales"]),
        ContainerClass(container="urn:li:container:c"),
        DataPlatformInstanceClass(platform="urn:li:dataPlatform:hive"),
        BrowsePathsV2Class(path=[BrowsePathEntryClass(id="x")]),
        UpstreamLineageClass(upstreams=[UpstreamClass(dataset=table.replace("typed", "up"), type="TRANSFORMED")]),
        SchemaMetadataClass(
            schemaName="s", platform="urn:li:dataPlatform:hive", version=0, hash="",
            platformSchema=OtherSchemaClass(rawSchema=""),
            fields=[SchemaFieldClass(fieldPath="a.b", nativeDataType="int",
                    type=SchemaFieldDataTypeClass(type=NumberTypeClass()))]),
        AccessClass(roles=[RoleAssociationClass(urn="urn:li:role:r")]),
        DeprecationClass(deprecated=True, note="old", actor="urn:li:corpuser:jo"),
    ],
    "urn:li:tag:pii": [TagPropertiesClass(name="PII")],
    "urn:li:domain:sales": [DomainPropertiesClass(name="Sales")],
    "urn:li:container:c": [ContainerPropertiesClass(name="C")],
    "urn:li:glossaryTerm:a.b": [GlossaryTermInfoClass(definition="d", termSource="INTERNAL", name="B")],
    "urn:li:corpGroup:sdk": [CorpGroupInfoClass(admins=[], members=[], groups=[], displayName="SDK")],
    "urn:li:corpuser:sdk": [
        CorpUserInfoClass(active=True, displayName="S", email="s@example.com"),
        CorpUserStatusClass(status="ACTIVE", lastModified=stamp()),
        GroupMembershipClass(groups=["urn:li:corpGroup:sdk"]),
        RoleMembershipClass(roles=["urn:li:dataHubRole:Reader"]),
    ],
    "urn:li:dataHubPolicy:sdk": [DataHubPolicyInfoClass(
        displayName="SDK", description="", type="METADATA", state="ACTIVE", privileges=["EDIT_ENTITY_TAGS"],
        actors=DataHubActorFilterClass(users=["urn:li:corpuser:sdk"]), lastUpdatedTimestamp=5,
        resources=DataHubResourceFilterClass(filter=PolicyMatchFilterClass(criteria=[
            PolicyMatchCriterionClass(field="TYPE", values=["dataset"], condition="EQUALS")])))],
}
lost = []
for urn, aspects in told.items():
    for aspect in aspects:
        graph.emit(Change(entityUrn=urn, aspect=aspect))
        read = graph.get_aspect(urn, type(aspect))
        if read is None or read.to_obj() != aspect.to_obj():
            lost.append([urn, type(aspect).__name__, aspect.to_obj(), read and read.to_obj()])
    if not graph.exists(urn):
        lost.append([urn, "exists"])
print(json.dumps(lost))
"""
    )
    assert found == []


def test_batches(program):
    found = program(
        """
urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,batch.{n},PROD)" for n in range(450)]
graph.emit_mcps([Change(entityUrn=urn, aspect=DatasetPropertiesClass(name=urn)) for urn in urns])
listed = graph.list_all_entity_urns("dataset", 0, 10000)
print(json.dumps([set(urns) <= set(listed), graph.get_aspect(urns[449], DatasetPropertiesClass).name == urns[449]]))
"""
    )
    assert found == [True, True]


@pytest.mark.parametrize("name", ["jos\u00e9", "a/b//c", "100% %41+x", "back\\\\slash", "quote\"'"])
def test_urns_of_every_kind(program, name):
    found = program(
        f"name = {name!r}"
        """
tag = f"urn:li:tag:{name}"
table = f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
graph.emit(Change(entityUrn=tag, aspect=TagPropertiesClass(name=name)))
graph.emit_mcps([Change(entityUrn=table, aspect=DatasetPropertiesClass(name=name))])
raw = [graph.get_entity_raw(urn)["urn"] == urn for urn in (tag, table)]
read = [graph.get_aspect(tag, TagPropertiesClass).name, graph.get_aspect(table, DatasetPropertiesClass).name]
graph.delete_entity(tag, hard=True)
print(json.dumps([raw, read, graph.exists(tag), graph.exists(table)]))
"""
    )
    assert found == [[True, True], [name, name], False, True]


def test_deletes(program):
    found = program(
        """
role, table = "urn:li:role:sdk-gone", "urn:li:dataset:(urn:li:dataPlatform:hive,sdk.deleted,PROD)"
graph.emit(Change(entityUrn=role, aspect=RolePropertiesClass(name="Gone", type="READ")))
graph.emit(Change(entityUrn=table, aspect=AccessClass(roles=[RoleAssociationClass(urn=role)])))
dry = graph.delete_references_to_urn(role, dry_run=True)[0]
graph.delete_references_to_urn(role)
after = graph.delete_references_to_urn(role, dry_run=True)[0]
graph.soft_delete_entity(role)
soft = [graph.exists(role), graph.get_aspect(role, StatusClass).removed]
hard = graph.hard_delete_entity(role)
print(json.dumps([dry, after, soft, hard, graph.exists(role), graph.get_aspect(table, AccessClass).to_obj()]))
"""
    )
    assert found == [1, 0, [True, True], [2, 0], False, {"roles": []}]


def test_an_absent_entity_is_absent(program):
    found = program(
        """
urn = "urn:li:role:never"
aspects = list(graph.get_entity_raw(urn)["aspects"])
print(json.dumps([graph.exists(urn), graph.get_aspect(urn, RolePropertiesClass), aspects]))
"""
    )
    assert found == [False, None, ["roleKey"]]


REFUSED = """
from datahub.configuration.common import OperationalError
try:
    graph.emit(Change(entityUrn="urn:li:tag:refused", aspect=TagPropertiesClass(name="x")))
except OperationalError as error:
    print(json.dumps([error.info["status"], str(error), error.info["message"]]))
"""


def test_a_refusal_is_told_in_its_own_words(datahub, site, tmp_path):
    site.manage("shell", "-c", MAKE_STRANGER)
    token = site.token_for("urn:li:corpuser:stranger")
    found = datahub.program(
        GRAPH.replace('os.environ["DATAHUB_GMS_TOKEN"]', repr(token)) + REFUSED, site=site, home=tmp_path
    )
    assert found[0] == 403
    assert "CREATE_ENTITY" in found[2]
    wrong = datahub.program(
        GRAPH.replace('os.environ["DATAHUB_GMS_TOKEN"]', "'azs_x'") + REFUSED, site=site, home=tmp_path
    )
    assert wrong[0] == 401


MAKE_STRANGER = """
from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
if not User.objects.filter(username="stranger").exists():
    users.create(username="stranger", by=authorizer.SYSTEM, channel="test")
"""


def test_bad_input_is_refused_at_once_and_not_repeated(program):
    found = program(
        """
import time
from datahub.configuration.common import OperationalError
begin = time.monotonic()
try:
    graph.emit_mcps([
        Change(entityUrn="urn:li:tag:good", aspect=TagPropertiesClass(name="x")),
        Change(entityUrn="urn:li:dataset:(bad", entityType="dataset", aspect=StatusClass(removed=False)),
    ])
except OperationalError as error:
    is_quick = time.monotonic() - begin < 10
    print(json.dumps([error.info["status"], error.info["message"], is_quick, graph.exists("urn:li:tag:good")]))
"""
    )
    assert found[0] == 400
    assert "/proposals/1/entityUrn" in found[1]
    assert found[2:] == [True, False]


def test_the_client_of_newer_programs_upserts(program):
    found = program(
        """
from datahub.sdk import DataHubClient, Dataset
client = DataHubClient(graph=graph)
table = Dataset(platform="hive", name="sdk.entities", env="PROD", description="d", tags=["urn:li:tag:pii"])
client.entities.upsert(table)
read = client.entities.get(table.urn)
print(json.dumps([str(read.urn), read.description, [str(tag.tag) for tag in read.tags]]))
"""
    )
    assert found == ["urn:li:dataset:(urn:li:dataPlatform:hive,sdk.entities,PROD)", "d", ["urn:li:tag:pii"]]


def test_the_example_of_the_tour(datahub, site, tmp_path):
    done = datahub.run(str(PROJECT / "docs/examples/load_dataset.py"), site=site, home=tmp_path)
    assert (done.returncode, done.stdout.split()[0]) == (0, "Wrote"), done.stderr


def test_a_policy_sent_again_keeps_what_the_client_does_not_know(program):
    """The classes of the SDK have no effect and no exclusions: a deny that is sent again stays one."""
    found = program(
        """
urn = "urn:li:dataHubPolicy:sdk-deny"
denying = {
    "displayName": "No tags", "description": "", "type": "METADATA", "state": "ACTIVE", "effect": "DENY",
    "privileges": ["EDIT_ENTITY_TAGS"],
    "actors": {"users": ["urn:li:corpuser:denied"], "excludedUsers": ["urn:li:corpuser:sdk"]},
}
graph.emit_mcp(Change(entityUrn=urn, aspect=DataHubPolicyInfoClass(
    displayName="Before", description="", type="METADATA", state="ACTIVE", privileges=["EDIT_ENTITY_TAGS"],
    actors=DataHubActorFilterClass(users=["urn:li:corpuser:denied"]))))
url, headers = f"{server}/openapi/v3/entity/datahubpolicy?async=false", {"content-type": "application/json"}
body = json.dumps([{"urn": urn, "dataHubPolicyInfo": {"value": denying}}])
graph._session.post(url, data=body, headers=headers).raise_for_status()
known = graph.get_aspect(urn, DataHubPolicyInfoClass)
known.displayName = "No tags at all"
graph.emit_mcp(Change(entityUrn=urn, aspect=known))
graph.emit_mcps([Change(entityUrn=urn, aspect=known)])
print(json.dumps(graph.get_entity_raw(urn)["aspects"]["dataHubPolicyInfo"]["value"]))
"""
    )
    assert (found["displayName"], found["effect"], found["state"]) == ("No tags at all", "DENY", "ACTIVE")
    assert found["actors"]["users"] == ["urn:li:corpuser:denied"]
    assert found["actors"]["excludedUsers"] == ["urn:li:corpuser:sdk"]
