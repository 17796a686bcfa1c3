"""Job of the access check: tests the assertions against the catalog (docs/assertions.md)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catalog.reports.kinds.dataset_access_check import absent_names, checks, tables
from catalog.reports.kinds.dataset_access_check.absent_names import SoughtName
from catalog.reports.snapshot.partition_facts import PartitionFacts
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
    sought_names = absent_names.list_sought(assertions, state.actors, load_roles(job.source))
    visited = map_partitions(job, _check_partition, (claims, sought_names), fields=fields, stage="Checking")
    rows = [row for row in visited if isinstance(row, checks.ClaimRow)]
    present_names = {row for row in visited if isinstance(row, absent_names.SoughtName)}
    answered_indexes = frozenset((row.claim_index, row.answer_index) for row in rows)
    rows += checks.check_platform(state.snapshot, claims)
    rows += checks.check_unknown_entities(state.snapshot, claims, answered_indexes)
    lines, failures = checks.aggregate_rows(claims, rows)
    for name in dict.fromkeys(name for name in sought_names if name not in present_names):
        lines[name.claim_index]["state"] = checks.FAIL
        failures.append(_build_absence(claims[name.claim_index], name))
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


def _check_partition(
    facts: PartitionFacts, shared: tuple[Sequence[checks.Claim], Sequence[SoughtName]]
) -> Iterator[checks.ClaimRow | SoughtName]:
    claims, sought_names = shared
    yield from checks.check_partition(facts, claims)
    yield from absent_names.find_present(facts, sought_names)


def _build_absence(claim: checks.Claim, name: SoughtName) -> dict[str, Any]:
    """Return the line of the table of failures for a name that nothing has."""
    nothing = dict.fromkeys(("decision", "policy", "because", "nearest"))
    location = {"person": "", "privilege": "", "entities": 0, "entity": name.value}
    return {"assertion": claim.name, **location, **nothing, "lacks": absent_names.describe_absence(name)}


def _list_privileges(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    names = {name for assertion in assertions for name in (*assertion["privileges"], *assertion["platform"])}
    return names | {answer["privilege"] for assertion in assertions for answer in assertion["expected"]}


def _list_fields(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    return {criterion["field"] for assertion in assertions for criterion in assertion["on"]}


PROGRAM = JobProgram("dataset_access_check", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
