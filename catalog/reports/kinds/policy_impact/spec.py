"""The report of policy impact: access gained and lost when policies become as proposed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from catalog.models import Report
from catalog.reports.kinds.policy_impact import tables
from catalog.reports.spec import INVALID_PARAMETER, Parameter, ParameterType, ReportSpec
from catalog.reports.storage import StorageFolder
from policies.authoring.services import import_export
from policies.engine.errors import Problem
from policies.errors import Invalid


def _check_proposed(value: Any) -> Iterable[Problem]:
    """Yield the problems of proposed policies, which have the format of a file of policies."""
    try:
        import_export.read_proposals(value)
    except Invalid as error:
        yield from error.problems


def _check_removed(value: Any) -> Iterable[Problem]:
    for index, urn in enumerate(value):
        if not urn.startswith("urn:li:"):
            yield Problem(INVALID_PARAMETER, f"/{index}", f"{urn!r} is not the URN of a policy.")


def prepare(report: Report, folder: StorageFolder) -> None:
    """Write proposed.json: the proposed policies that would count now as they would be stored; all others as `gone`."""
    parameters: Mapping[str, Any] = report.parameters
    entries = import_export.read_proposals(parameters.get("proposed") or [])
    document = {
        "policies": [
            {"urn": entry.urn, "family": entry.family, "name": entry.name, "document": entry.document}
            for entry in entries
            if entry.is_in_force
        ],
        "gone": [*(parameters.get("removed") or []), *(entry.urn for entry in entries if not entry.is_in_force)],
    }
    folder.write_text("proposed.json", json.dumps(document, ensure_ascii=False))


SPEC = ReportSpec(
    name="policy_impact",
    title="Policy impact",
    description="Who would gain and who would lose what if policies became as proposed, over the whole catalog.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="proposed",
            title="Proposed policies",
            input=ParameterType.JSON,
            help="In the format of Export. A policy whose URN is stored is replaced, others are added.",
            default=[],
            check=_check_proposed,
        ),
        Parameter(
            name="removed",
            title="Policies removed",
            input=ParameterType.TEXTS,
            help="Their URNs, one a line.",
            default=[],
            check=_check_removed,
        ),
    ),
    tables=(tables.PRIVILEGES, tables.GROUPS, tables.PEOPLE),
    prepare=prepare,
)
