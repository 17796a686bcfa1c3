"""Exports of grants in the warehouses of the sample company, with the drift of `data/grants.yaml`."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta

from catalog.sample import people, roles
from catalog.sample.rules import Facts, draw, fill, holds, load_data, pick

DATA = load_data("grants")


def render_exports() -> dict[str, str]:
    """Return the text of every file by its path."""
    return {
        "exports.json": json.dumps({"exports": DATA["exports"]}, indent=2) + "\n",
        "bigquery/iam_policies.jsonl": _render_bindings(DATA["bindings"]),
        **{path: _render_table(table) for path, table in DATA["tables"].items()},
        DATA["usage"]["path"]: _render_usage(DATA["usage"]),
    }


def _render_table(table: Facts) -> str:
    rows = [table["head"]]
    if "grant" in table:
        rows += [fill(table["grant"], grant) for grant in list_grants(table["platform"])]
    if "member" in table:
        is_resolved = table.get("resolve_groups", False)
        rows += [
            fill(table["member"], member) for member in list_role_members(table["platform"], is_resolved=is_resolved)
        ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    planted: str = table["planted"]
    return text.getvalue() + planted


def _render_bindings(bindings: Facts) -> str:
    by_resource: dict[str, list[Facts]] = {}
    for grant in list_grants("bigquery"):
        by_resource.setdefault(grant["full_name"], []).append(fill(bindings["grant"], grant))
    by_resource |= bindings["planted"]
    lines = ""
    for name in sorted(by_resource, key=lambda name: name.split(".")):
        levels = zip(("projects", "datasets", "tables"), name.split("."), strict=False)
        resource = "/".join(["//bigquery.googleapis.com", *(f"{level}/{part}" for level, part in levels)])
        lines += json.dumps({"resource": resource, "policy": {"bindings": by_resource[name]}}) + "\n"
    unreadable: str = bindings["unreadable"]
    return lines + unreadable


def _render_usage(usage: Facts) -> str:
    rows: list[tuple[str, ...]] = []
    members_by_role: dict[str, list[str]] = {}
    for member in list_role_members(usage["platform"], is_resolved=True):
        members_by_role.setdefault(member["role"], []).append(member["member"])
    for role in roles.list_roles(usage["platform"]):
        for table in roles.list_opened(role):
            facts = table | role
            members = members_by_role.get(role["role"], [])
            if not members or not holds(usage["when"], facts):
                continue
            key = f"{role['role']}/{table['full_name']}"
            day = usage["first_day"] + timedelta(days=int(draw(f"day/{key}") * usage["days"]))
            accessed = [{"objectDomain": "Table", "objectName": ".".join(table["path"]).upper()}]
            read, changed = (json.dumps(accessed), "[]") if role["type"] == "READ" else ("[]", json.dumps(accessed))
            started_at = f"{day:%Y-%m-%d} 08:{len(rows) % 60:02}:00.000 +0000"
            person = pick(members, f"user/{key}").upper()
            rows.append((started_at, person, read, read, changed, role["purpose"].upper(), "SUCCESS"))
    text = io.StringIO()
    lines = [usage["head"], *((f"q-{number}", *row) for number, row in enumerate(sorted(rows), 1))]
    csv.writer(text, lineterminator="\n").writerows(lines)
    planted: str = usage["planted"]
    return text.getvalue() + planted


def list_grants(platform: str) -> Iterator[Facts]:
    """Yield the facts of a table with role and privilege, for each privilege on each table that a role opens."""
    for role in roles.list_roles(platform):
        for table in roles.list_opened(role):
            facts = table | role
            drift = (exception["privileges"] for exception in DATA["drift"] if holds(exception["when"], facts))
            for privilege in next(drift, DATA["privileges"][platform][role["type"]]):
                yield facts | {"privilege": privilege}


def list_role_members(platform: str, *, is_resolved: bool) -> Iterator[Facts]:
    """Yield role, kind and name of each member; the people of groups in their place where they are resolved."""
    for role in roles.list_roles(platform):
        groups, users = role["groups"], role["users"]
        if is_resolved:
            resolved = [name for group in groups for name in people.list_members(group)]
            groups, users = [], dict.fromkeys([*users, *resolved])
        members = [*(("group", name) for name in groups), *(("user", name) for name in users)]
        for kind, name in members:
            facts = role | {"kind": kind, "member": name}
            if not holds(DATA["lost"], facts):
                yield facts
