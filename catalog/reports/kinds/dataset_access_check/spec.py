"""Whether what should hold of access does hold: the assertions in force (docs/assertions.md)."""

import json
from pathlib import Path
from typing import Any

from catalog.models import Report
from catalog.reports.assertions import parser
from catalog.reports.assertions.parser import Assertion, InvalidAssertions
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.queries import assertions as queries
from catalog.reports.spec import Column, ColumnKind, Kind, ResultTable
from policies.errors import Invalid


def prepare(report: Report, folder: Path) -> None:
    """Write down what is asserted, read. Raises Invalid with every problem of the text, and OSError for its file."""
    effective_access_spec.say_settings(report, folder)
    try:
        found = parser.parse(queries.text())
    except InvalidAssertions as error:
        raise Invalid(error.problems) from None
    except UnicodeDecodeError as error:
        raise OSError(str(error)) from error
    said = {"assertions": [_said(one) for one in found]}
    (folder / "assertions.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


def _said(one: Assertion) -> dict[str, Any]:
    return {
        "name": one.name,
        "line": one.line,
        "kind": one.kind.value,
        "holders": sorted(one.holders),
        "privileges": one.privileges,
        "platform": one.platform,
        "on": [
            {"field": some.field, "condition": some.condition.value, "values": sorted(some.values)}
            for some in one.on.criteria
        ],
        "expected": [
            {"actor": some.actor, "privilege": some.privilege, "entity": some.entity, "is_allowed": some.is_allowed}
            for some in one.expected
        ],
    }


KIND = Kind(
    name="dataset_access_check",
    title="Access check",
    description="Do the assertions hold: nobody else may, all of them may, these answers? Failures with reasons.",
    module=f"{__package__}.job",
    tables=(
        ResultTable(
            "assertions",
            "Assertions",
            (
                Column("assertion", "Assertion"),
                Column("state", "State", ColumnKind.STATE),
                Column("people", "People", ColumnKind.NUMBER),
                Column("entities", "Cases", ColumnKind.NUMBER),
                Column("line", "Line", ColumnKind.NUMBER),
                Column("claim", "Claim"),
            ),
        ),
        ResultTable(
            "failures",
            "Failures",
            (
                Column("assertion", "Assertion"),
                Column("person", "Person", ColumnKind.ACTOR),
                Column("privilege", "Privilege", ColumnKind.PRIVILEGE),
                Column("decision", "Decision", ColumnKind.STATE),
                Column("entities", "Entities", ColumnKind.NUMBER),
                Column("entity", "First entity", ColumnKind.ENTITY),
                Column("policy", "Decided by", ColumnKind.POLICY),
                Column("because", "Because"),
                Column("nearest", "Nearest policy", ColumnKind.POLICY),
                Column("lacks", "What is lacking"),
            ),
            key=("assertion", "person", "privilege", "entity"),
        ),
    ),
    is_nightly=True,
    prepare=prepare,
)
