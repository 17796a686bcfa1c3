"""The report of policy hygiene: no effect, duplicates, missing references, anti-patterns (docs/hygiene.md)."""

import json
from pathlib import Path

from catalog.models import Report
from catalog.reports import finding_writer
from catalog.reports.finding_labels import FINDING_LABELS
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.spec import ColumnKind, ReportColumn, ReportSpec, ResultTable
from policies.pdp import display_names


def prepare(report: Report, folder: Path) -> None:
    """Write known.json: the URNs of all users, groups and roles; the tables of a snapshot do not have all of them."""
    effective_access_spec.write_grant_settings(report, folder)
    document = {"people": sorted(display_names.load_people_urns())}
    (folder / "known.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def merge(report: Report) -> None:
    """Merge the findings of a run."""
    finding_writer.merge(report, SPEC)


SPEC = ReportSpec(
    name="policy_hygiene",
    title="Policy hygiene",
    description="Policies that reach nobody or nothing, repeat others, name what is gone, or follow an anti-pattern.",
    module=f"{__package__}.job",
    tables=(
        ResultTable(
            finding_writer.FINDINGS_TABLE,
            "Findings",
            (
                ReportColumn("severity", "Severity", ColumnKind.SEVERITY),
                ReportColumn("type", "Finding", ColumnKind.STATE, FINDING_LABELS),
                ReportColumn("policy", "Policy", ColumnKind.POLICY),
                ReportColumn("sentence", "What is wrong"),
                ReportColumn("entity", "Entity", ColumnKind.ENTITY),
                ReportColumn("person", "Person", ColumnKind.ACTOR),
                ReportColumn("other", "Other policy", ColumnKind.POLICY),
                ReportColumn("repair", "Repair", ColumnKind.SQL),
                ReportColumn("key", "Key"),
            ),
            key=("key",),
        ),
        ResultTable(
            "policies",
            "Policies by reach",
            (
                ReportColumn("policy", "Policy", ColumnKind.POLICY),
                ReportColumn("people", "People named", ColumnKind.NUMBER),
                ReportColumn("entities", "Entities", ColumnKind.NUMBER),
                ReportColumn("findings", "Findings", ColumnKind.NUMBER),
            ),
        ),
    ),
    is_nightly=True,
    prepare=prepare,
    after_load=merge,
)
