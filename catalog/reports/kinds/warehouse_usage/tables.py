"""The tables of warehouse usage."""

from catalog.reports.kinds.role_mapping_check.tables import AGE_COLUMNS
from catalog.reports.tables import (
    EXPORT_PROBLEM,
    EXPORTS_TABLE,
    FINDING_DATASETS,
    FINDING_FINGERPRINT,
    FINDING_KEY,
    FINDING_MEMBERS,
    FINDING_REPAIR,
    FINDING_SEVERITY,
    FINDING_TYPE,
    FINDINGS_TABLE,
    STATE,
    ColumnKind,
    ReportColumn,
    ResultTable,
    number_column,
)
from catalog.warehouses.history_rules import HISTORY_RULE_LABELS

#: Rows of a table that are written at most; the headline numbers count all of them.
MAX_ROWS = 10_000
_NOTE = f"Up to {MAX_ROWS:,} rows are listed."
_UNSURE_NOTE = "Nothing is called unused where the table Exports names a gap in the history."

_EXPORT = ReportColumn("export", "Export")
_ROLE = ReportColumn("role", "Role", ColumnKind.ENTITY)
_GRANTEE = ReportColumn("grantee", "Granted to")
_PERSON = ReportColumn("person", "Person", ColumnKind.ACTOR)
_OBJECT = ReportColumn("object", "On")
_LAST = ReportColumn("last", "Last use")

FINDINGS = ResultTable(
    FINDINGS_TABLE,
    "Findings",
    (
        FINDING_SEVERITY,
        FINDING_TYPE,
        ReportColumn("sentence", "What was found"),
        _ROLE,
        ReportColumn("entity", "Dataset", ColumnKind.ENTITY),
        ReportColumn("actor", "Who", ColumnKind.ACTOR),
        _EXPORT,
        FINDING_REPAIR,
        FINDING_KEY,
        FINDING_MEMBERS,
        FINDING_DATASETS,
        FINDING_FINGERPRINT,
    ),
    key=("key",),
)

GRANTS = ResultTable(
    "grants",
    "Grants",
    (
        *(_EXPORT, _GRANTEE, _ROLE, _OBJECT),
        number_column("tables", "Datasets"),
        number_column("used", "Used"),
        number_column("people", "By people"),
        number_column("others", "Used by others"),
        *(_LAST, STATE),
    ),
    key=("export", "grantee", "object"),
    limit=MAX_ROWS,
    note=f"{_NOTE} {_UNSURE_NOTE} Others used what a grant opens, and not by it.",
)

MEMBERSHIPS = ResultTable(
    "memberships",
    "Memberships",
    (_EXPORT, _PERSON, ReportColumn("held", "Holds"), _ROLE, _LAST, STATE),
    key=("export", "person", "held"),
    limit=MAX_ROWS,
    note=f"{_NOTE} {_UNSURE_NOTE}",
)

PROPOSALS = ResultTable(
    "proposals",
    "Least privilege",
    (
        *(_EXPORT, _GRANTEE, _ROLE),
        ReportColumn("action", "Action", ColumnKind.STATE),
        _OBJECT,
        number_column("tables", "Datasets"),
        number_column("used", "Used"),
        FINDING_REPAIR,
    ),
    key=("export", "grantee", "object", "action"),
    limit=MAX_ROWS,
    note=f"{_NOTE} Nothing is proposed where the table Exports names a gap in the history.",
)

LOSSES = ResultTable(
    "losses",
    "What it takes from whom",
    (_EXPORT, _GRANTEE, _ROLE, _PERSON, number_column("tables", "Datasets that nobody used")),
    key=("export", "grantee", "person"),
    limit=MAX_ROWS,
    note=_NOTE,
)

EXPORTS = ResultTable(
    EXPORTS_TABLE,
    "Exports",
    (
        *(_EXPORT, ReportColumn("platform", "Platform")),
        number_column("rows", "Rows"),
        number_column("compared", "Compared"),
        number_column("passed", "Passed over"),
        number_column("quarantined", "Not understood"),
        ReportColumn("first", "First row"),
        ReportColumn("last", "Last row"),
        ReportColumn("gap", "Why nothing is called unused"),
        EXPORT_PROBLEM,
        *(column for column in AGE_COLUMNS if column.name != "newest"),
    ),
)

PASSED = ResultTable(
    "passed",
    "Rows passed over",
    (
        _EXPORT,
        ReportColumn("rule", "Rule", ColumnKind.STATE, HISTORY_RULE_LABELS),
        number_column("count", "Rows"),
        ReportColumn("sample", "One of them"),
    ),
    key=("export", "rule"),
)

QUARANTINE = ResultTable(
    "quarantine",
    "Rows not understood",
    (
        _EXPORT,
        ReportColumn("file", "File"),
        number_column("line", "Line"),
        ReportColumn("reason", "Reason"),
        ReportColumn("row", "Row"),
    ),
    key=("export", "file", "line"),
    limit=MAX_ROWS,
    note=f"Up to {MAX_ROWS:,} rows are listed; the table Exports counts all of them.",
)
