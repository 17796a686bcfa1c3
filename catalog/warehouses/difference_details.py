"""What differences carry for the dialects of repairs, beside their own columns."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.warehouse import Export

_GONE_DATASETS = "from_json(get(from_json(details, 'array<string>'), 0), 'datasets array<string>').datasets"


def parse_details(text: str | None) -> Iterable[Mapping[str, Any]]:
    """Return the details of the facts of a difference."""
    return [json.loads(item) for item in json.loads(text or "[]")]


def list_asked_names(differences: DataFrame) -> DataFrame:
    """Return the names (`name`) of the datasets on which a grant is missing, also because its role is."""
    names = differences.filter("type = 'GRANT_MISSING' AND entity IS NOT NULL").selectExpr("name")
    return names.union(differences.filter("type = 'ROLE_GONE'").selectExpr(f"explode({_GONE_DATASETS})")).distinct()


def read_object_types(
    export: Export, facts: DataFrame, differences: DataFrame, types: Collection[str]
) -> Mapping[str, str]:
    """Return the types of the objects that differences of an export are about, by their keys, if one of `types`."""
    is_mine = f"export = {quote_text(export.name)}"
    differences = differences.filter(is_mine)
    named = differences.filter("entity IS NOT NULL").selectExpr("name")
    names = list_asked_names(differences).union(named).selectExpr("name AS object_key").distinct()
    is_typed = f"{is_mine} AND what = '{FactKind.GRANT}' AND object_type IN {list_texts(types)}"
    typed = facts.filter(is_typed).join(names, "object_key", "left_semi")
    return {row[0]: row[1] for row in typed.selectExpr("object_key", "object_type").distinct().collect()}


def read_entered(export: Export, facts: DataFrame) -> frozenset[str]:
    """Return the containers of which the export says who gets in; empty where it says that of none."""
    entries = facts.filter(f"export = {quote_text(export.name)} AND what = '{FactKind.ENTRY}'")
    return frozenset(row[0] for row in entries.selectExpr("object").distinct().collect())
