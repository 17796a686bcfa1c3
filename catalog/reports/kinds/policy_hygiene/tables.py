"""The tables of policy hygiene."""

from catalog.reports.tables import (
    ENTITY,
    FINDING_KEY,
    FINDING_REPAIR,
    FINDING_SEVERITY,
    FINDING_TYPE,
    FINDINGS_TABLE,
    PERSON,
    POLICY,
    ColumnKind,
    ReportColumn,
    ResultTable,
    number_column,
)

FINDINGS = ResultTable(
    FINDINGS_TABLE,
    "Findings",
    (
        FINDING_SEVERITY,
        FINDING_TYPE,
        POLICY,
        ReportColumn("sentence", "What is wrong"),
        ENTITY,
        PERSON,
        ReportColumn("other", "Other policy", ColumnKind.POLICY),
        FINDING_REPAIR,
        FINDING_KEY,
    ),
    key=("key",),
)

POLICIES = ResultTable(
    "policies",
    "Policies by reach",
    (
        POLICY,
        number_column("people", "People named"),
        number_column("entities", "Entities"),
        number_column("findings", "Findings"),
    ),
)
