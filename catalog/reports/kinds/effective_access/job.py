"""Job of effective access: exact counts per person, per entity and per place, over the whole catalog.

The catalog is divided by entity numbers; each partition is evaluated in a process of Spark, with statements and people
broadcast. `reach_index` counts the entities of each person, `AudienceIndex` the people of each entity.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from catalog.reports.kinds.effective_access.counts import PLACE_FIELDS, PrivilegeCount, count_access
from catalog.reports.snapshot.reader import read_people
from catalog.reports.spark.job import Job, JobProgram, print_progress
from catalog.reports.summary import Bar, Chart, Number, Summary
from policies.engine import families

#: Upper bounds, in percent of the catalog, of the bars into which people are grouped by their reach.
_REACH_PERCENTAGES = (0, 1, 10, 25, 50, 75, 99, 100)


def compute_results(job: Job) -> Summary:
    """Count access, write the tables and return the summary. Raises CorruptSnapshot."""
    max_edges = job.file_plan.max_edges if job.file_plan else 0
    people = read_people(job.source)
    counts = count_access(job, job.parameters["privileges"], people, max_edges=max_edges)
    print_progress("Writing the results")
    urns = job.read_table("entities", ["number", "urn"]).sort_by("number").column("urn").combine_chunks()
    people_urns = pa.array(people, pa.string())
    job.write_table("people", _rank_counts(counts, "person", "entities", lambda count: (people_urns, count.people)))
    job.write_table("entities", _rank_counts(counts, "entity", "people", lambda count: (urns, count.entities)))
    for kind in PLACE_FIELDS:
        job.write_table(f"{kind}s", _build_place_table(counts, kind))
    return Summary(tuple(_build_numbers(len(people), len(urns), counts)), tuple(_build_charts(counts, len(urns))))


def _rank_counts(
    counts: Mapping[str, PrivilegeCount],
    name_column: str,
    count_column: str,
    select_counts: Callable[[PrivilegeCount], tuple[pa.Array, Sequence[int]]],
) -> pa.Table:
    parts = []
    for privilege, count in counts.items():
        names, values = select_counts(count)
        columns = {
            "privilege": pa.array([privilege] * len(names), pa.string()),
            name_column: names,
            count_column: pa.array(values, pa.int64()),
        }
        parts.append(pa.table(columns).sort_by([(count_column, "descending"), (name_column, "ascending")]))
    return pa.concat_tables(parts)


def _build_place_table(counts: Mapping[str, PrivilegeCount], kind: str) -> pa.Table:
    rows = [
        (privilege, name, place_count.entities, len(place_count.people), place_count.accesses)
        for privilege, count in counts.items()
        for (kind_, name), place_count in sorted(count.places.items(), key=lambda item: (-item[1].accesses, item[0]))
        if kind_ == kind
    ]
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    names = ("privilege", kind, "entities", "people", "accesses")
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)})


def _build_numbers(people_count: int, entity_count: int, counts: Mapping[str, PrivilegeCount]) -> Iterator[Number]:
    yield Number("People", people_count)
    yield Number("Entities", entity_count)
    for privilege, count in counts.items():
        name = families.display_privilege(privilege)
        yield Number(f"{name}: accesses, one for each person and entity", sum(count.people))
        yield Number(f"{name}: people who reach nothing", count.people.count(0))
        yield Number(f"{name}: entities that nobody reaches", count.entities.count(0))


def _build_charts(counts: Mapping[str, PrivilegeCount], entity_count: int) -> Iterator[Chart]:
    for privilege, count in counts.items():
        name = families.display_privilege(privilege)
        for kind in PLACE_FIELDS:
            bars = (
                Bar(urn, place_count.accesses, urn)
                for (kind_, urn), place_count in count.places.items()
                if kind_ == kind
            )
            is_over_time = kind == "platform"
            yield Chart.from_largest(
                f"{kind}s {privilege}", f"{name}: accesses by {kind}", bars, is_over_time=is_over_time
            )
        title = f"{name}: people by the share of entities that they reach"
        yield Chart(f"reach {privilege}", title, tuple(_build_reach_bars(count, entity_count)))


def _build_reach_bars(count: PrivilegeCount, entity_count: int) -> Iterator[Bar]:
    people_counts = Counter(
        next(share for share in _REACH_PERCENTAGES if reached_count * 100 <= share * entity_count)
        for reached_count in count.people
    )
    for share in _REACH_PERCENTAGES:
        label = {0: "nothing", 100: "more"}.get(share, f"up to {share} %")
        yield Bar(label, people_counts[share])


PROGRAM = JobProgram("effective_access", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
