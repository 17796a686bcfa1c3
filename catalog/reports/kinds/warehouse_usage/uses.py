"""Uses of the datasets of the catalog, and what the history of each export covers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.blocks import PLACE_COLUMNS
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.history import HistoryRowKind
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.warehouse import Export

#: What identifies a use; `role_key` is '' where the history names no role.
USE_COLUMNS = ["export", "number", "person_key", "role_key", "level"]
_USE_TOTALS = ("min(person) AS person", "max(used_at) AS last")
#: Views upon views that are followed at most.
_MAX_VIEW_DEPTH = 10


@dataclass(frozen=True, slots=True)
class HistoryCoverage:
    """The time that the history of an export covers; with a `problem`, nothing of it can be called unused."""

    export: str
    rows: int = 0
    compared: int = 0
    passed: int = 0
    quarantined: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    problem: str = ""


def find_touched(history: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return (PLACE_COLUMNS, number, person, …, level, is_direct) of each dataset of the catalog that a line uses."""
    objects = history.filter(f"what = '{HistoryRowKind.USE}'").selectExpr(
        *PLACE_COLUMNS,
        *("person", "person_key", "acts_as_role", "used_at", "coalesce(role_key, '') AS role_key", "inline(objects)"),
    )
    return objects.join(datasets.selectExpr("export", "number", "key"), ["export", "key"])


def pass_unknown_tables(history: DataFrame, touched: DataFrame) -> DataFrame:
    """Return the rows of a history, without those that are none; uses of no known table are PASSED."""
    known_lines = touched.selectExpr(*PLACE_COLUMNS, "true AS is_known").distinct()
    rows = history.filter(f"what <> '{HistoryRowKind.NO_ROW}'").join(known_lines, PLACE_COLUMNS, "left")
    is_unknown = f"what = '{HistoryRowKind.USE}' AND is_known IS NULL"
    return rows.withColumns(
        {
            "what": f.expr(f"CASE WHEN {is_unknown} THEN '{HistoryRowKind.PASSED}' ELSE what END"),
            "reason": f.expr(f"CASE WHEN {is_unknown} THEN '{HistoryRule.UNKNOWN_TABLE}' ELSE reason END"),
            "text": f.expr("coalesce(text, concat_ws(' ', person, objects.key))"),
        }
    )


def measure_coverage(rows: DataFrame, exports: Sequence[Export], *, days: int) -> list[HistoryCoverage]:
    """Return the coverage of each export by the rows of `pass_unknown_tables`."""
    # A time that is wrong, as one in the future, would move the days that are looked at.
    time = f"CASE WHEN what <> '{HistoryRowKind.BAD}' THEN used_at END"
    times = (f"unix_micros(min({time})) AS first_at", f"unix_micros(max({time})) AS last_at")
    counts = rows.groupBy("export", "what").agg(*map(f.expr, ("count(*) AS count", *times)))
    counts_by_export: dict[str, dict[str, Mapping[str, int | None]]] = {}
    for row in counts.collect():
        numbers = {name: row[name] for name in ("count", "first_at", "last_at")}
        counts_by_export.setdefault(row["export"], {})[row["what"]] = numbers
    return [build_coverage(export, counts_by_export.get(export.name, {}), days) for export in exports]


def build_coverage(export: Export, counts: Mapping[str, Mapping[str, int | None]], days: int) -> HistoryCoverage:
    """Return the coverage of an export by its counts of each kind of row, with times in microseconds since 1970."""
    compared, passed, quarantined = (
        counts.get(kind, {}).get("count") or 0
        for kind in (HistoryRowKind.USE, HistoryRowKind.PASSED, HistoryRowKind.BAD)
    )
    first_at = min(_list_times(counts, "first_at"), default=None)
    last_at = max(_list_times(counts, "last_at"), default=None)
    if not export.usage:
        problem = "It names no history of access."
    elif first_at is None or last_at is None or not compared:
        problem = "Its history has no use of a table that the catalog knows."
    elif quarantined:
        problem = "Some rows of its history could not be read, and each of them may be a use."
    elif first_at > last_at - timedelta(days=days):
        problem = f"Its history covers {(last_at - first_at).days} of {days} days."
    else:
        problem = ""
    rows = compared + passed + quarantined
    return HistoryCoverage(export.name, rows, compared, passed, quarantined, first_at, last_at, problem)


def _list_times(counts: Mapping[str, Mapping[str, int | None]], name: str) -> list[datetime]:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return [start + timedelta(microseconds=time) for row in counts.values() if (time := row[name]) is not None]


def mark_young(rows: DataFrame, coverages: Iterable[HistoryCoverage], *, days: int) -> DataFrame:
    """Return rows with `is_young`: granted in the last `days` of the history, all of which nobody had to use it."""
    return rows.withColumn("is_young", f.expr(_is_after_start("granted_at", coverages, days)))


def _is_after_start(time: str, coverages: Iterable[HistoryCoverage], days: int) -> str:
    """Return a condition: a time lies in the last `days` of the history of the row's export, where that is known."""
    conditions = ["false"]
    for coverage in coverages:
        if coverage.last_at is not None:
            since = (coverage.last_at - timedelta(days=days)).isoformat()
            conditions.append(f"export = {quote_text(coverage.export)} AND {time} >= TIMESTAMP '{since}'")
    return f"coalesce({' OR '.join(conditions)}, false)"


def select_recent_uses(touched: DataFrame, coverages: Iterable[HistoryCoverage], *, days: int) -> DataFrame:
    """Return (USE_COLUMNS, is_direct, acts_as_role, person, last, place) of the last `days`, each use once.

    `place` is that of the last row.
    """
    totals = (
        *(f"max({name}) AS {name}" for name in ("is_direct", "acts_as_role")),
        *(*_USE_TOTALS, "max_by(place, struct(used_at, place)) AS place"),
    )
    return touched.filter(_is_after_start("used_at", coverages, days)).groupBy(*USE_COLUMNS).agg(*map(f.expr, totals))


def add_views(uses: DataFrame, lineage: DataFrame, exports: Sequence[Export], stage: Stage) -> DataFrame:
    """Return the uses, and for layouts that name only the tables below a view also those of what lies above these.

    `lineage` is (number, above). An object above it need be no view: a use too many calls nothing unused that was used.
    """
    names = [export.name for export in exports if not export.warehouse.history_names_views]
    if not names:
        return uses
    changed = {"number": "above AS number", "is_direct": "false AS is_direct"}
    columns = [changed.get(name, name) for name in uses.columns]
    frontier = uses.filter(f"export IN {list_texts(names)}")
    for _ in range(_MAX_VIEW_DEPTH):
        above = frontier.join(lineage, "number").selectExpr(*columns).distinct()
        frontier = stage("views", above.join(uses, USE_COLUMNS, "left_anti"))
        if not frontier.head(1):
            break
        uses = uses.union(frontier)
    return uses
