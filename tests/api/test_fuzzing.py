"""The API against its own document: schemathesis asks what the document allows and what it forbids, of every operation.

Left out are two of its checks, which count as faults that numbers are taken for texts and that blanks are trimmed, a
third that asks everything thrice to see that callers without a token are refused (tests/architecture/doors.py has every
operation), and NUL in generated data, which has tests of its own. Bounded by the number of cases, never by a time.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import ignored_auth, negative_data_rejection, positive_data_acceptance
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies import bootstrap
from policies.identity.services import access_tokens, groups, users
from policies.pdp import authorizer, snapshot_store

pytestmark = pytest.mark.django_db

DOOR = "test"
CASES = 4
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"

METHODS = ("get", "post", "put", "patch", "delete")
#: The operations as tests/goldens wrote them down: what the API says itself takes seconds, and is asked by the tests.
OPERATIONS = sorted(
    (path, method.upper())
    for path, item in json.loads((Path(__file__).parents[1] / "goldens/found/openapi.json").read_text())[
        "paths"
    ].items()
    for method in item
    if method in METHODS
)


@pytest.fixture(scope="module")
def token(django_db_setup, django_db_blocker) -> Iterator[str]:
    """Fill the database once for all operations, in a transaction that is taken back; a token of the root user."""
    block = transaction.atomic()
    # What is in the block around a test counts as committed to the code under test.
    block._from_testcase = True  # type: ignore[attr-defined]  # as Django does
    # As Django's own test client does: the end of a request would close a connection that is in a transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    with django_db_blocker.unblock(), block:
        snapshot_store.reset()
        bootstrap.run()
        users.create(username="jane", by=authorizer.SYSTEM, channel=DOOR)
        groups.create(
            name="Crew", identifier="crew", members=["urn:li:corpuser:jane"], by=authorizer.SYSTEM, channel=DOOR
        )
        described = [Proposal(DATASET, "datasetProperties", '{"name": "orders"}')]
        apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)
        yield access_tokens.create(
            owner="urn:li:corpuser:datahub", name="fuzz", by=authorizer.SYSTEM, channel=DOOR
        ).text
        transaction.set_rollback(True)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    snapshot_store.reset()


@pytest.fixture(scope="module")
def tests(token: str) -> dict[tuple[str, str], Callable[..., None]]:
    """What asks each operation of the document as the API gives it."""
    document = schemathesis.openapi.from_wsgi(
        "/api/v1/openapi.json",
        get_wsgi_application(),
        config=schemathesis.Config.from_dict(
            {
                "generation": {"allow-x00": False, "deterministic": True},
                # What is asked of a version that is still to come is answered with 503, as the document says.
                "checks": {"not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "503"]}},
            }
        ),
    )
    few = settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    made = get_all_tests(schema=document, test_func=ask, settings=few, given_kwargs={})
    found = [one.ok() for one in made if isinstance(one, Ok)]
    assert sorted((one.path, one.method.upper()) for one, _ in found) == OPERATIONS
    return {(one.path, one.method.upper()): test for one, test in found}


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{method} {path}" for path, method in OPERATIONS])
def test_every_operation_keeps_to_the_document(
    tests: dict[tuple[str, str], Callable[..., None]], token: str, path: str, method: str
) -> None:
    tests[path, method](token=token)


def ask(case: schemathesis.Case, token: str) -> None:
    """Ask what schemathesis has drawn, and look at the answer."""
    case.call_and_validate(
        headers={"Authorization": f"Bearer {token}"},
        excluded_checks=[ignored_auth, negative_data_rejection, positive_data_acceptance],
    )
