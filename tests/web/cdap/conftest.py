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


@pytest.fixture
def shop(world: dict[str, User | None]) -> Callable[[str], Client]:
    """Make the namespace; return a client of somebody: anonymous, stranger, reader, maker or root."""
    found = {"anonymous": None, "root": world["root"]}
    for name, username in (("maker", "mara"), ("reader", "rita"), ("stranger", "sven")):
        found[name] = users.create(
            username=username, display_name=username.capitalize(), by=authorizer.SYSTEM, channel=DOOR
        )
    groups.create(identifier="team", name="The team", members=[], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="loaders", name="Loaders", by=authorizer.SYSTEM, channel=DOOR)
    do("namespace.create", SHOP, ROOT)
    give((MAKER, SHOP, "WRITE"))
    do("artifact.add", ETL, MAKER)
    do("application.deploy", ORDERS_APP, MAKER, programs=(LOAD,))
    do("stream.create", CLICKS, MAKER)
    do("dataset.create", TABLE, MAKER)
    give((READER, TABLE, "READ"), (READER, LOAD, "EXECUTE"))

    def make(name: str) -> Client:
        client = Client(raise_request_exception=True)
        person = found[name]
        if person is not None:
            client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
