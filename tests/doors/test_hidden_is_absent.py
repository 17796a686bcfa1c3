"""Under view authorization a hidden entity is answered about as one that is not stored: status, body and headers.

Every way to write or read one entity, asked by somebody who may view something else but neither this nor make any.
"""

import json
import re
from urllib.parse import quote

import pytest

from catalog.aspects.register import ENTITY_TYPES_BY_ASPECT
from tests.doors.conftest import ROOT, give, proposal
from tests.doors.graphql.conftest import PATH as GRAPHQL
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

OBJECT = "507f1f77bcf86cd799439011"
DOMAIN = "urn:li:domain:secret"


def table(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


#: What is hidden beside what is not stored: their names have the same length, as `Content-Length` has to be the same.
PAIRS = {
    "dataset": (table("hidden"), table("absent")),
    "chart": ("urn:li:chart:(looker,hidden)", "urn:li:chart:(looker,absent)"),
    "domain": ("urn:li:domain:hidden", "urn:li:domain:absent"),
    "dataProduct": ("urn:li:dataProduct:hidden", "urn:li:dataProduct:absent"),
    "query": ("urn:li:query:hidden", "urn:li:query:absent"),
    "glossaryTerm": ("urn:li:glossaryTerm:hidden", "urn:li:glossaryTerm:absent"),
}
MINE = {
    "dataset": table("mine"),
    "chart": "urn:li:chart:(looker,mine)",
    "domain": "urn:li:domain:mine",
    "dataProduct": "urn:li:dataProduct:mine",
    "query": "urn:li:query:mine",
    "glossaryTerm": "urn:li:glossaryTerm:mine",
}
ROLE = "urn:li:role:reader"
OPENED = {"roles": [{"urn": ROLE}]}
TAGS = {"tags": [{"tag": "urn:li:tag:new"}]}


def stored(urn):
    """What is stored of an entity: facts by which policies could tell it, and relatives that a refusal could name."""
    found = [
        proposal(urn, "globalTags", {"tags": [{"tag": "urn:li:tag:old"}]}),
        proposal(urn, "ownership", {"owners": [{"owner": ROOT}]}),
        proposal(urn, "status", {"removed": False}),
    ]
    if ":domain:" not in urn:
        found.append(proposal(urn, "domains", {"domains": [DOMAIN]}))
    if ":query:" in urn:
        found.append(proposal(urn, "querySubjects", {"subjects": [{"entity": table("subject")}]}))
    return found


@pytest.fixture(params=sorted(PAIRS))
def pair(request):
    return PAIRS[request.param]


@pytest.fixture
def jo(root, person, settings, pair):
    """Somebody who may view and edit one entity of the kind, while another is stored and hidden."""
    hidden, _ = pair
    mine = MINE[hidden.split(":")[2]]
    opening = [proposal(hidden, "access", OPENED)] if hidden.split(":")[2] in ENTITY_TYPES_BY_ASPECT["access"] else []
    role = proposal(ROLE, "roleProperties", {"name": "Reader", "type": "READ"})
    assert root.write(*stored(hidden), *stored(mine), *opening, role).status_code == 200
    close_the_reading_policies(root)
    jo = person("jo")
    only = {"filter": {"criteria": [{"field": "URN", "values": [mine]}]}}
    give(jo.urn, "VIEW_ENTITY_PAGE", "EDIT_ENTITY", "DELETE_ENTITY", resources=only)
    roles = {"filter": {"criteria": [{"field": "TYPE", "values": ["role"]}]}}
    give(jo.urn, "EDIT_ENTITY", displayName="What Jo may do with external roles", resources=roles)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    return jo


def send(method, path, body=None):
    def call(caller, urn):
        where = path.format(urn=quote(urn, safe=""), kind=urn.split(":")[2])
        data = {} if body is None else {"data": json.dumps(body(urn)), "content_type": "application/json"}
        return getattr(caller.client, method)(where, **data)

    return call


def query(text, **more):
    return send("post", GRAPHQL, lambda urn: {"query": text, "variables": {"urn": urn, **more}})


def patch(urn):
    steps = [{"op": "remove", "path": "/tags/urn:li:tag:gone"}, {"op": "test", "path": "/nonsense", "value": 1}]
    return proposal(urn, "globalTags", steps, changeType="PATCH")


def written(name, value=None, **more):
    return lambda urn: {"proposal": proposal(urn, name, value, **more)}


def found_by(field, urn):
    criterion = {"field": field, "condition": "EQUAL", "values": [urn], "value": urn}
    return {"entity": "dataset", "input": "*", "filter": {"or": [{"and": [criterion]}]}}


PLACE = f"/api/v1/external-roles/{quote(ROLE, safe='')}/"
ENTITY, GMS, V3 = "/api/v1/entities/{urn}/", "/entities/{urn}", "/openapi/v3/entity/{kind}"
INGEST, BATCH = "/aspects?action=ingestProposal", "/aspects?action=ingestProposalBatch"
CALLS = {
    "api get": send("get", ENTITY),
    "api patch": send("patch", ENTITY, lambda _: {"name": "x"}),
    "api patch of nonsense": send("patch", ENTITY, lambda _: {"nonsense": 1}),
    "api patch of aspects": send("patch", ENTITY, lambda _: {"aspects": {"globalTags": TAGS}}),
    "api delete": send("delete", ENTITY),
    "api access": send("get", ENTITY + "access/"),
    "api create": send("post", "/api/v1/entities/", lambda urn: {"type": urn.split(":")[2], "urn": urn, "name": "x"}),
    "api create with an id": send(
        "post", "/api/v1/entities/", lambda urn: {"type": urn.split(":")[2], "urn": urn, "object_id": OBJECT}
    ),
    "api create with aspects": send(
        "post",
        "/api/v1/entities/",
        lambda urn: [{"type": urn.split(":")[2], "urn": urn, "aspects": {"globalTags": TAGS, "status": {}}}],
    ),
    "api external role": send(
        "post", "/api/v1/external-roles/", lambda urn: {"name": "R", "type": "READ", "datasets": [urn]}
    ),
    "api external role put on it": send("patch", PLACE, lambda urn: {"datasets": [urn]}),
    "api external role replaced": send("put", PLACE, lambda urn: {"name": "R", "type": "READ", "datasets": [urn]}),
    "api entities in it": send("get", "/api/v1/entities/?domain={urn}"),
    "gms access": send("post", INGEST, written("access", OPENED)),
    "gms access taken": send("post", INGEST, written("access", changeType="DELETE")),
    "gms access read": send("get", "/aspects/{urn}?aspect=access&version=0"),
    "gms search in it": send("post", "/entities?action=search", lambda urn: found_by("domains", urn)),
    "openapi access": send("post", V3 + "?async=false", lambda urn: [{"urn": urn, "access": {"value": OPENED}}]),
    "openapi access read": send("get", V3 + "/{urn}/access"),
    "openapi access taken": send("delete", V3 + "/{urn}/access"),
    "openapi scroll in it": send(
        "post", "/openapi/v3/entity/scroll", lambda urn: {**found_by("domains", urn), "entities": ["dataset"]}
    ),
    "graphql access": query("query($urn: String!) {dataset(urn: $urn) {access {roles {role {urn}}}}}"),
    "graphql what a role opens": query(
        f'query {{role(urn: "{ROLE}") {{relationships(input: {{types: [], direction: INCOMING}}) '
        "{total relationships {entity {urn}}}}}"
    ),
    "graphql search in it": query(
        'query($urn: String!) {searchAcrossEntities(input: {query: "*", types: [DATASET], '
        'orFilters: [{and: [{field: "domains", values: [$urn]}]}]}) {total searchResults {entity {urn}}}}'
    ),
    "authzen subjects": send(
        "post",
        "/access/v1/search/subject",
        lambda urn: {
            "subject": {"type": "user"},
            "action": {"name": "EDIT_ENTITY"},
            "resource": {"type": urn.split(":")[2], "id": urn},
        },
    ),
    "api authorize": send(
        "post", "/api/v1/authorize", lambda urn: {"privilege": "EDIT_ENTITY", "resource": {"urn": urn}, "explain": True}
    ),
    "gms get": send("get", GMS),
    "gms get v2": send("get", "/entitiesV2/{urn}"),
    "gms aspect": send("get", "/aspects/{urn}?aspect=globalTags&version=0"),
    "gms ingest": send("post", INGEST, written("globalTags", TAGS)),
    "gms create": send("post", INGEST, written("globalTags", TAGS, changeType="CREATE")),
    "gms create entity": send("post", INGEST, written("globalTags", TAGS, changeType="CREATE_ENTITY")),
    "gms status": send("post", INGEST, written("status", {"removed": True})),
    "gms delete aspect": send("post", INGEST, written("globalTags", changeType="DELETE")),
    "gms patch": send("post", INGEST, lambda urn: {"proposal": patch(urn)}),
    "gms batch": send(
        "post",
        BATCH,
        lambda urn: {"proposals": [proposal(urn, "globalTags", TAGS), proposal(urn, "ownership", {"owners": []})]},
    ),
    "gms delete": send("post", "/entities?action=delete", lambda urn: {"urn": urn}),
    "gms delete an aspect": send("post", "/entities?action=delete", lambda urn: {"urn": urn, "aspectName": "status"}),
    "gms references": send("post", "/entities?action=deleteReferences", lambda urn: {"urn": urn}),
    "gms references seen": send("post", "/entities?action=deleteReferences", lambda urn: {"urn": urn, "dryRun": True}),
    "openapi get": send("get", V3 + "/{urn}"),
    "openapi head": send("head", V3 + "/{urn}"),
    "openapi aspect": send("get", V3 + "/{urn}/globalTags"),
    "openapi write": send("post", V3 + "?async=false", lambda urn: [{"urn": urn, "globalTags": {"value": TAGS}}]),
    "openapi create": send(
        "post",
        V3 + "?async=false&createEntityIfNotExists=true",
        lambda urn: [{"urn": urn, "globalTags": {"value": TAGS}}],
    ),
    "openapi delete": send("delete", V3 + "/{urn}"),
    "openapi delete aspect": send("delete", V3 + "/{urn}/globalTags"),
    "openapi batch": send("post", V3 + "/batchGet", lambda urn: [{"urn": urn}]),
    "openapi incoming relationships": send("get", "/openapi/relationships/v1/?urn={urn}&direction=INCOMING"),
    "openapi trace": send(
        "post",
        f"/openapi/v1/trace/write/{'0' * 32}?onlyIncludeErrors=false",
        lambda urn: {urn: ["globalTags", "status"]},
    ),
    "gms series": send(
        "post", "/aspects?action=getTimeseriesAspectValues", lambda urn: {"urn": urn, "aspect": "x", "limit": 1}
    ),
    "graphql lineage": query(
        "query($urn: String!) {searchAcrossLineage(input: {urn: $urn, direction: DOWNSTREAM}) "
        "{total searchResults {entity {urn}}}}"
    ),
    "openapi relationships": send("get", "/openapi/relationships/v1/?urn={urn}&direction=OUTGOING"),
    "graphql entity": query("query($urn: String!) {entity(urn: $urn) {urn}}"),
    "graphql tag": query(
        'mutation($urn: String!) {addTag(input: {tagUrn: "urn:li:tag:new", resourceUrn: $urn})}',
    ),
    "graphql domain": query('mutation($urn: String!) {setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:none")}'),
    "graphql domain that is put to": query(
        'mutation($urn: String!) {setDomain(entityUrn: "urn:li:tag:new", domainUrn: $urn)}'
    ),
    "graphql unset domain": query("mutation($urn: String!) {unsetDomain(entityUrn: $urn)}"),
    "graphql name": query('mutation($urn: String!) {updateName(input: {urn: $urn, name: "x"})}'),
    "graphql delete": query("mutation($urn: String!) {deleteDomain(urn: $urn)}"),
    "graphql exists": query("query($urn: String!) {entityExists(urn: $urn)}"),
    "graphql granted": query(
        'query($urn: String!) {getGrantedPrivileges(input: {actorUrn: "urn:li:corpuser:jo", '
        "resourceSpec: {resourceType: OTHER, resourceUrn: $urn}}) {privileges}}"
    ),
    "authzen": send(
        "post",
        "/access/v1/evaluation",
        lambda urn: {
            "subject": {"type": "user", "id": "jo"},
            "action": {"name": "EDIT_ENTITY"},
            "resource": {"type": urn.split(":")[2], "id": urn},
        },
    ),
}
#: Headers that name the one request.
_OWN = {"X-Request-ID", "Date", "Expires", "traceparent", "Server-Timing"}
#: Members of an answer that are its own: the id of an evaluation, and times.
_OWN_MEMBERS = re.compile(r'"(evaluation_id|evaluated_at|expires_at)":"[^"]+"')


def told(answer, urn):
    """Return status, headers and body, as if the URN were another."""
    kept = {name: value for name, value in answer.headers.items() if name not in _OWN}
    body = _OWN_MEMBERS.sub(r'"\1":"OWN"', answer.content.decode())
    for one in (urn, quote(urn, safe="")):
        body = body.replace(one, "URN")
    name = "hidden" if "hidden" in urn else "absent"
    return answer.status_code, kept, body.replace(name, "NAME")


@pytest.mark.drawn(2)
def test_hidden_is_absent(jo, pair):
    """Every call is refused, or answers without writing, so that one can follow the other."""
    hidden, absent = pair
    different = {}
    for name, call in CALLS.items():
        found, missed = told(call(jo, hidden), hidden), told(call(jo, absent), absent)
        if found != missed:
            different[name] = (found, missed)
    assert different == {}


#: Reads of one entity: alike also for who may view what is not stored.
READS = (
    "api access",
    "api delete",
    "api get",
    "api patch",
    "gms access read",
    "gms aspect",
    "gms get",
    "gms get v2",
    "gms references seen",
    "gms series",
    "graphql access",
    "graphql entity",
    "graphql exists",
    "graphql lineage",
    "openapi access read",
    "openapi aspect",
    "openapi batch",
    "openapi get",
    "openapi head",
    "openapi incoming relationships",
    "openapi relationships",
    "openapi trace",
)


def test_reads_are_alike_for_who_may_view_everything_but_some(root, person, settings, pair):
    """A policy with NOT_EQUALS lets everybody view what is not stored, but not what has the tag."""
    hidden, absent = pair
    pointing = proposal(table("pointing"), "upstreamLineage", {"upstreams": [{"dataset": hidden, "type": "COPY"}]})
    assert root.write(*stored(hidden), *([pointing] if ":dataset:" in hidden else [])).status_code == 200
    close_the_reading_policies(root)
    others = {"field": "TAG", "values": ["urn:li:tag:old"], "condition": "NOT_EQUALS"}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources={"filter": {"criteria": [others]}})
    settings.VIEW_AUTHORIZATION_ENABLED = True
    different = {}
    for name in READS:
        found, missed = told(CALLS[name](jo, hidden), hidden), told(CALLS[name](jo, absent), absent)
        if found != missed:
            different[name] = (found, missed)
    assert different == {}


#: Calls that make what is not stored, and need more than CREATE_ENTITY for its tags.
MAKING = ("api create with aspects", "gms ingest", "gms create entity", "gms batch", "openapi write", "openapi create")
NAMED = {"value": {"name": "x"}}
#: The same of a name, for which CREATE_ENTITY will do.
NAMING = {
    "api": CALLS["api create"],
    "gms": send("post", INGEST, written("datasetProperties", {"name": "x"})),
    "gms create": send("post", INGEST, written("datasetProperties", {"name": "x"}, changeType="CREATE_ENTITY")),
    "openapi": send("post", V3 + "?async=false", lambda urn: [{"urn": urn, "datasetProperties": NAMED}]),
}


def test_who_may_create_learns_that_a_name_is_taken_and_nothing_else(root, person, settings):
    hidden, absent = PAIRS["dataset"]
    assert root.write(*stored(hidden)).status_code == 200
    close_the_reading_policies(root)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    maker = person("max", "CREATE_ENTITY")
    for name in (*MAKING, *READS, "gms delete", "openapi delete"):
        assert told(CALLS[name](maker, hidden), hidden) == told(CALLS[name](maker, absent), absent), name
    for number, (name, call) in enumerate(NAMING.items()):
        refusal = call(maker, hidden)
        detail = refusal.json().get("detail") or refusal.json()["message"]
        assert (refusal.status_code, detail) == (403, f"Missing: EDIT_ENTITY on {hidden}."), name
        assert call(maker, table(f"new{number}")).status_code in (200, 201), name


@pytest.mark.parametrize("pair", [PAIRS["domain"]])
def test_what_lies_in_something_hidden_is_not_found_by_it(root, jo, pair, person):
    """Mine may be viewed, what it lies in may not: a filter by that finds nothing, and one for any finds nothing."""
    hidden, absent = pair
    inside = table("inside")
    assert root.write(proposal(inside, "domains", {"domains": [hidden]})).status_code == 200
    only = {"filter": {"criteria": [{"field": "URN", "values": [inside]}]}}
    give(jo.urn, "VIEW_ENTITY_PAGE", displayName="Inside", resources=only)
    for name in ("api entities in it", "gms search in it", "openapi scroll in it", "graphql search in it"):
        assert inside in CALLS[name](root, hidden).content.decode(), name
        assert told(CALLS[name](jo, hidden), hidden) == told(CALLS[name](jo, absent), absent), name
    exists = query(
        'query {searchAcrossEntities(input: {query: "*", types: [DATASET], '
        'orFilters: [{and: [{field: "domains", condition: EXISTS}]}]}) {searchResults {entity {urn}}}}'
    )
    assert inside in exists(root, hidden).content.decode()
    assert inside not in exists(jo, hidden).content.decode()


def test_the_id_of_a_hidden_object_is_not_told(root, jo, pair, person):
    hidden, _ = pair
    kind = hidden.split(":")[2]
    body = {"type": kind, "urn": hidden, "object_id": OBJECT}
    assert root.client.post("/api/v1/entities/", body, content_type="application/json").status_code == 201
    other = MINE[kind]
    free, taken = (
        jo.client.post("/api/v1/entities/", {**body, "urn": other, "object_id": one}, content_type="application/json")
        for one in ("1" * 24, OBJECT)
    )
    assert free.status_code == 201
    assert taken.status_code == 409
    assert hidden not in taken.content.decode()
