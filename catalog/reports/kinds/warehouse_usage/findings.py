"""Findings of warehouse usage: grants and memberships that nobody used, and uses that the catalog does not declare.

Findings of one kind about one role or person are one from three on.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import DifferenceSeverity
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, Grantee
from catalog.reports.kinds.role_mapping_check.principals import describe_principal
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage import wording
from catalog.reports.kinds.warehouse_usage.results import (
    UsageResults,
    add_person,
    add_role,
    list_rows,
    render_actor_urn,
    select_unused,
)
from catalog.reports.spark.rollups import gather_rows, roll_up


def build_findings(
    results: UsageResults, exports_by_name: Mapping[str, Export], *, days: int
) -> list[Mapping[str, Any]]:
    """Return the rows of the table of findings, the highest severity first."""
    ends = {coverage.export: coverage.last_at for coverage in results.coverages}
    findings = [
        *_build_grant_findings(results, exports_by_name, _Period(ends, days)),
        *_build_member_findings(results, exports_by_name, _Period(ends, days)),
        *_build_undeclared_findings(results),
    ]
    severities = list(DifferenceSeverity)
    return sorted(findings, key=lambda row: (severities.index(row["severity"]), row["type"], row["key"]))


class UsageFindingType(StrEnum):
    """The types of findings."""

    UNUSED_GRANT = "UNUSED_GRANT"
    UNDECLARED_USE = "UNDECLARED_USE"


@dataclass(frozen=True, slots=True)
class _Period:
    """The days that are looked at, until the end of each history."""

    ends: Mapping[str, datetime | None]
    days: int

    def describe(self, export: str) -> str:
        end = self.ends[export]
        return f"in the {self.days} days until {end:%Y-%m-%d}" if end else ""


def _build_grant_findings(
    results: UsageResults, exports_by_name: Mapping[str, Export], period: _Period
) -> Iterator[Mapping[str, Any]]:
    unused = select_unused(results.used_grants, results.coverages)
    names = (*OBJECT_COLUMNS, "bits", "level", "entity", "name", "is_container", "grantee")
    gathered = gather_rows(
        unused,
        ["export", "kind", "grantee_key"],
        names,
        order=["object", "entity", "condition"],
        identity=["object", "entity", "condition"],
        totals={"is_sensitive": f.max("is_sensitive")},
    )
    for row in list_rows(add_role(add_person(gathered, results), results)):
        export, since = exports_by_name[row["export"]], period.describe(row["export"])
        grantee_name, key_parts = describe_principal(row["listed"][0]["grantee"]), (row["kind"], row["grantee_key"])
        findings = []
        for item in row["listed"]:
            entity = None if item["is_container"] else item["entity"]
            grant = {
                **item,
                "kind": row["kind"],
                "role": row["grantee_key"],
                "role_urn": row["role_urn"],
                "entity": entity,
            }
            level, name = wording.LEVEL_NAMES[grant["level"]], wording.render_name(grant)
            findings.append(
                {
                    "severity": _unused_severity(row),
                    "type": UsageFindingType.UNUSED_GRANT,
                    "role": row["role_urn"],
                    "actor": row["urn"],
                    "export": row["export"],
                    "sentence": f"{grantee_name} has {level} on {name}, which nobody used {since}.",
                    "entity": entity,
                    "repair": wording.render_grant_repair(export, grant),
                    "key": _build_key(
                        UsageFindingType.UNUSED_GRANT, "grant", row["export"], *key_parts, entity or grant["object"]
                    ),
                }
            )
        yield from roll_up(
            findings,
            row,
            sentence=f"{grantee_name} has {row['members']:,} grants that nobody used {since}.",
            key=_build_key(UsageFindingType.UNUSED_GRANT, "grants", row["export"], *key_parts),
        )


def _build_member_findings(
    results: UsageResults, exports_by_name: Mapping[str, Export], period: _Period
) -> Iterator[Mapping[str, Any]]:
    unused = select_unused(results.used_members, results.coverages)
    unused = unused.withColumns({"is_sensitive": f.expr("false"), "object": f.col("role_name")})
    gathered = gather_rows(
        unused,
        ["export", "role"],
        ("kind", "member_key", "object", "grantee"),
        order=["member_key", "kind"],
        identity=["kind", "member_key"],
        totals={"is_sensitive": f.max("is_sensitive")},
    )
    gathered = add_role(gathered.withColumns({"grantee_key": f.col("role"), "kind": f.lit(Grantee.ROLE)}), results)
    for row in list_rows(gathered):
        export, since = exports_by_name[row["export"]], period.describe(row["export"])
        members = [{**member, "role": row["role"], "role_urn": row["role_urn"]} for member in row["listed"]]
        name, key_parts = members[0]["object"], (row["export"], row["role"])
        findings = [
            {
                "severity": _unused_severity(row),
                "type": UsageFindingType.UNUSED_GRANT,
                "role": row["role_urn"],
                "export": row["export"],
                "sentence": f"{member['grantee']} holds {name} and used nothing that it opens {since}.",
                "actor": render_actor_urn(member["kind"], member["member_key"]),
                "repair": wording.render_member_repair(export, member),
                "key": _build_key(
                    UsageFindingType.UNUSED_GRANT, "member", *key_parts, member["kind"], member["member_key"]
                ),
            }
            for member in members
        ]
        yield from roll_up(
            findings,
            row,
            sentence=f"{row['members']:,} hold {name} and used nothing that it opens {since}.",
            key=_build_key(UsageFindingType.UNUSED_GRANT, "members", *key_parts),
        )


def _build_undeclared_findings(results: UsageResults) -> Iterator[Mapping[str, Any]]:
    rows = results.undeclared_uses.withColumn("used_on", f.date_format("last", "yyyy-MM-dd"))
    gathered = gather_rows(
        rows,
        ["export", "person_key"],
        ("entity", "name", "person", "used_on"),
        order=["name", "entity"],
        identity=["entity"],
        totals={"is_sensitive": f.max("is_sensitive"), "last_used_on": f.max("used_on")},
    )
    gathered = gathered.withColumns({"kind": f.lit(Grantee.USER), "grantee_key": f.col("person_key")})
    for row in list_rows(add_person(gathered, results)):
        person, key_parts = row["listed"][0]["person"], (row["export"], row["person_key"])
        repair = f"-- Give {person} a role that opens {{}} in the catalog, or take the access in the source."
        findings = [
            {
                "severity": DifferenceSeverity.CRITICAL if row["is_sensitive"] else DifferenceSeverity.HIGH,
                "type": UsageFindingType.UNDECLARED_USE,
                "actor": row["urn"],
                "export": row["export"],
                "sentence": f"{person} used {item['name']} on {item['used_on']} "
                "without a role of the catalog that opens it.",
                "entity": item["entity"],
                "repair": repair.format(_clean(item["name"])),
                "key": _build_key(UsageFindingType.UNDECLARED_USE, "one", *key_parts, item["entity"]),
            }
            for item in row["listed"]
        ]
        yield from roll_up(
            findings,
            row,
            sentence=f"{person} used {row['members']:,} datasets without a role of the catalog that opens them, "
            f"the last on {row['last_used_on']}.",
            key=_build_key(UsageFindingType.UNDECLARED_USE, "all", *key_parts),
        )


def _clean(name: str) -> str:
    """Return a name for a comment of one line."""
    return " ".join(name.split())


def _unused_severity(row: Mapping[str, Any]) -> DifferenceSeverity:
    return DifferenceSeverity.MEDIUM if row["is_sensitive"] else DifferenceSeverity.LOW


def _build_key(*parts: str) -> str:
    return f"{parts[0]}:{hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()}"
