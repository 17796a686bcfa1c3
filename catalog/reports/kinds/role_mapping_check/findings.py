"""Differences as findings: those of one type about one role, person or schema are one from three on."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import repairs, sentences
from catalog.reports.kinds.role_mapping_check.differences import (
    DIFFERENCE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
)
from catalog.reports.kinds.role_mapping_check.evidence import Evidence
from catalog.reports.spark.rollups import ROLLUP_SIZE, gather_rows, roll_up
from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.warehouse import Export

#: Returns what stands at the places of differences.
CollectEvidence = Callable[[Iterable[str | None]], Evidence]

#: Columns that identify a difference across runs; severity and level are not among them.
_IDENTITY_COLUMNS = ("type", "export", "role", "entity", "actor", "object")
#: The same and what else a key may contain.
_KEY_COLUMNS = (*_IDENTITY_COLUMNS, "via", "rule", "new_name")

#: Types of differences about what somebody has, be it a role or a person.
_ABOUT_HOLDERS = (DifferenceType.DIRECT_USER_GRANT, DifferenceType.FUTURE_GRANT, DifferenceType.POLICIES_BYPASSED)

#: The last part of the name of a dataset in its URN.
_LAST_PART_PATTERN = r"[.][^.,]+,([^,]+)\)$"


def build_findings(
    differences: DataFrame, exports_by_name: Mapping[str, Export], collect: CollectEvidence
) -> list[Mapping[str, Any]]:
    """Return the differences as findings, the highest severity first; `collect` returns what stands at places."""
    rows = list(_iterate_findings(differences, exports_by_name, collect))
    severities, types = list(DifferenceSeverity), list(DifferenceType)
    rows.sort(key=lambda row: (severities.index(row["severity"]), types.index(row["type"]), row["key"]))
    return rows


def _iterate_findings(
    differences: DataFrame, exports_by_name: Mapping[str, Export], collect: CollectEvidence
) -> Iterator[Mapping[str, Any]]:
    schema = f"regexp_replace(entity, {quote_text(_LAST_PART_PATTERN)}, {quote_text(',$1)')})"
    about = f"""
        CASE WHEN type IN {list_texts(_ABOUT_HOLDERS)} THEN coalesce(actor, role)
        ELSE coalesce(role, {schema}, object) END
    """
    severity_ranks = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(DifferenceSeverity, 1))
    gathered = gather_rows(
        differences.withColumns(
            {
                "about": f.expr(f"concat_ws({quote_text(SEPARATOR)}, {about}, rule)"),
                "rank": f.expr(f"CASE severity {severity_ranks} END"),
            }
        ),
        ["type", "export", "about"],
        list(DIFFERENCE_COLUMNS),
        order=["rank", *_KEY_COLUMNS],
        identity=_KEY_COLUMNS,
    )
    groups = [row.asDict(recursive=True) for row in gathered.collect()]
    evidence = collect(member["places"] for group in groups for member in group["listed"])
    for group in groups:
        export, count = exports_by_name.get(group["export"]), group["members"]
        members = [_build_finding(member, export, evidence) for member in group["listed"]]
        yield from roll_up(
            members,
            group,
            sentence=sentences.render_rollup(group["listed"][0], count) if count >= ROLLUP_SIZE else "",
            key=_build_key(group["type"], [group["type"], "all", group["export"] or "", group["about"]]),
        )


def _build_finding(row: Mapping[str, Any], export: Export | None, evidence: Evidence) -> dict[str, Any]:
    repair = repairs.render_repair(export, row)
    return {
        **{name: row[name] for name in ("severity", "type", "entity", "actor", "export", "datasets")},
        "role": row["role_urn"],
        "sentence": sentences.render_sentence(row),
        "grantee": sentences.name_grantee(row),
        "evidence": evidence.describe(row["places"]) or sentences.describe_absence(row, export),
        "repair": repair,
        "inverse": repairs.render_inverse(export, row, repair),
        "key": _build_difference_key(row),
    }


def _build_difference_key(row: Mapping[str, Any]) -> str:
    """Return the key by which the next run recognizes a difference."""
    parts = [row[name] or "" for name in _IDENTITY_COLUMNS]
    # An extra member is the same finding whatever role it comes through.
    parts.append("" if row["type"] == DifferenceType.EXTRA_MEMBER else row["via"] or "")
    if row["rule"]:
        parts.append(row["rule"])
    # Another new name is another finding; all else about a renamed role is found again when its name is corrected.
    if row["type"] == DifferenceType.ROLE_RENAMED:
        parts.append(row["new_name"])
    # The URN identifies a table, however the source spells its name.
    if row["entity"]:
        parts[_IDENTITY_COLUMNS.index("object")] = ""
    return _build_key(row["type"], parts)


def _build_key(difference_type: str, parts: Sequence[str]) -> str:
    return f"{difference_type}:{hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()}"
