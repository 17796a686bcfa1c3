"""A CDAP namespace for the tests of its pages, made through the operations, and people who hold different things."""

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.cdap import grant_services, operation_services
from catalog.cdap.grant_requests import GrantRequest
from policies.engine.families.cdap_requests import OperationRequest
from policies.identity.services import groups, roles, users
from policies.models import User
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, authorizer
from tests.forgetting import forget_rows
from tests.web.conftest import DOOR

SHOP = "urn:li:namespace:shop"
ETL = "urn:li:artifact:shop.etl"
ORDERS_APP, LOAD = "urn:li:application:shop.orders", "urn:li:program:shop.orders.load"
CLICKS = "urn:li:stream:shop.clicks"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:cdap,shop.sales,PROD)"
ELSEWHERE = "urn:li:dataset:(urn:li:dataPlatform:hive,sales,PROD)"

#: Holds everything on what she made, and WRITE on the namespace without READ; holds one privilege; holds nothing.
MAKER, READER, STRANGER = (f"{USER_PREFIX}{name}" for name in ("mara", "rita", "sven"))
TEAM, ROLE = "urn:li:corpGroup:team", "urn:li:dataHubRole:loaders"
ROOT = f"{USER_PREFIX}datahub"


def give(*grants: tuple[str, str, str]) -> None:
    """Grant privileges, as the system: (principal, entity, words)."""
    sent = [GrantRequest(principal, entity, tuple(words.split())) for principal, entity, words in grants]
    grant_services.grant(requests=sent, by=authorizer.SYSTEM, channel=DOOR)


def do(operation: str, entity: str, by: str, **more: object) -> None:
    """Do an operation as somebody."""
    said = OperationRequest(operation, entity, **more)  # type: ignore[arg-type]
    operation_services.perform(operation_request=said, actor=None, by=actor_resolution.load_actor(urn=by), channel=DOOR)


#: Who is who, apart from anonymous and root.
PEOPLE = {"maker": MAKER, "reader": READER, "stranger": STRANGER}


def store_shop() -> None:
    """Make the namespace and its people."""
    for urn in PEOPLE.values():
        username = urn.removeprefix(USER_PREFIX)
        users.create(username=username, display_name=username.capitalize(), by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="team", name="The team", members=[], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="loaders", name="Loaders", by=authorizer.SYSTEM, channel=DOOR)
    do("namespace.create", SHOP, ROOT)
    give((MAKER, SHOP, "WRITE"))
    do("artifact.add", ETL, MAKER)
    do("application.deploy", ORDERS_APP, MAKER, programs=(LOAD,))
    do("stream.create", CLICKS, MAKER)
    do("dataset.create", TABLE, MAKER)
    give((READER, TABLE, "READ"), (READER, LOAD, "EXECUTE"))


@pytest.fixture(scope="module")
def shop_of_module(ladder_of_module: None, module_transaction: bool) -> None:
    """The namespace, once for the tests of a module whose transactions are taken back."""
    if module_transaction:
        forget_rows()
        store_shop()


@pytest.fixture
def shop(shop_of_module: None, world: dict[str, User | None]) -> Callable[[str], Client]:
    """Return a client of somebody in the namespace: anonymous, stranger, reader, maker or root."""
    if not User.objects.filter(urn=MAKER).exists():
        store_shop()
    found = {"anonymous": None, "root": world["root"]}
    found |= {name: User.objects.get(urn=urn) for name, urn in PEOPLE.items()}

    def make(name: str) -> Client:
        client = Client(raise_request_exception=True)
        person = found[name]
        if person is not None:
            client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
