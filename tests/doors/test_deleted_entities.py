"""What was deleted gives nothing through references that are left, nor to a later object of its name, at any door.

And where it keeps access from somebody, it is not deleted.
"""

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps

from catalog.ingest import apply as ingest
from catalog.ingest import deletes, rebuild_projection
from catalog.ingest.hidden_references import REFERENCE_FIELDS
from catalog.ingest.validate import Proposal
from catalog.models import Aspect, Entity, Facet
from policies.authoring.services import removed_names
from policies.identity.services import users
from policies.models import ChangeEvent, Tombstone
from policies.pdp import authorizer
from policies.propagation.invalidating_cache import process_cache
from tests.doors.conftest import DATASET, DOOR, Caller, give, proposal

pytestmark = pytest.mark.django_db

JO = "urn:li:corpuser:jo"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:snowflake,sales.other,PROD)"
POLICY = "urn:li:dataHubPolicy:narrowing"

#: Kind → its URN, the aspect that registers it, the aspect of an asset that refers to it, and the field of criteria.
Kind = tuple[str, tuple[str, Any], tuple[str, Callable[[list[str]], Any]], str]
KINDS: dict[str, Kind] = {
    "tag": (
        "urn:li:tag:PII",
        ("tagProperties", {"name": "PII"}),
        ("globalTags", lambda urns: {"tags": [{"tag": urn} for urn in urns]}),
        "TAG",
    ),
    "term": (
        "urn:li:glossaryTerm:Revenue",
        ("glossaryTermInfo", {"name": "Revenue", "definition": "", "termSource": "INTERNAL"}),
        (
            "glossaryTerms",
            lambda urns: {"terms": [{"urn": urn} for urn in urns], "auditStamp": {"time": 0, "actor": JO}},
        ),
        "GLOSSARY",
    ),
    "domain": (
        "urn:li:domain:sales",
        ("domainProperties", {"name": "Sales"}),
        ("domains", lambda urns: {"domains": urns}),
        "DOMAIN",
    ),
    "group that owns": (
        "urn:li:corpGroup:owners",
        ("corpGroupInfo", {"admins": [], "members": [], "groups": [], "displayName": "Owners"}),
        ("ownership", lambda urns: {"owners": [{"owner": urn, "type": "DATAOWNER"} for urn in urns]}),
        "OWNER",
    ),
}
DELETE_MUTATIONS = {
    "tag": "deleteTag",
    "term": "deleteGlossaryEntity",
    "domain": "deleteDomain",
    "group that owns": "removeGroup",
}


def delete_by_graphql(root: Caller, kind: str, urn: str) -> Any:
    query = f"mutation ($urn: String!) {{ {DELETE_MUTATIONS[kind]}(urn: $urn) }}"
    return root.post("/api/graphql", {"query": query, "variables": {"urn": urn}})


def delete_by_api(root: Caller, _kind: str, urn: str) -> Any:
    room = "groups" if ":corpGroup:" in urn else "entities"
    return root.client.delete(f"/api/v1/{room}/{quote(urn, safe='')}/")


DOORS: dict[str, Callable[[Caller, str, str], Any]] = {
    "API": delete_by_api,
    "REST": lambda root, _, urn: root.post("/entities?action=delete", {"urn": urn}),
    "key aspect": lambda root, _, urn: root.write(
        proposal(urn, f"{urn.split(':')[2]}Key", changeType="DELETE", aspect=None)
    ),
    "OpenAPI": lambda root, _, urn: root.client.delete(
        f"/openapi/v3/entity/{urn.split(':')[2].lower()}/{quote(urn, safe='')}"
    ),
    "GraphQL": delete_by_graphql,
}


def write(urn: str, aspect: str, document: object) -> None:
    item = Proposal(urn=urn, aspect=aspect, document=json.dumps(document))
    ingest.apply(proposals=[item], by=authorizer.SYSTEM, channel=DOOR)


def criterion(field: str, urn: str, condition: str = "EQUALS") -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": field, "values": [urn], "condition": condition}]}}


def ask(root: Caller, privilege: str = "EDIT_ENTITY_DOCS", urn: str = DATASET) -> str:
    body = {"actor": JO, "privilege": privilege, "resource": {"urn": urn}}
    return str(root.post("/api/v1/authorize", body).json()["decision"])


def list_entities(root: Caller) -> list[str]:
    answer = root.post("/api/v1/what", {"actor": JO, "privilege": "EDIT_ENTITY_DOCS", "type": "dataset"})
    return [row["urn"] for row in answer.json()["results"]]


def is_refused(answer: Any) -> bool:
    """Whether an answer is a conflict that names the policy."""
    if answer.status_code == 200:
        (error,) = answer.json()["errors"]
        return POLICY in error["message"]
    return answer.status_code == 409 and POLICY in answer.content.decode()


def refer(kind: str, *urns: str, asset: str = DATASET) -> None:
    aspect, build = KINDS[kind][2]
    write(asset, aspect, build(list(urns)))


#: A group is not deleted by its key.
WAYS = [(kind, door) for kind in KINDS for door in DOORS if (kind, door) != ("group that owns", "key aspect")]


@pytest.mark.parametrize(("kind", "door"), WAYS)
def test_what_is_gone_gives_nothing_to_its_assets_and_nothing_to_a_namesake(root, person, kind, door):
    urn, registration, _, field = KINDS[kind]
    person("jo")
    write(urn, *registration)
    refer(kind, urn)
    give(JO, "EDIT_ENTITY_DOCS", resources=criterion(field, urn))
    assert (ask(root), list_entities(root)) == ("ALLOW", [DATASET])
    answer = DOORS[door](root, kind, urn)
    assert answer.status_code in (200, 204), answer.content
    assert "errors" not in (answer.json() if answer.content else {})
    assert (ask(root), list_entities(root)) == ("DENY", [])
    if kind != "group that owns":
        write(urn, *registration)
        assert (ask(root), list_entities(root)) == ("DENY", [])
        rebuild_projection.rebuild()
        assert ask(root) == "DENY"
    removed_names.remove_names()
    assert urn not in "".join(Aspect.objects.filter(entity__urn=DATASET, version=0).values_list("document", flat=True))
    (event,) = ChangeEvent.objects.filter(object_urn=urn, door=removed_names.CHANNEL)
    assert event.before == {"named_by": {"policies": 0, "documents": 1}}
    assert not Facet.objects.filter(entity__urn=DATASET, field__startswith="GONE_").exists()
    if kind == "group that owns":
        write(urn, *registration)
    assert ask(root) == "DENY"
    refer(kind, urn)
    assert (ask(root), list_entities(root)) == ("ALLOW", [DATASET])
    assert not Tombstone.objects.exists()


#: How a policy keeps access from somebody by a name.
NARROWING: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "a deny": lambda field, urn: {"effect": "DENY", "resources": criterion(field, urn)},
    "NOT_EQUALS": lambda field, urn: {"resources": criterion(field, urn, "NOT_EQUALS")},
    "NOT_EQUALS, inactive": lambda field, urn: {
        "resources": criterion(field, urn, "NOT_EQUALS"),
        "state": "INACTIVE",
    },
    "a constraint": lambda _, urn: {
        "resources": {"privilegeConstraints": criterion("URN", urn, "NOT_EQUALS")["filter"]}
    },
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("narrowing", NARROWING)
def test_what_keeps_access_from_somebody_is_deleted_at_no_door(root, person, kind, narrowing):
    urn, registration, _, field = KINDS[kind]
    person("jo")
    write(urn, *registration)
    refer(kind, urn)
    document = {
        "displayName": "Narrowing",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "actors": {"users": [JO]},
    }
    write(POLICY, "dataHubPolicyInfo", document | NARROWING[narrowing](field, urn))
    for way, door in WAYS:
        assert way != kind or is_refused(DOORS[door](root, kind, urn))
    assert not Tombstone.objects.exists()
    write(POLICY, "dataHubPolicyInfo", document)
    assert DOORS["API"](root, kind, urn).status_code == 204
    assert Tombstone.objects.filter(urn=urn).exists()


def test_a_source_that_repeats_a_deleted_tag_opens_nothing(root, person):
    urn, registration, _, field = KINDS["tag"]
    person("jo")
    write(urn, *registration)
    give(JO, "EDIT_ENTITY_DOCS", resources=criterion(field, urn))
    DOORS["REST"](root, "tag", urn)
    removed_names.remove_names()
    refer("tag", urn)
    assert ask(root) == "DENY"
    write(urn, *registration)
    write(DATASET, "status", {"removed": False})
    assert ask(root) == "DENY"
    removed_names.remove_names()
    refer("tag", urn)
    assert ask(root) == "ALLOW"


def test_who_owns_by_a_deleted_type_owns_without_one(root, person):
    urn = "urn:li:ownershipType:steward"
    person("jo")
    write(urn, "ownershipTypeInfo", {"name": "Steward"})
    owners = [{"owner": JO, "type": "CUSTOM", "typeUrn": urn}]
    write(DATASET, "ownership", {"owners": owners})
    give(JO, "DELETE_ENTITY", actors={"resourceOwners": True, "resourceOwnersTypes": [urn]})
    give(JO, "VIEW_DATASET_USAGE", actors={"resourceOwners": True})
    assert (ask(root, "DELETE_ENTITY"), ask(root, "VIEW_DATASET_USAGE")) == ("ALLOW", "ALLOW")
    query = "mutation ($urn: String!) { deleteOwnershipType(urn: $urn) }"
    assert root.post("/api/graphql", {"query": query, "variables": {"urn": urn}}).json()["data"]
    for _ in range(2):
        assert (ask(root, "DELETE_ENTITY"), ask(root, "VIEW_DATASET_USAGE")) == ("DENY", "ALLOW")
        removed_names.remove_names()
    document = json.loads(Aspect.objects.get(entity__urn=DATASET, name="ownership", version=0).document)
    assert document == {"owners": [{"owner": JO, "type": "CUSTOM"}]}


@pytest.mark.parametrize("effect", ["ALLOW", "DENY"])
def test_an_ownership_type_that_keeps_owners_out_is_not_deleted(root, person, effect):
    urn = "urn:li:ownershipType:steward"
    person("jo")
    write(urn, "ownershipTypeInfo", {"name": "Steward"})
    key = "excludedResourceOwnersTypes" if effect == "ALLOW" else "resourceOwnersTypes"
    actors = {"allUsers": effect == "ALLOW", "resourceOwners": effect == "DENY", key: [urn]}
    document = {
        "displayName": "Narrowing",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "actors": actors,
        "effect": effect,
    }
    write(POLICY, "dataHubPolicyInfo", document)
    query = "mutation ($urn: String!) { deleteOwnershipType(urn: $urn) }"
    assert is_refused(root.post("/api/graphql", {"query": query, "variables": {"urn": urn}}))


def test_the_contents_of_a_deleted_domain_and_the_products_of_one_lose_it(root, person):
    urn, registration, _, field = KINDS["domain"]
    product = "urn:li:dataProduct:orders"
    person("jo")
    write(urn, *registration)
    write(product, "dataProductProperties", {"name": "Orders", "assets": []})
    refer("domain", urn, asset=product)
    give(JO, "EDIT_ENTITY_DOCS", resources=criterion(field, urn))
    assert ask(root, urn=product) == "ALLOW"
    assert DOORS["API"](root, "domain", urn).status_code == 204
    assert ask(root, urn=product) == "DENY"
    deletes.delete(urn=product, by=authorizer.SYSTEM, channel=DOOR)
    write(product, "dataProductProperties", {"name": "Orders", "assets": []})
    assert ask(root, urn=product) == "DENY"


def test_every_field_that_policies_test_by_a_reference_is_one_that_ends_with_it():
    tested = {"OWNER", "DOMAIN", "CONTAINER", "GLOSSARY", "TAG", "DATA_PLATFORM_INSTANCE"}
    assert tested <= REFERENCE_FIELDS


def test_other_references_of_the_asset_stay(root, person):
    urn, registration, _, _ = KINDS["tag"]
    write(urn, *registration)
    refer("tag", urn, "urn:li:tag:Other")
    refer("tag", "urn:li:tag:Other", asset=OTHER)
    DOORS["API"](root, "tag", urn)
    removed_names.remove_names()
    texts = (
        Aspect.objects.filter(name="globalTags", version=0).order_by("entity__urn").values_list("document", flat=True)
    )
    assert [json.loads(text) for text in texts] == [{"tags": [{"tag": "urn:li:tag:Other"}]}] * 2
    assert Aspect.objects.filter(name="globalTags", version=1).count() == 1
    assert Entity.objects.filter(urn=urn).count() == 0


def test_the_migration_marks_what_was_deleted_before_and_hides_what_refers_to_it(root, person):
    migration = import_module("catalog.migrations.0018_deleted_objects")
    assert set(migration.REFERENCE_FIELDS) == REFERENCE_FIELDS
    assert set(migration.TYPES) == deletes._REFERRED_TYPES
    owner_type, again = "urn:li:ownershipType:steward", "urn:li:tag:Again"
    keeper, leaver = "urn:li:corpuser:keeper", "urn:li:corpuser:leaver"
    for username in ("jo", "keeper", "leaver"):
        person(username)
    assigned = {kind: urn for kind, (urn, *_) in KINDS.items() if kind != "group that owns"}
    for kind, urn in assigned.items():
        write(urn, *KINDS[kind][1])
        refer(kind, *([urn, again] if kind == "tag" else [urn]))
    write(again, "tagProperties", {"name": "Again"})
    write(owner_type, "ownershipTypeInfo", {"name": "Steward"})
    write("urn:li:tag:Edited", "tagProperties", {"name": "Edited"})
    owners = [{"owner": owner, "type": "CUSTOM", "typeUrn": owner_type} for owner in (keeper, leaver)]
    write(DATASET, "ownership", {"owners": owners})
    facets = set(Facet.objects.values_list("entity__urn", "field", "value", "type"))
    for urn in (*assigned.values(), again, owner_type):
        deletes.delete(urn=urn, by=authorizer.SYSTEM, channel=DOOR)
    users.remove(urn=leaver, by=authorizer.SYSTEM, channel=DOOR)
    ingest.apply(
        proposals=[Proposal(urn="urn:li:tag:Edited", aspect="tagProperties", document=None, change="DELETE")],
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    write(again, "tagProperties", {"name": "Again"})
    # As it was before there were tombstones.
    Tombstone.objects.exclude(urn=leaver).delete()
    Facet.objects.filter(entity__urn=DATASET).delete()
    entity = Entity.objects.get(urn=DATASET)
    Facet.objects.bulk_create(
        Facet(entity=entity, field=field, value=value, type=type_)
        for urn, field, value, type_ in facets
        if urn == DATASET
    )
    # One that a later write has hidden already.
    Facet.objects.create(entity=entity, field="GONE_TAG", value=KINDS["tag"][0])
    for field, kind in (("TAG", "tag"), ("DOMAIN", "domain"), ("GLOSSARY", "term")):
        give(JO, "EDIT_ENTITY_DOCS", resources=criterion(field, KINDS[kind][0]))
    assert ask(root) == "ALLOW"
    for run in (migration.mark_deleted, migration.hide_references):
        run(apps, None)
    gone = {*assigned.values(), owner_type, leaver}
    assert set(Tombstone.objects.values_list("urn", flat=True)) == gone
    shown = set(Facet.objects.filter(entity__urn=DATASET).values_list("field", "value", "type"))
    assert ("TAG", again, "") in shown
    assert ("OWNER", keeper, "") in shown
    assert not {facet for facet in shown if facet[0] in REFERENCE_FIELDS and gone & {*facet[1:]}}
    process_cache.clear()
    assert (ask(root), list_entities(root)) == ("DENY", [])
    removed_names.remove_names()
    texts = "".join(Aspect.objects.filter(entity__urn=DATASET, version=0).values_list("document", flat=True))
    assert not [urn for urn in gone if f'"{urn}"' in texts]
    assert again in texts
    assert not Facet.objects.filter(field__startswith="GONE_").exists()
