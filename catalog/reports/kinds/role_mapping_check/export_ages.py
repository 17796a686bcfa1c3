"""How old exports are: by the time of their files, their newest row, and what their source says of its own delay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.reports.kinds.role_mapping_check.run_inputs import read_age_settings, read_file_times
from catalog.reports.spark.job import Job
from catalog.warehouses.files.file_patterns import match_path
from catalog.warehouses.sql_names import parse_time
from catalog.warehouses.warehouse import Export, list_patterns

_TIME_FORMAT = "%Y-%m-%d %H:%M"
#: Sentences about exports that a summary has at most.
_MAX_SENTENCES = 20


@dataclass(frozen=True, slots=True)
class ExportAge:
    """How old an export is: when the oldest of its files was written, and its newest row is from, if that is known.

    `lag` is how long its source may be behind by its own account. `hours` are those since the time of the files, or the
    last row of a history, and `is_old` whether they are more than EXPORT_MAX_AGE.
    """

    export: str
    written_at: datetime | None
    newest_at: datetime | None
    lag: str
    hours: int | None
    is_old: bool

    def list_cells(self) -> dict[str, Any]:
        """Return the cells of the table of exports."""
        return {
            "written": _format_time(self.written_at),
            "newest": _format_time(self.newest_at),
            "lag": self.lag or None,
            "age": self.hours,
        }

    def describe(self) -> str:
        """Return the sentence of the summary."""
        written_text = f"files of {self.written_at:{_TIME_FORMAT}} UTC" if self.written_at else "files without a time"
        newest = f", the newest row of {self.newest_at:{_TIME_FORMAT}} UTC" if self.newest_at else ""
        lag = f"; by its own account the source may be behind: {self.lag}" if self.lag not in ("", "none") else ""
        return f"{self.export}: {written_text}{newest}{lag}."


def measure_ages(
    job: Job, exports: Sequence[Export], newest: Mapping[str, datetime | None], *, is_history: bool = False
) -> list[ExportAge]:
    """Return the ages of exports; `newest` are the times of their newest rows by name, of grants or of the history."""
    times, max_age, asked_at = read_file_times(job), *read_age_settings(job)
    ages = []
    for export in exports:
        patterns = export.usage if is_history else list_patterns(export)
        file_times = [time for path, time in times.items() if any(match_path(pattern, path) for pattern in patterns)]
        written_at = datetime.fromtimestamp(min(file_times), UTC) if file_times else None
        # A history is as old as its last row, whenever the file was written.
        since = (newest.get(export.name) if is_history else None) or written_at
        age = asked_at - since if asked_at and since else None
        lag = export.warehouse.history_lag if is_history else export.warehouse.grants_lag
        hours = None if age is None else max(age // timedelta(hours=1), 0)
        is_old = max_age is not None and age is not None and age > timedelta(hours=max_age)
        ages.append(ExportAge(export.name, written_at, newest.get(export.name), lag, hours, is_old))
    return ages


def find_newest(facts: DataFrame, survey: FactSurvey) -> dict[str, datetime | None]:
    """Return when the newest grant of each export was made, of those whose rows say so."""
    if not survey.has_givers:
        return {}
    times = facts.filter("grant_time IS NOT NULL").groupBy("export", f.expr("left(grant_time, 16) AS minute"))
    # One time of each minute is parsed, which costs more than to tell texts apart.
    times = times.agg(f.expr("max(grant_time) AS time")).groupBy("export")
    micros = times.agg(f.expr(f"unix_micros(max({parse_time('time')})) AS micros")).collect()
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return {row["export"]: start + timedelta(microseconds=row["micros"]) for row in micros if row["micros"] is not None}


def list_notes(ages: Sequence[ExportAge]) -> tuple[str, ...]:
    """Return the sentences of a summary on how old the exports are."""
    more = [f"The table Exports has {len(ages) - _MAX_SENTENCES:,} more."] if len(ages) > _MAX_SENTENCES else []
    return (*(age.describe() for age in ages[:_MAX_SENTENCES]), *more)


def list_warnings(job: Job, ages: Sequence[ExportAge], *, is_history: bool = False) -> tuple[str, ...]:
    """Return the sentence about exports, or histories, that are older than EXPORT_MAX_AGE, if there are any."""
    old_names = [f"{age.export} ({age.hours:,} h)" for age in ages if age.is_old]
    if not old_names:
        return ()
    subject = "The last rows of histories are" if is_history else "Exports are"
    limit = f"EXPORT_MAX_AGE ({read_age_settings(job)[0]} h)"
    names = ", ".join(old_names[:_MAX_SENTENCES])
    more = f" and {len(old_names) - _MAX_SENTENCES:,} more" if len(old_names) > _MAX_SENTENCES else ""
    return (f"{subject} older than {limit}: {names}{more}. The rights that they list may have changed since.",)


def _format_time(time: datetime | None) -> str | None:
    return f"{time:{_TIME_FORMAT}}" if time else None
