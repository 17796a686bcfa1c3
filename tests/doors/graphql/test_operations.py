"""Every operation of DataHub's clients, with every field and argument that their documents select (clients.md 2).

What docs/clients.md calls *works* is executed here; what it calls *refused by design* is refused with the reason.
"""

from typing import Any

import operations
import pytest
from django.db import transaction

from catalog.protocols.datahub_graphql import refused_operations, schema_builder
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, calling, proposal
from tests.doors.graphql.conftest import asking

pytestmark = pytest.mark.django_db

ADA, CREW, ROBOT = "urn:li:corpuser:ada", "urn:li:corpGroup:crew", "urn:li:corpuser:service_robot"
READER, POLICY = "urn:li:dataHubRole:Reader", "urn:li:dataHubPolicy:replayed"
ROLE, TAG, SALES, TERM, NODE = (
    "urn:li:role:warehouse",
    "urn:li:tag:pii",
    "urn:li:domain:sales",
    "urn:li:glossaryTerm:revenue",
    "urn:li:glossaryNode:finance",
)
REPLAYED = "urn:li:dataset:(urn:li:dataPlatform:hive,replayed,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)"
OTHER_TERM, OWNERSHIP = "urn:li:glossaryTerm:profit", "urn:li:ownershipType:auditor"
PRODUCT, INSTANCE = "urn:li:dataProduct:orders", "urn:li:dataPlatformInstance:(urn:li:dataPlatform:iceberg,main)"
OWNER = {"ownerUrn": ADA, "ownerEntityType": "CORP_USER", "ownershipTypeUrn": OWNERSHIP}
RESOURCES = [{"resourceUrn": DATASET}, {"resourceUrn": TAG}]
POLICY_INPUT = {
    "type": "METADATA",
    "name": "Replayed",
    "state": "ACTIVE",
    "description": "",
    "privileges": ["VIEW_ENTITY_PAGE"],
    "actors": {"users": [ADA], "groups": [], "resourceOwners": True, "allUsers": False, "allGroups": False},
    "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"}]}},
}
PAGE = {"start": 0, "count": 10}
TOKEN = {"type": "PERSONAL", "actorUrn": ROOT, "duration": "ONE_HOUR", "name": "Replayed"}


@pytest.fixture
def world(installed):
    """People, groups, roles and entities of every type that the operations speak of."""
    users.create(username="ada", display_name="Ada", email="ada@a.example", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="crew", name="Crew", members=[ADA], by=authorizer.SYSTEM, channel=DOOR)
    owners = {"owners": [{"owner": ADA, "type": "TECHNICAL_OWNER"}, {"owner": CREW, "type": "NONE"}]}
    described = [
        (DATASET, "datasetProperties", {"name": "Orders", "customProperties": {"tier": "gold"}}),
        (DATASET, "globalTags", {"tags": [{"tag": TAG}]}),
        (DATASET, "glossaryTerms", {"terms": [{"urn": TERM}], "auditStamp": {"time": 1, "actor": ROOT}}),
        (DATASET, "ownership", owners),
        (DATASET, "domains", {"domains": [SALES]}),
        (DATASET, "access", {"roles": [{"urn": ROLE}]}),
        (DATASET, "upstreamLineage", {"upstreams": [{"dataset": REPLAYED, "type": "TRANSFORMED"}]}),
        (JOB, "dataJobInfo", {"name": "Load", "type": "COMMAND"}),
        (JOB, "dataJobInputOutput", {"inputDatasets": [], "outputDatasets": [REPLAYED]}),
        (TAG, "tagProperties", {"name": "PII", "colorHex": "#ff0000"}),
        (TAG, "ownership", owners),
        (SALES, "domainProperties", {"name": "Sales"}),
        (NODE, "glossaryNodeInfo", {"name": "Finance", "definition": "Money"}),
        (TERM, "glossaryTermInfo", {"name": "Revenue", "definition": "Income", "parentNode": NODE}),
        (OTHER_TERM, "glossaryTermInfo", {"name": "Profit", "definition": "", "termSource": "INTERNAL"}),
        (OWNERSHIP, "ownershipTypeInfo", {"name": "Auditor", "created": {"time": 1}, "lastModified": {"time": 1}}),
        (PRODUCT, "dataProductProperties", {"name": "Orders"}),
        (PRODUCT, "domains", {"domains": [SALES]}),
        (DATASET, "institutionalMemory", {"elements": [{"url": "https://w.example", "description": "Wiki"}]}),
        # The SDK writes the URN of what it takes a tag off into its document.
        (REPLAYED, "datasetProperties", {"name": "Replayed"}),
        (ROLE, "roleProperties", {"name": "Warehouse"}),
        (ROLE, "actors", {"users": [{"user": ADA}], "groups": [{"group": CREW}]}),
        (CREW, "ownership", owners),
        (ADA, "roleMembership", {"roles": [READER]}),
        (ROBOT, "corpUserInfo", {"active": True, "displayName": "Robot"}),
        (ROBOT, "subTypes", {"typeNames": ["SERVICE_ACCOUNT"]}),
        ("urn:li:dataPlatform:snowflake", "dataPlatformInfo", {"name": "snowflake", "displayName": "Snowflake"}),
    ]
    answer = calling(ROOT).write(*(proposal(*one) for one in described))
    assert answer.status_code == 200, answer.content
    return asking(ROOT)


#: Operation → the variables it is sent with, as its client fills them.
VARIABLES: dict[str, Any] = {
    "": {},
    "DescribeType": {},
    "MutationIntrospection": {},
    "QueryIntrospection": {},
    "acceptRole": lambda root: {"input": {"inviteToken": root.ask(INVITE)["createInviteToken"]["inviteToken"]}},
    "addGroupMembers": {"input": {"groupUrn": CREW, "userUrns": [ADA]}, "groupUrn": CREW, "userUrns": [ADA]},
    "batchAssignRole": {"input": {"roleUrn": READER, "actors": [ADA]}},
    "createAccessToken": {"input": TOKEN},
    "createGroup": {"input": {"id": "made", "name": "Made"}},
    "createInviteToken": {"input": {}},
    "createNativeUserResetToken": {"input": {"userUrn": ADA}},
    "createPolicy": {"input": POLICY_INPUT},
    "deletePolicy": {"urn": POLICY},
    "getAllGroupMembers": {"urn": CREW, **PAGE},
    "getDataProduct": {"urn": PRODUCT},
    "getDomain": {"urn": SALES},
    "getDomainChildrenCount": {"urn": SALES},
    "getEntities": {"urns": [DATASET, TAG, SALES, TERM, NODE, PRODUCT, ADA, CREW]},
    "getEntity": {"urn": DATASET},
    "getEntityCounts": {"input": {"types": ["DATASET", "CORP_USER"]}},
    "getExternalRole": {"urn": ROLE},
    "getGlossaryNode": {"urn": NODE},
    "getGlossaryTerm": {"urn": TERM},
    "getGrantedPrivileges": {
        "input": {"actorUrn": ADA, "resourceSpec": {"resourceType": "DATASET", "resourceUrn": DATASET}}
    },
    "getGroup": {"urn": CREW, "membersCount": 10},
    "getGroupMembers": {"urn": CREW, **PAGE},
    "getGroupMembersOlder": {"urn": CREW, **PAGE},
    "getIcebergWarehouses": PAGE,
    "getInviteToken": {"input": {}},
    "getMe": {},
    "getMeLater": {},
    "getNativeGroupMembers": {"urn": CREW, **PAGE},
    "getTag": {"urn": TAG},
    "getUser": {"urn": ADA, "groupsCount": 20},
    "getUserGroups": {"urn": ADA, **PAGE},
    "inputTypeFields": {"name": "SearchFlags"},
    "listAccessTokens": {"input": {**PAGE, "filters": [{"field": "ownerUrn", "values": [ROOT]}]}},
    "listDataAccessRoles": {"input": {"type": "ROLE", "query": "*", **PAGE}},
    "listGroups": {"input": PAGE},
    "listPolicies": {"input": {"start": 0, "count": 100}},
    "listRoles": {"input": {**PAGE, "query": ""}},
    "listServiceAccounts": {"input": PAGE},
    "listUsers": {"input": {**PAGE, "query": None}},
    "removeGroup": {"urn": CREW},
    "removeGroupMembers": {"input": {"groupUrn": CREW, "userUrns": [ADA]}, "groupUrn": CREW, "userUrns": [ADA]},
    "removeUser": {"urn": ADA},
    "revokeAccessToken": lambda root: {
        "tokenId": root.ask(MAKE_TOKEN, input=TOKEN)["createAccessToken"]["metadata"]["id"]
    },
    "scrollAcrossLineage": {
        "input": {
            "urn": DATASET,
            "direction": "UPSTREAM",
            "count": 500,
            "types": None,
            "orFilters": [{"and": [{"field": "degree", "condition": "EQUAL", "values": ["1", "2", "3+"]}]}],
        }
    },
    "scrollUrnsWithFilters": {
        "types": ["DATASET"],
        "query": "*",
        "orFilters": [{"and": [{"field": "platform", "values": ["urn:li:dataPlatform:snowflake"]}]}],
        "batchSize": 10,
        "scrollId": None,
        "skipCache": False,
        "sortInput": None,
        "includeSoftDeleted": None,
        "fetchExtraFields": ["name"],
    },
    "testSemanticSearch": {},
    "updateCorpGroupProperties": {"urn": CREW, "input": {"description": "d", "email": "", "slack": "#crew"}},
    "updateCorpUserProperties": {"urn": ADA, "input": {"title": "Clerk"}},
    "updateName": {"input": {"urn": CREW, "name": "Other"}},
    "updatePolicy": {"urn": POLICY, "input": POLICY_INPUT},
    "addLink": {"input": {"linkUrl": "https://w.example/2", "label": "Two", "resourceUrn": DATASET}},
    "addOwner": {"input": {"ownerUrn": ADA, "ownerEntityType": "CORP_USER", "resourceUrn": DATASET}},
    "addOwners": {"input": {"owners": [OWNER], "resourceUrn": DATASET}},
    "addRelatedTerms": {"input": {"urn": TERM, "termUrns": [OTHER_TERM], "relationshipType": "isA"}},
    "addTag": {"input": {"tagUrn": TAG, "resourceUrn": DATASET}},
    "addTags": {"input": {"tagUrns": [TAG], "resourceUrn": DATASET}},
    "addTerm": {"input": {"termUrn": TERM, "resourceUrn": DATASET}},
    "addTerms": {"input": {"termUrns": [TERM], "resourceUrn": DATASET}},
    "appConfig": {},
    "assertions": {"urn": DATASET, "filter": {"and": [{"field": "partition", "value": "p"}]}, "status": "COMPLETE"},
    "batchAddOwners": {"input": {"owners": [OWNER], "resources": RESOURCES}},
    "batchAddTags": {"input": {"tagUrns": [TAG], "resources": RESOURCES}},
    "batchAddTerms": {"input": {"termUrns": [TERM], "resources": RESOURCES}},
    "batchRemoveOwners": {"input": {"ownerUrns": [ADA], "resources": RESOURCES}},
    "batchRemoveTags": {"input": {"tagUrns": [TAG], "resources": RESOURCES}},
    "batchRemoveTerms": {"input": {"termUrns": [TERM], "resources": RESOURCES}},
    "batchSetDataProduct": {"input": {"dataProductUrn": PRODUCT, "resourceUrns": [DATASET]}},
    "batchSetDomain": {"input": {"domainUrn": SALES, "resources": RESOURCES}},
    "batchUpdateDeprecation": {"input": {"deprecated": True, "note": "Old", "resources": RESOURCES}},
    "batchUpdateSoftDeleted": {"input": {"urns": [DATASET], "deleted": True}},
    "createDataProduct": {"input": {"properties": {"name": "Made"}, "domainUrn": SALES, "id": "made"}},
    "createDomain": {"input": {"id": "made", "name": "Made", "description": "d", "parentDomain": SALES}},
    "createGlossaryNode": {"input": {"id": "made", "name": "Made", "parentNode": NODE}},
    "createGlossaryTerm": {"input": {"id": "made", "name": "Made", "description": "d", "parentNode": NODE}},
    "createOwnershipType": {"input": {"name": "Made", "description": "d"}},
    "createTag": {"input": {"id": "made", "name": "Made"}, "tag_detail": {"id": "made", "name": "Made"}},
    "deleteDataProduct": {"urn": PRODUCT},
    "deleteDomain": {"urn": SALES},
    "deleteGlossaryEntity": {"urn": TERM},
    "deleteOwnershipType": {"urn": OWNERSHIP, "deleteReferences": True},
    "deleteTag": {"urn": TAG},
    "getIcebergResources": {"platformInstanceUrn": INSTANCE, **PAGE},
    "getRootGlossaryNodes": {},
    "getRootGlossaryTerms": {},
    "getSemanticSearchConfig": {},
    "listDomains": {"input": PAGE},
    "listOwnershipTypes": {"input": {**PAGE, "query": "*"}},
    "moveDomain": {"input": {"resourceUrn": SALES, "parentDomain": None}},
    "operations": {"urn": DATASET, "limit": 5, "filter": {"and": []}},
    "ping": {},
    "removeLink": {"input": {"linkUrl": "https://w.example", "resourceUrn": DATASET}},
    "removeOwner": {"input": {"ownerUrn": ADA, "ownershipTypeUrn": OWNERSHIP, "resourceUrn": DATASET}},
    "removeRelatedTerms": {"input": {"urn": TERM, "termUrns": [OTHER_TERM], "relationshipType": "hasA"}},
    "removeTag": {"input": {"tagUrn": TAG, "resourceUrn": DATASET}},
    "removeTerm": {"input": {"termUrn": TERM, "resourceUrn": DATASET}},
    "search": {
        "query": "*",
        "types": None,
        "orFilters": None,
        "count": 10,
        "start": 0,
        "viewUrn": None,
        "sortInput": {"sortCriteria": [{"field": "name", "sortOrder": "ASCENDING"}]},
    },
    "searchAcrossEntities": {"input": {"types": ["TAG"], "query": "*", "start": 0, "count": 100}},
    "setDomain": {"entityUrn": DATASET, "domainUrn": SALES},
    "setTagColor": {"urn": TAG, "colorHex": "#00FF00"},
    "testKeywordSearch": {},
    "unsetDomain": {"entityUrn": DATASET},
    "updateDataProduct": {"urn": PRODUCT, "input": {"name": "Other"}},
    "updateDeprecation": {"input": {"urn": DATASET, "deprecated": True, "decommissionTime": 1, "note": "Old"}},
    "updateDescription": {"input": {"resourceUrn": SALES, "description": ""}},
    "updateLink": {
        "input": {
            "currentUrl": "https://w.example",
            "currentLabel": "Wiki",
            "linkUrl": "https://w.example/new",
            "label": "New",
            "resourceUrn": DATASET,
        }
    },
    "updateOwnershipType": {"urn": OWNERSHIP, "input": {"name": "Other", "description": ""}},
    "updateParentNode": {"input": {"resourceUrn": TERM, "parentNode": None}},
    "updateTag": {"urn": TAG, "input": {"urn": TAG, "name": "Other", "description": "d"}},
    "updateUserStatus": {"urn": ADA, "status": "SUSPENDED"},
}

#: A policy whose resources are of every type that an answer tells of, and of some that it only names.
SHOWN = "urn:li:dataHubPolicy:shown"
CHART, DASHBOARD = "urn:li:chart:(looker,c)", "urn:li:dashboard:(looker,d)"
FLOW = "urn:li:dataFlow:(airflow,f,PROD)"
OF_PLATFORM = "(urn:li:dataPlatform:hive,m,PROD)"
RESOURCES_SHOWN = [
    *(DATASET, TAG, SALES, TERM, NODE, PRODUCT, ROLE, ADA, CREW, INSTANCE, CHART, DASHBOARD, FLOW, OWNERSHIP),
    f"urn:li:dataJob:({FLOW},j)",
    "urn:li:container:box",
    f"urn:li:mlModel:{OF_PLATFORM}",
    f"urn:li:mlModelGroup:{OF_PLATFORM}",
    "urn:li:mlFeature:(m,f)",
    "urn:li:mlFeatureTable:(urn:li:dataPlatform:hive,m)",
    "urn:li:mlPrimaryKey:(m,k)",
    "urn:li:dataPlatform:snowflake",
    "urn:li:form:survey",
    f"urn:li:schemaField:({DATASET},id)",
    "urn:li:structuredProperty:tier",
]

INVITE = "mutation {createInviteToken(input: {}) {inviteToken}}"
MAKE_TOKEN = "mutation m($input: CreateAccessTokenInput!) {createAccessToken(input: $input) {metadata {id}}}"

CLIENTS = operations.load_clients()
EVERY = [(client, one) for client in CLIENTS for one in client["operations"]]
STATES = {id(one): operations.classify(one, client["fragments"])[0] for client, one in EVERY}


def test_what_works_is_answered_without_an_error(world):
    faults = {}
    for client, one in ((client, one) for client, one in EVERY if STATES[id(one)] == operations.WORKS):
        given = VARIABLES[one["name"]]
        try:
            with transaction.atomic():
                given = given(world) if callable(given) else given
                named = {name: value for name, value in given.items() if name in one["variables"]}
                answer = world.send(operations.build_document(one, client["fragments"]), named)
                found = answer.json()
                if answer.status_code != 200 or "errors" in found or None in found["data"].values():
                    faults[f"{one['read_from']} {one['name']}"] = found
                raise _Undone
        except _Undone:
            continue
    assert not faults


def test_what_is_refused_says_why(root):
    for client, one in ((client, one) for client, one in EVERY if STATES[id(one)] == operations.REFUSED):
        answer = root.send(operations.build_document(one, client["fragments"]), {})
        assert answer.status_code == 200
        for error in answer.json()["errors"]:
            assert error["extensions"] == {"code": 400, "type": "BAD_REQUEST", "classification": "ValidationError"}
            assert "is undefined" in error["message"]
            assert error["message"].endswith(tuple(set(refused_operations.REASONS.values())))


def test_nothing_is_both_served_and_refused():
    served = schema_builder.build_schema()
    for root in (served.query_type, served.mutation_type):
        assert root is not None
        assert not root.fields.keys() & refused_operations.REASONS.keys()


def test_the_page_says_what_is_served():
    assert operations.PAGE.read_text(encoding="utf-8") == operations.render_page()


def test_the_page_of_policies_is_told_what_resources_are(world):
    times = {"created": {"time": 1, "actor": ADA}, "lastModified": {"time": 2, "actor": ADA}}
    described = [
        (DATASET, "deprecation", {"deprecated": True, "note": "", "actor": ADA, "replacement": TAG}),
        (DATASET, "browsePathsV2", {"path": [{"id": "lake"}, {"id": SALES, "urn": SALES}]}),
        (CHART, "chartInfo", {"title": "C", "description": "", "lastModified": times, "type": "PIE", "access": "no"}),
        (DASHBOARD, "dashboardInfo", {"title": "D", "description": "", "lastModified": times, "access": "PRIVATE"}),
    ]
    answer = calling(ROOT).write(*(proposal(*one) for one in described))
    assert answer.status_code == 200, answer.content
    criteria = [{"field": "URN", "values": RESOURCES_SHOWN, "condition": "EQUALS"}]
    given = {**POLICY_INPUT, "resources": {"filter": {"criteria": criteria}}}
    update = "mutation m($urn: String!, $input: PolicyUpdateInput!) {updatePolicy(urn: $urn, input: $input)}"
    world.ask(update, urn=SHOWN, input=given)
    client, page = next((client, one) for client, one in EVERY if "searchResultFields" in client["fragments"])

    found = world.ask(operations.build_document(page, client["fragments"]), input={"start": 0, "count": 100})

    policy = next(one for one in found["listPolicies"]["policies"] if one["urn"] == SHOWN)
    values = policy["resources"]["filter"]["criteria"][0]["values"]
    assert [one["value"] for one in values] == [one["entity"]["urn"] for one in values] == RESOURCES_SHOWN
    of = {one["value"]: one["entity"] for one in values}
    assert of[DATASET]["properties"]["name"] == "Orders"
    assert of[DATASET]["deprecation"]["actorEntity"]["username"] == "ada"
    assert of[DATASET]["deprecation"]["replacement"]["properties"]["name"] == "PII"
    assert [(one["name"], one["entity"] and one["entity"]["urn"]) for one in of[DATASET]["browsePathV2"]["path"]] == [
        ("lake", None),
        (SALES, SALES),
    ]
    assert of[DATASET]["health"] is of[DATASET]["structuredProperties"] is of[DATASET]["upstream"] is None
    told = of[CHART]["properties"]
    assert (told["type"], told["access"], told["created"], told["lastModified"]) == (
        *("PIE", None),
        {"time": 1},
        {"time": 2},
    )
    assert of[DASHBOARD]["properties"]["access"] == "PRIVATE"
    assert of["urn:li:form:survey"]["type"] == "FORM"
    assert policy["actors"]["resolvedUsers"][0]["username"] == "ada"


class _Undone(Exception):
    """Takes an operation back, so that the next one finds the same world."""
