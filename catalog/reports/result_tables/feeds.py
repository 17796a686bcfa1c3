"""What every kind of report writes into the open tables, from the tables of its results. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.reports.result_tables.schemas import ACCESS_EDGES, COUNTS, DRIFT, FINDINGS, USAGE, OpenTable


@dataclass(frozen=True, slots=True)
class Feed:
    """Rows of one table of results that go into an open table.

    `columns` maps columns of the open table to those of the results, "" being none; columns that both have need no
    entry. With `measures` a row of results becomes a row of COUNTS for each of these columns.
    """

    source: str
    table: OpenTable
    columns: Mapping[str, str] = field(default_factory=dict)
    measures: tuple[str, ...] = ()


def _count(source: str, *measures: str, subject: str = "", object: str = "") -> Feed:
    names = {"subject": subject, "object": object}
    return Feed(source, COUNTS, {name: column for name, column in names.items() if column}, measures)


_FINDINGS = Feed("findings", FINDINGS)
_PLACE_MEASURES = ("entities", "people", "accesses")
_GAINS = ("gained", "lost")
_CHANGES = ("people_gain", "people_lose", *_GAINS)
_ROWS = ("rows", "compared", "passed", "quarantined")
_PASSED = _count("passed", "count", subject="export", object="rule")

#: The feeds of every kind of report.
KIND_FEEDS: Mapping[str, tuple[Feed, ...]] = {
    "effective_access": (
        _count("people", "entities", subject="person"),
        _count("entities", "people", subject="entity"),
        *(_count(f"{kind}s", *_PLACE_MEASURES, subject=kind) for kind in ("domain", "platform", "tag")),
        Feed("edges", ACCESS_EDGES),
    ),
    "policy_impact": (
        _count("privileges", *_CHANGES),
        _count("groups", *_CHANGES, subject="group"),
        _count("people", *_GAINS, subject="person"),
    ),
    "policy_hygiene": (
        Feed("findings", FINDINGS, {"actor": "person"}),
        _count("policies", "people", "entities", "findings", subject="policy"),
    ),
    "dataset_access_check": (_count("assertions", "people", "entities", subject="assertion"),),
    "role_mapping_check": (
        _FINDINGS,
        Feed(
            "differences",
            DRIFT,
            {"role": "role_urn", "role_name": "role", "declared_level": "wanted"},
        ),
        _count("compliance", "declared", "opened", subject="role", object="tag"),
        _count("exports", *_ROWS, "grants", "members", "inherited", subject="export"),
        _PASSED,
    ),
    "warehouse_usage": (
        _FINDINGS,
        Feed(
            "grants",
            USAGE,
            {"datasets": "tables", "used_datasets": "used", "used_by": "people", "people": "", "last_use": "last"},
        ),
        Feed("memberships", USAGE, {"last_use": "last"}),
        _count("exports", *_ROWS, subject="export"),
        _PASSED,
    ),
    "unused_access": (
        *(Feed(name, USAGE, {"last_use": "last"}) for name in ("policies", "privileges")),
        *(Feed(name, USAGE) for name in ("people", "memberships")),
    ),
}
