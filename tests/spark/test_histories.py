"""Histories of access in the vendors' layouts: what becomes of each line, as the table beside says (histories.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.blocks import LineNumbers, collect_blocks
from catalog.reports.kinds.role_mapping_check.readers import read_histories
from catalog.warehouses.history import HistoryRowKind
from catalog.warehouses.registry import list_warehouses
from catalog.warehouses.warehouse import Export
from tests.spark.drift_world import interpreted

pytestmark = pytest.mark.spark

FILES = Path(__file__).with_name("histories")
TABLE = Path(__file__).with_name("histories.md")
FORMS = {"postgres_export": "postgres", "redshift_stl": "redshift", "plain": "csv"}


def expected(name: str) -> list[list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    return [[cell.replace("-", "", 1) if cell == "-" else cell for cell in row[1:]] for row in rows if row[0] == name]


def described(row: Mapping[str, Any]) -> list[str]:
    objects = [f"{one.level}{' ' if one.is_direct else '~'}{one.key}" for one in row["objects"] or ()]
    is_use = row["what"] == HistoryRowKind.USE
    shown = [row["person_key"], row["role_key"], f"{row['used_at']:%Y-%m-%d %H:%M}"] if is_use else ["", "", ""]
    return [str(row["line"]), row["what"], row["reason"] or "", *(one or "" for one in shown), ", ".join(objects)]


@pytest.mark.parametrize("file", sorted(path.name for path in FILES.iterdir()))
def test_each_line_is_a_use_passed_or_bad(spark: SparkSession, file: str) -> None:
    name = file.partition(".")[0]
    form = FORMS.get(name, name)
    spelling = "upper" if form == "snowflake" else "exact"
    export = Export(
        "e",
        form,
        list_warehouses()[form],
        grants=(),
        usage=(file,),
        spelling=spelling,
        email_domain="x.example",
        role_prefix="",
    )
    with interpreted(spark):
        (history,) = read_histories(spark, FILES.as_uri(), [export])
        rows = LineNumbers(collect_blocks(history)).number_rows(
            row.asDict() for row in history.filter(f"what <> '{HistoryRowKind.NO_ROW}'").collect()
        )
    assert [described(row) for row in rows] == expected(file)


def test_a_recipient_uses_the_table_that_the_share_names(spark: SparkSession, tmp_path: Path) -> None:
    lines = (FILES / "databricks.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "log.jsonl").write_text("".join(line + "\n" for line in lines if "acme" in line), encoding="utf-8")
    shares = (Path(__file__).with_name("golden_exports") / "databricks_entries" / "table_share_usage.csv").read_text()
    (tmp_path / "shares.csv").write_text(shares + "main,hr,pay,Partners,s,A\n", encoding="utf-8")
    export = Export(
        "e",
        "databricks",
        list_warehouses()["databricks"],
        grants=("shares.csv",),
        usage=("log.jsonl",),
        spelling="lower",
    )
    with interpreted(spark):
        (history,) = read_histories(spark, tmp_path.as_uri(), [export])
        (use,) = (row.asDict() for row in history.filter(f"what = '{HistoryRowKind.USE}'").collect())
    assert described(use)[1:] == ["USE", "", "recipient acme", "recipient acme", "2025-03-14 08:00", "1 main.hr.pay"]
