"""The web process as it is started: its port is its own, and a worker process that ends is started again."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest
import servers

from authzsite.serving import PortTaken, reserve_port
from tests.clients import installations
from tests.clients.installations import Installation

PATIENCE_SECONDS = 60

#: How often something is looked at that comes by itself, and how many seconds lie in between.
LOOKS, BETWEEN = 600, 0.1

QUESTION = {"privilege": "MANAGE_POLICIES"}


def list_children(number: int) -> list[int]:
    """Return the processes that this one started."""
    listed = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [child for child in listed if servers.find_parent(child) == number]


class Load:
    """Asks from several threads, each time over a new connection, and keeps what went wrong."""

    def __init__(self, site: Installation, *, threads: int) -> None:
        self.answers, self.refused, self.wrong = 0, 0, list[object]()
        self._site, self._over = site, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        headers = {"Authorization": f"Bearer {self._site.token}", "Content-Type": "application/json"}
        while not self._over.is_set():
            address = self._site.address.removeprefix("http://")
            with closing(http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)) as link:
                try:
                    link.request("POST", "/api/v1/authorize", json.dumps(QUESTION), headers)
                    answer = link.getresponse()
                    said = answer.status, json.loads(answer.read())["decision"]
                except ConnectionRefusedError:
                    self.refused += 1
                except (
                    ConnectionResetError,
                    http.client.RemoteDisconnected,
                    http.client.IncompleteRead,
                    BrokenPipeError,
                ):
                    # What the killed process was about to answer is lost with it.
                    continue
                else:
                    self.answers += 1
                    if said != (200, "ALLOW"):
                        self.wrong.append(said)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Installation]:
    """Two worker processes behind one address."""
    with installations.running(tmp_path, workers=2) as found:
        yield found


def wait_for_workers(main: int, *, without: int) -> list[int]:
    """Return the two worker processes once there are two, this one not among them."""
    for _ in range(LOOKS):
        found = [child for child in list_children(main) if child != without]
        if len(found) == 2:
            return found
        sleep(BETWEEN)
    raise AssertionError("The worker process is not started again.")


def test_a_killed_worker_is_started_again_and_one_that_cannot_stay_ends_everything(
    site: Installation, tmp_path: Path
) -> None:
    (main,) = (
        child
        for child in list_children(os.getpid())
        if "authzsite.serving" in Path(f"/proc/{child}/cmdline").read_text()
    )
    killed, other = list_children(main)
    with Load(site, threads=4) as load:
        before = load.answers
        while load.answers < before + 50:
            sleep(BETWEEN)
        os.kill(killed, signal.SIGKILL)
        started = wait_for_workers(main, without=killed)
        assert other in started
        before = load.answers
        while load.answers < before + 50:
            sleep(BETWEEN)
    assert (load.refused, load.wrong) == (0, [])

    # The new one is killed before it can have served: that is a loop, and nobody should believe that the site runs.
    (again,) = set(started) - {other}
    os.kill(again, signal.SIGKILL)
    assert _ended_with(main) == 1
    assert "crash loop" in (tmp_path / "web.log").read_text()


def _ended_with(main: int) -> int:
    for _ in range(LOOKS):
        number, status = os.waitpid(main, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        sleep(BETWEEN)
    raise AssertionError("The web process goes on.")


def test_a_port_is_taken_from_the_start_on_and_workers_share_it() -> None:
    port = servers.free_port()
    with closing(reserve_port("127.0.0.1", port)):
        with pytest.raises(PortTaken, match=f"^Port {port} of 127.0.0.1 is taken: another program listens there."):
            reserve_port("127.0.0.1", port)
        with pytest.raises(PortTaken, match="is taken"):
            reserve_port("0.0.0.0", port)
        with socket.socket() as worker:
            worker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            worker.bind(("127.0.0.1", port))
            worker.listen()
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    reserve_port("127.0.0.1", port).close()


def test_a_port_that_others_share_is_taken_too() -> None:
    """As that of a granian that somebody started by itself: it lets everybody share."""
    with socket.socket() as granian:
        granian.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        granian.bind(("127.0.0.1", 0))
        granian.listen()
        with pytest.raises(PortTaken, match="is taken"):
            reserve_port("127.0.0.1", granian.getsockname()[1])


def test_an_address_of_another_machine_is_said_plainly() -> None:
    with pytest.raises(PortTaken, match=r"^Nothing can listen on port \d+ of 192\.0\.2\.1: "):
        reserve_port("192.0.2.1", servers.free_port())


def test_the_command_ends_with_the_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "authzsite.serving", "--port", str(port)],
            cwd=installations.PROJECT,
            env=installations.environment_of(tmp_path),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Port {port} of 127.0.0.1 is taken")
    assert ended.stdout == ""
