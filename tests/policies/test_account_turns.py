"""One turn for each account, over threads and processes; the turn of a process that ended is over by its deadline."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.db import connection

from policies.errors import Busy
from policies.pdp import account_turns, authorizer
from policies.pdp.account_turns import hold_turn

ADA, BEN = "urn:li:corpuser:ada", "urn:li:corpuser:ben"

#: Holds Ada's turn until its input ends; its argument is the deadline in seconds.
HOLDER = """
import sys
import django
django.setup()
from policies.pdp import account_turns
account_turns.LEASE_SECONDS = int(sys.argv[1])
with account_turns.hold_turn("urn:li:corpuser:ada"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_turns, "WAIT_SECONDS", 0.2)


@pytest.fixture
def shared(transactional_db: None) -> Iterator[None]:
    """The cache that processes share, without turns of tests before."""
    cache.clear()
    yield
    cache.clear()


@contextmanager
def holding_elsewhere(lease_seconds: int) -> "Iterator[subprocess.Popen[str]]":
    """Let another process hold Ada's turn, until the block or its input ends."""
    database = connection.settings_dict
    address = f"sqlite:///{database['NAME']}"
    if connection.vendor == "postgresql":
        address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database['NAME']}").geturl()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lease_seconds)],
        env={**os.environ, "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "authzsite.settings"},
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
            process.communicate(timeout=30)
        finally:
            process.kill()


@pytest.mark.django_db
def test_a_second_piece_of_work_of_an_account_is_refused_after_a_while() -> None:
    outcomes: list[object] = []

    def try_turn(account: str) -> None:
        try:
            with hold_turn(account):
                outcomes.append(account)
        except Busy as refusal:
            outcomes.append((refusal.status, refusal.headers["Retry-After"]))

    with hold_turn(ADA):
        thread = threading.Thread(target=try_turn, args=[ADA])
        thread.start()
        thread.join()
        with hold_turn(BEN), hold_turn(authorizer.SYSTEM.urn), hold_turn(authorizer.SYSTEM.urn):
            outcomes.append("others have theirs")
    with hold_turn(ADA):
        outcomes.append("and it is free again")
    assert outcomes == [(429, "5"), "others have theirs", "and it is free again"]


@pytest.mark.django_db
def test_work_waits_for_the_end_of_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_turns, "WAIT_SECONDS", 30.0)
    turns = account_turns._LocalTurns()
    turns.take(ADA, time.monotonic() + 30)
    order: list[str] = []

    def work() -> None:
        turns.take(ADA, time.monotonic() + 30)
        order.append("second")

    thread = threading.Thread(target=work)
    thread.start()
    order.append("first")
    turns.put_back(ADA)
    thread.join(30)
    assert order == ["first", "second"]


def test_a_turn_is_given_back_after_an_error(db: None) -> None:
    with pytest.raises(ZeroDivisionError), hold_turn(ADA):
        _ = 1 / 0
    with hold_turn(ADA):
        pass


def test_another_process_has_the_turn_until_its_work_ends(shared: None) -> None:
    with holding_elsewhere(60) as process:
        with pytest.raises(Busy), hold_turn(ADA):
            pass
        with hold_turn(BEN):
            pass
    assert process.returncode == 0
    with hold_turn(ADA):
        pass


def test_the_turn_of_a_process_that_was_killed_ends_by_its_deadline(
    shared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holding_elsewhere(2) as process:
        process.kill()
        process.wait()
        with pytest.raises(Busy), hold_turn(ADA):
            pass
        monkeypatch.setattr(account_turns, "WAIT_SECONDS", 30.0)
        with hold_turn(ADA):
            pass


def test_without_the_shared_cache_each_process_counts_alone(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(cache, "add", fail)
    with hold_turn(ADA), pytest.raises(Busy):
        account_turns._local_turns.take(ADA, 0.0)
