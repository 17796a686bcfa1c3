"""The tables of who can read what in the warehouses, and who used it: two kinds of reports write them. No Django.

Up to MAX_ACCESS rows of each are listed, those of sensitive datasets first, and of MAX_LISTED_DATASETS all access.
"""

from catalog.reports.tables import ColumnKind, ReportColumn, ResultTable

MAX_LISTED_DATASETS, MAX_ACCESS = 20_000, 100_000

_DATASET, _EXPORT = ReportColumn("dataset", "Dataset", ColumnKind.ENTITY), ReportColumn("export", "Export")

ACCESS = ResultTable(
    "access",
    "Who can read what",
    (
        _DATASET,
        ReportColumn("grantee", "Who", ColumnKind.ACTOR),
        ReportColumn("through", "On"),
        ReportColumn("level", "Granted"),
        ReportColumn("declared", "Declared"),
        ReportColumn("tags", "Sensitive", ColumnKind.ENTITIES),
        _EXPORT,
    ),
    key=("dataset", "grantee", "export"),
    limit=MAX_ACCESS,
    note="Roles have the people who hold them in the next table. The sensitive datasets come first.",
)

HOLDERS = ResultTable(
    "holders",
    "Who holds which role",
    (
        ReportColumn("holder", "Who", ColumnKind.ACTOR),
        ReportColumn("role", "Role", ColumnKind.ACTOR),
        ReportColumn("kind", "Kind", ColumnKind.STATE),
        ReportColumn("through", "Through"),
        _EXPORT,
    ),
    key=("holder", "role", "export"),
    limit=MAX_ACCESS,
)

USES = ResultTable(
    "uses",
    "Who used what",
    (
        _DATASET,
        ReportColumn("person", "Person", ColumnKind.ACTOR),
        ReportColumn("grantee", "By a grant to", ColumnKind.ACTOR),
        ReportColumn("level", "Level"),
        ReportColumn("last", "Last use"),
        _EXPORT,
    ),
    key=("dataset", "person", "grantee", "export"),
    limit=MAX_ACCESS,
    note=f"Up to {MAX_ACCESS:,} rows are listed, those of sensitive datasets first.",
)
