"""Findings of warehouse usage: grants and memberships that nobody used, and uses that the catalog does not declare.

Findings of one kind about one role or person are one from ROLLUP_SIZE on.
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
    is_sure,
    list_rows,
    render_actor_urn,
)
from catalog.reports.kinds.warehouse_usage.undeclared import gather_rows

#: Findings that become one, and the statements or names that such a one lists at most.
ROLLUP_SIZE, _MAX_STATEMENTS = 3, 20


def build_findings(results: UsageResults, exports_by_name: Mapping[str, Export], *, days: int) -> list[dict[str, Any]]:
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
) -> Iterator[dict[str, Any]]:
    unused = results.used_grants.filter(f.col("last").isNull() & is_sure(results.coverages))
    names = (*OBJECT_COLUMNS, "bits", "level", "entity", "name", "is_container", "grantee")
    gathered = gather_rows(
        unused, ["export", "kind", "grantee_key"], names, most=_MAX_STATEMENTS, order=f.col("object")
    )
    for row in list_rows(add_role(add_person(gathered, results), results)):
        export = exports_by_name[row["export"]]
        grants = [
            {**grant, "kind": row["kind"], "role": row["grantee_key"], "role_urn": row["role_urn"]}
            for grant in row["some"]
        ]
        for grant in grants:
            grant["entity"] = None if grant["is_container"] else grant["entity"]
        grantee_name, since = describe_principal(grants[0]["grantee"]), period.describe(row["export"])
        shared = {
            "severity": _unused_severity(row),
            "type": UsageFindingType.UNUSED_GRANT,
            "role": row["role_urn"],
            "actor": row["urn"],
            "export": row["export"],
        }
        if row["count"] >= ROLLUP_SIZE:
            yield shared | {
                "sentence": f"{grantee_name} has {row['count']:,} grants that nobody used {since}.",
                "members": row["count"],
                "repair": wording.render_grant_repair(export, grants, row["count"]),
                "key": _build_key(
                    UsageFindingType.UNUSED_GRANT, "grants", row["export"], row["kind"], row["grantee_key"]
                ),
            }
            continue
        for grant in grants:
            name = wording.render_name(grant)
            level = wording.LEVEL_NAMES[grant["level"]]
            yield shared | {
                "sentence": f"{grantee_name} has {level} on {name}, which nobody used {since}.",
                "entity": grant["entity"],
                "repair": wording.render_grant_repair(export, [grant], 1),
                "key": _build_key(
                    UsageFindingType.UNUSED_GRANT,
                    "grant",
                    row["export"],
                    row["kind"],
                    row["grantee_key"],
                    grant["entity"] or grant["object"],
                ),
            }


def _build_member_findings(
    results: UsageResults, exports_by_name: Mapping[str, Export], period: _Period
) -> Iterator[dict[str, Any]]:
    unused = results.used_members.filter(f.col("last").isNull() & is_sure(results.coverages))
    unused = unused.withColumns({"is_sensitive": f.expr("false"), "object": f.col("role_name")})
    names = ("kind", "member_key", "object", "grantee")
    gathered = gather_rows(unused, ["export", "role"], names, most=_MAX_STATEMENTS, order=f.col("member_key"))
    gathered = add_role(gathered.withColumns({"grantee_key": f.col("role"), "kind": f.lit(Grantee.ROLE)}), results)
    for row in list_rows(gathered):
        export = exports_by_name[row["export"]]
        members = [{**member, "role": row["role"], "role_urn": row["role_urn"]} for member in row["some"]]
        name = members[0]["object"]
        shared = {
            "severity": _unused_severity(row),
            "type": UsageFindingType.UNUSED_GRANT,
            "role": row["role_urn"],
            "export": row["export"],
        }
        since = period.describe(row["export"])
        if row["count"] >= ROLLUP_SIZE:
            yield shared | {
                "sentence": f"{row['count']:,} hold {name} and used nothing that it opens {since}.",
                "members": row["count"],
                "repair": wording.render_member_repair(export, members, row["count"]),
                "key": _build_key(UsageFindingType.UNUSED_GRANT, "members", row["export"], row["role"]),
            }
            continue
        for member in members:
            yield shared | {
                "sentence": f"{member['grantee']} holds {name} and used nothing that it opens {since}.",
                "actor": render_actor_urn(member["kind"], member["member_key"]),
                "repair": wording.render_member_repair(export, [member], 1),
                "key": _build_key(
                    UsageFindingType.UNUSED_GRANT,
                    "member",
                    row["export"],
                    row["role"],
                    member["kind"],
                    member["member_key"],
                ),
            }


def _build_undeclared_findings(results: UsageResults) -> Iterator[dict[str, Any]]:
    rows = results.undeclared_uses.withColumn("used_on", f.date_format("last", "yyyy-MM-dd"))
    names = ("entity", "name", "person", "used_on")
    gathered = gather_rows(rows, ["export", "person_key"], names, most=_MAX_STATEMENTS, order=f.col("name"))
    gathered = gathered.withColumns({"kind": f.lit(Grantee.USER), "grantee_key": f.col("person_key")})
    for row in list_rows(add_person(gathered, results)):
        items, person = row["some"], row["some"][0]["person"]
        severity = DifferenceSeverity.CRITICAL if row["is_sensitive"] else DifferenceSeverity.HIGH
        shared = {
            "severity": severity,
            "type": UsageFindingType.UNDECLARED_USE,
            "actor": row["urn"],
            "export": row["export"],
        }
        repair = f"-- Give {person} a role that opens {{}} in the catalog, or take the access in the source."
        if row["count"] >= ROLLUP_SIZE:
            last = max(item["used_on"] for item in items)
            yield shared | {
                "sentence": f"{person} used {row['count']:,} datasets without a role of the catalog that opens them, "
                f"the last on {last}.",
                "members": row["count"],
                "repair": "\n".join(repair.format(_clean(item["name"])) for item in items),
                "key": _build_key(UsageFindingType.UNDECLARED_USE, "all", row["export"], row["person_key"]),
            }
            continue
        for item in items:
            yield shared | {
                "sentence": f"{person} used {item['name']} on {item['used_on']} "
                "without a role of the catalog that opens it.",
                "entity": item["entity"],
                "repair": repair.format(_clean(item["name"])),
                "key": _build_key(
                    UsageFindingType.UNDECLARED_USE, "one", row["export"], row["person_key"], item["entity"]
                ),
            }


def _clean(name: str) -> str:
    """Return a name for a comment of one line."""
    return " ".join(name.split())


def _unused_severity(row: Mapping[str, Any]) -> DifferenceSeverity:
    return DifferenceSeverity.MEDIUM if row["is_sensitive"] else DifferenceSeverity.LOW


def _build_key(*parts: str) -> str:
    return f"{parts[0]}:{hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()}"
