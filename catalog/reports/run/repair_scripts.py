"""The repairs of a run as one script for each export, and what takes them back (`catalog.warehouses.repair_script`)."""

from collections.abc import Iterator, Sequence

from django.utils import timezone

from catalog.models import Report
from catalog.reports import registry
from catalog.reports.queries import report_rows
from catalog.reports.run import result_reader
from catalog.reports.tables import (
    EXPORT_DIALECT,
    EXPORTS_TABLE,
    FINDING_INVERSE,
    FINDING_REPAIR,
    FINDINGS_TABLE,
    ResultTable,
)
from catalog.warehouses.repair_script import ScriptRepair, render_script
from catalog.warehouses.scripts import FRAMES
from policies.engine.model import Actor
from policies.errors import Conflict, NotFound

#: Findings of which a script has the repairs; more are for the script of the next run.
_MAX_FINDINGS = 20_000


def list_exports(run: Report) -> dict[str, str]:
    """Return the dialects of the exports of a run whose repairs are statements, by the names of the exports."""
    table = _find_table(run, EXPORTS_TABLE, EXPORT_DIALECT.name)
    if table is None or run.status != Report.Status.READY:
        return {}
    export, dialect = (_find_index(table, name) for name in ("export", EXPORT_DIALECT.name))
    rows = report_rows.list_rows(run=run, table=table.name).values_list("values", flat=True)
    # Rows of an earlier release end before it.
    return {values[export]: values[dialect] for values in rows if len(values) > dialect and values[dialect]}


def render(*, run: Report, export: str, is_inverse: bool, by: Actor) -> Iterator[str]:
    """Return the lines of the script of an export, as far as the caller may view what it names.

    Raises Conflict for a run without results, and NotFound.
    """
    if run.status != Report.Status.READY:
        raise Conflict(f"This report is {Report.Status(run.status).label.lower()}; it has no results.")
    dialect = list_exports(run).get(export)
    table = _find_table(run, FINDINGS_TABLE, FINDING_INVERSE.name)
    if dialect is None or table is None:
        raise NotFound(f"This report has no script for an export {export}.")
    rows = report_rows.list_rows(run=run, table=table.name, values_by_column={_find_index(table, "export"): export})
    statement_column = _find_index(table, (FINDING_INVERSE if is_inverse else FINDING_REPAIR).name)
    sentence_column = _find_index(table, "sentence")
    repairs: list[ScriptRepair] = []
    concealed_count = 0
    for batch in report_rows.iterate_batches(rows, size=result_reader.READ_BATCH_SIZE):
        for row in result_reader.read_rows(table=table, rows=batch, by=by):
            concealed_count += bool(row.concealed)
            if text := row.values[statement_column]:
                repairs.append(ScriptRepair(row.values[sentence_column], text.split("\n")))
        if len(repairs) >= _MAX_FINDINGS:
            break
    header = [
        *_describe(run, export, dialect, is_inverse=is_inverse, by=by),
        *_describe_gaps(repairs, concealed_count),
    ]
    return render_script(repairs, FRAMES.get(dialect), header=header, is_inverse=is_inverse)


def name_file(run: Report, *, is_inverse: bool) -> str:
    """Return the name of the file of a script."""
    return f"{'undo-' if is_inverse else ''}repairs-{run.requested_at:%Y-%m-%d}.sql"


def _describe(run: Report, export: str, dialect: str, *, is_inverse: bool, by: Actor) -> Iterator[str]:
    spec = registry.get_spec(run)
    yield (
        f"Takes back the repairs of the export {export} ({dialect})."
        if is_inverse
        else f"Repairs of the export {export} ({dialect})."
    )
    as_of = f", as of {run.as_of:%Y-%m-%d %H:%M} UTC" if run.as_of else ""
    yield f"From the run {run.pk} of the report {spec.title}{as_of}."
    yield f"Written {timezone.now():%Y-%m-%d %H:%M} UTC for {by.urn}."
    if is_inverse:
        yield (
            "Run it after the script of the repairs, whole, and only while nobody has changed the same things since. "
            "A change that no statement takes back is said in a comment. A role that is made again has no other "
            "grants. The account that gives a grant back is its grantor, unless the statement names another one."
        )
    else:
        yield "Run it as one who may grant and revoke all of this. Read it first: comments say what each part is about."


def _describe_gaps(repairs: Sequence[ScriptRepair], concealed_count: int) -> Iterator[str]:
    if concealed_count:
        yield f"{concealed_count:,} findings are left out, since you may not view what they name."
    if len(repairs) >= _MAX_FINDINGS:
        yield f"It has the first {len(repairs):,} findings: run it, run the report again, and take the next script."
    if any(line.startswith("-- And ") and line.endswith(" more.") for repair in repairs for line in repair.lines):
        yield "Some findings stand for more than a run lists: run the report again when this is done."


def _find_table(run: Report, name: str, column: str) -> ResultTable | None:
    tables = (table for table in registry.get_spec(run).tables if table.name == name)
    return next((table for table in tables if any(candidate.name == column for candidate in table.columns)), None)


def _find_index(table: ResultTable, name: str) -> int:
    return [column.name for column in table.columns].index(name)
