"""Open tables for the tests: published as workers do, read as docs/result-tables.md says, and described there."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from django.conf import settings

from catalog.models import Report
from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS
from catalog.reports.registry import KINDS
from catalog.reports.run import result_loader, run_state, table_publishing
from tests import finished

_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_()}

#: Tables of results that no page shows: kind and name.
SCHEMAS_WITHOUT_PAGE = {
    ("role_mapping_check", "differences"): pa.schema(
        [(name, _TYPES[type_]) for name, type_ in DIFFERENCE_COLUMNS.items()]
    ),
    ("effective_access", "edges"): pa.schema(
        [(name, pa.string()) for name in ("privilege", "entity", "crowd", "person")]
    ),
}

DOCUMENT = settings.BASE_DIR / "docs" / "result-tables.md"
VIEWS = settings.BASE_DIR / "docs" / "result-tables-views.sql"


def folder() -> Path:
    """Return the folder of the open tables."""
    return Path(settings.RESULT_TABLES_DIR or Path(settings.REPORTS_DIR) / "tables")


def names() -> set[str]:
    """Return the names of all open tables: `<kind>/<table>`, and `runs`."""
    return {str(path.parent.relative_to(folder())) for path in folder().rglob("_delta_log")}


def files(table: str) -> list[Path]:
    """Return the files that are a table now."""
    return [Path(unquote(urlsplit(uri).path)) for uri in DeltaTable(folder() / table).file_uris()]


def rows(table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, [] where it is missing; the day is in the names of folders and not here."""
    found = files(table) if table in names() else []
    return [row for path in found for row in pq.ParquetFile(path).read().to_pylist()]


def runs() -> set[str]:
    """Return the runs that are published whole."""
    return {row["run"] for row in rows("runs")}


def ready(kind: str, tables: Mapping[str, finished.Rows]) -> Report:
    """Return a run that came through with these results, and is published."""
    report = finished.running(kind)
    finish(report, tables)
    return report


def finish(report: Report, tables: Mapping[str, finished.Rows]) -> None:
    """End a run as a worker does when its job has ended: with these results, which are published."""
    target = Path(run_state.report_folder(report.pk).path) / "output"
    page_names = {table.name for table in KINDS[report.kind].tables}
    finished.write(KINDS[report.kind], {name: value for name, value in tables.items() if name in page_names}, target)
    for name in tables.keys() - page_names:
        (target / name).mkdir()
        table_rows = pa.Table.from_pylist(list(tables[name]), schema=SCHEMAS_WITHOUT_PAGE[report.kind, name])
        pq.write_table(table_rows, target / name / "part-0.parquet")
    finished.record_moment(report)
    results = run_state.report_folder(report.pk) / "output"
    result_loader.load(report, KINDS[report.kind], results, on_progress=lambda _: None)
    assert run_state.mark_ready(report, summary={}, log="", tables=table_publishing.describe_tables(results))
    table_publishing.publish_pending()


def read_example(marker: str) -> str:
    """Return the SQL behind a comment of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sql = text.partition(f"<!-- {marker} -->\n```sql\n")[2].partition("```")[0]
    assert sql, f"{DOCUMENT} has no example {marker}"
    return sql


def list_statements(sql: str, read_table: Callable[[str], str]) -> Iterator[str]:
    """Yield the statements of SQL, about the folder of this test.

    Neither DuckDB nor Spark reads the log of Delta Lake here, so `read_table` says how the files of a table are read.
    """
    pattern = r"(?:delta_scan\('|delta\.`)/data/reports/tables/([\w/]+)(?:'\)|`)"
    for statement in re.sub(pattern, lambda found: read_table(found[1]), sql).split(";"):
        if statement.strip():
            yield statement


def read_with_duckdb(table: str) -> str:
    """Return how DuckDB reads the files of a table."""
    return f"read_parquet({[str(path) for path in files(table)]}, hive_partitioning = true)"


#: In a process of its own, since DuckDB complains of what the frozen collector of the tests keeps.
_DUCKDB = """
import duckdb, json, sys
for statement in json.load(sys.stdin):
    answer = duckdb.execute(statement)
print(json.dumps(answer.fetchall(), default=str))
"""


def ask_duckdb(*sqls: str) -> list[list[Any]]:
    """Return what DuckDB answers to the last statement."""
    statements = json.dumps([each for sql in sqls for each in list_statements(sql, read_with_duckdb)])
    answer = subprocess.run(
        [sys.executable, "-c", _DUCKDB], input=statements, text=True, capture_output=True, check=True
    )
    rows: list[list[Any]] = json.loads(answer.stdout)
    return rows


def define_tables() -> str:
    """Return the SQL that names all tables as the views of the earlier release want them."""
    schemas = {name.partition("/")[0] for name in names() if "/" in name} | {"reports"}
    views = {name: name.replace("/", ".") if "/" in name else f"reports.{name}" for name in names()}
    return ";".join(
        [f"CREATE SCHEMA {schema}" for schema in sorted(schemas)]
        + [f"CREATE VIEW {view} AS SELECT * FROM {read_with_duckdb(name)}" for name, view in views.items()]
    )


def render_tables() -> str:
    """Return what the document says of the tables of every kind."""
    sections = []
    for kind, spec in KINDS.items():
        tables = {
            table.name: {column.name: "number" if column.is_number else "text" for column in table.columns}
            for table in spec.tables
        }
        for (owner, name), schema in SCHEMAS_WITHOUT_PAGE.items():
            if owner == kind:
                tables[name] = {
                    column.name: {"string": "text", "bool": "boolean"}.get(str(column.type), "number")
                    for column in schema
                }
        lines = [f"- `{kind}/{name}`: {_render_columns(columns)}" for name, columns in tables.items()]
        sections.append("\n".join((f"{spec.title}:\n", *lines)))
    return "\n\n".join(sections)


def _render_columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}`" + ("" if type_ == "text" else f" ({type_})") for name, type_ in columns.items())
