"""Datasets covered by exports: by platform, installation and environment, whatever is in their names."""

import re
from itertools import product

import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.declared import select_covered_datasets
from catalog.warehouses.plain.description import PLAIN
from catalog.warehouses.snowflake.description import SNOWFLAKE
from catalog.warehouses.warehouse import Export

pytestmark = pytest.mark.spark

EXPORTS = (
    Export("eu", "snowflake", SNOWFLAKE, ("a.csv",), instance="eu", spelling="upper"),
    Export("o'us", "snowflake", SNOWFLAKE, ("b.csv",), instance="us\\'${x}", spelling="upper"),
    Export("lake", "hive", PLAIN, ("c.csv",), env="DEV"),
)
STARTS = ("urn:li:dataset:(urn:li:dataPlatform:", "urn:li:chart:(urn:li:dataPlatform:", "")
NAMES = (
    "",
    "a",
    "eu",
    "eu.",
    "eu.a",
    "EU.a",
    "eu.db.s.Tab,le",
    "eu.é𝄞.ß",
    "us\\'${x}.t",
    "eu.us.t",
    "),PROD)",
    ",",
    ",eu.a",
)
ENDS = (",PROD)", ",DEV)", ",PROD", "PROD)", ",prod)", ",XPROD)", "")
URNS = ["".join(parts) for parts in product(STARTS, ("snowflake,", "hive,", "snow,", "snowflake", ""), NAMES, ENDS)]


def find_covered(urn: str) -> list[tuple[str, str]]:
    """Return the exports of a dataset, each with the name in its installation: as its URN reads, part by part."""
    match = re.fullmatch(r"urn:li:dataset:\(urn:li:dataPlatform:([^,]*),(.*),([^,]*)\)", urn)
    if match is None:
        return []
    platform, name, env = match.groups()
    return [
        (export.name, name.removeprefix(prefix))
        for export in EXPORTS
        for prefix in [f"{export.instance}." if export.instance else ""]
        if (platform, env) == (export.platform, export.env) and name.startswith(prefix) and name != prefix
    ]


def test_they_are_those_of_the_parts_of_their_urns(spark: SparkSession) -> None:
    datasets = spark.createDataFrame(list(enumerate(URNS)), "number bigint, urn string")
    rows = select_covered_datasets(datasets, EXPORTS).collect()
    assert {(row["number"], row["urn"], row["export"], row["name"]) for row in rows} == {
        (number, urn, export, name) for number, urn in enumerate(URNS) for export, name in find_covered(urn)
    }
    assert len(rows) == len(set(rows))
    assert {row["export"] for row in rows} == {export.name for export in EXPORTS}
    spelled = {export.name: export.spell for export in EXPORTS}
    assert all(row["key"] == spelled[row["export"]](row["name"]) for row in rows if row["name"].isascii())
