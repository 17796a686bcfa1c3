"""The details of differences for the dialects of repairs, beside their own columns."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import FactKind, spell
from catalog.warehouses.warehouse import Export

_GONE_DATASETS = "from_json(get(from_json(details, 'array<string>'), 0), 'datasets array<string>').datasets"


def parse_details(text: str | None) -> Iterable[Mapping[str, Any]]:
    """Return the details of the facts of a difference."""
    return [json.loads(item) for item in json.loads(text or "[]")]


def list_asked_names(differences: DataFrame) -> DataFrame:
    """Return the names (`name`) of the datasets on which a grant is missing, also because its role is."""
    names = differences.filter("type = 'GRANT_MISSING' AND entity IS NOT NULL").selectExpr("name")
    return names.union(differences.filter("type = 'ROLE_GONE'").selectExpr(f"explode({_GONE_DATASETS})")).distinct()


def read_objects(export: Export, facts: DataFrame, differences: DataFrame) -> Mapping[str, tuple[str, str]]:
    """Return the names and types of the tables that differences of an export are about, by their keys.

    Grants that do not say the type of their table are left out.
    """
    is_mine = f"export = {quote_text(export.name)}"
    differences = differences.filter(is_mine)
    entity_names = differences.filter("entity IS NOT NULL").selectExpr("name")
    names = (
        list_asked_names(differences)
        .union(entity_names)
        .selectExpr(f"{spell(export, 'name')} AS object_key")
        .distinct()
    )
    typed = facts.filter(f"{is_mine} AND what = '{FactKind.GRANT}' AND NOT is_container AND object_type IS NOT NULL")
    # Of two words for one table the one that is no TABLE says more.
    word = f.expr("min(struct(object_type = 'TABLE' AS is_vague, object, object_type)) AS said")
    rows = typed.join(names, "object_key", "left_semi").groupBy("object_key").agg(word).collect()
    return {row["object_key"]: (row["said"]["object"], row["said"]["object_type"]) for row in rows}


def read_entered(export: Export, facts: DataFrame) -> frozenset[str]:
    """Return the containers of which the export says who gets in; empty where it says that of none."""
    entries = facts.filter(f"export = {quote_text(export.name)} AND what = '{FactKind.ENTRY}'")
    return frozenset(row[0] for row in entries.selectExpr("object").distinct().collect())
