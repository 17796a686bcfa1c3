"""The tables of the access check."""

from catalog.reports.tables import PERSON, PRIVILEGE, STATE, ColumnKind, ReportColumn, ResultTable, number_column

#: People of a claim that are listed and explained at most.
MAX_EXPLAINED_PEOPLE = 200

ASSERTIONS = ResultTable(
    "assertions",
    "Assertions",
    (
        ReportColumn("assertion", "Assertion"),
        STATE,
        number_column("people", "People"),
        number_column("entities", "Cases"),
        number_column("line", "Line"),
        ReportColumn("claim", "Claim"),
    ),
)

FAILURES = ResultTable(
    "failures",
    "Failures",
    (
        ReportColumn("assertion", "Assertion"),
        PERSON,
        PRIVILEGE,
        ReportColumn("decision", "Decision", ColumnKind.STATE),
        number_column("entities", "Entities"),
        ReportColumn("entity", "First entity", ColumnKind.ENTITY),
        ReportColumn("policy", "Decided by", ColumnKind.POLICY),
        ReportColumn("because", "Because"),
        ReportColumn("nearest", "Nearest policy", ColumnKind.POLICY),
        ReportColumn("lacks", "What is lacking"),
    ),
    key=("assertion", "person", "privilege", "entity"),
    note=f"Up to {MAX_EXPLAINED_PEOPLE} failures of an assertion are listed; the table Assertions counts all of them.",
)
