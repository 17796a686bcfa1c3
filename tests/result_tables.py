"""Open tables for the tests: written as jobs write them, read as docs/result-tables.md says, and described there."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS
from catalog.reports.registry import KINDS
from catalog.reports.result_tables.feeds import KIND_FEEDS
from catalog.reports.result_tables.manifest import iterate_entries
from catalog.reports.result_tables.run_files import write_files
from catalog.reports.result_tables.schemas import RUN_COLUMNS, TABLES, OpenColumn
from catalog.reports.run import result_loader, run_state, table_publishing
from tests import finished

_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_()}

#: Tables of results that no page shows.
SCHEMAS_WITHOUT_PAGE = {
    "differences": pa.schema([(name, _TYPES[type_]) for name, type_ in DIFFERENCE_COLUMNS.items()]),
    "edges": pa.schema([(name, pa.string()) for name in ("privilege", "entity", "crowd", "person")]),
}

DOCUMENT = settings.BASE_DIR / "docs" / "result-tables.md"


def folder() -> Path:
    """Return the folder of the open tables."""
    return Path(settings.RESULT_TABLES_DIR or Path(settings.REPORTS_DIR) / "tables")


def entries() -> dict[str, Mapping[str, Any]]:
    """Return the manifest by run."""
    return {entry["run"]: entry for entry in iterate_entries(storage.parse_address(folder()))}


def rows(table: str) -> list[dict[str, Any]]:
    """Return the rows of a table that the manifest names."""
    paths = [file["path"] for entry in entries().values() for file in entry["files"] if file["table"] == table]
    # Without the columns of the folders.
    return [row for path in paths for row in pq.ParquetFile(folder() / path).read().to_pylist()]


def files() -> set[str]:
    """Return the paths of all data files, whoever names them."""
    return {str(path.relative_to(folder())) for path in folder().glob("*/report=*/day=*/*")}


def ready(work: Path, kind: str, tables: Mapping[str, finished.Rows]) -> Report:
    """Return a run that came through with these results, and is published."""
    report = finished.running(kind)
    finish(report, work, tables)
    return report


def finish(report: Report, work: Path, tables: Mapping[str, finished.Rows]) -> None:
    """End a run as a worker does when its job has ended: with these results, which are published."""
    target = work / f"{report.pk}-{report.attempts}"
    finished.write(
        KINDS[report.kind], {name: value for name, value in tables.items() if name not in SCHEMAS_WITHOUT_PAGE}, target
    )
    for name in SCHEMAS_WITHOUT_PAGE.keys() & tables.keys():
        (target / name).mkdir()
        rows = pa.Table.from_pylist(list(tables[name]), schema=SCHEMAS_WITHOUT_PAGE[name])
        pq.write_table(rows, target / name / "part-0.parquet")
    finished.record_moment(report)
    results = storage.parse_address(target)
    write_files(table_publishing.plan_files(report), KIND_FEEDS[report.kind], results)
    result_loader.load(report, KINDS[report.kind], results, on_progress=lambda _: None)
    assert run_state.mark_ready(report, summary={}, log="", tables=table_publishing.read_entry(report, results))
    table_publishing.publish_pending()


def read_example(marker: str) -> Iterator[str]:
    """Yield the statements of the SQL behind a comment of the document, about the folder of this test."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sql = text.partition(f"<!-- {marker} -->\n```sql\n")[2].partition("```")[0]
    assert sql, f"{DOCUMENT} has no example {marker}"
    for statement in sql.replace("/data/reports/tables", str(folder())).split(";"):
        if statement.strip():
            yield statement


#: In a process of its own, since DuckDB complains of what the frozen collector of the tests keeps.
_DUCKDB = """
import duckdb, json, sys
for statement in json.load(sys.stdin):
    answer = duckdb.execute(statement)
print(json.dumps(answer.fetchall(), default=str))
"""


def ask_duckdb(marker: str) -> list[list[Any]]:
    """Return what DuckDB answers to an example of the document."""
    statements = json.dumps(list(read_example(marker)))
    answer = subprocess.run(
        [sys.executable, "-c", _DUCKDB], input=statements, text=True, capture_output=True, check=True
    )
    rows: list[list[Any]] = json.loads(answer.stdout)
    return rows


def render_sections() -> dict[str, str]:
    """Return what the document has between the comments of these names."""
    return {"feeds": _render_feeds(), "schemas": _render_schemas()}


def _render_feeds() -> str:
    lines = ["| report | tables, from the tables of the report |", "| --- | --- |"]
    for kind, feeds in KIND_FEEDS.items():
        sources: dict[str, list[str]] = {}
        for feed in feeds:
            sources.setdefault(feed.table.name, []).append(feed.source)
        cells = "; ".join(f"`{table}` ({', '.join(names)})" for table, names in sources.items())
        lines.append(f"| {KINDS[kind].title} (`{kind}`) | {cells} |")
    return "\n".join(lines)


def _render_schemas() -> str:
    tables = (
        f"### `{table.name}`\n\n{table.description}\n\n{_render_columns(table.own_columns)}"
        for table in TABLES.values()
    )
    return "\n\n".join((f"Every table begins with these columns:\n\n{_render_columns(RUN_COLUMNS)}", *tables))


def _render_columns(columns: tuple[OpenColumn, ...]) -> str:
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for column in columns:
        null = "" if column.is_required else ", or null"
        since = "" if column.since == 1 else f" (from version {column.since})"
        lines.append(f"| `{column.name}` | {column.type}{null} | {column.description}{since} |")
    return "\n".join(lines)
