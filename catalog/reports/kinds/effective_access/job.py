"""Who may use which privilege on what, over the whole catalog: exact counts per person, per entity and per place.

The catalog is cut into slices of entity numbers. Each goes through the engine in a process of its own, with statements
and people broadcast: `bulk` counts what each person reaches, `crowds` who reaches each entity. Slices add up.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.effective_access.counts import PLACES, Count, counted
from catalog.reports.snapshot import partitions, reader
from catalog.reports.spark.job import BadInput, Job, progress, run
from policies.engine import families

#: Shares of the catalog, in percent, up to which people are counted together.
_REACHES = (0, 1, 10, 25, 50, 75, 99, 100)

_MOST_BARS = 20


def read(source: str, manifest: Mapping[str, Any]) -> partitions.State:
    """Return what all slices share."""
    return partitions.state_of(source, manifest["policy_version"])


def work(job: Job) -> Mapping[str, Any]:
    """Count, and write the tables."""
    assert job.ahead is not None  # noqa: S101 - main says what to read
    progress("Reading policies and people")
    try:
        state: partitions.State = job.ahead.result()
        counts = counted(job, state, job.parameters["privileges"])
    except (partitions.Corrupt, reader.UnknownPolicy) as error:
        raise BadInput(str(error)) from error
    progress("Writing the results")
    return _written(job, state, counts)


def _written(job: Job, state: partitions.State, counts: Mapping[str, Count]) -> dict[str, Any]:
    urns = job.table("entities", ["number", "urn"]).sort_by("number").column("urn").combine_chunks()
    people = pa.array([actor.urn for actor in state.actors], pa.string())
    job.write("people", _ranked(counts, "person", "entities", lambda count: (people, count.people)))
    job.write("entities", _ranked(counts, "entity", "people", lambda count: (urns, count.entities)))
    for kind in PLACES:
        job.write(f"{kind}s", _places(counts, kind))
    return {"numbers": list(_numbers(state, counts, len(urns))), "charts": list(_charts(counts, len(urns)))}


def _ranked(
    counts: Mapping[str, Count], name: str, counting: str, of: Callable[[Count], tuple[pa.Array, Sequence[int]]]
) -> pa.Table:
    parts = []
    for privilege, count in counts.items():
        names, values = of(count)
        columns = {
            "privilege": pa.array([privilege] * len(names), pa.string()),
            name: names,
            counting: pa.array(values, pa.int64()),
        }
        parts.append(pa.table(columns).sort_by([(counting, "descending"), (name, "ascending")]))
    return pa.concat_tables(parts)


def _places(counts: Mapping[str, Count], kind: str) -> pa.Table:
    rows = [
        (privilege, name, place.entities, len(place.people), place.accesses)
        for privilege, count in counts.items()
        for (kind_, name), place in sorted(count.places.items(), key=lambda item: (-item[1].accesses, item[0]))
        if kind_ == kind
    ]
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    names = ("privilege", kind, "entities", "people", "accesses")
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)})


def _numbers(state: partitions.State, counts: Mapping[str, Count], entities: int) -> Iterable[dict[str, Any]]:
    yield {"title": "People", "value": len(state.actors)}
    yield {"title": "Entities", "value": entities}
    for privilege, count in counts.items():
        name = families.display_privilege(privilege)
        yield {"title": f"{name}: accesses, one for each person and entity", "value": sum(count.people)}
        yield {"title": f"{name}: people who reach nothing", "value": count.people.count(0)}
        yield {"title": f"{name}: entities that nobody reaches", "value": count.entities.count(0)}


def _charts(counts: Mapping[str, Count], entities: int) -> Iterable[dict[str, Any]]:
    for privilege, count in counts.items():
        for kind in PLACES:
            found = [(name, place.accesses) for (kind_, name), place in count.places.items() if kind_ == kind]
            largest = sorted(found, key=lambda one: (-one[1], one[0]))[:_MOST_BARS]
            bars = [{"urn": name, "label": name, "value": value} for name, value in largest]
            yield {
                "name": f"{kind}s {privilege}",
                "title": f"{families.display_privilege(privilege)}: accesses by {kind}",
                "bars": bars,
                "over_time": kind == "platform",
            }
        yield {
            "name": f"reach {privilege}",
            "title": f"{families.display_privilege(privilege)}: people by the share of entities that they reach",
            "bars": _reaches(count, entities),
        }


def _reaches(count: Count, entities: int) -> list[dict[str, Any]]:
    bars = [0] * len(_REACHES)
    for reached in count.people:
        bars[next(place for place, most in enumerate(_REACHES) if reached * 100 <= most * entities)] += 1
    labels = ["nothing", *(f"up to {most} %" for most in _REACHES[1:-1]), "more"]
    return [{"label": label, "value": value} for label, value in zip(labels, bars, strict=True)]


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("effective_access", work, argv, ahead=read)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
