"""A run of a report ends in one of three ways, always with a sentence, and what was good before stays."""

import errno
import os
import re
import tracemalloc
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from authzsite.celery import app
from catalog.models import Finding, Report, ReportRow
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.run import job_output, launcher, pruning, result_loader, run_state, runner, spark_process
from catalog.reports.run.job_output import Progress
from catalog.reports.services import reports
from catalog.reports.snapshot import writer
from catalog.reports.spec import Parameter, ParameterType, ReportSpec
from catalog.reports.storage import StorageFolder, parse_address
from catalog.reports.tables import (
    FINDING_KEY,
    FINDING_REPAIR,
    FINDING_SEVERITY,
    FINDING_TYPE,
    FINDINGS_TABLE,
    ColumnKind,
    ReportColumn,
    ResultTable,
)
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.pdp.authorizer import SYSTEM
from tests import result_tables

pytestmark = pytest.mark.django_db(transaction=True)

READY, FAILED, CANCELLED = Report.Status.READY, Report.Status.FAILED, Report.Status.CANCELLED
NOBODY = Actor("urn:li:corpuser:nobody")
WAYS = (
    "well",
    "hang",
    "chatter",
    "warn",
    "refuse",
    "explain",
    "crash",
    "texts",
    "narrow",
    "corrupt",
    "full",
    "find",
    "read-only",
    "full-database",
    "wrong",
)
FINDING_COLUMNS = (FINDING_SEVERITY, FINDING_TYPE, ReportColumn("sentence", "Sentence"), FINDING_REPAIR, FINDING_KEY)


def no_room(report: Report, _: StorageFolder) -> None:
    """Fail as a file system without room, or one that nobody may write to, does, where the run wants that."""
    if report.parameters["wanted"] == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if report.parameters["wanted"] == "read-only":
        raise OSError(errno.EROFS, "Cannot create directory '/reports/new'. Detail: [errno 30] Read-only file system")
    if report.parameters["wanted"] == "full-database":
        raise OperationalError("full") from psycopg.errors.DiskFull("could not extend file")
    if report.parameters["wanted"] == "wrong":
        raise Invalid([Problem("exports.none", "", "There are no exports.")])


KIND = ReportSpec(
    name="things",
    title="Things",
    description="Three things.",
    module="tests.catalog.report_job",
    parameters=(
        Parameter("wanted", "Wanted", ParameterType.CHOICE, default="well", choices=lambda: dict.fromkeys(WAYS, "")),
        Parameter("most", "Most", ParameterType.NUMBER, maximum=9),
    ),
    tables=(
        ResultTable(
            "things",
            "Things",
            (ReportColumn("thing", "Thing"), ReportColumn("count", "Count", ColumnKind.NUMBER)),
            limit=2,
        ),
        ResultTable(FINDINGS_TABLE, "Findings", FINDING_COLUMNS, key=("key",)),
    ),
    prepare=no_room,
    # Its job needs no Spark, so none is started before it.
    has_joins=True,
)


@pytest.fixture(autouse=True)
def _kinds(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REPORTS_DIR = tmp_path
    for module in (runner, reports):
        monkeypatch.setattr(module, "KINDS", {"things": KIND})


def made(wanted: str = "well") -> Report:
    """Return a run that was made here."""
    report = reports.request_report(kind="things", parameters={"wanted": wanted}, by=SYSTEM, is_queued=False)
    runner.run_report(report.pk)
    report.refresh_from_db()
    return report


def test_a_run_that_ends_well(tmp_path: Path):
    report = made()
    assert (report.status, report.problem, report.summary["numbers"][0]["value"]) == (READY, "", 3)
    rows = list(report.rows.values_list("table", "position", "key", "text", "values"))
    assert rows == [("things", 0, "a", "a", ["a", 1]), ("things", 1, "b", "b", ["b", 2])]
    assert run_state.report_folder(report.pk).list_names() == ["attempt-1"]
    assert run_state.attempt_folder(report).list_names() == ["output"]
    assert report.log == "beginning\n"
    published = result_tables.rows("things/things")
    assert [(row["thing"], row["count"]) for row in published] == [("a", 1), ("b", 2), ("c", 3)]
    assert result_tables.runs() == {str(report.pk)}


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("refuse", "The input is wrong."),
        ("explain", "The input is wrong."),
        (
            "crash",
            "The program of the job ended with code 1; its log has the details. "
            "It said: ValueError: nobody expected this",
        ),
        ("texts", "The column count of things holds string."),
        ("narrow", "The results of things have no column count."),
        ("corrupt", "The results of things are corrupt: part-1.parquet cannot be read."),
        (
            "read-only",
            "/reports/new could not be read or written: read-only file system. Check that the account of the workers "
            "may write to the folder of reports, or let REPORTS_DIR name another one.",
        ),
        (
            "full-database",
            "There is no room left on the disk of the database. Free some, and start the report again.",
        ),
        ("wrong", "There are no exports."),
        ("full", "There is no room left on the disk of {folder}. Free some, or let REPORTS_DIR name a larger disk."),
    ],
)
def test_a_run_that_fails_says_why_and_the_last_good_one_stays(wanted: str, sentence: str, tmp_path: Path):
    good = made()
    report = made(wanted)
    assert (report.status, report.problem) == (FAILED, sentence.format(folder=tmp_path))
    assert not report.rows.exists()
    assert not run_state.report_folder(report.pk).is_there()
    good.refresh_from_db()
    assert (good.status, good.rows.count()) == (READY, 2)
    assert result_tables.runs() == {row["run"] for row in result_tables.rows("things/things")} == {str(good.pk)}


def test_open_tables_that_cannot_be_written_are_said_before_the_run(settings: Any):
    queued = reports.request_report(kind="things", parameters={}, by=SYSTEM, is_queued=False)
    settings.RESULT_TABLES_DIR = "nowhere://tables"
    assert runner.run_report(queued.pk) == FAILED
    queued.refresh_from_db()
    assert queued.problem.startswith("RESULT_TABLES_DIR: ")
    with pytest.raises(Conflict, match="RESULT_TABLES_DIR"):
        made()


def test_a_run_that_takes_too_long_is_ended(settings: Any):
    settings.REPORT_MINUTES = 0
    report = made("hang")
    assert (report.status, report.problem) == (FAILED, "The job was ended after 0 minutes (REPORT_MINUTES).")


def test_a_wrong_path_of_spark_submit_is_said(settings: Any):
    settings.SPARK_SUBMIT = "/nowhere/spark-submit"
    assert made().problem == (
        "SPARK_SUBMIT is /nowhere/spark-submit, which cannot be started: no such file or directory. Correct the path."
    )


def test_a_cancelled_run_is_ended_and_its_job_with_it(tmp_path: Path):
    report = reports.request_report(kind="things", parameters={"wanted": "hang"}, by=SYSTEM, is_queued=False)
    writer.write(folder=tmp_path / "in", as_of=timezone.now())
    (tmp_path / "in" / "parameters.json").write_text('{"wanted": "hang"}', encoding="utf-8")

    def tell(progress: Progress, _: str) -> bool:
        return progress.stage != "Working"

    with pytest.raises(launcher.JobCancelled):
        launcher.run(
            module=KIND.module,
            source=parse_address(tmp_path / "in"),
            target=parse_address(tmp_path / "out"),
            spark_folder=tmp_path / "spark",
            on_progress=tell,
        )
    reports.cancel(report_id=report.pk, by=SYSTEM)
    assert runner.run_report(report.pk) == CANCELLED
    with pytest.raises(Conflict):
        reports.cancel(report_id=report.pk, by=SYSTEM)


def test_a_run_that_is_cancelled_while_its_snapshot_is_written_ends_there():
    updates: list[Any] = []

    def cancel(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if "Taking a snapshot" in str(params):
            updates.append(params)
            # After the first file.
            if len(updates) == 2:
                assert run_state.cancel(report.pk)
        return answer

    report = reports.request_report(kind="things", parameters={"wanted": "find"}, by=SYSTEM, is_queued=False)
    with connection.execute_wrapper(cancel):
        assert runner.run_report(report.pk) == CANCELLED
    assert len(updates) == 3, "the next file is the last one that is told"
    assert not run_state.report_folder(report.pk).is_there()
    assert made("find").status == READY


def test_a_run_that_is_cancelled_while_its_findings_are_compared_leaves_none():
    def cancel(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if "Comparing the findings" in str(params):
            assert run_state.cancel(report.pk)
        return answer

    report = reports.request_report(kind="things", parameters={"wanted": "find"}, by=SYSTEM, is_queued=False)
    with connection.execute_wrapper(cancel):
        assert runner.run_report(report.pk) == CANCELLED
    assert not Finding.objects.exists()
    assert not ReportRow.objects.exists()
    assert not result_tables.names()
    assert made("find").status == READY
    assert Finding.objects.count() == 3


def test_jobs_get_no_secret_of_this_process(settings: Any, monkeypatch: pytest.MonkeyPatch):
    sources = [path.read_text(encoding="utf-8") for path in (settings.BASE_DIR / "authzsite").rglob("*.py")]
    read_names = set(re.findall(r'env\.(?:text|names)\("(\w+)"', "".join(sources)))
    secrets = {name for name in read_names if re.search("SECRET|PASSWORD|TOKEN$", name)}
    assert len(secrets) > 5
    for name in (*secrets, "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hidden")
    hidden_names = {name for name, value in spark_process.build_environment().items() if value == "hidden"}
    assert hidden_names == {"AWS_SECRET_ACCESS_KEY"}, "which storage needs"


def test_only_the_end_of_a_long_log_is_kept():
    report = made("chatter")
    assert len(report.log) < 2 * job_output.MAX_LOG_LENGTH
    assert report.log.startswith("(")
    assert report.log.endswith("line 19999\n")


def test_a_line_without_end_is_never_in_memory_as_a_whole():
    read_end, write_end = os.pipe()
    lines: list[str] = []
    tracemalloc.start()
    reader = job_output.LineReader(os.fdopen(read_end, encoding="utf-8"), lines.append)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        stream.write("short\n")
        for _ in range(400):
            stream.write("x" * 50_000)
        stream.write("\nlast")
    reader.join()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == ["short\n", f"{'x' * job_output.MAX_LINE_LENGTH}…\n", "last"]
    assert peak < 2_000_000


def test_what_java_says_on_every_start_is_not_in_the_log_and_real_warnings_are():
    assert "incubator" not in made("warn").log
    assert "WARNING: something real\n" in made("warn").log


@pytest.mark.parametrize(
    ("parts", "others"),
    [(["a", "b c"], ["a b", "c"]), (["a\\", "b"], ["a", "\\ b"]), (["a b", "", "c"], ["a", "b", "c"])],
)
def test_rows_that_differ_in_their_key_columns_have_different_keys(parts: list[str], others: list[str]):
    assert result_loader.build_key(parts) != result_loader.build_key(others)
    assert result_loader.build_key(["x" * 2000, *parts]) != result_loader.build_key(["x" * 2000, *others])


def test_the_key_of_one_column_is_its_value():
    assert result_loader.build_key(["ORPHAN a\\b"]) == "ORPHAN a\\b"
    assert result_loader.build_key(["urn:li:corpuser:jo", None]) == "urn:li:corpuser:jo "


def test_one_run_of_a_kind_at_a_time():
    first = reports.request_report(kind="things", parameters={}, by=SYSTEM, is_queued=False)
    with pytest.raises(Conflict):
        reports.request_report(kind="things", parameters={}, by=SYSTEM, is_queued=False)
    run_state.cancel(first.pk)
    assert made().status == READY


def test_reports_wait_their_turn_and_each_end_sends_for_the_next(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.REPORTS_AT_ONCE = 1
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr(app, "send_task", lambda _, args, **__: sent.append(args))
    other = replace(KIND, name="others")
    monkeypatch.setattr(runner, "KINDS", {KIND.name: KIND, other.name: other})
    first, second = (run_state.queue(spec=kind, parameters={"wanted": "well"}, by=SYSTEM.urn) for kind in (KIND, other))
    assert first is not None
    assert second is not None
    assert (first := run_state.claim(first.pk, max_running=1)) is not None
    assert report_tasks.run_report(str(second.pk)) == Report.Status.QUEUED
    assert sent == []
    assert (second := run_state.claim(second.pk, max_running=2)) is not None
    assert run_state.fail(second, problem="Ended.")
    third = run_state.queue(spec=other, parameters={"wanted": "well"}, by=SYSTEM.urn)
    assert third is not None
    assert run_state.fail(first, problem="Ended.")
    fourth = run_state.queue(spec=KIND, parameters={"wanted": "well"}, by=SYSTEM.urn)
    assert fourth is not None
    assert report_tasks.run_report(str(third.pk)) == READY
    assert sent == [(str(fourth.pk),)]


def test_every_problem_of_parameters_at_once():
    with pytest.raises(Invalid) as found:
        reports.request_report(kind="things", parameters={"wanted": "x", "most": 10, "other": 1}, by=SYSTEM)
    assert sorted(one.pointer for one in found.value.problems) == [
        "/parameters/most",
        "/parameters/other",
        "/parameters/wanted",
    ]
    with pytest.raises(Invalid):
        reports.request_report(kind="things", parameters={"wanted": ["well"]}, by=SYSTEM)
    with pytest.raises(NotFound):
        reports.request_report(kind="nothing", parameters={}, by=SYSTEM)
    with pytest.raises(Forbidden):
        reports.request_report(kind="things", parameters={}, by=NOBODY)
    assert not Report.objects.exists()


def lose_worker(report: Report) -> Report:
    """Let a worker begin a run, load a part of it and end; return the run as that worker knows it."""
    begun = run_state.claim(report.pk)
    assert begun is not None
    ReportRow.objects.create(report=begun, table="things", position=0, key="half", values=[])
    run_state.attempt_folder(begun).create()
    Report.objects.filter(pk=begun.pk).update(seen_at=timezone.now() - 2 * run_state.lease_duration())
    return begun


def test_a_run_whose_worker_is_gone_is_made_again(monkeypatch: pytest.MonkeyPatch):
    good = made()
    queued = reports.request_report(kind="things", parameters={"wanted": "well"}, by=SYSTEM, is_queued=False)
    Report.objects.filter(pk=queued.pk).update(requested_at=timezone.now() - 2 * run_state.lease_duration())
    lost = lose_worker(queued)
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr(app, "send_task", lambda _, args, **__: sent.append(args))
    assert report_tasks.watch_reports() == 1
    assert sent == [(str(queued.pk),)]
    queued.refresh_from_db()
    assert queued.status == Report.Status.QUEUED
    assert queued.stage.startswith("The worker that made this report ended")
    assert not queued.rows.exists()
    assert good.rows.count() == 2
    assert not run_state.update_progress(lost, stage="still here"), "who comes back learns that it is over"
    assert not run_state.fail(lost, problem="Too late.")
    assert not run_state.is_current_attempt(lost)

    assert runner.run_report(queued.pk) == READY
    queued.refresh_from_db()
    assert (queued.attempts, queued.problem, queued.rows.count()) == (2, "", 2)
    assert run_state.report_folder(queued.pk).list_names() == ["attempt-2"]
    assert not run_state.mark_ready(lost, summary={}, log="too late")
    assert not run_state.fail(lost, problem="Too late.")


def test_a_run_whose_second_worker_is_gone_too_fails_and_lets_the_next_one_in():
    queued = reports.request_report(kind="things", parameters={}, by=SYSTEM, is_queued=False)
    lose_worker(queued)
    assert run_state.expire() == 1
    lost = lose_worker(queued)
    assert run_state.expire() == 1
    queued.refresh_from_db()
    assert queued.status == FAILED
    assert queued.problem.startswith("The worker that made this report ended before it was finished, and so did")
    assert not queued.rows.exists()
    assert not run_state.update_progress(lost, stage="still here")
    assert made().status == READY


def test_a_worker_that_was_taken_for_gone_leaves_alone_what_another_one_makes(monkeypatch: pytest.MonkeyPatch):
    queued = reports.request_report(kind="things", parameters={"wanted": "well"}, by=SYSTEM, is_queued=False)
    load = result_loader.load

    def stall(report: Report, *args: Any, **kwargs: Any) -> int:
        if report.attempts == 1:
            Report.objects.filter(pk=report.pk).update(seen_at=timezone.now() - 2 * run_state.lease_duration())
            assert run_state.expire() == 1
            assert runner.run_report(report.pk) == READY
        return load(report, *args, **kwargs)

    monkeypatch.setattr(result_loader, "load", stall)
    assert runner.run_report(queued.pk) == READY
    queued.refresh_from_db()
    assert (queued.status, queued.attempts, queued.rows.count()) == (READY, 2, 2)
    assert run_state.report_folder(queued.pk).list_names() == ["attempt-2"]


def test_old_runs_are_forgotten(settings: Any):
    settings.REPORTS_KEPT = 1
    old, new = made(), made()
    Report.objects.filter(pk=old.pk).update(requested_at=timezone.now() - timedelta(days=1))
    assert pruning.delete_old() == 1
    assert list(Report.objects.all()) == [new]
    assert not run_state.report_folder(old.pk).is_there()


def test_failures_and_other_questions_delete_no_last_good_results(settings: Any):
    settings.REPORTS_KEPT = 2
    older, good, other = made(), made(), made("warn")
    failures = [made("refuse") for _ in range(3)]
    for age, report in enumerate([*reversed(failures), other, good, older]):
        Report.objects.filter(pk=report.pk).update(requested_at=timezone.now() - timedelta(days=age))
    assert pruning.delete_old() == 2
    assert set(Report.objects.all()) == {good, other, *failures[1:]}
    assert good.rows.count() == 2
    assert run_state.report_folder(good.pk).is_there()
    assert pruning.delete_old() == 0


def test_of_many_questions_the_last_ones_keep_their_results(settings: Any):
    settings.REPORTS_KEPT = 1
    first = made()
    Report.objects.filter(pk=first.pk).update(requested_at=timezone.now() - timedelta(days=1))
    last = made("warn")
    assert pruning.delete_old() == 1
    assert list(Report.objects.all()) == [last]


def test_a_run_whose_worker_is_stopped_is_made_again_once(monkeypatch: pytest.MonkeyPatch):
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr(app, "send_task", lambda _, args, **__: sent.append(args))
    queued = reports.request_report(kind="things", parameters={"wanted": "hang"}, by=SYSTEM, is_queued=False)
    update_progress = run_state.update_progress

    def stop(report: Report, **progress: Any) -> bool:
        if progress["stage"] == "Working":
            report_tasks.end_jobs()
        return update_progress(report, **progress)

    monkeypatch.setattr(run_state, "update_progress", stop)
    try:
        assert report_tasks.run_report(str(queued.pk)) == Report.Status.QUEUED
        assert not (run_state.report_folder(queued.pk) / "attempt-1").is_there()
        assert report_tasks.run_report(str(queued.pk)) == Report.Status.QUEUED, "it begins nothing more"
        queued.refresh_from_db()
        assert (queued.status, queued.attempts) == (Report.Status.QUEUED, 1)
        assert sent == [(str(queued.pk),)] * 2
        launcher.STOP_EVENT.clear()
        assert report_tasks.run_report(str(queued.pk)) == FAILED
    finally:
        launcher.STOP_EVENT.clear()
    queued.refresh_from_db()
    assert (queued.status, queued.attempts) == (FAILED, 2)
    assert queued.problem.startswith("The worker that made this report was stopped before it was finished")
    assert not run_state.report_folder(queued.pk).is_there()


def test_the_command_says_what_came_of_it(capsys: pytest.CaptureFixture[str]):
    call_command("report", "things", "--wait")
    assert "is ready after" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"The input is wrong\."):
        call_command("report", "things", "--wait", parameters='{"wanted": "refuse"}')


def test_every_kind_accepts_its_own_defaults_or_says_what_it_needs():
    for kind in KINDS.values():
        needed = {parameter.name for parameter in kind.parameters if parameter.is_required and not parameter.default}
        if kind.is_nightly:
            assert not needed, kind.name
            assert kind.validate({}).keys() == {parameter.name for parameter in kind.parameters}
