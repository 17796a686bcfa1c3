"""Event log, pages, libraries and listeners that users set for Spark are those of the jobs of reports."""

import json
import socket
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from catalog.models import Report
from catalog.reports.run import runner, spark_pool
from catalog.reports.services import reports
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import said, tags, tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.own_spark("has the settings of a user")]

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,SHOP.SALES.ORDERS,PROD)"

#: A listener that Spark has itself, where its library need not be fetched; it says what it heard through the log.
LISTENER = "org.apache.spark.scheduler.StatsReportListener"
LOG4J = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %c %m%n
"""


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture(autouse=True)
def _conf(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int) -> Iterator[None]:
    settings.REPORTS_DIR, settings.VAR_DIR, settings.SPARK_IDLE_SECONDS = (
        str(tmp_path / "reports"),
        tmp_path / "var",
        60,
    )
    for name in ("SPARK_MASTER", "SPARK_REMOTE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("conf", "events"):
        (tmp_path / name).mkdir()
    with zipfile.ZipFile(tmp_path / "mine.jar", "w") as jar:
        jar.writestr("words.txt", "of mine")
    lines = (
        "spark.eventLog.enabled true",
        f"spark.eventLog.dir={(tmp_path / 'events').as_uri()}",
        "spark.eventLog.compress false",
        "spark.eventLog.rolling.enabled false",
        f"spark.extraListeners {LISTENER}",
        f"spark.jars {tmp_path / 'mine.jar'}",
        "spark.openlineage.namespace: access",
        "spark.ui.enabled true",
        f"spark.ui.port {port}",
    )
    (tmp_path / "conf" / "spark-defaults.conf").write_text("\n".join(lines))
    (tmp_path / "conf" / "log4j2.properties").write_text(LOG4J.format(file=tmp_path / "heard"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    yield
    spark_pool.end_idle_processes()


def test_what_users_set_is_that_of_jobs(tmp_path: Path, port: int):
    tell(said(ORDERS, "globalTags", tags("PII")))
    report = reports.request_report(kind="effective_access", parameters={}, by=SYSTEM, is_queued=False)
    assert runner.run_report(report.pk) == Report.Status.READY
    with urlopen(f"http://127.0.0.1:{port}/api/v1/applications", timeout=30) as answer:
        (application,) = json.load(answer)
    with urlopen(f"http://127.0.0.1:{port}/api/v1/applications/{application['id']}/jobs", timeout=30) as answer:
        jobs = json.load(answer)
    # Spark puts the session before it.
    assert any(tag.endswith("-authzsite.effective_access") for job in jobs for tag in job["jobTags"])
    spark_pool.end_idle_processes()
    (event_log,) = (tmp_path / "events").iterdir()
    events = [json.loads(line) for line in event_log.read_text(encoding="utf-8").splitlines()]
    assert event_log.name == application["id"]
    assert events[-1]["Event"] == "SparkListenerApplicationEnd"
    (environment,) = (event for event in events if event["Event"] == "SparkListenerEnvironmentUpdate")
    assert environment["Spark Properties"]["spark.openlineage.namespace"] == "access"
    assert any(entry.endswith("/mine.jar") for entry in environment["Classpath Entries"])
    assert f"{LISTENER} Finished stage" in (tmp_path / "heard").read_text(encoding="utf-8")
