"""Job of policy impact: access gained and lost when policies become as proposed."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.policy_impact import differences
from catalog.reports.spark.job import Job, run
from catalog.reports.spark.partition_facts import load_state, map_partitions
from policies.engine import families
from policies.engine.model import Statement, StatementOrigin

#: Bars of a chart at most.
_MAX_BARS = 20


def compute_results(job: Job) -> Mapping[str, Any]:
    """Decide every question that the change can affect with both snapshots, write the tables and return the summary."""
    state = load_state(job)
    current_snapshot, actors = state.snapshot, state.actors
    proposed_snapshot = current_snapshot.replace(
        current_snapshot.version, _compile_proposed(job.read_json("proposed.json"))
    )
    change = differences.compare_policies(current_snapshot, proposed_snapshot, actors)
    # Load the facets that either side tests; loading more never changes an answer.
    fields = current_snapshot.tested_fields(change.privileges) | proposed_snapshot.tested_fields(change.privileges)
    rows = map_partitions(job, state, differences.compare_partition, change, fields=fields, stage="Comparing")
    rows += differences.compare_platform(current_snapshot, change)
    privileges, groups, people = differences.aggregate_rows(rows, actors)
    job.write_table("privileges", pa.Table.from_pylist(privileges, schema=differences.PRIVILEGES))
    job.write_table("groups", pa.Table.from_pylist(groups, schema=differences.GROUPS))
    job.write_table("people", pa.Table.from_pylist(people, schema=differences.PEOPLE))
    return {
        "numbers": [
            {"title": "People who gain", "value": len({row["person"] for row in people if row["gained"]})},
            {"title": "People who lose", "value": len({row["person"] for row in people if row["lost"]})},
        ],
        "charts": [
            _build_chart(privileges, "gained", "Gained by privilege"),
            _build_chart(privileges, "lost", "Lost by privilege"),
        ],
    }


def _compile_proposed(document: Mapping[str, Any]) -> dict[str, tuple[Statement, ...]]:
    statements_by_urn: dict[str, tuple[Statement, ...]] = dict.fromkeys(document["gone"], ())
    for policy in document["policies"]:
        origin = StatementOrigin(policy["urn"], policy["name"])
        statements_by_urn[policy["urn"]] = families.get(policy["family"]).compile(policy["document"], origin)
    return statements_by_urn


def _build_chart(rows: Sequence[Mapping[str, Any]], name: str, title: str) -> Mapping[str, Any]:
    top_rows = sorted((row for row in rows if row[name]), key=lambda row: (-row[name], row["privilege"]))[:_MAX_BARS]
    return {"name": name, "title": title, "bars": [{"label": row["privilege"], "value": row[name]} for row in top_rows]}


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("policy_impact", compute_results, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
