"""Texts and names in expressions of SQL are those that they were, whatever signs are in them."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import is_named_role
from catalog.sql_text import list_texts, quote_name, quote_text
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.grant_facts import find_privilege, privilege_bit, privilege_level
from tests.spark.drift_world import interpreted

pytestmark = pytest.mark.spark

TEXTS = [
    *("", " ", "'", "''", '"', "\\", "\\'", "\\n", "\n\t", "%", "\\%_", "a`b", "--", "/* x */", ";", "\0"),
    *("${spark.app.name}", "$", "$$", "${", "é 東京 😀", "\ufeff", "\u001f", "{x}", ":x", "?", "u0041\\u0041"),
]


def test_texts_come_back_as_they_were(spark: SparkSession) -> None:
    with interpreted(spark):
        row = spark.range(1).select(*(f.expr(quote_text(text)) for text in TEXTS)).head()
        numbered = spark.createDataFrame(list(enumerate(TEXTS)), "number int, text string")
        assert numbered.filter(f"text IN {list_texts(TEXTS)}").count() == len(TEXTS)
    assert row is not None
    assert list(row) == TEXTS


def test_names_are_those_of_columns(spark: SparkSession) -> None:
    names = [text for text in TEXTS if text and "${" not in text]
    with interpreted(spark):
        frame = spark.createDataFrame([tuple(map(str, range(len(names))))], names)
        row = frame.select(*(f.expr(quote_name(name)) for name in names)).head()
    assert row is not None
    assert list(row) == [str(number) for number in range(len(names))]


def test_signs_in_headers_privileges_and_roles(spark: SparkSession, tmp_path: Path) -> None:
    odd_names = ["${spark.app.name}", "it's", "a`b", "back\\slash", "column_0"]
    levels = {"O'CLOCK \\ ${SPARK.APP.NAME}": "WRITE", "%": "ADMIN"}
    entry = {"name": "it's ${spark.app.name}", "platform": "p", "form": "csv", "grants": ["a.csv"], "levels": levels}
    (export,) = parse_exports(json.dumps({"exports": [{**entry, "ignored_roles": ["\\'${x}"]}]}))
    header = ",".join(["privilege", *odd_names])
    lines = [header, *(f"{level},1,2,3,4,5" for level in (*levels, "SELECT", "OTHER")), header.upper()]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with interpreted(spark):
        csv_rows = read_csv(spark, tmp_path.as_uri(), export, "a.csv", ())
        rows = csv_rows.filter("is_row").withColumn("at", f.expr(find_privilege(export, "privilege")))
        rows = rows.withColumn("level", f.expr(privilege_level(export, "at")))
        rows = rows.withColumn("bit", f.expr(privilege_bit(export, "at")))
        answers = {row["privilege"]: tuple(row)[-8:] for row in rows.collect()}
        pairs = [(export.name, "\\'${x}"), ("other", "\\'${x}"), (export.name, "x")]
        roles = spark.createDataFrame(pairs, "export string, role string")
        ignored = [row[0] for row in roles.selectExpr(is_named_role([export], lambda one: one.ignored_roles)).collect()]
    assert csv_rows.columns[-6:] == ["privilege", *odd_names]
    values, last = ("1", "2", "3", "4", "5"), len(export.vocabulary) - 1
    assert answers == {
        "O'CLOCK \\ ${SPARK.APP.NAME}": (*values, last - 1, 2, 1 << last - 1),
        "%": (*values, last, 3, 1 << last),
        "SELECT": (*values, 1, 1, 2),
        "OTHER": (*values, None, None, None),
    }
    assert ignored == [True, False, False]
