"""Exports whose dialects know the source, as far as repairs have to."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.warehouses.warehouse import Export


def bind_exports(
    exports: Sequence[Export], facts: DataFrame, survey: FactSurvey, read_differences: Callable[[], DataFrame]
) -> dict[str, Export]:
    """Return the exports by their names, with dialects that know what they need to end these differences.

    Differences are read only if a dialect asks its source.
    """
    differences = (
        read_differences() if any(export.dialect and export.dialect.asks_source for export in exports) else None
    )
    return {export.name: _bind(export, facts, survey, differences) for export in exports}


def _bind(export: Export, facts: DataFrame, survey: FactSurvey, differences: DataFrame | None) -> Export:
    if differences is None or export.dialect is None or not export.dialect.asks_source:
        return export
    return replace(export, dialect=export.dialect.bind(export, facts, differences, survey.find_coverage(export)))
