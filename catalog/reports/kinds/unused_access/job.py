"""Job of unused access: privileges, memberships and policies without a use in the decision log for some days."""

import sys

from catalog.reports.kinds.policy_hygiene import hygiene
from catalog.reports.kinds.unused_access import tables, unused
from catalog.reports.kinds.unused_access.unused import Usage
from catalog.reports.kinds.unused_access.usage import UsageRow
from catalog.reports.snapshot.reader import load_roles
from catalog.reports.spark.job import Job, run
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
    usage = Usage(uses, policies, actors, is_sure=usage_document["is_sure"])
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
            Number("Percent of what is allowed that the log keeps", usage_document["percent"]),
            Number("The log is whole (1: yes, 0: no)", int(usage_document["is_sure"])),
            *(
                Number(f"{name.capitalize()} without a use", unused_counts[name])
                for name in ("policies", "privileges", "memberships")
            ),
        )
    )


if __name__ == "__main__":
    sys.exit(run("unused_access", compute_results))
