"""Every row of every golden export is compared, passed by a named rule, or quarantined with its place: once.

A case is a folder of `golden_exports`, with `exports.json`, its files in the layout that the vendor publishes, and
`rows.json`: what becomes of the rows of each export before they meet a catalog. A row is a line of CSV that is neither
blank nor the header; in IAM policies one resource, role and member.
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.kinds.role_mapping_check.blocks import (
    LineNumbers,
    collect_blocks,
    collect_surveyed_blocks,
    find_other_headers,
)
from catalog.reports.kinds.role_mapping_check.readers import read_facts
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.registry import list_warehouses
from catalog.warehouses.warehouse import BadExports, Export
from tests.spark.drift_world import interpreted

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).with_name("golden_exports")
CASES = sorted(file.parent.relative_to(GOLDEN).as_posix() for file in GOLDEN.rglob("exports.json"))


def number_rows(facts: DataFrame, rows: DataFrame) -> list[dict[str, Any]]:
    """Return rows of facts with their files and lines as people name them."""
    return LineNumbers(collect_blocks(facts)).number_rows(row.asDict() for row in rows.collect())


def exports_of(folder: Path) -> tuple[Export, ...]:
    return parse_exports((folder / "exports.json").read_text(encoding="utf-8"))


def count_rows(folder: Path, export: Export) -> int:
    """Return how many rows stand in the files of an export that have rows to compare."""
    return sum(map(count_file_rows, (folder / name for name in list_files(folder, export))))


def list_files(folder: Path, export: Export) -> list[str]:
    files = [file for pattern in (*export.grants, *export.members, *export.policies) for file in folder.glob(pattern)]
    return [file.relative_to(folder).as_posix() for file in files]


def count_file_rows(file: Path) -> int:
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if ".json" in file.name:
        return sum(map(count_bindings, lines))
    header = header_words(lines[0])
    return sum(header_words(line) != header for line in lines)


def header_words(line: str) -> list[str]:
    return [word.strip("\ufeff ").lower() for word in next(csv.reader([line]))]


def count_bindings(line: str) -> int:
    """Return the pairs of role and member of a policy, or the entries of a dataset; any other line is one row."""
    with suppress(ValueError, KeyError, StopIteration):
        said = json.loads(line)
        if "access" in said:
            return len(said["access"])
        policy = next(said[key] for key in ("policy", "iam_policy", "iamPolicy") if key in said)
        return sum(len(binding["members"]) for binding in policy["bindings"])
    return 1


def read_all_facts(spark: SparkSession, folder: Path) -> DataFrame:
    return reduce(DataFrame.union, (read_facts(spark, folder.as_uri(), export) for export in exports_of(folder)))


def test_every_form_has_a_case() -> None:
    assert {one.warehouse.name for case in CASES for one in exports_of(GOLDEN / case)} == set(list_warehouses())


@pytest.mark.drawn(3)
@pytest.mark.parametrize("case", CASES)
def test_every_row_is_accounted_for(spark: SparkSession, case: str) -> None:
    folder = GOLDEN / case
    with interpreted(spark):
        facts = read_all_facts(spark, folder).cache()
        counted = facts.filter("is_counted AND what <> 'NO_ROW'")
        rows = number_rows(facts, counted.select("export", "file", "block", "line", "what", "reason", "rule"))
        facts.unpersist()
    found: dict[str, dict[str, Any]] = {}
    for export in exports_of(folder):
        mine = [row for row in rows if row["export"] == export.name]
        found[export.name] = {
            "compared": sum(row["what"] not in ("BAD", "PASSED") for row in mine),
            "passed": dict(Counter(row["rule"] for row in mine if row["what"] == "PASSED")),
            "quarantined": sorted([row["file"], row["line"], row["reason"]] for row in mine if row["what"] == "BAD"),
        }
        # Of other files, those lines that could not be used are told.
        assert sum(row["file"] in list_files(folder, export) for row in mine) == count_rows(folder, export)
    assert found == json.loads((folder / "rows.json").read_text(encoding="utf-8"))


def lines_of(spark: SparkSession, folder: Path) -> Iterator[tuple[str, int, str]]:
    facts = read_all_facts(spark, folder).cache()
    rows = number_rows(facts, facts.select("export", "file", "block", "line", "grantee"))
    facts.unpersist()
    yield from sorted((row["file"], row["line"], row["grantee"]) for row in rows)


def test_lines_are_those_of_the_file_in_however_many_blocks_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    export = {"name": "a", "platform": "p", "form": "csv", "grants": ["*.csv"]}
    (tmp_path / "exports.json").write_text(json.dumps({"exports": [export]}), encoding="utf-8")
    header = "object_type,object,privilege,grantee_type,grantee"
    files = {
        f"{name}.csv": [header, *(f"table,t,READ,user,{name}{number}" for number in range(2, 400))] for name in "xy"
    }
    for name, lines in files.items():
        lines[7] = ""
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    try:
        with interpreted(spark):
            facts = read_all_facts(spark, tmp_path)
            assert facts.select("block").distinct().count() > 5
            found = [one for one in lines_of(spark, tmp_path) if one[2] not in (None, "grantee")]
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))
    assert found == [(f"{name}.csv", line, f"{name}{line}") for name in "xy" for line in range(2, 400) if line != 8]


def test_a_file_with_another_header_is_named(spark: SparkSession, tmp_path: Path) -> None:
    export = {"name": "a", "platform": "p", "form": "csv", "grants": ["*.csv"]}
    (tmp_path / "exports.json").write_text(json.dumps({"exports": [export]}), encoding="utf-8")
    row = "table,t,READ,user,mara"
    (tmp_path / "a.csv").write_text(f"object_type,object,privilege,grantee_type,grantee\n{row}\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text(f"object_type,object,privilege,grantee,grantee_type\n{row}\n", encoding="utf-8")
    with interpreted(spark):
        facts = read_all_facts(spark, tmp_path)
        found = find_other_headers(collect_surveyed_blocks(facts))
    assert found in ({"a": ("a.csv", "b.csv")}, {"a": ("b.csv", "a.csv")})


@pytest.mark.parametrize(
    ("form", "sentence"),
    [("csv", "lack the column object_type"), ("databricks", "a.csv of the export a are empty"), ("trino", "are empty")],
)
def test_an_empty_file_lacks_its_columns(spark: SparkSession, tmp_path: Path, form: str, sentence: str) -> None:
    export = {"name": "a", "platform": "p", "form": form, "grants": ["a.csv"]}
    (tmp_path / "exports.json").write_text(json.dumps({"exports": [export]}), encoding="utf-8")
    (tmp_path / "a.csv").touch()
    with pytest.raises(BadExports, match=sentence):
        read_all_facts(spark, tmp_path)


def test_a_file_that_two_exports_name_has_its_own_name_and_lines_in_both(spark: SparkSession, tmp_path: Path) -> None:
    exports = [
        {"name": name, "platform": "p", "env": name, "form": "csv", "grants": [pattern]}
        for name, pattern in (("one", "*.csv"), ("two", "my *.csv"))
    ]
    (tmp_path / "exports.json").write_text(json.dumps({"exports": exports}), encoding="utf-8")
    header = "object_type,object,privilege,grantee_type,grantee"
    (tmp_path / "a.csv").write_text(f"{header}\n" + "table,t,READ,user,mara\n" * 9, encoding="utf-8")
    (tmp_path / "my 5%+é.csv").write_text(f"{header}\ntable,t,READ,user,ines\n", encoding="utf-8")
    with interpreted(spark):
        found = [row for row in lines_of(spark, tmp_path) if row[2] == "ines"]
    assert found == [("my 5%+é.csv", 2, "ines")] * 2


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # A table of pandas, with numbers of rows in a column without a name.
        (",{header}\r\n0,{row}\r\n\r\n1,{row}\r\n", [2, 4]),
        ("{header},,\n{row},,\n", [2]),
        # Two files put together, each with the mark of UTF-8 and blank lines before its header.
        ("\ufeff\n \n{header}\n{row}\n\ufeff{header}\n{row}\n", [4, 6]),
    ],
)
def test_headers_of_all_kinds(spark: SparkSession, tmp_path: Path, text: str, places: list[int]) -> None:
    export = {"name": "a", "platform": "p", "form": "csv", "grants": ["a.csv"]}
    (tmp_path / "exports.json").write_text(json.dumps({"exports": [export]}), encoding="utf-8")
    header = "object_type,object,privilege,grantee_type,grantee"
    written = text.format(header=header, row="table,t,READ,user,mara")
    (tmp_path / "a.csv").write_text(written, encoding="utf-8", newline="")
    with interpreted(spark):
        facts = read_all_facts(spark, tmp_path).cache()
        rows = number_rows(facts, facts.filter("what <> 'NO_ROW'").select("export", "file", "block", "line", "what"))
        found = sorted((row["line"], row["what"]) for row in rows)
        assert find_other_headers(collect_surveyed_blocks(facts)) == {}
        facts.unpersist()
    assert found == [(place, "GRANT") for place in places]


def test_an_export_of_another_database_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    export = {"name": "shop", "platform": "postgres", "form": "postgres", "database": "app", "grants": ["a.csv"]}
    header = "database_name,schema_name,owner_name,grantor_name,grantee_name,privilege_type,is_grantable"
    (tmp_path / "exports.json").write_text(json.dumps({"exports": [export]}), encoding="utf-8")
    (tmp_path / "a.csv").write_text(f"{header}\napp_test,shop,keeper,keeper,reader,USAGE,f\n", encoding="utf-8")
    with interpreted(spark), pytest.raises(BadExports) as raised:
        read_all_facts(spark, tmp_path)
    assert str(raised.value) == (
        "The files of the export shop are of the database app_test, and exports.json says that they are of app."
    )
