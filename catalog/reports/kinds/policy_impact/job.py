"""Who gains and who loses what when policies become as proposed."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.policy_impact import differences
from catalog.reports.spark.job import Job, run
from catalog.reports.spark.partition_facts import over_slices, state_of
from policies.engine import families
from policies.engine.model import Origin, Statement

#: How many bars the chart has.
_BARS = 20


def work(job: Job) -> Mapping[str, Any]:
    """Ask every question that the change could answer otherwise, of both sides."""
    state = state_of(job)
    now, actors = state.snapshot, state.actors
    then = now.replace(now.version, _compiled(job.json("proposed.json")))
    change = differences.change_of(now, then, actors)
    # What is tested on either side has to be loaded; asking for more never changes an answer.
    fields = now.fields_for(change.privileges) | then.fields_for(change.privileges)
    found = over_slices(job, state, differences.changed, change, fields=fields, stage="Comparing")
    found += differences.changed_platform(now, change)
    privileges, groups, people = differences.results(found, actors)
    job.write("privileges", pa.Table.from_pylist(privileges, schema=differences.PRIVILEGES))
    job.write("groups", pa.Table.from_pylist(groups, schema=differences.GROUPS))
    job.write("people", pa.Table.from_pylist(people, schema=differences.PEOPLE))
    return {
        "numbers": [
            {"title": "People who gain", "value": len({one["person"] for one in people if one["gained"]})},
            {"title": "People who lose", "value": len({one["person"] for one in people if one["lost"]})},
        ],
        "charts": [
            _chart(privileges, "gained", "Gained by privilege"),
            _chart(privileges, "lost", "Lost by privilege"),
        ],
    }


def _compiled(proposed: Mapping[str, Any]) -> dict[str, tuple[Statement, ...]]:
    found: dict[str, tuple[Statement, ...]] = dict.fromkeys(proposed["gone"], ())
    for one in proposed["policies"]:
        origin = Origin(one["urn"], one["name"])
        found[one["urn"]] = families.get(one["family"]).compile(one["document"], origin)
    return found


def _chart(rows: Sequence[Mapping[str, Any]], name: str, title: str) -> Mapping[str, Any]:
    first = sorted((row for row in rows if row[name]), key=lambda row: (-row[name], row["privilege"]))[:_BARS]
    return {"name": name, "title": title, "bars": [{"label": row["privilege"], "value": row[name]} for row in first]}


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("policy_impact", work, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
