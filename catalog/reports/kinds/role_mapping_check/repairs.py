"""Repairs of differences: the statements of the export's dialect, else the step in words.

Some dialects have to know more of the source than a difference says: `bind_exports` tells them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check.differences import DifferenceType
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.reports.kinds.role_mapping_check.sentences import MANUAL_STEPS, list_words
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.warehouse import Dialect, DifferenceRow, Export


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


def render_repair(export: Export | None, difference: DifferenceRow) -> str:
    """Return the statements that end a difference, one a line; a line that begins with -- is a manual step."""
    difference_type = DifferenceType(difference["type"])
    render = _RENDERERS.get(difference_type)
    statements = render(export.dialect, export, difference) if render and export and export.dialect else ""
    step = render_note(MANUAL_STEPS[difference_type].format(**list_words(difference)))
    if difference_type == DifferenceType.ROLE_RENAMED and statements:
        # A new entry in exports.json is as good as the old name.
        return f"{step}\n{statements}"
    return statements or step


def render_inverse(export: Export | None, difference: DifferenceRow, repair: str) -> str:
    """Return the statements that take the repair of a difference back, one a line; "" for a repair in words."""
    is_in_words = all(line.startswith("--") for line in repair.split("\n"))
    if is_in_words or export is None or export.dialect is None:
        return ""
    return export.dialect.render_inverse(export, difference, repair)


_RENDERERS: Mapping[DifferenceType, Callable[[Dialect, Export, DifferenceRow], str]] = {
    DifferenceType.GRANT_MISSING: lambda dialect, export, row: dialect.grant_access(export, row),
    DifferenceType.EXTRA_GRANT: lambda dialect, export, row: dialect.revoke_access(export, row),
    DifferenceType.WRONG_LEVEL: lambda dialect, export, row: dialect.change_level(export, row),
    DifferenceType.ROLE_GONE: lambda dialect, export, row: dialect.create_role(export, row),
    DifferenceType.ROLE_RENAMED: lambda dialect, export, row: dialect.rename_role(export, row),
    DifferenceType.ROLE_WITHOUT_DATASETS: lambda dialect, export, row: dialect.drop_role(export, row),
    DifferenceType.MEMBER_MISSING: lambda dialect, export, row: dialect.add_member(export, row),
    DifferenceType.EXTRA_MEMBER: lambda dialect, export, row: dialect.remove_member(export, row),
    DifferenceType.DIRECT_USER_GRANT: lambda dialect, export, row: dialect.revoke_access(export, row),
    DifferenceType.FUTURE_GRANT: lambda dialect, export, row: dialect.revoke_future(export, row),
    DifferenceType.POLICIES_BYPASSED: lambda dialect, export, row: dialect.enforce_policies(export, row),
}
