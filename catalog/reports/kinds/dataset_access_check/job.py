"""Whether what should hold of access does hold (docs/assertions.md)."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.dataset_access_check import checks
from catalog.reports.spark.job import Job, run
from catalog.reports.spark.partition_facts import over_slices, roles_of, state_of


def work(job: Job) -> Mapping[str, Any]:
    """Ask every claim of the catalog and of the platform."""
    assertions = job.json("assertions.json")["assertions"]
    state = state_of(job)
    fields = state.snapshot.fields_for(_asked(assertions)) | _tested(assertions)
    claims = checks.claims_of(assertions, state.actors, roles_of(job))
    found = over_slices(job, state, checks.checked, claims, fields=fields, stage="Checking")
    seen = frozenset((row.claim, row.answer) for row in found)
    found += checks.checked_platform(state.snapshot, claims)
    found += checks.checked_unknown(state.snapshot, claims, seen)
    lines, failures = checks.results(claims, found)
    job.write("assertions", pa.Table.from_pylist(lines, schema=checks.ASSERTIONS))
    job.write("failures", pa.Table.from_pylist(failures, schema=checks.FAILURES))
    failed = sum(line["state"] == checks.FAIL for line in lines)
    return {
        "numbers": [
            {"title": "Assertions", "value": len(lines)},
            {"title": "Fail", "value": failed},
            {"title": "Pass", "value": len(lines) - failed},
        ],
        "charts": [
            {
                "name": "assertions",
                "title": "Assertions by state",
                "over_time": True,
                "bars": [{"label": "Pass", "value": len(lines) - failed}, {"label": "Fail", "value": failed}],
            }
        ],
    }


def _asked(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    names = {name for one in assertions for name in (*one["privileges"], *one["platform"])}
    return names | {answer["privilege"] for one in assertions for answer in one["expected"]}


def _tested(assertions: Sequence[Mapping[str, Any]]) -> set[str]:
    return {criterion["field"] for one in assertions for criterion in one["on"]}


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("dataset_access_check", work, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
