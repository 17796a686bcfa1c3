"""Limits of exports: nothing is called missing there."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.warehouse import Export


def drop_unlisted(
    differences: DataFrame,
    facts: DataFrame,
    survey: FactSurvey,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
) -> DataFrame:
    """Return missing grants without those on objects whose grants the files of an export may leave out."""
    for export in exports:
        coverage = survey.find_coverage(export)
        if not coverage.listing_layouts or coverage.is_complete:
            continue
        is_mine = f"export = {quote_text(export.name)}"
        names = list_texts(sorted(coverage.listing_layouts))
        listed_keys = facts.filter(f"{is_mine} AND layout IN {names}").selectExpr("object_key AS key").distinct()
        unlisted = (
            declared_access.datasets.filter(is_mine).join(listed_keys, "key", "left_anti").selectExpr("urn AS entity")
        )
        differences = differences.join(unlisted, "entity", "left_anti").select(differences.columns)
    return differences
