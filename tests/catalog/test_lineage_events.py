"""OpenLineage learns of each run when it starts and how it ends, and never stops one."""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.checks import run_checks

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import lineage_events, lineage_sender, run_state, runner, table_publishing
from catalog.reports.services import reports
from policies.pdp.authorizer import SYSTEM
from tests import finished
from tests.catalog.test_reports import KIND

pytestmark = pytest.mark.django_db(transaction=True)

READY, FAILED, CANCELLED = Report.Status.READY, Report.Status.FAILED, Report.Status.CANCELLED


@pytest.fixture(autouse=True)
def _kinds(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    settings.REPORTS_DIR, settings.IS_LINEAGE_SENT = str(tmp_path / "reports"), True
    for module in (runner, reports, lineage_events):
        monkeypatch.setattr(module, "KINDS", {**KINDS, "things": KIND})


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """The events that OpenLineage's transport of files has written, in the order of their coming."""
    file, config = tmp_path / "events.jsonl", tmp_path / "openlineage.yml"
    config.write_text(f"transport:\n  type: file\n  log_file_path: {file}\n  append: true\n")
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(config))
    return lambda: [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def make(wanted: str = "well") -> Report:
    """Return a run that was made here."""
    report = reports.request_report(kind="things", parameters={"wanted": wanted}, by=SYSTEM, is_queued=False)
    runner.run_report(report.pk)
    report.refresh_from_db()
    return report


def list_states(documents: list[dict[str, Any]]) -> list[str]:
    return [document["eventType"] for document in documents]


def test_a_run_that_ends_well(events: Callable[[], list[dict[str, Any]]], settings: Any):
    settings.OPENLINEAGE_NAMESPACE = "access"
    report = make()
    assert report.status == READY
    assert report.as_of is not None
    start, end = events()
    assert list_states([start, end]) == ["START", "COMPLETE"]
    assert start["run"]["runId"] == end["run"]["runId"]
    assert start["eventTime"] < end["eventTime"]
    for event in (start, end):
        assert (event["job"]["namespace"], event["job"]["name"]) == ("access", "things")
        assert event["job"]["facets"]["documentation"]["description"] == KIND.description
        (snapshot,) = event["inputs"]
        assert (snapshot["namespace"], snapshot["name"]) == ("file", f"{settings.REPORTS_DIR}/snapshot")
    assert end["inputs"][0]["facets"]["version"]["datasetVersion"] == report.as_of.isoformat()
    _, things = end["outputs"]
    assert (things["namespace"], things["name"]) == ("file", f"{settings.REPORTS_DIR}/tables/things/things")
    fields = [(field["name"], field["type"]) for field in things["facets"]["schema"]["fields"]]
    assert [name for name, _ in fields] == [*table_publishing.RUN_COLUMNS.names, "thing", "count", "position"]
    assert {("run", "string"), ("attempt", "long"), ("as_of", "timestamp"), ("thing", "string")} < set(fields)
    assert things["outputFacets"]["outputStatistics"]["rowCount"] == 3


def test_a_run_that_fails_says_why(events: Callable[[], list[dict[str, Any]]]):
    make("refuse")
    start, end = events()
    assert list_states([start, end]) == ["START", "FAIL"]
    assert end["run"]["facets"]["errorMessage"]["message"] == "The input is wrong."
    assert end["outputs"] == []


def test_a_run_that_is_cancelled(events: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch):
    update_progress = run_state.update_progress

    def cancel(report: Report, **progress: Any) -> bool:
        if progress["stage"] == "Working":
            run_state.cancel(report.pk)
        return update_progress(report, **progress)

    monkeypatch.setattr(run_state, "update_progress", cancel)
    assert make("hang").status == CANCELLED
    assert list_states(events()) == ["START", "ABORT"]


def test_each_attempt_is_a_run(events: Callable[[], list[dict[str, Any]]]):
    report = reports.request_report(kind="things", parameters={}, by=SYSTEM, is_queued=False)
    first = run_state.claim(report.pk)
    assert first is not None
    with lineage_events.send_events(first):
        assert run_state.end_stopped(first)
    assert runner.run_report(report.pk) == READY
    assert list_states(events()) == ["START", "ABORT", "START", "COMPLETE"]
    ids = [event["run"]["runId"] for event in events()]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_a_killed_worker_leaves_a_run_that_is_aborted(events: Callable[[], list[dict[str, Any]]]):
    event = lineage_sender.LineageEvent("START", "2026-05-01T00:00:00Z", str(uuid4()), "access", "things", "Words.", ())
    command = [sys.executable, "-m", lineage_sender.__name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(event.serialize())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not events() and time.monotonic() < deadline:
            process.poll()
        # As service managers signal all processes of a worker.
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert (output, list_states(events())) == ("", ["START", "ABORT"])


class Receiver(BaseHTTPRequestHandler):
    """A server of OpenLineage that keeps what it gets, and refuses whoever has another key."""

    received: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_known = self.headers["Authorization"] == f"Bearer {KEY}"
        if is_known:
            self.received.append(json.loads(body))
        self.send_response(201 if is_known else 401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


KEY = "kept-out-of-every-log"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Receiver]]:
    handler = type("Handler", (Receiver,), {"received": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OPENLINEAGE_API_KEY", KEY)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield handler
        finally:
            server.shutdown()
            thread.join()


def test_events_over_http(server: type[Receiver], caplog: pytest.LogCaptureFixture):
    assert make().status == READY
    assert list_states(server.received) == ["START", "COMPLETE"]
    assert find_problems(caplog) == []


def test_a_server_that_refuses_is_a_line_in_the_log(
    server: type[Receiver], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENLINEAGE_URL", os.environ["OPENLINEAGE_URL"].replace("//", f"//user:{KEY}@"))
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "another")
    assert make().status == READY
    problems = find_problems(caplog)
    assert [problem.partition(":")[0] for problem in problems] == ["START", "COMPLETE"]
    assert all("401" in problem for problem in problems)
    assert KEY not in caplog.text + " ".join(problems)


def test_a_silent_server_is_not_waited_for(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lineage_events, "_END_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert make().status == READY
    assert "timed out after 2 seconds" in find_problems(caplog)[-1]


def test_a_wrong_configuration_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "pigeon")
    assert make().status == READY
    assert len(find_problems(caplog)) == 2
    assert "pigeon" in caplog.text + " ".join(find_problems(caplog))


def find_problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["error"] for record in caplog.records if "lineage_not_sent" in record.getMessage()]


def test_a_missing_library_is_said_by_the_checks_and_stops_no_run(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, settings: Any
):
    assert [message for message in run_checks() if message.id == "authzsite.W017"] == []
    monkeypatch.setitem(sys.modules, "openlineage", None)
    assert ["pip install" in message.msg for message in run_checks() if message.id == "authzsite.W017"] == [True]
    assert make().status == READY
    assert ["pip install" in problem for problem in find_problems(caplog)] == [True]
    settings.IS_LINEAGE_SENT = False
    assert [message for message in run_checks() if message.id == "authzsite.W017"] == []


def test_nothing_is_started_unless_it_is_asked_for(
    events: Callable[[], list[dict[str, Any]]], settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.IS_LINEAGE_SENT = False
    monkeypatch.setattr(lineage_events, "subprocess", None)
    assert make().status == READY
    assert events() == []


@pytest.mark.parametrize(
    ("variables", "is_sent"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": "http://127.0.0.1:1"}, True),
        ({"OPENLINEAGE_CONFIG": "openlineage.yml"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE_URL": "http://127.0.0.1:1", "OPENLINEAGE_DISABLED": "true"}, False),
    ],
)
def test_variables_of_openlineage_switch_it_on(
    variables: dict[str, str], is_sent: bool, monkeypatch: pytest.MonkeyPatch
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path("authzsite/settings/reports.py")["IS_LINEAGE_SENT"] == is_sent


@pytest.mark.parametrize(
    ("address", "dataset"),
    [
        ("/data/exports/", ("file", "/data/exports")),
        ("file:///data/my%20exports", ("file", "/data/my exports")),
        ("s3a://bucket/exports/of today", ("s3://bucket", "exports/of today")),
        ("gs://bucket/exports", ("gs://bucket", "exports")),
        ("abfss://box@account.dfs.core.windows.net/e", ("abfss://box@account.dfs.core.windows.net", "e")),
        ("hdfs://host:8020/exports", ("hdfs://host:8020", "/exports")),
        ("dbfs:/exports", ("dbfs", "/exports")),
        ("weird://user:hidden@host/exports?key=hidden", ("weird", "//host/exports")),
    ],
)
def test_exports_are_inputs_under_the_names_that_openlineage_has_for_storage(
    address: str, dataset: tuple[str, str], settings: Any
):
    settings.GRANTS_EXPORTS = address
    for kind in lineage_events.EXPORT_KINDS:
        event = lineage_events.build_event(finished.running(kind), "START")
        assert [(found.namespace, found.name) for found in event.inputs[1:]] == [dataset]
    settings.GRANTS_EXPORTS = ""
    for kind in KINDS.keys() - lineage_events.EXPORT_KINDS:
        assert len(lineage_events.build_event(finished.running(kind), "START").inputs) == 1


def test_kinds_that_read_exports_are_those_that_ask_for_them():
    assert {name for name, spec in KINDS.items() if spec.find_input_problem is not str} == lineage_events.EXPORT_KINDS
