"""Entities over GraphQL: external roles (source 003), users and groups, relationships (clients.md 1.6, 2.3)."""

import json

import pytest

from policies.identity.services import groups, roles, users
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, calling, give, proposal
from tests.doors.graphql.conftest import close_the_reading_policies

pytestmark = pytest.mark.django_db

READER, WRITER = "urn:li:role:snowflake_reader_role", "urn:li:role:snowflake_writer_role"
ACCESS = """query($urn: String!) {dataset(urn: $urn) {urn type name platform {urn type} properties {name description}
    access {roles {associatedUrn role {id urn type isAssignedToMe
        properties {name description type requestUrl}
        actors {users {user {urn username}} groups {group {urn name}}}}}}}}"""


def write(*proposals):
    assert calling(ROOT).write(*proposals).status_code == 200


@pytest.fixture
def described(installed):
    """A dataset with two roles, one of them not described, and who holds the other."""
    users.create(username="ada", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="crew", name="Crew", members=["urn:li:corpuser:ada"], by=authorizer.SYSTEM, channel=DOOR)
    write(
        proposal(DATASET, "datasetProperties", {"name": "Orders", "description": "All of them"}),
        proposal(DATASET, "access", {"roles": [{"urn": READER}, {"urn": WRITER}]}),
        proposal(
            READER,
            "roleProperties",
            {"name": "Reader", "description": "Reads", "type": "READ", "requestUrl": "https://ask.example/reader"},
        ),
        proposal(
            READER,
            "actors",
            {"users": [{"user": "urn:li:corpuser:later"}], "groups": [{"group": "urn:li:corpGroup:crew"}]},
        ),
    )


def test_the_roles_of_a_dataset(root, described):
    assert root.ask(ACCESS, urn=DATASET)["dataset"] == {
        "urn": DATASET,
        "type": "DATASET",
        "name": "Orders",
        "platform": {"urn": "urn:li:dataPlatform:snowflake", "type": "DATA_PLATFORM"},
        "properties": {"name": "Orders", "description": "All of them"},
        "access": {
            "roles": [
                {
                    "associatedUrn": DATASET,
                    "role": {
                        "id": "snowflake_reader_role",
                        "urn": READER,
                        "type": "ROLE",
                        "isAssignedToMe": False,
                        "properties": {
                            "name": "Reader",
                            "description": "Reads",
                            "type": "READ",
                            "requestUrl": "https://ask.example/reader",
                        },
                        "actors": {
                            "users": [{"user": {"urn": "urn:li:corpuser:later", "username": "later"}}],
                            "groups": [{"group": {"urn": "urn:li:corpGroup:crew", "name": "crew"}}],
                        },
                    },
                },
                {
                    "associatedUrn": DATASET,
                    "role": {
                        "id": "snowflake_writer_role",
                        "urn": WRITER,
                        "type": "ROLE",
                        "isAssignedToMe": False,
                        "properties": {"name": WRITER, "description": None, "type": None, "requestUrl": None},
                        "actors": {"users": [], "groups": []},
                    },
                },
            ]
        },
    }


def test_a_role_that_is_mine_through_a_group(root, described, person):
    query = "query($urn: String!) {role(urn: $urn) {urn isAssignedToMe exists}}"
    jo = person("jo")
    assert jo.ask(query, urn=READER)["role"] == {"urn": READER, "isAssignedToMe": False, "exists": True}
    groups.add_members(urn="urn:li:corpGroup:crew", members=[jo.urn], by=authorizer.SYSTEM, channel=DOOR)
    assert jo.ask(query, urn=READER)["role"]["isAssignedToMe"] is True
    assert jo.refused(query, urn=WRITER)[:2] == (404, "NOT_FOUND")
    assert jo.refused(query, urn=DATASET)[:2] == (400, "BAD_REQUEST")


def test_users_and_groups(root, described):
    write(
        proposal("urn:li:corpuser:bo", "corpUserInfo", {"active": True, "displayName": "Bo", "email": "bo@b.example"}),
        proposal("urn:li:corpuser:bo", "corpUserEditableInfo", {"title": "Clerk", "teams": ["A"], "skills": []}),
        proposal(
            "urn:li:corpGroup:outer",
            "corpGroupInfo",
            {"displayName": "Outer", "admins": [], "members": [], "groups": []},
        ),
    )
    found = root.ask(
        """{corpUser(urn: "urn:li:corpuser:bo") {urn type username exists status isNativeUser
              properties {active displayName email title fullName} editableProperties {title teams skills slack}}
            corpGroup(urn: "urn:li:corpGroup:outer") {urn type name exists properties {displayName description email}
              editableProperties {description} origin {type}}}"""
    )
    assert found["corpUser"] == {
        "urn": "urn:li:corpuser:bo",
        "type": "CORP_USER",
        "username": "bo",
        "exists": True,
        "status": "ACTIVE",
        "isNativeUser": False,
        "properties": {"active": True, "displayName": "Bo", "email": "bo@b.example", "title": None, "fullName": None},
        "editableProperties": {"title": "Clerk", "teams": ["A"], "skills": [], "slack": None},
    }
    assert found["corpGroup"]["name"] == "outer"
    assert found["corpGroup"]["properties"]["displayName"] == "Outer"
    assert found["corpGroup"]["origin"]["type"] in ("EXTERNAL", "NATIVE")


def test_the_older_names_of_what_is_said_of_users_and_groups(root, described):
    write(
        proposal(
            "urn:li:corpuser:bo",
            "corpUserInfo",
            {
                "active": True,
                "displayName": "Bo",
                "email": "bo@b.example",
                "managerUrn": "urn:li:corpuser:ada",
                "departmentId": 7,
                "customProperties": {"desk": "12"},
            },
        ),
        proposal("urn:li:corpuser:bo", "corpUserEditableInfo", {"pictureLink": "https://p.example/bo", "skills": []}),
        proposal("urn:li:corpuser:bo", "globalTags", {"tags": [{"tag": "urn:li:tag:night"}]}),
        proposal(
            "urn:li:corpGroup:outer",
            "corpGroupInfo",
            {"displayName": "Outer", "admins": ["urn:li:corpuser:ada"], "members": [], "groups": []},
        ),
        proposal(
            "urn:li:corpGroup:outer", "ownership", {"owners": [{"owner": "urn:li:corpuser:bo", "type": "DATA_STEWARD"}]}
        ),
    )
    found = root.ask(
        """{corpUser(urn: "urn:li:corpuser:bo") {
              info {active displayName email manager {username} departmentId customProperties {key value}}
              editableInfo {pictureLink skills} globalTags {tags {tag {urn name} associatedUrn}}}
            corpGroup(urn: "urn:li:corpGroup:outer") {
              info {displayName admins {username} members {username} groups}
              ownership {lastModified {actor} owners {type ownershipType {urn info {name}}
                owner {... on CorpUser {username} ... on CorpGroup {name}}}}}}"""
    )
    assert found["corpUser"] == {
        "info": {
            "active": True,
            "displayName": "Bo",
            "email": "bo@b.example",
            "manager": {"username": "ada"},
            "departmentId": 7,
            "customProperties": [{"key": "desk", "value": "12"}],
        },
        "editableInfo": {"pictureLink": "https://p.example/bo", "skills": []},
        "globalTags": {
            "tags": [{"tag": {"urn": "urn:li:tag:night", "name": "night"}, "associatedUrn": "urn:li:corpuser:bo"}]
        },
    }
    assert found["corpGroup"] == {
        "info": {"displayName": "Outer", "admins": [{"username": "ada"}], "members": [], "groups": []},
        "ownership": {
            "lastModified": {"actor": ROOT},
            "owners": [
                {
                    "type": "DATA_STEWARD",
                    "ownershipType": {
                        "urn": "urn:li:ownershipType:__system__data_steward",
                        "info": {"name": "Data Steward"},
                    },
                    "owner": {"username": "bo"},
                }
            ],
        },
    }


def test_what_is_attached_to_a_dataset(root, described):
    chart, flow = "urn:li:chart:(looker,sales)", "urn:li:dataFlow:(airflow,nightly,PROD)"
    write(
        proposal(
            DATASET,
            "datasetProperties",
            {"name": "Orders", "qualifiedName": "sales.orders", "customProperties": {"tier": "gold"}},
        ),
        proposal(DATASET, "glossaryTerms", {"terms": [{"urn": "urn:li:glossaryTerm:income"}]}),
        proposal(
            "urn:li:glossaryTerm:income",
            "glossaryTermInfo",
            {"definition": "In", "name": "Income", "parentNode": "urn:li:glossaryNode:money"},
        ),
        proposal("urn:li:glossaryNode:money", "glossaryNodeInfo", {"definition": "Money", "name": "Money"}),
        proposal(DATASET, "domains", {"domains": ["urn:li:domain:eu"]}),
        proposal("urn:li:domain:eu", "domainProperties", {"name": "EU", "parentDomain": "urn:li:domain:world"}),
        proposal("urn:li:domain:world", "domainProperties", {"name": "World"}),
        proposal(DATASET, "container", {"container": "urn:li:container:schema"}),
        proposal("urn:li:container:schema", "containerProperties", {"name": "Schema"}),
        proposal("urn:li:container:schema", "container", {"container": "urn:li:container:base"}),
        proposal("urn:li:container:base", "containerProperties", {"name": "Base"}),
        proposal(DATASET, "deprecation", {"deprecated": True, "note": "Old", "actor": ROOT}),
        proposal(
            DATASET,
            "institutionalMemory",
            {
                "elements": [
                    {"url": "https://w.example", "description": "Wiki", "createStamp": {"time": 5, "actor": ROOT}}
                ]
            },
        ),
        proposal(
            "urn:li:dataPlatform:snowflake",
            "dataPlatformInfo",
            {"name": "snowflake", "displayName": "Snowflake", "type": "RELATIONAL_DB", "datasetNameDelimiter": "."},
        ),
        proposal(chart, "chartInfo", {"title": "Sales", "description": "By day"}),
        proposal(flow, "dataFlowInfo", {"name": "Nightly"}),
    )
    found = root.ask(
        """query($urn: String!, $chart: String!, $flow: String!) {
          dataset(urn: $urn) {origin exists
            properties {name qualifiedName origin customProperties {key value associatedUrn}}
            platform {name displayName properties {type displayName datasetNameDelimiter logoUrl}}
            glossaryTerms {terms {term {hierarchicalName properties {name definition termSource}
              parentNodes {count nodes {urn properties {name}}}}}}
            domain {domain {id properties {name} parentDomains {count domains {urn}}}}
            container {urn platform {urn}} parentContainers {count containers {properties {name}}}
            deprecation {deprecated note} institutionalMemory {elements {url label author {username} created {time}}}
            subTypes {typeNames} status {removed} tags {tags {tag {urn}}}}
          chart: entity(urn: $chart) {... on Chart {tool chartId properties {name description} platform {urn}}}
          flow: entity(urn: $flow) {... on DataFlow {orchestrator flowId cluster properties {name}}}}""",
        urn=DATASET,
        chart=chart,
        flow=flow,
    )
    assert found["dataset"] == {
        "origin": "PROD",
        "exists": True,
        "properties": {
            "name": "Orders",
            "qualifiedName": "sales.orders",
            "origin": "PROD",
            "customProperties": [{"key": "tier", "value": "gold", "associatedUrn": DATASET}],
        },
        "platform": {
            "name": "snowflake",
            "displayName": "Snowflake",
            "properties": {
                "type": "RELATIONAL_DB",
                "displayName": "Snowflake",
                "datasetNameDelimiter": ".",
                "logoUrl": None,
            },
        },
        "glossaryTerms": {
            "terms": [
                {
                    "term": {
                        "hierarchicalName": "income",
                        "properties": {"name": "Income", "definition": "In", "termSource": "INTERNAL"},
                        "parentNodes": {
                            "count": 1,
                            "nodes": [{"urn": "urn:li:glossaryNode:money", "properties": {"name": "Money"}}],
                        },
                    }
                }
            ]
        },
        "domain": {
            "domain": {
                "id": "eu",
                "properties": {"name": "EU"},
                "parentDomains": {"count": 1, "domains": [{"urn": "urn:li:domain:world"}]},
            }
        },
        "container": {"urn": "urn:li:container:schema", "platform": {"urn": "urn:li:dataPlatform:unknown"}},
        "parentContainers": {
            "count": 2,
            "containers": [{"properties": {"name": "Schema"}}, {"properties": {"name": "Base"}}],
        },
        "deprecation": {"deprecated": True, "note": "Old"},
        "institutionalMemory": {
            "elements": [
                {"url": "https://w.example", "label": "Wiki", "author": {"username": "datahub"}, "created": {"time": 5}}
            ]
        },
        "subTypes": None,
        "status": None,
        "tags": None,
    }
    assert found["chart"] == {
        "tool": "looker",
        "chartId": "sales",
        "properties": {"name": "Sales", "description": "By day"},
        "platform": {"urn": "urn:li:dataPlatform:looker"},
    }
    assert found["flow"] == {
        "orchestrator": "airflow",
        "flowId": "nightly",
        "cluster": "PROD",
        "properties": {"name": "Nightly"},
    }


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ('{corpUser(urn: "urn:li:corpuser:nobody") {urn}}', 404),
        ('{corpUser(urn: "urn:li:corpGroup:crew") {urn}}', 400),
        ('{corpGroup(urn: "crew") {urn}}', 400),
        ('{dataset(urn: "urn:li:dataset:(x") {urn}}', 400),
        ('{role(urn: "urn:li:dataHubRole:Admin") {urn}}', 400),
    ],
)
def test_what_is_not_there(root, query, code):
    assert root.refused(query)[0] == code


def test_whether_something_exists(root, described):
    for urn, is_there in (
        (DATASET, True),
        (ROOT, True),
        ("urn:li:tag:none", False),
        ("urn:li:dataHubRole:Admin", True),
    ):
        assert root.ask(f"{{entityExists(urn: {json.dumps(urn)})}}") == {"entityExists": is_there}


def test_what_may_not_be_viewed_is_only_a_urn(root, described, person, settings):
    close_the_reading_policies()
    settings.VIEW_AUTHORIZATION_ENABLED = True
    jo = person("jo")
    assert jo.refused(ACCESS, urn=DATASET)[:2] == (404, "NOT_FOUND")
    assert jo.refused(f"{{entity(urn: {json.dumps(DATASET)}) {{urn}}}}")[0] == 404
    assert jo.ask(f"{{entityExists(urn: {json.dumps(DATASET)})}}") == {"entityExists": False}
    assert root.ask(ACCESS, urn=DATASET)["dataset"]["name"] == "Orders"


# -- relationships ----------------------------------------------------------------------------------------------------

RELATED = """query($urn: String!, $types: [String!]!, $direction: RelationshipDirection!, $start: Int, $count: Int) {
    entity(urn: $urn) {relationships(input: {types: $types, direction: $direction, start: $start, count: $count}) {
        start count total relationships {type direction entity {urn type}}}}}"""


def related(caller, urn, direction, *types, **more):
    found = caller.ask(RELATED, urn=urn, types=list(types), direction=direction, **more)["entity"]["relationships"]
    assert found["count"] == len(found["relationships"])
    return found["total"], [(one["type"], one["entity"]["urn"]) for one in found["relationships"]]


def test_relationships(root, described):
    crew, ada, admin = "urn:li:corpGroup:crew", "urn:li:corpuser:ada", "urn:li:dataHubRole:Admin"
    roles.assign(role=admin, actors=[crew], by=authorizer.SYSTEM, channel=DOOR)
    write(
        proposal(
            DATASET,
            "ownership",
            {"owners": [{"owner": ada, "type": "DATAOWNER"}], "lastModified": {"time": 0, "actor": ROOT}},
        )
    )
    assert related(root, ada, "OUTGOING", "IsMemberOfNativeGroup") == (1, [("IsMemberOfNativeGroup", crew)])
    assert related(root, crew, "INCOMING", "IsMemberOfGroup", "IsMemberOfNativeGroup") == (
        1,
        [("IsMemberOfNativeGroup", ada)],
    )
    assert related(root, admin, "INCOMING", "IsMemberOfRole") == (1, [("IsMemberOfRole", crew)])
    assert related(root, READER, "OUTGOING", "Has")[0] == 2
    assert related(root, ada, "INCOMING", "OwnedBy") == (1, [("OwnedBy", DATASET)])
    assert related(root, DATASET, "OUTGOING", "OwnedBy") == (1, [("OwnedBy", ada)])
    total, policies = related(root, admin, "INCOMING", "IsAssociatedWithRole")
    assert total == len(policies) > 1
    assert related(root, admin, "INCOMING", "IsAssociatedWithRole", start=1, count=1) == (total, policies[1:2])
    assert related(root, admin, "INCOMING", "IsAssociatedWithRole", start=100) == (total, [])
    assert related(root, ada, "OUTGOING", "Nothing") == (0, [])


def test_what_a_container_holds_is_named_once(root, installed):
    container = "urn:li:container:sales"
    write(proposal(DATASET, "container", {"container": container}), proposal(container, "status", {"removed": False}))
    assert related(root, DATASET, "OUTGOING", "IsPartOf") == (1, [("IsPartOf", container)])
    assert related(root, container, "INCOMING", "IsPartOf") == (1, [("IsPartOf", DATASET)])


@pytest.mark.parametrize("more", [{"start": -1}, {"count": -1}, {"start": 2**31 - 1}])
def test_a_page_that_is_none(root, more):
    assert root.refused(RELATED, urn=ROOT, types=[], direction="OUTGOING", **more)[0] == 400


ROLES = """query($count: Int!) {listRoles(input: {count: $count}) {roles {name
    users: relationships(input: {types: ["IsMemberOfRole"], direction: INCOMING, start: 0, count: 10}) {
        total relationships {entity {... on CorpUser {username properties {displayName}
            relationships(input: {types: ["IsMemberOfNativeGroup"], direction: OUTGOING}) {
                relationships {entity {... on CorpGroup {name properties {displayName}}}}}}
            ... on CorpGroup {name}}}}
    policies: relationships(input: {types: ["IsAssociatedWithRole"], direction: INCOMING}) {
        total relationships {entity {... on DataHubPolicy {name}}}}}}}"""


def test_a_long_list_takes_the_queries_of_a_short_one(root, described, django_assert_max_num_queries):
    for number in range(4):
        role = roles.create(identifier=f"0-{number}", name=f"Own {number}", by=authorizer.SYSTEM, channel=DOOR).urn
        user = users.create(username=f"user{number}", by=authorizer.SYSTEM, channel=DOOR).urn
        roles.assign(role=role, actors=[user], by=authorizer.SYSTEM, channel=DOOR)
        groups.add_members(urn="urn:li:corpGroup:crew", members=[user], by=authorizer.SYSTEM, channel=DOOR)
        give(user, "VIEW_ENTITY", actors={"roles": [role]})
    root.ask(ROLES, count=1)
    with django_assert_max_num_queries(60) as short:
        root.ask(ROLES, count=2)
    with django_assert_max_num_queries(len(short)):
        found = root.ask(ROLES, count=100)["listRoles"]["roles"]
    held = [one["users"]["relationships"] for one in found if one["name"].startswith("Own")]
    assert [len(one) for one in held] == [1, 1, 1, 1]
    assert held[0][0]["entity"]["relationships"]["relationships"][0]["entity"]["properties"]["displayName"] == "Crew"


def test_what_is_attached_to_many_takes_the_queries_of_a_few(root, installed, django_assert_max_num_queries):
    for number in range(6):
        urn, user = f"urn:li:dataset:(urn:li:dataPlatform:p{number},t{number},PROD)", f"urn:li:corpuser:u{number}"
        write(
            proposal(user, "corpUserInfo", {"active": True, "managerUrn": f"urn:li:corpuser:m{number}"}),
            proposal(urn, "datasetProperties", {"name": f"shelved {number}"}),
            proposal(urn, "globalTags", {"tags": [{"tag": f"urn:li:tag:t{number}"}]}),
            proposal(urn, "glossaryTerms", {"terms": [{"urn": f"urn:li:glossaryTerm:t{number}"}]}),
            proposal(urn, "ownership", {"owners": [{"owner": user, "type": "DATA_STEWARD"}]}),
            proposal(urn, "domains", {"domains": [f"urn:li:domain:d{number}"]}),
            proposal(urn, "container", {"container": f"urn:li:container:c{number}"}),
            proposal(f"urn:li:container:c{number}", "containerProperties", {"name": "C"}),
            proposal(
                f"urn:li:domain:d{number}", "domainProperties", {"name": "D", "parentDomain": "urn:li:domain:top"}
            ),
        )
    query = """query($count: Int) {search(input: {type: DATASET, query: "shelved", count: $count}) {
        searchResults {entity {... on Dataset {name
            platform {properties {displayName}} tags {tags {tag {name}}} glossaryTerms {terms {term {name}}}
            ownership {owners {ownershipType {info {name}} owner {... on CorpUser {info {manager {info {active}}}}}}}
            domain {domain {properties {name} parentDomains {count}}} container {properties {name}}
            parentContainers {count}}}}}}"""
    with django_assert_max_num_queries(60) as short:
        assert len(root.ask(query, count=2)["search"]["searchResults"]) == 2
    with django_assert_max_num_queries(len(short)):
        assert len(root.ask(query, count=6)["search"]["searchResults"]) == 6
