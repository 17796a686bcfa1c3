"""Open tables of jobs that ran on Spark, and the example of the document that reads them there."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from catalog.reports import storage
from catalog.reports.result_tables import manifest
from catalog.reports.result_tables.feeds import KIND_FEEDS
from catalog.reports.result_tables.run_files import WRITTEN_FILE, FilePlan, write_files
from tests import result_tables

pytestmark = pytest.mark.spark

AS_OF = "2026-11-23T23:30:00-01:00"


@pytest.fixture
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.RESULT_TABLES_DIR = str(tmp_path / "tables")


def published(results: Path) -> FilePlan:
    """Return the plan of a run with these results, which is in the manifest."""
    plan = FilePlan(result_tables.folder().as_uri(), str(uuid4()), 1, "role_mapping_check", AS_OF, 7, 0)
    write_files(plan, KIND_FEEDS[plan.kind], storage.parse_address(results))
    written = json.loads((results / WRITTEN_FILE).read_text(encoding="utf-8"))
    entry = manifest.build_entry(plan, written, published_at=AS_OF)
    manifest.write_entry(storage.parse_address(plan.folder), entry)
    return plan


@pytest.mark.usefixtures("_folder")
def test_differences_become_drift_and_the_example_reads_findings(
    spark: SparkSession, vendor_check: tuple[Path, dict[str, Any]], tmp_path: Path
):
    checked, tables = vendor_check
    # What is published is said beside the results.
    results = shutil.copytree(checked, tmp_path / "results")
    plan = published(results)
    unpublished = FilePlan(**(asdict(plan) | {"attempt": 2}))
    write_files(unpublished, KIND_FEEDS[plan.kind], storage.parse_address(results))
    drift = result_tables.rows("drift")
    assert len(drift) >= len(tables["findings"]) > 0
    assert {row["type"] for row in drift} >= {finding["type"] for finding in tables["findings"]}
    names = {text for row in drift for text in (row["role_name"], row["grantee"], row["object"]) if text}
    assert "\x1f" not in "".join(names)
    assert "hr.people" in {name.partition(".")[2] for name in names}
    assert {f"{row['as_of']:%Y-%m-%d %H:%M}" for row in drift} == {"2026-11-24 00:30"}
    answer = None
    for statement in result_tables.read_example("spark"):
        answer = spark.sql(statement)
    assert answer is not None
    rows = [(row["kind"], f"{row['day']}", row["severity"], row["findings"]) for row in answer.collect()]
    severities = sorted({finding["severity"] for finding in tables["findings"]})
    assert rows == [
        (plan.kind, "2026-11-24", one, sum(finding["severity"] == one for finding in tables["findings"]))
        for one in severities
    ]
