"""Job of unused access: privileges, memberships and policies without a counted use for some days."""

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from catalog.reports.kinds.policy_hygiene import hygiene
from catalog.reports.kinds.unused_access import tables, unused
from catalog.reports.kinds.unused_access.unused import Usage
from catalog.reports.kinds.unused_access.usage import UsageRow
from catalog.reports.snapshot.reader import load_roles
from catalog.reports.spark.job import Job, JobProgram
from catalog.reports.spark.partition_visits import map_partitions
from catalog.reports.summary import Number, Summary


def compute_results(job: Job) -> Summary:
    """Compare access with its uses, write the tables and return the summary."""
    state, usage_document = job.state, job.read_json("usage.json")
    snapshot, actors = state.snapshot, state.actors
    policies = hygiene.group_by_policy(
        snapshot.statements, {row["urn"]: row["name"] for row in job.read_table("policies").to_pylist()}
    )
    uses = (UsageRow(*row.values()) for row in job.read_table("usage", list(UsageRow._fields)).to_pylist())
    usage = Usage(uses, policies, is_sure=usage_document["is_sure"])
    query = unused.build_query(policies, actors, job.parameters.get("privileges") or ())
    fields = snapshot.tested_fields(query.privileges)
    held_privileges = set(map_partitions(job, unused.find_held, query, fields=fields, stage="Looking who holds what"))
    held_privileges |= set(unused.find_held_on_platform(snapshot, query))
    privileges, people = unused.build_privilege_rows(query, held_privileges, usage)
    unused_counts = {}
    for table, rows in (
        (tables.POLICIES, unused.build_policy_rows(policies, actors, usage)),
        (tables.PRIVILEGES, privileges),
        (tables.PEOPLE, people),
        (tables.MEMBERSHIPS, unused.find_unused_memberships(policies, actors, load_roles(job.source), usage)),
    ):
        job.write_rows(table, rows)
        unused_counts[table.name] = sum(row["state"] != unused.USED for row in rows)
    return Summary(
        numbers=(
            Number("Days looked back", usage_document["days"]),
            *(
                Number(f"{name.capitalize()} without a use", unused_counts[name])
                for name in ("policies", "privileges", "memberships")
            ),
        ),
        notes=(_describe_counts(usage_document),),
    )


def _describe_counts(usage_document: Mapping[str, Any]) -> str:
    """Return a sentence on the days of which every use is counted."""
    complete_since, since = usage_document["complete_since"], usage_document["since"]
    if usage_document["is_sure"]:
        until = f"{datetime.fromisoformat(usage_document['counted_until']):%Y-%m-%d %H:%M} UTC"
        return f"Every use is counted from {complete_since} on; these are those from {since} until {until}."
    if complete_since is None:
        return "No use is counted yet, so nothing is called unused."
    return (
        f"Every use is counted only from {complete_since} on, and the days of this report begin on {since}: what shows"
        " no use may have been used, so nothing is called unused."
    )


PROGRAM = JobProgram("unused_access", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
