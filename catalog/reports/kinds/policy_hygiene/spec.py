"""Policies that do nothing, repeat others, name what is gone, or are written as the guide warns (docs/hygiene.md)."""

import json
from pathlib import Path

from catalog.models import Report
from catalog.reports import finding_writer
from catalog.reports.finding_labels import FINDING_LABELS
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.spec import Column, ColumnKind, Kind, ResultTable
from policies.pdp import display_names


def prepare(report: Report, folder: Path) -> None:
    """Write down which users, groups and roles there are; the tables of a snapshot hold those who have something."""
    effective_access_spec.say_settings(report, folder)
    known = {"people": sorted(display_names.known_people())}
    (folder / "known.json").write_text(json.dumps(known, ensure_ascii=False), encoding="utf-8")


def merge(report: Report) -> None:
    """Take over the findings of a run."""
    finding_writer.merge(report, KIND)


KIND = Kind(
    name="policy_hygiene",
    title="Policy hygiene",
    description="Policies that reach nobody or nothing, repeat others, name what is gone, or follow an anti-pattern.",
    module=f"{__package__}.job",
    tables=(
        ResultTable(
            finding_writer.TABLE,
            "Findings",
            (
                Column("severity", "Severity", ColumnKind.SEVERITY),
                Column("type", "Finding", ColumnKind.STATE, FINDING_LABELS),
                Column("policy", "Policy", ColumnKind.POLICY),
                Column("sentence", "What is wrong"),
                Column("entity", "Entity", ColumnKind.ENTITY),
                Column("person", "Person", ColumnKind.ACTOR),
                Column("other", "Other policy", ColumnKind.POLICY),
                Column("repair", "Repair", ColumnKind.SQL),
                Column("key", "Key"),
            ),
            key=("key",),
        ),
        ResultTable(
            "policies",
            "Policies by reach",
            (
                Column("policy", "Policy", ColumnKind.POLICY),
                Column("people", "People named", ColumnKind.NUMBER),
                Column("entities", "Entities", ColumnKind.NUMBER),
                Column("findings", "Findings", ColumnKind.NUMBER),
            ),
        ),
    ),
    is_nightly=True,
    prepare=prepare,
    after_load=merge,
)
