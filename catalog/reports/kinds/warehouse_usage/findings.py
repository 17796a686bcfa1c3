"""Findings of warehouse usage: grants and memberships that nobody used, and uses that the catalog does not declare.

Findings of one kind about one role or person are one from three on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import JOINED_PLACES, DifferenceSeverity
from catalog.reports.kinds.role_mapping_check.evidence import Evidence, collect_evidence
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage import wording
from catalog.reports.kinds.warehouse_usage.results import (
    UsageResults,
    add_datasets,
    add_person,
    add_role,
    list_rows,
    render_actor_urn,
    select_unused,
)
from catalog.reports.spark.rollups import gather_rows, roll_up
from catalog.warehouses.grant_facts import SEPARATOR, Grantee
from catalog.warehouses.levels import LEVEL_NAMES
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.warehouse import Export

#: The policies that let people view datasets: by dataset and person a name, '' for one without, None for no policy.
PolicyNames = Mapping[tuple[str, str], str | None]
FindPolicies = Callable[[Iterable[tuple[str, str]]], PolicyNames]


def build_findings(
    results: UsageResults,
    exports_by_name: Mapping[str, Export],
    *,
    days: int,
    find_policies: FindPolicies,
    history: Evidence,
) -> list[Mapping[str, Any]]:
    """Return the rows of the table of findings, the highest severity first; `history` describes its rows."""
    ends = {coverage.export: coverage.last_at for coverage in results.coverages}
    findings = [
        *_build_grant_findings(results, exports_by_name, _Period(ends, days)),
        *_build_member_findings(results, exports_by_name, _Period(ends, days)),
        *_build_undeclared_findings(results, find_policies, history),
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
    unused = add_datasets(select_unused(results.used_grants, results.coverages), results)
    unused = unused.withColumn("places", f.expr(JOINED_PLACES))
    names = (
        *(*OBJECT_COLUMNS, "bits", "level", "entity", "name", "is_container", "grantee", "details", "others"),
        *("places", "datasets"),
    )
    gathered = gather_rows(
        unused,
        ["export", "kind", "grantee_key"],
        names,
        order=["object", "entity", "condition"],
        identity=["object", "entity", "condition"],
        totals={"is_sensitive": f.expr("max(is_sensitive)")},
    )
    rows = list_rows(add_role(add_person(gathered, results), results))
    evidence = _collect_evidence(rows, results)
    for row in rows:
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
            level, name = LEVEL_NAMES[grant["level"]], wording.render_name(grant)
            findings.append(
                {
                    "severity": _unused_severity(row),
                    "type": UsageFindingType.UNUSED_GRANT,
                    "role": row["role_urn"],
                    "actor": row["urn"],
                    "export": row["export"],
                    "sentence": f"{grantee_name} has {level} on {name}, {_describe_lack(since, item['others'])}",
                    "entity": entity,
                    "datasets": item["datasets"],
                    "grantee": row["role_urn"] or row["known_urn"] or grantee_name,
                    "evidence": evidence.describe(item["places"]),
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
    unused = select_unused(results.used_members.get_result(), results.coverages)
    gathered = gather_rows(
        unused.join(results.declared_access.people, "member_key", "left").selectExpr(
            "* EXCEPT (places)", "false AS is_sensitive", "role_name AS object", f"{JOINED_PLACES} AS places"
        ),
        ["export", "role"],
        ("kind", "member_key", "object", "grantee", "details", "places", "urn"),
        order=["member_key", "kind"],
        identity=["kind", "member_key"],
        totals={"is_sensitive": f.expr("max(is_sensitive)")},
    )
    gathered = gathered.selectExpr("*", "role AS grantee_key", f"'{Grantee.ROLE}' AS kind")
    rows = list_rows(add_role(gathered, results))
    evidence = _collect_evidence(rows, results)
    for row in rows:
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
                "grantee": (member["urn"] if member["kind"] == Grantee.USER else None) or member["grantee"],
                "evidence": evidence.describe(member["places"]),
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


def _build_undeclared_findings(
    results: UsageResults, find_policies: FindPolicies, history: Evidence
) -> Iterator[Mapping[str, Any]]:
    rows = results.undeclared_uses.get_result()
    gathered = gather_rows(
        rows.withColumn("used_on", f.expr("date_format(last, 'yyyy-MM-dd')")),
        ["export", "person_key"],
        ("entity", "name", "person", "used_on", "place"),
        order=["name", "entity"],
        identity=["entity"],
        totals={"is_sensitive": f.expr("max(is_sensitive)"), "last_used_on": f.expr("max(used_on)")},
    )
    gathered = gathered.selectExpr("*", f"'{Grantee.USER}' AS kind", "person_key AS grantee_key")
    people_rows = list_rows(add_person(gathered, results))
    for row in people_rows:
        if row["person_key"].startswith(SEPARATOR):
            row["urn"] = None
    policies = find_policies(
        (item["entity"], row["urn"]) for row in people_rows for item in row["listed"] if row["urn"]
    )
    for row in people_rows:
        person, key_parts = row["listed"][0]["person"], (row["export"], row["person_key"])
        step = f"Give {person} a role that opens {{}}" if row["urn"] else "Name the role of the program on {}"
        repair = f"-- {step} in the catalog, or take the access in the source."
        findings = [
            {
                "severity": DifferenceSeverity.CRITICAL if row["is_sensitive"] else DifferenceSeverity.HIGH,
                "type": UsageFindingType.UNDECLARED_USE,
                "actor": row["urn"],
                "export": row["export"],
                "sentence": f"{person} used {item['name']} on {item['used_on']} "
                f"without a role of the catalog that opens it.{_describe_policy(policies, item['entity'], row['urn'])}",
                "entity": item["entity"],
                "grantee": row["known_urn"] or person,
                "evidence": history.describe(str(item["place"])),
                "repair": repair.format(_clean(item["name"])),
                "key": _build_key(UsageFindingType.UNDECLARED_USE, "one", *key_parts, item["entity"]),
            }
            for item in row["listed"]
        ]
        yield from roll_up(
            findings,
            row,
            sentence=f"{person} used {row['members']:,} datasets without a role of the catalog that opens them, "
            f"the last on {row['last_used_on']}.{_count_viewable(policies, row)}",
            key=_build_key(UsageFindingType.UNDECLARED_USE, "all", *key_parts),
        )


def _collect_evidence(rows: Iterable[Mapping[str, Any]], results: UsageResults) -> Evidence:
    places = (item["places"] for row in rows for item in row["listed"])
    return collect_evidence(results.access.facts, results.access.survey, places)


def _describe_policy(policies: PolicyNames, entity: str, person: str | None) -> str:
    """Return the sentence about the policies of the catalog, '' where they were not asked."""
    if person is None or (entity, person) not in policies:
        return ""
    name = policies[entity, person]
    if name is None:
        return " No policy lets them view it in the catalog either."
    policy = f"The policy {_clean(name)}" if name else "A policy"
    return f" {policy} lets them view it in the catalog, and no role mapping gives it."


def _count_viewable(policies: PolicyNames, row: Mapping[str, Any]) -> str:
    """Return the sentence about what policies of the catalog let a person view, of the datasets that are listed."""
    names = [policies[pair] for item in row["listed"] if (pair := (item["entity"], row["urn"])) in policies]
    if not names:
        return ""
    viewable = sum(name is not None for name in names)
    datasets = "these" if len(names) == row["members"] else f"the first {len(names):,}"
    if not viewable:
        return f" No policy lets them view any of {datasets} in the catalog."
    return f" Policies let them view {viewable:,} of {datasets} in the catalog, and no role mapping gives them."


def _describe_lack(since: str, others: int) -> str:
    """Return that nobody used a grant; `others` used what it opens, and not by it."""
    return f"which nobody used by it {since} (used by others: {others:,})." if others else f"which nobody used {since}."


def _clean(name: str) -> str:
    """Return a name for a comment of one line."""
    return " ".join(name.split())


def _unused_severity(row: Mapping[str, Any]) -> DifferenceSeverity:
    return DifferenceSeverity.MEDIUM if row["is_sensitive"] else DifferenceSeverity.LOW


def _build_key(*parts: str) -> str:
    return f"{parts[0]}:{hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()}"
