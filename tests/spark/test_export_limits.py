"""Files of exports that are too large cost their export and not the run, and examples of rows are short."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.job import BadInput
from tests.spark.drift_world import World, dataset, interpreted, role
from tests.spark.usage_world import find_usage

pytestmark = pytest.mark.spark

LONG = "x" * 3_000
GRANTS = f"""
object_type | object | privilege | grantee_type | grantee
table | db.s.a  | SELECT     | role | reader
table | db.s.a  | {LONG}     | role | reader
table | {LONG}  | SELECT     | role | reader
table | db.s.a  | SELECT     | role | {LONG}
table | db.s.a  | SELECT     | role | other
table | db.s.{"z" * 900} | SELECT | role | reader
"""
USES = f"""used_at,user,role,object,privilege
2025-01-01,ann,reader,db.s.a,SELECT
2025-01-02,ann,reader,{LONG},SELECT
2025-01-03,ann,reader,db.s.{"z" * 900},SELECT
"""
SENTENCE = "big/bomb.csv.gz grows beyond 100 times its size when it is unpacked."


def make_world(*names: str) -> World:
    world = World()
    exports: list[dict[str, Any]] = []
    for name in names:
        world.entity(dataset(name, "db.s.a"), ACCESS_ROLE=[world.entity(role(f"{name}_reader"), ROLE_USER=[])])
        exports.append({"name": name, "platform": name, "form": "csv", "role_prefix": f"{name}_"})
        exports[-1] |= {"grants": [f"{name}/*"], "usage": ["usage.csv"]}
    world.csv("good/grants.csv", GRANTS)
    world.files["usage.csv"] = USES
    bomb = gzip.compress(b"object_type,object,privilege,grantee_type,grantee\n" + b"table,t,READ,user,ann\n" * 2**18)
    world.files["big/bomb.csv.gz"] = bomb.decode("utf-8", "surrogateescape")
    world.files["exports.json"] = json.dumps({"exports": exports})
    return world


def check_tables(found: dict[str, Any]) -> None:
    problems = {row["export"]: row["problem"] for row in found["exports"]}
    assert problems["good"] is None
    assert problems["big"].startswith(SENTENCE)
    (row,) = [row for row in found["quarantine"] if row["export"] == "big"]
    assert (row["file"], row["line"], row["row"]) == ("big/bomb.csv.gz", None, "")
    assert row["reason"].startswith(SENTENCE)
    texts = [row["row"] for row in found["quarantine"]] + [row["sample"] for row in found["passed"]]
    assert max(map(len, texts)) <= 200 + len("good/grants.csv:7 ")
    assert {row["reason"] for row in found["quarantine"]} > {"A name in it has more than 2,000 characters."}
    assert max(len(row["reason"]) for row in found["quarantine"]) <= 300
    assert all(len(row["sentence"]) < 2_500 for row in found["findings"])


def test_the_other_exports_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    with interpreted(spark):
        found = make_world("good", "big").checked(spark, tmp_path)
    check_tables(found)
    assert {row["export"] for row in found["findings"]} == {"good"}
    assert [row["quarantined"] for row in found["exports"] if row["export"] == "good"] == [3]
    assert [number.value for number in found["summary"].numbers if number.title == "Exports not compared"] == [1]


def test_the_history_of_the_others_is_read(spark: SparkSession, tmp_path: Path) -> None:
    with interpreted(spark):
        found = find_usage(spark, make_world("good", "big"), tmp_path, days=1)
    check_tables(found)
    assert [row["rows"] for row in found["exports"] if row["export"] == "good"] == [3]


def test_nothing_to_compare_is_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^big/bomb\.csv\.gz grows beyond 100 times its size"):
        make_world("big").checked(spark, tmp_path)
