"""The tables of unused access."""

from catalog.reports.tables import (
    PERSON,
    POLICY,
    PRIVILEGE,
    STATE,
    ColumnKind,
    ReportColumn,
    ResultTable,
    number_column,
)

_USAGE_COLUMNS = (
    number_column("people", "People"),
    number_column("used_by", "Used by"),
    ReportColumn("last", "Last use"),
    STATE,
)

POLICIES = ResultTable("policies", "Policies", (POLICY, *_USAGE_COLUMNS))

PRIVILEGES = ResultTable("privileges", "Privileges", (PRIVILEGE, *_USAGE_COLUMNS))

PEOPLE = ResultTable("people", "Not used by", (PERSON, PRIVILEGE, STATE), key=("person", "privilege"), limit=50_000)

MEMBERSHIPS = ResultTable(
    "memberships",
    "Memberships",
    (PERSON, ReportColumn("group", "Group", ColumnKind.ACTOR), STATE),
    key=("person", "group"),
    limit=50_000,
)
