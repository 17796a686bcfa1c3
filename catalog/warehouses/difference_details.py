"""What differences carry for the dialects of repairs, beside their own columns."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame

_GONE_DATASETS = "from_json(get(from_json(details, 'array<string>'), 0), 'datasets array<string>').datasets"


def parse_details(text: str | None) -> Iterable[Mapping[str, Any]]:
    """Return the details of the facts of a difference."""
    return [json.loads(item) for item in json.loads(text or "[]")]


def list_asked_names(differences: DataFrame) -> DataFrame:
    """Return the names (`name`) of the datasets on which a grant is missing, also because its role is."""
    names = differences.filter("type = 'GRANT_MISSING' AND entity IS NOT NULL").selectExpr("name")
    return names.union(differences.filter("type = 'ROLE_GONE'").selectExpr(f"explode({_GONE_DATASETS})")).distinct()
