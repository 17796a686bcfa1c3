"""The tables of the role mapping check."""

from catalog.reports.tables import (
    FINDING_KEY,
    FINDING_REPAIR,
    FINDING_SEVERITY,
    FINDING_TYPE,
    FINDINGS_TABLE,
    ColumnKind,
    ReportColumn,
    ResultTable,
    number_column,
)

#: Bad rows that are written; all of them are counted.
MAX_BAD_ROWS = 10_000

FINDINGS = ResultTable(
    FINDINGS_TABLE,
    "Findings",
    (
        FINDING_SEVERITY,
        FINDING_TYPE,
        ReportColumn("sentence", "What differs"),
        ReportColumn("role", "Role", ColumnKind.ENTITY),
        ReportColumn("entity", "Dataset", ColumnKind.ENTITY),
        ReportColumn("actor", "Who", ColumnKind.ACTOR),
        ReportColumn("export", "Export"),
        FINDING_REPAIR,
        FINDING_KEY,
    ),
    key=("key",),
)

COMPLIANCE = ResultTable(
    "compliance",
    "Roles that open what is sensitive",
    (
        ReportColumn("tag", "Tag", ColumnKind.ENTITY),
        ReportColumn("role", "Role", ColumnKind.ENTITY),
        ReportColumn("level", "Level"),
        number_column("declared", "Datasets by the catalog"),
        number_column("opened", "Datasets in the sources"),
    ),
    key=("tag", "role"),
)

EXPORTS = ResultTable(
    "exports",
    "Exports",
    (
        ReportColumn("export", "Export"),
        ReportColumn("platform", "Platform"),
        number_column("grants", "Grants"),
        number_column("members", "Members"),
        number_column("inherited", "Roles in roles"),
        number_column("unknown", "On unknown tables"),
        number_column("passed", "About something else"),
        number_column("bad", "Not understood"),
    ),
)

QUARANTINE = ResultTable(
    "quarantine",
    "Rows not understood",
    (
        ReportColumn("export", "Export"),
        ReportColumn("file", "File"),
        ReportColumn("reason", "Reason"),
        ReportColumn("row", "Row"),
    ),
    key=("export", "file", "row"),
    limit=MAX_BAD_ROWS,
    note=f"Up to {MAX_BAD_ROWS:,} rows are listed; the table Exports counts all of them.",
)
