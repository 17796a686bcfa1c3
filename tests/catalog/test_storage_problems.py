"""Storage that does not work says so in one sentence, without secrets, before a report begins."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from catalog.models import Report
from catalog.reports import storage_problems
from catalog.reports.registry import KINDS
from catalog.reports.run import leftovers, run_state, runner
from catalog.reports.services import reports
from policies.errors import Conflict
from policies.pdp.authorizer import SYSTEM
from tests import s3

BUCKET = f"s3a://{s3.BUCKET}/reports"


@pytest.fixture(scope="module")
def server() -> Iterator[s3.S3Server]:
    with s3.serve_s3() as server:
        yield server


@pytest.fixture(autouse=True)
def _environment(server: s3.S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


def find(address: str) -> str:
    return storage_problems.find_writing_problem(address, variable="REPORTS_DIR")


def test_storage_that_works_has_no_problem_and_keeps_nothing(server: s3.S3Server, tmp_path: Path):
    assert find(BUCKET) == ""
    assert find(str(tmp_path / "not/there/yet")) == ""
    assert server.list_keys() == []


def test_what_is_wrong_with_an_address_or_its_bucket():
    assert find("s4://bucket/a").startswith("REPORTS_DIR: s4://bucket/a begins with s4:, which names no storage")
    assert find("s3://none/a") == (
        "REPORTS_DIR: s3://none/a cannot be used: there is no bucket none. Create it, or correct the address."
    )


def test_a_storage_without_its_library(monkeypatch: pytest.MonkeyPatch):
    for name in ("JAVA_HOME", "HADOOP_HOME", "CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    assert find("hdfs://127.0.0.1:1/a").startswith(
        "REPORTS_DIR: hdfs://127.0.0.1:1/a cannot be used: there is no library for hdfs: here; set JAVA_HOME,"
    )


@pytest.mark.parametrize(
    ("endpoint", "sentence"),
    [
        ("http://127.0.0.1:1", "nothing answers at 127.0.0.1:1 (AWS_ENDPOINT_URL)."),
        ("http://nowhere.invalid:1", "there is no host nowhere.invalid (AWS_ENDPOINT_URL)."),
    ],
)
def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch, endpoint: str, sentence: str):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert find(BUCKET) == f"REPORTS_DIR: s3://{s3.BUCKET}/reports cannot be used: {sentence}"


def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage_problems, "ANSWER_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert find(BUCKET).startswith(f"REPORTS_DIR: s3://{s3.BUCKET}/reports gave no answer in 2 seconds. Check the ")


def test_wrong_credentials_are_not_shown(server: s3.S3Server):
    server.send("POST", "moto-api/reset-auth", b"0")
    try:
        sentence = find(BUCKET)
    finally:
        server.send("POST", "moto-api/reset-auth", b"inf")
    assert "its server refuses access. Check what the account may do" in sentence
    assert "AWS_ACCESS_KEY_ID" in sentence
    assert s3.SECRET not in sentence
    assert server.environment["AWS_ACCESS_KEY_ID"] not in sentence


def test_exports_are_asked_for_where_the_environment_has_an_account(monkeypatch: pytest.MonkeyPatch, settings: Any):
    kind = KINDS["role_mapping_check"]
    settings.GRANTS_EXPORTS = "s3a://none/exports"
    assert kind.find_input_problem() == "GRANTS_EXPORTS: s3://none/exports cannot be used: there is nothing."
    for name in ("AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    assert kind.find_input_problem() == "", "Spark may have an account of its own"
    settings.GRANTS_EXPORTS = "dbfs:/exports"
    assert kind.find_input_problem() == "", "Spark may know more kinds of storage"
    settings.GRANTS_EXPORTS = "s3a://key:hidden@bucket/exports"
    assert kind.find_input_problem().startswith("GRANTS_EXPORTS: s3a://bucket/exports has more than")


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["s3://none/reports", "s4://none/reports"])
def test_a_report_does_not_begin(settings: Any, address: str):
    settings.REPORTS_DIR = address
    with pytest.raises(Conflict, match=f"REPORTS_DIR: {address}"):
        reports.request_report(kind="policy_hygiene", parameters={}, by=SYSTEM)
    assert not Report.objects.exists()
    # As the schedule queues it.
    queued = run_state.queue(spec=KINDS["policy_hygiene"], parameters={}, by=SYSTEM.urn)
    assert queued is not None
    assert runner.run_report(queued.pk) == Report.Status.FAILED
    queued.refresh_from_db()
    assert queued.problem.startswith(f"REPORTS_DIR: {address}")
    assert leftovers.remove_attempt_folders() == 0


def test_an_address_that_can_never_be_used_fails_the_checks_of_the_site(settings: Any):
    settings.REPORTS_DIR = "s4://bucket/a"
    assert [found.id for found in run_checks()] == ["authzsite.E016"]
    settings.REPORTS_DIR = "s3://none/a"
    assert run_checks() == [], "no server is asked"
    settings.RESULT_TABLES_DIR = "s4://bucket/tables"
    (found,) = run_checks()
    assert found.msg.startswith("RESULT_TABLES_DIR: s4://bucket/tables begins with s4:")
