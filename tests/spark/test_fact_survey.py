"""The survey of facts says which there are, and Spark plans nothing for those that there are not."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.kinds.role_mapping_check.fact_survey import survey_facts
from catalog.warehouses.grant_facts import FACT_COLUMNS
from tests.spark.drift_world import interpreted

pytestmark = pytest.mark.spark

SCHEMA = ", ".join(f"{name} {kind}" for name, kind in FACT_COLUMNS.items())


def write_facts(spark: SparkSession, folder: Path, *facts: tuple[str, bool | None, str | None]) -> DataFrame:
    """Return stored facts of (what, is_container, kind)."""
    rows = [
        tuple(
            {"export": "e", "file": "f", "block": 0, "line": line, "is_counted": True, **named}.get(name)
            for name in FACT_COLUMNS
        )
        for line, named in enumerate(
            {"what": what, "is_container": is_container, "kind": kind} for what, is_container, kind in facts
        )
    ]
    spark.createDataFrame(rows, SCHEMA).write.parquet(str(folder / "facts"))
    return spark.read.parquet(str(folder / "facts"))


@pytest.mark.parametrize(
    ("facts", "has_container_grants", "has_user_grants"),
    [
        ([("GRANT", False, "ROLE"), ("MEMBER", None, "USER"), ("PASSED", True, "ROLE")], False, False),
        ([("GRANT", True, "ROLE"), ("GRANT", None, None)], True, False),
        ([("GRANT", False, "ROLE"), ("GRANT", False, "USER")], False, True),
        ([("NO_ROW", None, None)], False, False),
        ([], False, False),
    ],
)
def test_what_there_is(
    spark: SparkSession,
    tmp_path: Path,
    facts: list[tuple[str, bool | None, str | None]],
    has_container_grants: bool,
    has_user_grants: bool,
) -> None:
    with interpreted(spark):
        survey = survey_facts(write_facts(spark, tmp_path, *facts))
    assert survey.fact_kinds == {what for what, _, _ in facts}
    assert (survey.has_container_grants, survey.has_user_grants) == (has_container_grants, has_user_grants)


def test_no_fact_is_lost_and_what_is_not_there_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    with interpreted(spark):
        facts = write_facts(spark, tmp_path, ("GRANT", False, "ROLE"), ("MEMBER", None, "USER"), ("ROLE", None, None))
        known_facts = survey_facts(facts).select_facts(facts)
        assert sorted(known_facts.collect()) == sorted(facts.collect())
        others = spark.range(3).withColumnRenamed("id", "line")
        assert known_facts.filter("what = 'MEMBER'").join(others, "line").inputFiles()
        for condition in ("what = 'POLICY'", "what = 'INHERIT' AND kind = 'ROLE'"):
            rows = known_facts.filter(condition).join(others, "line").distinct()
            assert (rows.inputFiles(), rows.collect()) == ([], [])
