"""Open tables of jobs that ran on Spark, and the example of the document that reads them there."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.run import table_publishing
from tests import result_tables

pytestmark = pytest.mark.spark


def read_with_spark(spark: SparkSession, table: str) -> str:
    """Return the name of the view with the files of a table."""
    view = table.replace("/", "_")
    files = [str(path) for path in result_tables.files(table)]
    spark.read.option("basePath", str(result_tables.folder() / table)).parquet(*files).createOrReplaceTempView(view)
    return view


def ask_spark(spark: SparkSession, sql: str) -> list[tuple[Any, ...]]:
    """Return what Spark answers to the last statement of SQL of the document."""
    answer = None
    for statement in result_tables.list_statements(sql, lambda table: read_with_spark(spark, table)):
        answer = spark.sql(statement)
    assert answer is not None
    return [tuple(row) for row in answer.collect()]


def test_differences_are_published_and_the_example_reads_findings(
    spark: SparkSession, vendor_check: tuple[Path, dict[str, Any]], settings: Any, tmp_path: Path
):
    settings.RESULT_TABLES_DIR = str(tmp_path / "tables")
    results, tables = vendor_check
    moment = datetime(2026, 11, 24, 0, 30, tzinfo=UTC)
    report = Report(pk=uuid4(), kind="role_mapping_check", attempts=1, as_of=moment, policy_version=7)
    table_publishing.publish(report, storage.parse_address(results))
    differences = result_tables.rows("role_mapping_check/differences")
    assert len(differences) >= len(tables["findings"]) > 0
    assert {row["type"] for row in differences} >= {finding["type"] for finding in tables["findings"]}
    names = {text for row in differences for text in (row["role"], row["grantee"], row["object"]) if text}
    assert "\x1f" not in "".join(names)
    assert "hr.people" in {name.partition(".")[2] for name in names}
    assert {f"{row['as_of']:%Y-%m-%d %H:%M}" for row in differences} == {"2026-11-24 00:30"}
    counts = {row["table"]: row["rows"] for row in result_tables.rows("runs")}
    assert (counts["findings"], counts["differences"]) == (len(tables["findings"]), len(differences))
    rows = [
        (f"{day}", severity, count) for day, severity, count in ask_spark(spark, result_tables.read_example("spark"))
    ]
    severities = sorted({finding["severity"] for finding in tables["findings"]})
    assert rows == [
        ("2026-11-24", one, sum(finding["severity"] == one for finding in tables["findings"])) for one in severities
    ]
