"""Histories of access in the vendors' layouts: what becomes of each line, as the table beside says (histories.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.blocks import LineNumbers, collect_blocks
from catalog.reports.kinds.role_mapping_check.readers import read_history
from catalog.warehouses.history import HistoryRowKind
from catalog.warehouses.registry import list_warehouses
from catalog.warehouses.warehouse import BadExports, Export
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


def read_rows(spark: SparkSession, folder: Path, export: Export) -> list[list[str]]:
    """Return the rows of the history of an export as the table says them."""
    with interpreted(spark):
        history = read_history(spark, folder.as_uri(), export)
        rows = history.filter(f"what <> '{HistoryRowKind.NO_ROW}'").collect()
        numbers = LineNumbers(collect_blocks(history))
    return [described(row) for row in numbers.number_rows(row.asDict() for row in rows)]


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
    assert read_rows(spark, FILES, export) == expected(file)


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
        history = read_history(spark, tmp_path.as_uri(), export)
        (use,) = (row.asDict() for row in history.filter(f"what = '{HistoryRowKind.USE}'").collect())
    assert described(use)[1:] == ["USE", "", "recipient acme", "recipient acme", "2025-03-14 08:00", "1 main.hr.pay"]


def test_a_path_is_that_of_the_table_whose_files_lie_there(spark: SparkSession, tmp_path: Path) -> None:
    urls = ("s3://b/pay/day=1/x.parquet", "s3://b/pay/", "s3://b/payroll", "s3://b")
    lines = (
        {
            "event_time": "2025-03-14T08:00:00Z",
            "action_name": "generateTemporaryPathCredential",
            "user_identity": {"email": "ann@x.example"},
            "request_params": {"url": url, "operation": "PATH_READ_WRITE" if url.endswith("/") else "PATH_READ"},
        }
        for url in urls
    )
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    header = "table_catalog,table_schema,table_name,table_type,table_owner,storage_path"
    rows = ("main,hr,pay,EXTERNAL,ops,s3://b/pay/", "main,hr,pay_v,VIEW,ops,")
    (tmp_path / "tables.csv").write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    lake = list_warehouses()["databricks"]
    export = Export("e", "databricks", lake, grants=("tables.csv",), usage=("log.jsonl",), spelling="lower")
    assert read_rows(spark, tmp_path, export) == [
        ["1", "USE", "", "ann@x.example", "", "2025-03-14 08:00", "1 main.hr.pay"],
        ["2", "USE", "", "ann@x.example", "", "2025-03-14 08:00", "2 main.hr.pay"],
        ["3", "PASSED", "no_table", "", "", "", ""],
        ["4", "PASSED", "no_table", "", "", "", ""],
    ]


def test_users_that_are_programs_act_as_their_role(spark: SparkSession, tmp_path: Path) -> None:
    objects = '"[{""objectDomain"": ""Table"", ""objectName"": ""DB.S.T""}]",[],[]'
    header = "QUERY_START_TIME,USER_NAME,DIRECT_OBJECTS_ACCESSED,BASE_OBJECTS_ACCESSED,OBJECTS_MODIFIED,ROLE_NAME"
    names = ("ANN", "LOADER", "old loader", "SYSTEM")
    rows = (f"2025-03-14 08:00:00.000 Z,{name},{objects},ETL" for name in names)
    (tmp_path / "history.csv").write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    types = {"ANN": "PERSON", "LOADER": "SERVICE", "old loader": "legacy_service", "NULL": ""}
    users = (f"{name},{name},{kind}" for name, kind in types.items())
    (tmp_path / "users.csv").write_text("\n".join(("NAME,LOGIN_NAME,TYPE", *users)) + "\n", encoding="utf-8")
    snowflake = list_warehouses()["snowflake"]
    export = Export("e", "snowflake", snowflake, grants=("users.csv",), usage=("history.csv",), spelling="upper")
    with interpreted(spark):
        history = read_history(spark, tmp_path.as_uri(), export)
        uses = history.filter(f"what = '{HistoryRowKind.USE}'").collect()
    assert {row["person"]: (row["person_key"], row["acts_as_role"]) for row in uses} == {
        "ANN": ("ann", False),
        "LOADER": ("loader", True),
        "old loader": ("old loader", True),
        "SYSTEM": ("", True),
    }
    (tmp_path / "history.csv").write_text(f"{header},COLOUR\n", encoding="utf-8")
    with pytest.raises(BadExports, match=r"access_history \(not with colour\)"):
        read_history(spark, tmp_path.as_uri(), export)
