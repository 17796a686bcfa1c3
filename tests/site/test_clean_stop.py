"""The decision log of real web processes: what was answered is in the database once they have ended well."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import servers
from django.conf import settings
from django.utils import timezone

from policies import bootstrap
from policies.identity.services import access_tokens, users
from policies.models import DailyUse, LoggedDecision, UseCounter, UseGap
from policies.pdp import authorizer, snapshot_store
from policies.pdp.log import use_queries

ROOT = Path(__file__).parents[2]
JO = "urn:li:corpuser:jo"
PATIENCE_SECONDS = 60


def address_of_database() -> str:
    """The database of the tests, as another process is told about it."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{database['NAME']}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database['NAME']}").geturl()


@contextmanager
def web_process(folder: Path, *, workers: int = 1) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A web process as it is deployed, listening; ended by force if the test has not ended it."""
    port, log = servers.free_port(), folder / "web.log"
    environment = {
        **os.environ,
        "DATABASE_URL": address_of_database(),
        "VAR_DIR": str(folder),
        "GRANIAN_HOST": "127.0.0.1",
        "GRANIAN_PORT": str(port),
        "DECISION_LOG_SAMPLE": "1",
    }
    command = ["-m", "granian", "--interface", "wsgi", "--workers", str(workers), "--blocking-threads", "4", "--no-ws"]
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            [sys.executable, *command, "authzsite.wsgi:application"],
            cwd=ROOT,
            env=environment,
            stdout=sink,
            stderr=sink,
        ) as process,
    ):
        try:
            servers.wait_for(port, process, log)
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def asked(address: str, token: str, body: object) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def register_jo() -> str:
    """Store the person who asks, and return a token of it."""
    bootstrap.run()
    users.create(username="jo", by=authorizer.SYSTEM, channel="test")
    token = access_tokens.create(owner=JO, name="test", by=authorizer.SYSTEM, channel="test").text
    snapshot_store.reset()
    return token


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have started."""
    task_children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [found for child in map(int, task_children) for found in (child, *children_of(child))]


@pytest.mark.django_db(transaction=True)
def test_what_was_answered_before_a_clean_stop_is_in_the_log(tmp_path: Path) -> None:
    token = register_jo()
    dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,d{},PROD)"
    with web_process(tmp_path) as (process, site):
        for number in range(20):
            question = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": dataset.format(number)}}
            asked(f"{site}/api/v1/authorize", token, question)
        questions = [
            {"privilege": "VIEW_ENTITY_PAGE", "resource": {"urn": dataset.format(number)}} for number in range(2_000)
        ]
        asked(f"{site}/api/v1/authorize/batch", token, {"questions": questions})
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
    rows = LoggedDecision.objects.filter(actor=JO, door="api")
    singles = rows.filter(wanted="EDIT_ENTITY_TAGS")
    assert set(singles.values_list("resource", flat=True)) == {dataset.format(number) for number in range(20)}
    assert singles.count() == 20
    assert rows.filter(wanted="VIEW_ENTITY_PAGE").values("resource").distinct().count() == 2_000
    assert rows.count() == 2_020


@pytest.mark.django_db(transaction=True)
def test_what_several_processes_have_counted_is_exact_after_a_clean_stop(tmp_path: Path) -> None:
    token = register_jo()
    view = {"privilege": "VIEW_ENTITY_PAGE", "resource": {"urn": "urn:li:dataset:(urn:li:dataPlatform:hive,d,PROD)"}}
    with web_process(tmp_path, workers=2) as (process, site), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: asked(f"{site}/api/v1/authorize", token, view), range(200)))
        asked(f"{site}/api/v1/authorize/batch", token, {"questions": [view] * 1_000})
        uses_expected = 1_200
        # Until both processes have begun to count; one that is still starting does not hear that it has to stop.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while UseCounter.objects.count() < 2 and time.monotonic() < deadline:
            list(pool.map(lambda _: asked(f"{site}/api/v1/authorize", token, view), range(8)))
            uses_expected += 8
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
    uses = DailyUse.objects.filter(actor=JO, privilege="VIEW_ENTITY_PAGE")
    assert sum(uses.values_list("uses", flat=True)) == uses_expected
    assert all(policy.startswith("urn:li:dataHubPolicy:") for policy in uses.values_list("policy", flat=True))
    assert not UseCounter.objects.exists()
    # Processes that begin at once may each say so.
    assert {gap.cause for gap in UseGap.objects.all()} == {UseGap.Cause.STARTED}


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_makes_its_day_incomplete(tmp_path: Path) -> None:
    token = register_jo()
    UseGap.objects.create(first_day=date(2020, 1, 1), last_day=date(2020, 1, 1), cause=UseGap.Cause.STARTED)
    with web_process(tmp_path) as (process, site):
        asked(f"{site}/api/v1/authorize", token, {"privilege": "VIEW_ENTITY_PAGE"})
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not UseCounter.objects.exists() and time.monotonic() < deadline:
            pass
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
    (row,) = UseCounter.objects.all()
    later = timezone.now() + timedelta(minutes=10)
    assert use_queries.close_gaps(now=later) == 1
    (gap,) = UseGap.objects.filter(cause=UseGap.Cause.PROCESS_LOST)
    assert (gap.first_day, gap.last_day) == (row.counted_until.date(), later.date())
    assert use_queries.find_complete_since() == later.date() + timedelta(days=1)
