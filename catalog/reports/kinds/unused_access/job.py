"""Privileges, memberships and policies that were not used for some days, as far as the decision log can tell."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.policy_hygiene import hygiene
from catalog.reports.kinds.unused_access import unused
from catalog.reports.kinds.unused_access.unused import Usage, Use
from catalog.reports.spark.job import Job, run
from catalog.reports.spark.partition_facts import over_slices, roles_of, state_of


def work(job: Job) -> Mapping[str, Any]:
    """Lay what is held beside what was used."""
    state, said = state_of(job), job.json("usage.json")
    snapshot, actors = state.snapshot, state.actors
    policies = hygiene.policies_of(
        snapshot.statements, {row["urn"]: row["name"] for row in job.table("policies").to_pylist()}
    )
    uses = (Use(*row.values()) for row in job.table("usage", list(Use._fields)).to_pylist())
    usage = Usage(uses, policies, is_sure=said["is_sure"])
    ask = unused.ask_of(policies, actors, job.parameters.get("privileges") or ())
    fields = snapshot.fields_for(ask.privileges)
    found = set(over_slices(job, state, unused.held, ask, fields=fields, stage="Looking who holds what"))
    found |= set(unused.held_on_platform(snapshot, ask))
    privileges, people = unused.privileges_used(ask, found, usage)
    tables = {
        "policies": (unused.policies_used(policies, actors, usage), unused.POLICIES),
        "privileges": (privileges, unused.PRIVILEGES),
        "people": (people, unused.PEOPLE),
        "memberships": (unused.memberships_unused(policies, actors, roles_of(job), usage), unused.MEMBERSHIPS),
    }
    for name, (listed, schema) in tables.items():
        job.write(name, pa.Table.from_pylist(listed, schema=schema))
    idle = {name: sum(row["state"] != unused.USED for row in listed) for name, (listed, _) in tables.items()}
    return {
        "numbers": [
            {"title": "Days looked back", "value": said["days"]},
            {"title": "Percent of what is allowed that the log keeps", "value": said["percent"]},
            {"title": "The log is whole (1: yes, 0: no)", "value": int(said["is_sure"])},
            {"title": "Policies without a use", "value": idle["policies"]},
            {"title": "Privileges without a use", "value": idle["privileges"]},
            {"title": "Memberships without a use", "value": idle["memberships"]},
        ]
    }


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("unused_access", work, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
