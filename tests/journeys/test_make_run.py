"""`make run` as a newcomer meets it: one command, an address, a second start that is quick, and nothing left behind."""

import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

import pytest
import servers

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 180
#: Seconds in which a process ends that was killed or whose parent is gone: those of Spark notice it by themselves.
ORPHAN_SECONDS = 20


def descendants(pid: int) -> set[int]:
    """The process and everything it started, as far as it is still alive."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(entry.name)] = int(fields[1])
    family = {pid}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    return family


def open_handles(pids: set[int]) -> dict[int, str]:
    """File descriptors of these processes and what they run; each is readable from the end of its process on."""
    handles: dict[int, str] = {}
    for pid in pids:
        with suppress(ProcessLookupError, FileNotFoundError):
            command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            handles[os.pidfd_open(pid)] = command
    return handles


def find_survivors(handles: dict[int, str]) -> list[str]:
    """What those run that have not ended after ORPHAN_SECONDS; closes the descriptors."""
    survivors, deadline = dict(handles), time.monotonic() + ORPHAN_SECONDS
    while survivors and (ended := select(survivors, [], [], max(deadline - time.monotonic(), 0))[0]):
        for handle in ended:
            del survivors[handle]
    for handle in handles:
        os.close(handle)
    return list(survivors.values())


def environment(**variables: str) -> dict[str, str]:
    """That of somebody who configured nothing else, also when the tests themselves run under make."""
    ours = ("MAKE", "MFLAGS", "DJANGO_SETTINGS_MODULE", "AUTHZ_ROOT_PASSWORD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "DATABASE_URL": "", "REDIS_URL": "", **variables}


@contextmanager
def site(*, port: int, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """`make run`, up; gives the process and what it said until then."""
    with subprocess.Popen(
        ["make", "run"],
        cwd=ROOT,
        env=environment(PORT=str(port), VAR_DIR=str(folder)),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as make:
        assert make.stdout
        overdue = threading.Timer(PATIENCE_SECONDS, os.killpg, (make.pid, signal.SIGKILL))
        overdue.start()
        try:
            said: list[str] = []
            for line in make.stdout:
                said.append(line.rstrip())
                if line.startswith("authzsite is up at"):
                    break
            else:
                pytest.fail("make run ended:\n" + "\n".join(said))
            yield make, said
            # What the processes say while they end must not fill the pipe.
            make.stdout.read()
            make.wait()
        finally:
            overdue.cancel()


def test_first_start_second_start_and_both_ways_to_stop(tmp_path):
    folder = tmp_path / "a place with spaces"
    port = servers.free_port()

    with site(port=port, folder=folder) as (make, said):
        assert "Loading the sample catalog" in said
        assert said[-1].startswith(f"authzsite is up at http://127.0.0.1:{port} - sign in as datahub with")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=10) as answer:
            assert answer.status == 200

        second = subprocess.run(
            ["make", "run"],
            cwd=ROOT,
            env=environment(PORT=str(port)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2
        assert second.stderr.startswith(f"Port {port} is taken; choose another one: make run PORT=")
        assert second.stdout == ""

        family = open_handles(descendants(make.pid))
        assert len(family) >= 5
        make.send_signal(signal.SIGTERM)
    assert find_survivors(family) == []

    with site(port=port, folder=folder) as (make, said):
        assert "Loading the sample catalog" not in said
        family = open_handles(descendants(make.pid))
        os.killpg(make.pid, signal.SIGINT)
    assert find_survivors(family) == []


@pytest.mark.parametrize("port", ["http", "0", "70000", "-1", "80 00"])
def test_a_port_that_is_none_is_said_in_one_sentence(port):
    ended = subprocess.run(
        ["make", "run"], cwd=ROOT, env=environment(PORT=port), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"PORT is {port!r}, but it has to be a number from 1 to 65535.")
