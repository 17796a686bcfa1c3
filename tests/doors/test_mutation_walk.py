"""A walk over what privileges open beside writes of documents: GraphQL's mutations, forms of pages, creating, deleting.

A table says which privileges open each, alone. Who holds one of them and nothing else may; who holds all others of the
registry may not. `make test` tries some of each, `make test-all` all.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import pytest
from django.test import Client
from graphql import GraphQLNamedType, GraphQLScalarType, get_named_type

from catalog.ingest import apply, deletes
from catalog.protocols.datahub_graphql import schema_builder
from policies.engine.families import vocabulary
from policies.errors import Forbidden
from policies.identity.services import groups, roles, users
from policies.models import ChangeEvent, PolicyEvent, User
from policies.pdp import actor_resolution, authorizer
from tests.catalog.conftest import said, tell, undone
from tests.depth import IS_WHOLE
from tests.doors.conftest import DATASET, DOOR, Caller, calling, give
from tests.doors.holders import holder_urn, make_holders

pytestmark = pytest.mark.django_db

REGISTRY = vocabulary.load_datahub()
TABLE = vocabulary.read_table("datahub_effects")
#: How many of each are tried in `make test`.
DRAWN = 14

ADA, BEA, CREW = "urn:li:corpuser:ada", "urn:li:corpuser:bea", "urn:li:corpGroup:crew"
TAG, SALES, OTHER_DOMAIN = "urn:li:tag:pii", "urn:li:domain:sales", "urn:li:domain:other"
NODE, TERM, OTHER_TERM = "urn:li:glossaryNode:money", "urn:li:glossaryTerm:revenue", "urn:li:glossaryTerm:profit"
OWNERSHIP, PRODUCT, QUERY = "urn:li:ownershipType:auditor", "urn:li:dataProduct:orders", "urn:li:query:q"
LOGICAL = "urn:li:dataset:(urn:li:dataPlatform:snowflake,sales.logical,PROD)"
ROBOT = "urn:li:corpuser:service_robot"
HELPER, POLICY = "urn:li:dataHubRole:helper", "urn:li:dataHubPolicy:stored"
SOURCE = "urn:li:dataHubIngestionSource:s"

# -- privileges, each of which suffices -------------------------------------------------------------------------------

TAGS, TERMS, OWNERS, DOMAINS, LINKS, DOCS = (
    {privilege, "EDIT_ENTITY"}
    for privilege in (
        "EDIT_ENTITY_TAGS",
        "EDIT_ENTITY_GLOSSARY_TERMS",
        "EDIT_ENTITY_OWNERS",
        "EDIT_DOMAINS_PRIVILEGE",
        "EDIT_ENTITY_DOC_LINKS",
        "EDIT_ENTITY_DOCS",
    )
)
GLOSSARY = {"MANAGE_GLOSSARIES", "MANAGE_GLOSSARY_CHILDREN", "MANAGE_ALL_GLOSSARY_CHILDREN"}
CREATE, EDIT, DELETE = {"CREATE_ENTITY", "EDIT_ENTITY"}, {"EDIT_ENTITY"}, {"DELETE_ENTITY"}
ASSETS = {"EDIT_ENTITY_DATA_PRODUCTS", "EDIT_ENTITY"}
QUERIES = {"EDIT_ENTITY_QUERIES", "EDIT_ENTITY"}
UPDATE_USERS = {"UPDATE_USERS", "UPDATE_USERS_AND_GROUPS", "MANAGE_USERS_AND_GROUPS"}
UPDATE_GROUPS = {"UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS", "MANAGE_USERS_AND_GROUPS"}
CREW_EDITORS = UPDATE_GROUPS | EDIT
CREATE_USERS = {"CREATE_USERS", "CREATE_USERS_AND_GROUPS", "UPDATE_USERS", "MANAGE_USERS_AND_GROUPS"}
CREATE_GROUPS = {"CREATE_GROUPS", "CREATE_USERS_AND_GROUPS", "UPDATE_GROUPS", "MANAGE_USERS_AND_GROUPS"}
DELETE_USERS = {"UPDATE_USERS", "MANAGE_USERS_AND_GROUPS"}
DELETE_GROUPS = {"UPDATE_GROUPS", "MANAGE_USERS_AND_GROUPS"}
MEMBERS = UPDATE_GROUPS | {"EDIT_GROUP_MEMBERS", "EDIT_ENTITY"}
POLICIES, CREDENTIALS, SERVICES = {"MANAGE_POLICIES"}, {"MANAGE_USER_CREDENTIALS"}, {"MANAGE_SERVICE_ACCOUNTS"}


class Deed(NamedTuple):
    """Something to do, what it is done with, and the privileges each of which opens it alone."""

    name: str
    values: dict[str, Any]
    openers: Collection[str]


def on(urns: str = "resourceUrn", **values: Any) -> dict[str, Any]:
    """Return the input of a mutation about the dataset."""
    resource = [{"resourceUrn": DATASET}] if urns == "resources" else DATASET
    return {"input": {**values, urns: resource}}


OWNER = {"ownerUrn": BEA, "ownerEntityType": "CORP_USER", "ownershipTypeUrn": OWNERSHIP}
POLICY_INPUT = {
    "type": "METADATA",
    "name": "Put",
    "state": "ACTIVE",
    "description": "",
    "privileges": ["VIEW_ENTITY_PAGE"],
    "actors": {"users": [ADA], "groups": [], "resourceOwners": False, "allUsers": False, "allGroups": False},
}
TOKEN = {"duration": "ONE_HOUR", "name": "T"}
NEW_QUERY = {"properties": {"statement": {"value": "select 1", "language": "SQL"}, "name": "N"}}

MUTATIONS = (
    Deed("addTag", on(tagUrn="urn:li:tag:new"), TAGS),
    Deed("addTags", on(tagUrns=["urn:li:tag:new"]), TAGS),
    Deed("batchAddTags", on("resources", tagUrns=["urn:li:tag:new"]), TAGS),
    Deed("removeTag", on(tagUrn=TAG), TAGS),
    Deed("batchRemoveTags", on("resources", tagUrns=[TAG]), TAGS),
    Deed("addTerm", on(termUrn=OTHER_TERM), TERMS),
    Deed("addTerms", on(termUrns=[OTHER_TERM]), TERMS),
    Deed("batchAddTerms", on("resources", termUrns=[OTHER_TERM]), TERMS),
    Deed("removeTerm", on(termUrn=TERM), TERMS),
    Deed("batchRemoveTerms", on("resources", termUrns=[TERM]), TERMS),
    Deed("addOwner", on(**OWNER), OWNERS),
    Deed("addOwners", on(owners=[OWNER]), OWNERS),
    Deed("batchAddOwners", on("resources", owners=[OWNER]), OWNERS),
    Deed("removeOwner", on(ownerUrn=ADA), OWNERS),
    Deed("batchRemoveOwners", on("resources", ownerUrns=[ADA]), OWNERS),
    Deed("setDomain", {"entityUrn": DATASET, "domainUrn": OTHER_DOMAIN}, DOMAINS),
    Deed("unsetDomain", {"entityUrn": DATASET}, DOMAINS),
    Deed("batchSetDomain", on("resources", domainUrn=OTHER_DOMAIN), DOMAINS),
    Deed("addLink", on(linkUrl="https://w.example/2", label="Two"), LINKS),
    Deed("removeLink", on(linkUrl="https://w.example"), LINKS),
    Deed(
        "updateLink",
        on(currentUrl="https://w.example", currentLabel="W", linkUrl="https://w.example/3", label="L"),
        LINKS,
    ),
    Deed("updateDescription", on(description="New"), DOCS),
    Deed("updateDescription", {"input": {"resourceUrn": SALES, "description": "N"}}, DOCS | {"MANAGE_DOMAINS"}),
    Deed("updateDescription", {"input": {"resourceUrn": TAG, "description": "N"}}, DOCS | {"MANAGE_TAGS"}),
    Deed("updateDescription", {"input": {"resourceUrn": TERM, "description": "N"}}, DOCS | GLOSSARY),
    Deed("updateDeprecation", {"input": {"urn": DATASET, "deprecated": True}}, EDIT | {"EDIT_DEPRECATION_PRIVILEGE"}),
    Deed("batchUpdateDeprecation", on("resources", deprecated=True), EDIT | {"EDIT_DEPRECATION_PRIVILEGE"}),
    Deed(
        "batchUpdateSoftDeleted",
        {"input": {"urns": [DATASET], "deleted": True}},
        EDIT | {"EDIT_ENTITY_STATUS", "DELETE_ENTITY"},
    ),
    Deed("removeUser", {"urn": BEA}, DELETE_USERS),
    Deed("updateUserStatus", {"urn": BEA, "status": "SUSPENDED"}, UPDATE_USERS),
    Deed(
        "updateCorpUserProperties",
        {"urn": ADA, "input": {"title": "Clerk"}},
        UPDATE_USERS | EDIT | {"EDIT_USER_PROFILE"},
    ),
    Deed(
        "updateCorpUserProperties",
        {"urn": ADA, "input": {"phone": "1"}},
        UPDATE_USERS | EDIT | {"EDIT_CONTACT_INFO"},
    ),
    Deed(
        "updateCorpUserProperties",
        {"urn": ADA, "input": {"email": "a@a.example"}},
        UPDATE_USERS | {"EDIT_CONTACT_INFO"},
    ),
    Deed("createGroup", {"input": {"id": "made", "name": "Made"}}, CREATE_GROUPS),
    Deed("removeGroup", {"urn": CREW}, DELETE_GROUPS),
    Deed("updateName", {"input": {"urn": CREW, "name": "Other"}}, UPDATE_GROUPS | EDIT),
    Deed(
        "updateCorpGroupProperties",
        {"urn": CREW, "input": {"slack": "#crew"}},
        UPDATE_GROUPS | EDIT | {"EDIT_CONTACT_INFO"},
    ),
    Deed(
        "updateCorpGroupProperties",
        {"urn": CREW, "input": {"description": "New"}},
        UPDATE_GROUPS | EDIT | {"EDIT_ENTITY_DOCS"},
    ),
    Deed("addGroupMembers", {"input": {"groupUrn": CREW, "userUrns": [BEA]}}, MEMBERS),
    Deed("removeGroupMembers", {"input": {"groupUrn": CREW, "userUrns": [ADA]}}, MEMBERS),
    Deed("createInviteToken", {"input": {}}, CREDENTIALS),
    Deed("createNativeUserResetToken", {"input": {"userUrn": ADA}}, CREDENTIALS),
    Deed("createPolicy", {"input": POLICY_INPUT}, POLICIES),
    Deed("updatePolicy", {"urn": POLICY, "input": POLICY_INPUT}, POLICIES),
    Deed("deletePolicy", {"urn": POLICY}, POLICIES),
    Deed("createRole", {"input": {"name": "Made", "description": "", "policyUrns": []}}, POLICIES),
    Deed("updateRole", {"input": {"urn": HELPER, "name": "Other"}}, POLICIES),
    Deed("deleteRole", {"urn": HELPER}, POLICIES),
    Deed("batchAssignRole", {"input": {"roleUrn": HELPER, "actors": [ADA]}}, POLICIES),
    Deed(
        "batchSetDataProduct",
        {"input": {"dataProductUrn": PRODUCT, "resourceUrns": [DATASET]}},
        {"MANAGE_DATA_PRODUCTS"},
    ),
    Deed("batchSetDataProduct", {"input": {"dataProductUrn": None, "resourceUrns": [LOGICAL]}}, ASSETS),
    Deed("batchAddToDataProducts", {"input": {"dataProductUrns": [PRODUCT], "resourceUrns": [DATASET]}}, ASSETS),
    Deed("batchRemoveFromDataProducts", {"input": {"dataProductUrns": [PRODUCT], "resourceUrns": [LOGICAL]}}, ASSETS),
    Deed("setLogicalParent", {"input": {"resourceUrn": DATASET, "parentUrn": LOGICAL}}, EDIT),
    Deed("createQuery", {"input": {**NEW_QUERY, "subjects": [{"datasetUrn": DATASET}]}}, QUERIES),
    Deed("updateQuery", {"urn": QUERY, "input": {"properties": {"name": "Other"}}}, QUERIES),
    Deed("deleteQuery", {"urn": QUERY}, QUERIES),
    Deed("createServiceAccount", {"input": {"displayName": "Made"}}, SERVICES),
    Deed("deleteServiceAccount", {"urn": ROBOT}, SERVICES),
    Deed("createAccessToken", {"input": {**TOKEN, "type": "PERSONAL", "actorUrn": ADA}}, {"MANAGE_ACCESS_TOKENS"}),
    Deed(
        "createAccessToken",
        {"input": {**TOKEN, "type": "SERVICE_ACCOUNT", "actorUrn": ROBOT}},
        SERVICES | {"MANAGE_ACCESS_TOKENS"},
    ),
    Deed("createTag", {"input": {"id": "made", "name": "Made"}}, CREATE | {"CREATE_TAGS", "MANAGE_TAGS"}),
    Deed("updateName", {"input": {"urn": TAG, "name": "Other"}}, EDIT | {"MANAGE_TAGS"}),
    Deed("updateTag", {"urn": TAG, "input": {"urn": TAG, "name": "Other"}}, EDIT | {"MANAGE_TAGS"}),
    Deed("setTagColor", {"urn": TAG, "colorHex": "#00FF00"}, EDIT | {"EDIT_TAG_COLOR", "MANAGE_TAGS"}),
    Deed("deleteTag", {"urn": TAG}, DELETE | {"MANAGE_TAGS"}),
    Deed("createDomain", {"input": {"id": "made", "name": "Made"}}, CREATE | {"CREATE_DOMAINS", "MANAGE_DOMAINS"}),
    Deed("moveDomain", {"input": {"resourceUrn": OTHER_DOMAIN, "parentDomain": SALES}}, EDIT | {"MANAGE_DOMAINS"}),
    Deed("deleteDomain", {"urn": OTHER_DOMAIN}, DELETE | {"MANAGE_DOMAINS"}),
    Deed("createGlossaryTerm", {"input": {"id": "made", "name": "Made", "parentNode": NODE}}, CREATE | GLOSSARY),
    Deed("createGlossaryNode", {"input": {"id": "made", "name": "Made"}}, CREATE | {"MANAGE_GLOSSARIES"}),
    Deed("deleteGlossaryEntity", {"urn": TERM}, DELETE | GLOSSARY),
    # At the top level there is no group whose children one could manage.
    Deed("updateParentNode", {"input": {"resourceUrn": TERM, "parentNode": None}}, EDIT | {"MANAGE_GLOSSARIES"}),
    Deed(
        "removeRelatedTerms",
        {"input": {"urn": TERM, "termUrns": [OTHER_TERM], "relationshipType": "hasA"}},
        EDIT | GLOSSARY,
    ),
    Deed(
        "addRelatedTerms",
        {"input": {"urn": TERM, "termUrns": [OTHER_TERM], "relationshipType": "isA"}},
        EDIT | GLOSSARY,
    ),
    Deed(
        "createOwnershipType",
        {"input": {"name": "Made", "description": "d"}},
        CREATE | {"MANAGE_GLOBAL_OWNERSHIP_TYPES"},
    ),
    Deed(
        "updateOwnershipType",
        {"urn": OWNERSHIP, "input": {"name": "Other", "description": ""}},
        EDIT | {"MANAGE_GLOBAL_OWNERSHIP_TYPES"},
    ),
    Deed("deleteOwnershipType", {"urn": OWNERSHIP}, DELETE | {"MANAGE_GLOBAL_OWNERSHIP_TYPES"}),
    Deed(
        "createDataProduct",
        {"input": {"properties": {"name": "Made"}, "domainUrn": SALES, "id": "made"}},
        {"MANAGE_DATA_PRODUCTS"},
    ),
    Deed("updateDataProduct", {"urn": PRODUCT, "input": {"name": "Other"}}, EDIT | {"MANAGE_DATA_PRODUCTS"}),
    Deed("deleteDataProduct", {"urn": PRODUCT}, {"MANAGE_DATA_PRODUCTS"}),
)

CATALOG = "/catalog/edit"
#: A policy that is there, of a person who tries nothing in forms.
STORED = "urn:li:dataHubPolicy:only_CREATE_TAGS"
USERS, CREW_PAGES = "/settings/identities/users", "/settings/identities/groups"
#: Forms of pages by their addresses, with what is typed.
FORMS = (
    Deed(f"{CATALOG}/tags/{DATASET}", {"chosen": []}, TAGS),
    Deed(f"{CATALOG}/terms/{DATASET}", {"chosen": []}, TERMS),
    Deed(f"{CATALOG}/owners/{DATASET}", {}, OWNERS),
    Deed(f"{CATALOG}/domains/{DATASET}", {}, DOMAINS),
    Deed(f"{CATALOG}/links/{DATASET}", {"links-TOTAL_FORMS": "0", "links-INITIAL_FORMS": "0"}, LINKS),
    Deed(f"{CATALOG}/description/{TAG}", {"text": "New"}, DOCS | {"MANAGE_TAGS"}),
    Deed(f"{CATALOG}/description/{DATASET}", {"text": "New"}, DOCS),
    Deed(f"{CATALOG}/deprecation/{DATASET}", {"is_deprecated": "on"}, EDIT | {"EDIT_DEPRECATION_PRIVILEGE"}),
    Deed(f"{USERS}/new", {"username": "made", "display_name": "Made"}, CREATE_USERS),
    Deed(f"{USERS}/edit/{ADA}", {"title": "Clerk"}, UPDATE_USERS | EDIT | {"EDIT_USER_PROFILE"}),
    Deed(f"{USERS}/edit/{ADA}", {"email": "new@a.example"}, UPDATE_USERS | {"EDIT_CONTACT_INFO"}),
    Deed(f"{USERS}/suspend/{BEA}", {}, UPDATE_USERS),
    Deed(f"{USERS}/remove/{BEA}", {}, DELETE_USERS),
    Deed(f"{USERS}/reset/{ADA}", {}, CREDENTIALS),
    Deed(f"{USERS}/invite", {"role": "", "duration": "ONE_WEEK"}, CREDENTIALS),
    Deed(f"{USERS}/groups/{BEA}", {"groups": [CREW]}, UPDATE_GROUPS),
    Deed(f"{CREW_PAGES}/add/{CREW}", {"members": [BEA]}, MEMBERS),
    Deed(f"/settings/permissions/roles/assign/{HELPER}", {"actors": [BEA]}, POLICIES),
    Deed(f"/settings/permissions/policies/delete/{STORED}", {}, POLICIES),
    Deed(f"/settings/permissions/policies/state/{STORED}", {"state": "INACTIVE"}, POLICIES),
    Deed(f"{CREW_PAGES}/new", {"name": "Made", "identifier": "made"}, CREATE_GROUPS),
    Deed(
        f"{CREW_PAGES}/edit/{CREW}",
        {"name": "Crew", "email": "crew@a.example"},
        UPDATE_GROUPS | EDIT | {"EDIT_CONTACT_INFO"},
    ),
    Deed(
        f"{CREW_PAGES}/edit/{CREW}", {"name": "Crew", "description": "New"}, UPDATE_GROUPS | EDIT | {"EDIT_ENTITY_DOCS"}
    ),
    Deed(f"{CREW_PAGES}/delete/{CREW}", {}, DELETE_GROUPS),
    Deed(f"{CREW_PAGES}/take/{CREW}?member={ADA}", {}, MEMBERS),
    Deed("/settings/permissions/roles/new", {"name": "Made", "identifier": "made"}, POLICIES),
    Deed(f"/settings/permissions/roles/delete/{HELPER}", {}, POLICIES),
    Deed("/settings/identities/service-accounts/new", {"display_name": "Made"}, SERVICES),
)

#: What a new entity says, where `{"name": "x"}` is not enough: by type, the first document that its manager may write.
SAID: Mapping[str, tuple[str, dict[str, Any]]] = {
    "assertion": ("assertionInfo", {"customAssertion": {"entity": DATASET}}),
    "dataContract": ("dataContractProperties", {"entity": DATASET}),
    "dataHubExecutionRequest": ("dataHubExecutionRequestInput", {"source": {"ingestionSource": SOURCE}}),
    "dataHubSecret": ("dataHubSecretValue", {}),
    "document": ("documentInfo", {}),
    "erModelRelationship": ("erModelRelationshipProperties", {"source": DATASET, "destination": DATASET}),
    "glossaryNode": ("glossaryNodeInfo", {"name": "n", "parentNode": NODE}),
    "glossaryTerm": ("glossaryTermInfo", {"name": "m", "parentNode": NODE}),
    "incident": ("incidentInfo", {"entities": [DATASET]}),
}


def list_types(verb: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the types with managers, and the privileges each of which lets create (or delete) one alone."""
    general = CREATE if verb == "creates" else DELETE
    for type_ in sorted({type_ for row in TABLE["manager"] for type_ in row["types"]}):
        rows = [row for row in TABLE["manager"] if type_ in row["types"] and row.get(verb)]
        # Of what is about assets also who may edit these.
        edits = (
            EDIT if any(row.get("on") == "about" and row["privilege"] != "EXECUTE_ENTITY" for row in rows) else set()
        )
        yield type_, general | edits | {row["privilege"] for row in rows}


CREATIONS = tuple(Deed(type_, {}, openers) for type_, openers in list_types("creates"))
DELETIONS = tuple(Deed(type_, {}, openers) for type_, openers in list_types("deletes"))


def entity_urn(type_: str, name: str) -> str:
    return f"urn:li:{type_}:{name}"


def build_proposal(type_: str, name: str) -> apply.Proposal:
    managers = [row for row in TABLE["manager"] if type_ in row["types"] and row.get("aspects")]
    aspect, document = SAID.get(type_) or (managers[0]["aspects"][0], {"name": "x"})
    return said(entity_urn(type_, name), aspect, document)


def list_closed(openers: Collection[str]) -> list[str]:
    """Return the privileges of the registry that give none of these."""
    return sorted(name for name in REGISTRY.names if REGISTRY.widen([name]).isdisjoint(openers))


def name_others(openers: Collection[str]) -> str:
    """Return the name of the person who holds all privileges but these."""
    return f"all_but_{'_'.join(sorted(openers))}"[:100]


DeedsT = TypeVar("DeedsT", bound=tuple[Deed, ...])


def draw(deeds: DeedsT, config: pytest.Config) -> list[Deed]:
    """Return some of these deeds, all of them in a whole run."""
    drawn = random.Random(str(config.getoption("hypothesis_seed", None)))
    return list(deeds) if IS_WHOLE else drawn.sample(deeds, min(DRAWN, len(deeds)))


@pytest.fixture
def world(root: Caller) -> None:
    """What is changed, created and deleted, and people who hold one privilege, or all but some."""
    by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
    for username in ("ada", "bea"):
        users.create(username=username, **by)
    users.create(username="service_robot", kind=User.Kind.SERVICE, **by)
    groups.create(name="Crew", identifier="crew", members=[ADA], **by)
    roles.create(name="Helper", identifier="helper", **by)
    give("urn:li:corpuser:ada", "VIEW_ENTITY_PAGE")
    owners = {"owners": [{"owner": ADA, "type": "TECHNICAL_OWNER"}]}
    tell(
        said(NODE, "glossaryNodeInfo", {"name": "Money", "definition": ""}),
        *(
            said(urn, "glossaryTermInfo", {"name": urn, "definition": "", "parentNode": NODE})
            for urn in (TERM, OTHER_TERM)
        ),
        said(TAG, "tagProperties", {"name": "PII"}),
        *(said(urn, "domainProperties", {"name": urn}) for urn in (SALES, OTHER_DOMAIN)),
        said(OWNERSHIP, "ownershipTypeInfo", {"name": "Auditor"}),
        said(DATASET, "datasetProperties", {"name": "Orders"}),
        said(LOGICAL, "datasetProperties", {"name": "Logical"}),
        said(DATASET, "globalTags", {"tags": [{"tag": TAG}]}),
        said(DATASET, "glossaryTerms", {"terms": [{"urn": TERM}], "auditStamp": {"time": 0, "actor": ADA}}),
        said(DATASET, "ownership", owners),
        said(DATASET, "domains", {"domains": [SALES]}),
        said(DATASET, "institutionalMemory", {"elements": [{"url": "https://w.example", "description": "W"}]}),
        said(PRODUCT, "dataProductProperties", {"name": "Orders", "assets": [{"destinationUrn": LOGICAL}]}),
        said(PRODUCT, "domains", {"domains": [SALES]}),
        said(TERM, "glossaryRelatedTerms", {"hasRelatedTerms": [OTHER_TERM]}),
        said(QUERY, "queryProperties", {"name": "Q", "statement": {"value": "select 1", "language": "SQL"}}),
        said(QUERY, "querySubjects", {"subjects": [{"entity": DATASET}]}),
        *(build_proposal(deed.name, "x") for deed in DELETIONS),
    )
    every = (*MUTATIONS, *FORMS, *CREATIONS, *DELETIONS)
    openers = {opener for deed in every for opener in deed.openers}
    make_holders(
        {opener: [opener] for opener in sorted(openers)}
        | {name_others(deed.openers): list_closed(deed.openers) for deed in every}
    )


def find_wrong(deeds: Collection[Deed], may: Callable[[Deed, str], bool]) -> list[tuple[str, str]]:
    """Return deeds with the people who may do them and should not, or the other way round."""
    return [
        (deed.name, name)
        for deed in deeds
        for name, is_expected in (
            *((opener, True) for opener in sorted(deed.openers)),
            (name_others(deed.openers), False),
        )
        if may(deed, name) is not is_expected
    ]


SCHEMA = schema_builder.build_schema()


def build_document(deed: Deed) -> str:
    """Return a mutation with the variables of a deed."""
    assert SCHEMA.mutation_type is not None
    field = SCHEMA.mutation_type.fields[deed.name]
    declared = ", ".join(f"${name}: {field.args[name].type}" for name in deed.values)
    passed = ", ".join(f"{name}: ${name}" for name in deed.values)
    answered: GraphQLNamedType = get_named_type(field.type)
    selected = "" if isinstance(answered, GraphQLScalarType) else " {__typename}"
    return f"mutation m({declared}) {{{deed.name}({passed}){selected}}}"


#: Mutations that no privilege opens for everybody: an invitation is its own right, and everybody ends the own tokens.
OPEN_MUTATIONS = {"acceptRole", "revokeAccessToken"}


def test_every_mutation_is_walked() -> None:
    assert SCHEMA.mutation_type is not None
    walked = {deed.name for deed in MUTATIONS}
    assert walked | OPEN_MUTATIONS == SCHEMA.mutation_type.fields.keys()


@pytest.mark.usefixtures("world")
def test_mutations_are_opened_by_their_privileges_alone(pytestconfig: pytest.Config) -> None:
    callers: dict[str, Caller] = {}

    def may(deed: Deed, name: str) -> bool:
        if name not in callers:
            callers[name] = calling(holder_urn(name))
        with undone():
            answer = callers[name].post("/api/graphql", {"query": build_document(deed), "variables": deed.values})
        body = answer.json()
        codes = {error["extensions"]["code"] for error in body.get("errors", ())}
        assert codes <= {403}, (deed.name, name, body)
        return not codes

    assert not find_wrong(draw(MUTATIONS, pytestconfig), may)


@pytest.mark.usefixtures("world")
def test_forms_of_pages_are_opened_by_their_privileges_alone(pytestconfig: pytest.Config) -> None:
    def may(deed: Deed, name: str) -> bool:
        client = Client()
        client.force_login(User.objects.get(urn=holder_urn(name)))
        path, mark, query = deed.name.partition("?")
        address, values = f"{quote(path)}{mark}{quote(query, safe='=')}", deed.values
        if deed.name.startswith(CATALOG):
            page = client.get(address)
            if page.status_code == HTTPStatus.FORBIDDEN:
                return False
            values = {**values, "seen": page.context["seen"]}
        with undone():
            number = count_events()
            answer = client.post(address, values)
            # A form that shows other fields is saved, and changes nothing.
            is_changed = count_events() > number
        assert answer.status_code in (200, 302, 403), (deed.name, name, answer.status_code, answer.content[-3000:])
        return is_changed

    assert not find_wrong(draw(FORMS, pytestconfig), may)


@pytest.mark.usefixtures("world")
def test_entities_are_created_and_deleted_by_their_managers_alone(pytestconfig: pytest.Config) -> None:
    def may_create(deed: Deed, name: str) -> bool:
        by = actor_resolution.load_actor(urn=holder_urn(name))
        return is_allowed(lambda: apply.apply(proposals=[build_proposal(deed.name, "made")], by=by, channel=DOOR))

    def may_delete(deed: Deed, name: str) -> bool:
        by = actor_resolution.load_actor(urn=holder_urn(name))
        return is_allowed(lambda: deletes.delete(urn=entity_urn(deed.name, "x"), by=by, channel=DOOR))

    assert not find_wrong(draw(CREATIONS, pytestconfig), may_create)
    assert not find_wrong(draw(DELETIONS, pytestconfig), may_delete)


def count_events() -> int:
    return ChangeEvent.objects.count() + PolicyEvent.objects.count()


def is_allowed(write: Callable[[], object]) -> bool:
    with undone():
        try:
            write()
        except Forbidden:
            return False
        return True
