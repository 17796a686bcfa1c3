"""Every refusal has the form of the interface that was called, whether a view, Django or a middleware makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client

from authzsite.middleware import find_body_limit
from policies.models import User
from tests.doors.conftest import ROOT, Caller, calling

JSON, SCIM_JSON, FORM = "application/json", "application/scim+json", "application/x-www-form-urlencoded"

TAG = '[{"urn": "urn:li:tag:t", "tagProperties": {"value": {"name": "t"}}}]'


def check_problem(answer: Any, status: int) -> None:
    """Check the form of our own API (RFC 9457)."""
    assert answer["Content-Type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= answer.json().keys()
    assert answer.json()["status"] == status


def check_scim(answer: Any, status: int) -> None:
    """Check the form of SCIM (RFC 7644, 3.12)."""
    assert answer["Content-Type"].startswith(SCIM_JSON)
    body = answer.json()
    assert body["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert body["status"] == str(status)
    assert body["detail"]


def check_graphql(answer: Any, status: int) -> None:
    """Check the form of GraphQL: a list of errors with messages."""
    assert answer["Content-Type"].startswith(JSON)
    assert all(error["message"] for error in answer.json()["errors"])
    assert answer.json()["errors"]
    assert status


def check_rest(answer: Any, status: int) -> None:
    """Check the form of DataHub's REST protocols."""
    assert answer["Content-Type"].startswith(JSON)
    body = answer.json()
    assert body["status"] == status
    assert body["message"]
    assert body["exceptionClass"]


def check_authzen(answer: Any, status: int) -> None:
    """Check the form of AuthZEN 1.0, 10.2: a text."""
    assert answer["Content-Type"].startswith("text/plain")
    assert answer.content
    assert status


def check_page(answer: Any, status: int) -> None:
    """Check that people get a page in their words, not in those of the protocol."""
    assert answer["Content-Type"].startswith("text/html")
    assert status
    text = answer.content.decode()
    assert "<main" in text
    assert "Request Entity" not in text


@dataclass(frozen=True)
class Interface:
    """An interface: a path that takes POST, one that nothing is at, and how its refusals look."""

    path: str
    absent: str
    check: Callable[[Any, int], None]
    type: str = JSON
    accept: str = "*/*"
    body: str = "{}"


INTERFACES: Mapping[str, Interface] = {
    "api": Interface("/api/v1/policies/", "/api/v1/nowhere", check_problem),
    "scim": Interface("/scim/v2/Users", "/scim/v2/Nowhere", check_scim, SCIM_JSON),
    "graphql": Interface("/api/graphql", "/api/graphql/nowhere", check_graphql, body='{"query": "{me {__typename}}"}'),
    "gms": Interface("/entities?action=delete", "/entities/urn:li:tag:a", check_rest, body='{"urn": "urn:li:tag:a"}'),
    "openapi": Interface("/openapi/v3/entity/tag", "/openapi/nowhere", check_rest, body=TAG),
    "authzen": Interface("/access/v1/evaluation", "/access/v1/nowhere", check_authzen),
    "pages": Interface("/settings/permissions/policies", "/nowhere", check_page, FORM, "text/html"),
}

each_interface = pytest.mark.parametrize("name", INTERFACES)


def send(client: Client, interface: Interface, *, method: str = "POST", path: str = "", **more: Any) -> Any:
    """Send what the interface takes, with these differences."""
    arguments = {"data": interface.body, "content_type": interface.type, "headers": {"accept": interface.accept}} | more
    return client.generic(method, path or interface.path, **arguments)


@pytest.fixture
def root(installed: None) -> Client:
    """The root user's client, of programs and of pages; a session needs its CSRF token."""
    client = calling(ROOT).client
    client.force_login(User.objects.get(urn=ROOT), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.parametrize("name", [name for name in INTERFACES if name != "pages"])
def test_401_without_a_token(nobody: Client, name: str) -> None:
    answer = send(nobody, INTERFACES[name])
    assert answer.status_code == 401
    INTERFACES[name].check(answer, 401)


@pytest.mark.parametrize("name", ["api", "scim", "gms", "openapi", "pages"])
def test_403_without_a_privilege(person: Callable[..., Caller], name: str) -> None:
    caller = person("outsider")
    caller.client.force_login(User.objects.get(urn=caller.urn), backend="django.contrib.auth.backends.ModelBackend")
    method = "GET" if name == "pages" else "POST"
    answer = send(caller.client, INTERFACES[name], method=method)
    assert answer.status_code == 403, answer.content
    INTERFACES[name].check(answer, 403)


@pytest.mark.parametrize(
    ("name", "path"), [("api", ""), ("graphql", ""), ("pages", "/settings/permissions/policies/new")]
)
def test_403_of_a_session_without_its_csrf_token(installed: None, name: str, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(urn=ROOT), backend="django.contrib.auth.backends.ModelBackend")
    foreign = {"accept": INTERFACES[name].accept, "origin": "https://elsewhere.example"}
    answer = send(client, INTERFACES[name], path=path, headers=foreign)
    assert answer.status_code == 403, answer.content
    INTERFACES[name].check(answer, 403)


@each_interface
def test_404_where_nothing_is(root: Client, name: str) -> None:
    answer = send(root, INTERFACES[name], method="GET", path=INTERFACES[name].absent, data="")
    assert answer.status_code == 404, answer.content
    INTERFACES[name].check(answer, 404)


@pytest.mark.parametrize("name", [name for name in INTERFACES if name != "pages"])
def test_405_of_another_method(root: Client, name: str) -> None:
    answer = send(root, INTERFACES[name], method="PUT")
    assert answer.status_code == 405, answer.content
    assert answer["Allow"]
    INTERFACES[name].check(answer, 405)


@each_interface
def test_411_without_a_length(root: Client, name: str) -> None:
    answer = send(root, INTERFACES[name], data="", HTTP_TRANSFER_ENCODING="chunked")
    assert answer.status_code == 411, answer.content
    INTERFACES[name].check(answer, 411)


@each_interface
def test_413_of_a_body_above_the_limit(root: Client, name: str) -> None:
    interface = INTERFACES[name]
    body = b" " * (find_body_limit(interface.path) + 1)
    answer = send(root, interface, data=body)
    assert answer.status_code == 413
    interface.check(answer, 413)


@pytest.mark.parametrize("name", ["api", "scim"])
def test_415_of_another_type(root: Client, name: str) -> None:
    answer = send(root, INTERFACES[name], content_type="text/csv", data="a,b")
    assert answer.status_code == 415, answer.content
    INTERFACES[name].check(answer, 415)


@pytest.mark.parametrize("name", [name for name in INTERFACES if name != "pages"])
def test_429_of_who_calls_too_often(root: Client, settings: Any, name: str) -> None:
    settings.REDIS_URL, settings.CALLS_PER_ADDRESS = "", 1
    # Calls are counted by minutes of the clock: where one begins after the first call, the third is refused.
    answers = [send(root, INTERFACES[name]) for _ in range(3)]
    answer = next(answer for answer in answers if answer.status_code == 429)
    assert int(answer["Retry-After"]) > 0
    INTERFACES[name].check(answer, 429)


@each_interface
def test_503_where_no_place_is_free(root: Client, settings: Any, name: str) -> None:
    settings.REQUESTS_AT_ONCE = settings.REQUESTS_WAITING = 0
    answer = send(root, INTERFACES[name])
    assert answer.status_code == 503
    assert answer["Retry-After"]
    INTERFACES[name].check(answer, 503)


@pytest.mark.parametrize(("error", "status"), [(OperationalError("gone"), 503), (ProgrammingError("no column"), 500)])
@pytest.mark.parametrize("name", [name for name in INTERFACES if name != "pages"])
def test_a_database_that_is_away_is_503_and_a_wrong_statement_500(
    root: Client, name: str, error: Exception, status: int
) -> None:
    def fail(*_: object) -> object:
        raise error

    root.raise_request_exception = False
    with connection.execute_wrapper(fail):
        answer = send(root, INTERFACES[name])
    assert answer.status_code == status, answer.content
    INTERFACES[name].check(answer, status)
