"""The tables of policy impact."""

from catalog.reports.tables import PERSON, POLICY, PRIVILEGE, ColumnKind, ReportColumn, ResultTable, number_column

_CHANGE_COLUMNS = (
    number_column("people_gain", "People who gain"),
    number_column("people_lose", "People who lose"),
    number_column("gained", "Gained"),
    number_column("lost", "Lost"),
)

PRIVILEGES = ResultTable("privileges", "By privilege", (PRIVILEGE, *_CHANGE_COLUMNS))

GROUPS = ResultTable(
    "groups",
    "By group",
    (ReportColumn("group", "Group", ColumnKind.ACTOR), PRIVILEGE, *_CHANGE_COLUMNS),
    key=("group", "privilege"),
)

PEOPLE = ResultTable(
    "people",
    "By person",
    (
        PERSON,
        PRIVILEGE,
        number_column("gained", "Gained"),
        number_column("lost", "Lost"),
        ReportColumn("gained_entity", "First gained", ColumnKind.ENTITY),
        ReportColumn("lost_entity", "First lost", ColumnKind.ENTITY),
        POLICY,
        ReportColumn("because", "Because"),
    ),
    key=("person", "privilege"),
    limit=10_000,
)
