"""Job of the access check: tests the assertions against the catalog (docs/assertions.md)."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from catalog.reports.kinds.dataset_access_check import checks, tables
from catalog.reports.snapshot.reader import load_roles
from catalog.reports.spark.job import Job, JobProgram
from catalog.reports.spark.partition_visits import map_partitions
from catalog.reports.summary import Bar, Chart, Number, Summary


def compute_results(job: Job) -> Summary:
    """Check every claim against the catalog and the platform, write the tables and return the summary."""
    assertions = job.read_json("assertions.json")["assertions"]
    state = job.state
    fields = state.snapshot.tested_fields(_list_privileges(assertions)) | _list_fields(assertions)
    claims = checks.build_claims(assertions, state.actors, load_roles(job.source))
    rows = map_partitions(job, checks.check_partition, claims, fields=fields, stage="Checking")
    answered_indexes = frozenset((row.claim_index, row.answer_index) for row in rows)
    rows += checks.check_platform(state.snapshot, claims)
    rows += checks.check_unknown_entities(state.snapshot, claims, answered_indexes)
    lines, failures = checks.aggregate_rows(claims, rows)
    job.write_rows(tables.ASSERTIONS, lines)
    job.write_rows(tables.FAILURES, failures)
    failed_count = sum(line["state"] == checks.FAIL for line in lines)
    states = {"Fail": failed_count, "Pass": len(lines) - failed_count}
    return Summary(
        numbers=(Number("Assertions", len(lines)), *(Number(*item) for item in states.items())),
        charts=(
            Chart(
                "assertions",
                "Assertions by state",
                tuple(Bar(label, states[label]) for label in ("Pass", "Fail")),
                is_over_time=True,
            ),
        ),
    )


def _list_privileges(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    names = {name for assertion in assertions for name in (*assertion["privileges"], *assertion["platform"])}
    return names | {answer["privilege"] for assertion in assertions for answer in assertion["expected"]}


def _list_fields(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    return {criterion["field"] for assertion in assertions for criterion in assertion["on"]}


PROGRAM = JobProgram("dataset_access_check", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
