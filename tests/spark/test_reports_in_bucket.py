"""Whole runs with Spark whose folder is in a bucket: the same results as in a folder, and answers about them later."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pyspark.sql import SparkSession

from catalog.models import Report
from catalog.reports.kinds.role_mapping_check.run_inputs import read_exports
from catalog.reports.run import run_state, runner
from catalog.reports.services import reports
from catalog.reports.spark.job import Job
from catalog.reports.storage import parse_address
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests import s3
from tests.catalog.conftest import DOOR, said, tags, tell

pytestmark = pytest.mark.django_db(transaction=True)

#: Why a run has a Spark of its own.
WORKER = "is that of a worker, which reads the bucket"
BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
VIEW = "VIEW_ENTITY_PAGE"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,SHOP.SALES.ORDERS,PROD)"
EXPORTS = """{"exports": [{"name": "snow", "platform": "snowflake", "form": "csv", "grants": ["grants*.csv"]}]}"""
GRANTS = "object_type,object,privilege,grantee_type,grantee\nTABLE,SHOP.SALES.ORDERS,SELECT,ROLE,reader\n"


@pytest.fixture(scope="module")
def server() -> Iterator[s3.S3Server]:
    with s3.serve_s3() as server:
        yield server


@pytest.fixture(autouse=True)
def _company(
    transactional_db: None, server: s3.S3Server, settings: Any, program_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = program_folder
    settings.REPORTS_INCREMENTAL, settings.SPARK_IDLE_SECONDS = False, 600
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    users.create(username="jo", **BY)
    groups.create(name="team", identifier="team", **BY)
    groups.add_members(urn="urn:li:corpGroup:team", members=["urn:li:corpuser:jo"], **BY)
    tell(said(ORDERS, "globalTags", tags("PII")))
    document = {
        "displayName": "Team",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [VIEW],
        "actors": {"groups": ["urn:li:corpGroup:team"]},
        "resources": {"filter": {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:PII"]}]}},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), **BY)


def make(kind: str, **parameters: Any) -> Report:
    """Return a run that was made here."""
    report = reports.request_report(kind=kind, parameters=parameters, by=authorizer.SYSTEM, is_queued=False)
    runner.run_report(report.pk)
    report.refresh_from_db()
    assert report.problem == ""
    assert report.status == Report.Status.READY
    assert s3.SECRET not in report.log
    return report


def list_results(report: Report) -> tuple[list[Any], dict[str, Any]]:
    rows = report.rows.order_by("table", "position").values_list("table", "position", "key", "values")
    return list(rows), report.summary


@pytest.mark.own_spark(WORKER)
def test_effective_access_and_questions_about_it(server: s3.S3Server, settings: Any, tmp_path: Path):
    settings.REPORTS_DIR = str(tmp_path / "reports")
    expected = make("effective_access", privileges=[VIEW])
    settings.REPORTS_DIR = f"s3://{s3.BUCKET}/effective"
    report = make("effective_access", privileges=[VIEW])
    assert list_results(report) == list_results(expected)
    assert list_results(report)[0]
    prefix = run_state.attempt_folder(report).path[1:]
    keys = [key for key in server.list_keys() if key.startswith(prefix)]
    assert {key.removeprefix(prefix).split("/")[1] for key in keys} == {"input", "output"}
    out = StringIO()
    call_command("access", str(report.pk), VIEW, "--entity", ORDERS, stdout=out)
    assert "urn:li:corpuser:jo" in out.getvalue()


@pytest.mark.own_spark(WORKER)
def test_role_mapping(server: s3.S3Server, settings: Any, tmp_path: Path, program_folder: Path):
    exports = tmp_path / "exports of Zoë"
    exports.mkdir()
    (exports / "exports.json").write_text(EXPORTS)
    (exports / "grants1.csv").write_text(GRANTS)
    settings.REPORTS_DIR, settings.GRANTS_EXPORTS = str(tmp_path / "our reports"), exports.as_uri()
    expected = make("role_mapping_check")
    settings.REPORTS_DIR, settings.GRANTS_EXPORTS = f"s3a://{s3.BUCKET}/our mapping", str(exports)
    report = make("role_mapping_check")
    assert list_results(report) == list_results(expected)
    assert "findings" in {row[0] for row in list_results(report)[0]}
    prefix = run_state.report_folder(report.pk).path[1:]
    keys = [key for key in server.list_keys() if key.startswith(prefix)]
    assert {key.split("/")[3] for key in keys} == {"output"}
    assert not any("_stages" in key for key in keys)
    assert not [*program_folder.rglob("copies-*")]


def test_exports_in_a_bucket_are_read_by_a_spark_without_a_library_for_it(spark: SparkSession, tmp_path: Path):
    exports = parse_address(f"s3a://{s3.BUCKET}/exports/of/today")
    exports.write_text("exports.json", EXPORTS)
    exports.write_text("grants1.csv", GRANTS)
    source = parse_address(tmp_path / "in")
    source.create()
    source.write_text("grants_exports.json", json.dumps({"folder": str(exports)}))
    job = Job(spark, source.url, (tmp_path / "out").as_uri(), {}, {})
    url, (export,) = read_exports(job)
    assert export.name == "snow"
    assert [row["value"] for row in spark.read.text(f"{url}/grants*.csv").collect()] == GRANTS.splitlines()
    job.readable_folders.delete_copies()
    assert not parse_address(url).is_there()
