"""Who gains and who loses what when policies become as proposed."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from catalog.models import Report
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.spec import WRONG, Column, ColumnKind, Input, Kind, Parameter, ResultTable
from policies.authoring.services import import_export
from policies.engine.errors import Problem
from policies.errors import Invalid


def _proposed(value: Any) -> Iterable[Problem]:
    """Say what is wrong with proposed policies: they are read as a file of policies is."""
    try:
        import_export.proposed(value)
    except Invalid as error:
        yield from error.problems


def _removed(value: Any) -> Iterable[Problem]:
    for place, urn in enumerate(value):
        if not urn.startswith("urn:li:"):
            yield Problem(WRONG, f"/{place}", f"{urn!r} is not the URN of a policy.")


def prepare(report: Report, folder: Path) -> None:
    """Write down the proposed policies, as they would be stored; one that would not be active gives nothing."""
    effective_access_spec.say_settings(report, folder)
    wanted: Mapping[str, Any] = report.parameters
    entries = import_export.proposed(wanted.get("proposed") or [])
    said = {
        "policies": [
            {"urn": one.urn, "family": one.family, "name": one.name, "document": one.document}
            for one in entries
            if one.is_active
        ],
        "gone": [*(wanted.get("removed") or []), *(one.urn for one in entries if not one.is_active)],
    }
    (folder / "proposed.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


def _counts() -> tuple[Column, ...]:
    return (
        Column("people_gain", "People who gain", ColumnKind.NUMBER),
        Column("people_lose", "People who lose", ColumnKind.NUMBER),
        Column("gained", "Gained", ColumnKind.NUMBER),
        Column("lost", "Lost", ColumnKind.NUMBER),
    )


_PRIVILEGE = Column("privilege", "Privilege", ColumnKind.PRIVILEGE)

KIND = Kind(
    name="policy_impact",
    title="Policy impact",
    description="Who would gain and who would lose what if policies became as proposed, over the whole catalog.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="proposed",
            title="Proposed policies",
            input=Input.JSON,
            help="In the format of Export. A policy whose URN is stored is replaced, others are added.",
            default=[],
            check=_proposed,
        ),
        Parameter(
            name="removed",
            title="Policies removed",
            input=Input.TEXTS,
            help="Their URNs, one a line.",
            default=[],
            check=_removed,
        ),
    ),
    tables=(
        ResultTable("privileges", "By privilege", (_PRIVILEGE, *_counts())),
        ResultTable(
            "groups",
            "By group",
            (Column("group", "Group", ColumnKind.ACTOR), _PRIVILEGE, *_counts()),
            key=("group", "privilege"),
        ),
        ResultTable(
            "people",
            "By person",
            (
                Column("person", "Person", ColumnKind.ACTOR),
                _PRIVILEGE,
                Column("gained", "Gained", ColumnKind.NUMBER),
                Column("lost", "Lost", ColumnKind.NUMBER),
                Column("gained_entity", "First gained", ColumnKind.ENTITY),
                Column("lost_entity", "First lost", ColumnKind.ENTITY),
                Column("policy", "Policy", ColumnKind.POLICY),
                Column("because", "Because"),
            ),
            key=("person", "privilege"),
            limit=10_000,
        ),
    ),
    prepare=prepare,
)
