"""Job of policy impact: access gained and lost when policies become as proposed."""

import sys
from collections.abc import Mapping
from typing import Any

from catalog.reports.kinds.policy_impact import differences, tables
from catalog.reports.spark.job import Job, JobProgram
from catalog.reports.spark.partition_visits import map_partitions
from catalog.reports.summary import Bar, Chart, Number, Summary
from policies.engine import families
from policies.engine.model import Statement, StatementOrigin


def compute_results(job: Job) -> Summary:
    """Decide every question that the change can affect with both snapshots, write the tables and return the summary."""
    state = job.state
    current_snapshot, actors = state.snapshot, state.actors
    proposed_statements = _compile_proposed(job.read_json("proposed.json"))
    proposed_snapshot = current_snapshot.replace(current_snapshot.version, proposed_statements)
    change = differences.compare_policies(current_snapshot, proposed_snapshot, proposed_statements.keys(), actors)
    # Load the facets that either side tests; loading more never changes an answer.
    fields = current_snapshot.tested_fields(change.privileges) | proposed_snapshot.tested_fields(change.privileges)
    rows = map_partitions(job, differences.compare_partition, change, fields=fields, stage="Comparing")
    rows += differences.compare_platform(current_snapshot, change)
    privileges, groups, people = differences.aggregate_rows(rows, actors)
    job.write_rows(tables.PRIVILEGES, privileges)
    job.write_rows(tables.GROUPS, groups)
    job.write_rows(tables.PEOPLE, people)
    return Summary(
        numbers=(
            Number("People who gain", len({row["person"] for row in people if row["gained"]})),
            Number("People who lose", len({row["person"] for row in people if row["lost"]})),
        ),
        charts=tuple(
            Chart.from_largest(
                name,
                f"{name.capitalize()} by privilege",
                (Bar(row["privilege"], row[name]) for row in privileges if row[name]),
            )
            for name in ("gained", "lost")
        ),
    )


def _compile_proposed(document: Mapping[str, Any]) -> dict[str, tuple[Statement, ...]]:
    statements_by_urn: dict[str, tuple[Statement, ...]] = dict.fromkeys(document["gone"], ())
    for policy in document["policies"]:
        origin = StatementOrigin(policy["urn"], policy["name"])
        statements_by_urn[policy["urn"]] = families.get(policy["family"]).compile(policy["document"], origin)
    return statements_by_urn


PROGRAM = JobProgram("policy_impact", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
