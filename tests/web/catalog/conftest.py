"""A small catalog for the tests of its pages, and people who may do different things with it."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies
from policies.identity.services import groups, users
from policies.models import User
from policies.pdp import authorizer
from tests import finished
from tests.forgetting import forget_rows
from tests.web.conftest import DOOR, write_policy

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)"
SALARIES = "urn:li:dataset:(urn:li:dataPlatform:snowflake,people.salaries,PROD)"
BOARD = "urn:li:dashboard:(looker,sales)"
SHOP, DATABASE = "urn:li:container:shop", "urn:li:container:database"
SALES, EUROPE, SECRET = "urn:li:domain:sales", "urn:li:domain:europe", "urn:li:domain:secret"
PII, GOLD = "urn:li:tag:PII", "urn:li:tag:Gold"
REVENUE = "urn:li:glossaryTerm:revenue"
READER, WRITER = "urn:li:role:shop_reader", "urn:li:role:shop_writer"
OWNER = "urn:li:corpuser:olga"
OUTSIDER, STEWARD = "urn:li:corpuser:otto", "urn:li:corpuser:stella"
ANALYSTS = "urn:li:corpGroup:analysts"
TECHNICAL = "urn:li:ownershipType:__system__technical_owner"
VIEWS_ALL = "urn:li:dataHubPolicy:view-entity-page-all"

DOCUMENTS: dict[tuple[str, str], dict] = {
    (EUROPE, "domainProperties"): {"name": "Europe"},
    (SALES, "domainProperties"): {"name": "Sales", "description": "What we sell", "parentDomain": EUROPE},
    (SECRET, "domainProperties"): {"name": "Secret plans"},
    (DATABASE, "containerProperties"): {"name": "warehouse"},
    (SHOP, "containerProperties"): {"name": "shop"},
    (SHOP, "container"): {"container": DATABASE},
    (PII, "tagProperties"): {"name": "PII"},
    (GOLD, "tagProperties"): {"name": "Gold"},
    (REVENUE, "glossaryTermInfo"): {"name": "Revenue", "definition": "Money in", "termSource": "INTERNAL"},
    ("urn:li:dataPlatform:snowflake", "dataPlatformInfo"): {"name": "snowflake", "displayName": "Snowflake"},
    (ORDERS, "datasetProperties"): {
        "name": "orders",
        "description": "One row for each order",
        "customProperties": {"layer": "core"},
    },
    (ORDERS, "schemaMetadata"): {
        "schemaName": "orders",
        "primaryKeys": ["id"],
        "fields": [
            {"fieldPath": "id", "nativeDataType": "NUMBER", "nullable": False},
            {"fieldPath": "mail", "nativeDataType": "TEXT", "globalTags": {"tags": [{"tag": PII}]}},
        ],
    },
    (ORDERS, "editableSchemaMetadata"): {
        "editableSchemaFieldInfo": [{"fieldPath": "mail", "description": "Where to write to"}]
    },
    (ORDERS, "ownership"): {
        "owners": [{"owner": OWNER, "type": "TECHNICAL_OWNER", "typeUrn": TECHNICAL, "attribution": {"kept": 1}}]
    },
    (ORDERS, "domains"): {"domains": [SALES]},
    (ORDERS, "globalTags"): {"tags": [{"tag": PII, "context": "kept"}]},
    (ORDERS, "container"): {"container": SHOP},
    (ORDERS, "access"): {"roles": [{"urn": READER}, {"urn": WRITER}]},
    (ORDERS, "institutionalMemory"): {
        "elements": [
            {"url": "https://wiki.example/orders", "description": "How it is made", "createStamp": {"time": 1}}
        ]
    },
    (SALARIES, "datasetProperties"): {"name": "salaries"},
    (SALARIES, "domains"): {"domains": [SECRET]},
    (SALARIES, "access"): {"roles": [{"urn": READER}]},
    (BOARD, "dashboardInfo"): {"title": "Sales board", "description": ""},
    (BOARD, "deprecation"): {"deprecated": True, "note": "Use the new one.", "actor": OWNER},
    (READER, "roleProperties"): {
        "name": "Shop reader",
        "description": "Reads the shop. " * 12,
        "type": "READ",
        "requestUrl": "https://access.example/reader",
        "kept": True,
    },
    (READER, "actors"): {"users": [{"user": OWNER}], "groups": [{"group": ANALYSTS}]},
    (WRITER, "roleProperties"): {"name": "Shop writer", "type": "WRITE", "requestUrl": "javascript:alert(1)"},
}


def store(documents: dict[tuple[str, str], dict]) -> None:
    """Write documents as the system."""
    found = [Proposal(urn, aspect, json.dumps(document)) for (urn, aspect), document in documents.items()]
    apply.apply(proposals=found, by=authorizer.SYSTEM, channel=DOOR)


def hide() -> None:
    """Take back that everybody may view everything."""
    policies.set_state(urn=VIEWS_ALL, state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR)


def store_shelves() -> None:
    """Store the catalog, its owner, and what she and the steward may do."""
    users.create(username="olga", display_name="Olga Owner", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="analysts", name="Analysts", members=[STEWARD], by=authorizer.SYSTEM, channel=DOOR)
    store(DOCUMENTS)
    finished.shelve()
    write_policy(
        "stewards",
        displayName="Stewards tag orders",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": [STEWARD]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}},
    )
    write_policy(
        "owners",
        displayName="Owners edit",
        privileges=["EDIT_ENTITY", "VIEW_ENTITY_PAGE"],
        actors={"resourceOwners": True},
    )


@pytest.fixture(scope="module")
def shelves_of_module(ladder_of_module: None, module_transaction: bool) -> None:
    """The catalog, once for the tests of a module whose transactions are taken back."""
    if module_transaction:
        forget_rows()
        store_shelves()


@pytest.fixture
def shelves(shelves_of_module, world, settings) -> Callable[[str], Client]:
    """Return a client of somebody before the catalog: anonymous, outsider, owner, steward or root."""
    settings.SHOW_ACCESS_MANAGEMENT = True
    if not User.objects.filter(urn=OWNER).exists():
        store_shelves()
    everybody = {**world, "owner": User.objects.get(urn=OWNER)}

    def make(name: str) -> Client:
        client = Client(raise_request_exception=True)
        if everybody[name] is not None:
            client.force_login(everybody[name], backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
