"""Clients that send their bodies slowly, over real sockets: they hold no slot, and cannot stop the server."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from select import select
from time import sleep

import pytest

from authzsite.early_bodies import MAX_SLOW_READS_OF_ADDRESS
from authzsite.middleware import MAX_DRAINS
from tests.clients import installations
from tests.clients.installations import Installation

BODY_SECONDS, PATIENCE_SECONDS = 1, 30
QUESTION = json.dumps({"privilege": "MANAGE_POLICIES"}).encode()

#: How often something is looked at that comes by itself, and how many seconds lie in between.
LOOKS, BETWEEN = 300, 0.1


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Installation]:
    """A site that runs two requests at once."""
    with installations.running(tmp_path, BODY_SECONDS=str(BODY_SECONDS), REQUESTS_AT_ONCE="2") as found:
        yield found


def begin(
    site: Installation, path: str = "/api/v1/authorize", *, length: int = len(QUESTION), source: str = "127.0.0.1"
) -> socket.socket:
    """Return a connection on which all but the last byte of a question was sent."""
    host, _, port = site.address.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS, source_address=(source, 0))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {site.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    connection.sendall(head.encode() + QUESTION[:-1])
    return connection


def read_status(connection: socket.socket) -> int:
    with closing(http.client.HTTPResponse(connection)) as answer:
        answer.begin()
        return answer.status


def ask(site: Installation, *, source: str = "127.0.0.1") -> int:
    address = site.address.removeprefix("http://")
    with closing(
        http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS, source_address=(source, 0))
    ) as connection:
        headers = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/authorize", QUESTION, headers)
        return connection.getresponse().status


@pytest.mark.parametrize("path", ["/api/v1/authorize", "/api/v1/policies/"])
def test_slow_clients_hold_no_slot_and_come_too_late(site: Installation, path: str) -> None:
    # Plain questions are answered in front of Django from the second on.
    assert [ask(site), ask(site)] == [200, 200]
    with ExitStack() as stack:
        slow_clients = [
            stack.enter_context(closing(begin(site, path, source="127.0.0.2")))
            for _ in range(MAX_SLOW_READS_OF_ADDRESS)
        ]
        # More than run at once.
        assert [ask(site) for _ in range(5)] == [200] * 5
        for _ in range(LOOKS):
            if ask(site, source="127.0.0.2") == 503:
                break
            sleep(BETWEEN)
        assert ask(site, source="127.0.0.2") == 503
        assert ask(site) == 200
        # The time is that of the server, which cannot be moved.
        sleep(BODY_SECONDS * 1.5)
        for client in slow_clients:
            client.sendall(QUESTION[-1:])
        assert [read_status(client) for client in slow_clients] == [408] * MAX_SLOW_READS_OF_ADDRESS
    assert ask(site, source="127.0.0.2") == 200


def test_bodies_that_come_at_once_from_one_address_are_no_slow_ones(tmp_path: Path) -> None:
    # A proxy sends the requests of all its clients from its own address.
    number = 3 * MAX_SLOW_READS_OF_ADDRESS
    with installations.running(tmp_path, BODY_SECONDS="300") as site, ExitStack() as stack:
        clients = [stack.enter_context(closing(begin(site))) for _ in range(number)]
        for client in clients:
            client.sendall(QUESTION[-1:])
        assert [read_status(client) for client in clients] == [200] * number


def test_bodies_that_are_too_long_and_never_come_do_not_stop_the_server(site: Installation) -> None:
    refused_number = 4
    with ExitStack() as stack:
        clients = [
            stack.enter_context(closing(begin(site, length=900_000))) for _ in range(MAX_DRAINS + refused_number)
        ]
        # The server begins requests that come at once in any order.
        refused_clients: list[socket.socket] = []
        while len(refused_clients) < refused_number:
            answered_clients, _, _ = select(
                [item for item in clients if item not in refused_clients], [], [], PATIENCE_SECONDS
            )
            assert answered_clients
            refused_clients += answered_clients
        assert [read_status(client) for client in refused_clients] == [413] * refused_number
        assert ask(site) == 200
        assert select([item for item in clients if item not in refused_clients], [], [], 0) == ([], [], [])
    assert ask(site) == 200
