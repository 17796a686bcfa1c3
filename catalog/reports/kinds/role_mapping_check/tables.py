"""The tables of the role mapping check."""

from catalog.reports.tables import (
    EXPORT_DIALECT,
    EXPORT_PROBLEM,
    EXPORTS_TABLE,
    FINDING_DATASETS,
    FINDING_EVIDENCE,
    FINDING_FINGERPRINT,
    FINDING_GRANTEE,
    FINDING_INVERSE,
    FINDING_KEY,
    FINDING_MEMBERS,
    FINDING_REPAIR,
    FINDING_SEVERITY,
    FINDING_TYPE,
    FINDINGS_TABLE,
    ColumnKind,
    ReportColumn,
    ResultTable,
    number_column,
)
from catalog.warehouses.pass_rules import RULE_LABELS

#: Maximum length of an example row, in characters.
MAX_EXAMPLE_LENGTH = 200
#: Maximum length of the reason of a row that is not understood: it may name what is unknown.
MAX_REASON_LENGTH = 300

#: Bad rows that are written; all of them are counted.
MAX_BAD_ROWS = 10_000

#: Masks and row filters that are listed.
MAX_POLICIES = 10_000

#: How old an export is.
AGE_COLUMNS = (
    ReportColumn("written", "Files of"),
    ReportColumn("newest", "Newest row"),
    ReportColumn("lag", "Source may be behind"),
    number_column("age", "Hours old"),
)

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
        FINDING_MEMBERS,
        FINDING_DATASETS,
        FINDING_FINGERPRINT,
        FINDING_INVERSE,
        FINDING_GRANTEE,
        FINDING_EVIDENCE,
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

POLICIES = ResultTable(
    "policies",
    "Masks and row filters",
    (
        ReportColumn("dataset", "Dataset", ColumnKind.ENTITY),
        ReportColumn("kind", "Kind"),
        ReportColumn("policy", "Policy"),
        ReportColumn("export", "Export"),
    ),
    limit=MAX_POLICIES,
    note="Masks of values and filters of rows: a level of access says nothing about them.",
)

EXPORTS = ResultTable(
    EXPORTS_TABLE,
    "Exports",
    (
        ReportColumn("export", "Export"),
        ReportColumn("platform", "Platform"),
        number_column("rows", "Rows"),
        number_column("compared", "Compared"),
        number_column("passed", "Passed by a rule"),
        number_column("quarantined", "Not understood"),
        number_column("grants", "Grants"),
        number_column("members", "Members"),
        number_column("inherited", "Roles in roles"),
        ReportColumn("limits", "What it cannot show"),
        EXPORT_PROBLEM,
        EXPORT_DIALECT,
        *AGE_COLUMNS,
    ),
)

PASSED = ResultTable(
    "passed",
    "Rows passed by a rule",
    (
        ReportColumn("export", "Export"),
        ReportColumn("rule", "Rule", ColumnKind.STATE, RULE_LABELS),
        number_column("count", "Rows"),
        ReportColumn("sample", "Some of them"),
    ),
    key=("export", "rule"),
    note="These rows were not compared with the catalog; findings name those that may open something sensitive.",
)

QUARANTINE = ResultTable(
    "quarantine",
    "Rows not understood",
    (
        ReportColumn("export", "Export"),
        ReportColumn("file", "File"),
        number_column("line", "Line"),
        ReportColumn("reason", "Reason"),
        ReportColumn("row", "Row"),
    ),
    key=("export", "file", "line", "row"),
    limit=MAX_BAD_ROWS,
    note=f"Up to {MAX_BAD_ROWS:,} rows are listed; the table Exports counts all of them.",
)
