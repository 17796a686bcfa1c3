"""Job of effective access: exact counts per person, per entity and per place, over the whole catalog.

The catalog is divided by entity numbers; each partition is evaluated in a process of Spark, with statements and people
broadcast. `reach_index` counts the entities of each person, `AudienceIndex` the people of each entity. The job has
the URNs of all entities in memory while it sorts them, and a number for each and every person by privilege.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from catalog.reports.kinds.effective_access.counts import PLACE_FIELDS, PrivilegeCount, count_access
from catalog.reports.snapshot.partitions import read_urns
from catalog.reports.snapshot.reader import read_people
from catalog.reports.spark.job import ROW_GROUP_ROWS, Job, JobProgram, print_progress
from catalog.reports.storage import parse_address
from catalog.reports.summary import Bar, Chart, Number, Summary
from policies.engine import families

if TYPE_CHECKING:
    from array import array

_PEOPLE_SCHEMA = pa.schema([("privilege", pa.string()), ("person", pa.string()), ("entities", pa.int64())])
_ENTITY_SCHEMA = pa.schema([("privilege", pa.string()), ("entity", pa.string()), ("people", pa.int64())])

#: Upper bounds, in percent of the catalog, of the bars into which people are grouped by their reach.
_REACH_PERCENTAGES = (0, 1, 10, 25, 50, 75, 99, 100)


def compute_results(job: Job) -> Summary:
    """Count access, write the tables and return the summary. Raises CorruptSnapshot."""
    # Snapshots that no run has prepared have no such file, and no edges are wanted.
    has_edges = parse_address(job.source).has_file("edges.json")
    max_edges = job.read_json("edges.json")["max_rows"] if has_edges else 0
    people = read_people(job.source)
    counts = count_access(job, job.parameters["privileges"], people, max_edges=max_edges)
    print_progress("Writing the results")
    people_counts = ((privilege, count.people) for privilege, count in counts.items())
    person_rows = _rank(_PEOPLE_SCHEMA, pa.array(people, pa.string()), people_counts)
    job.write_ordered_tables("people", _PEOPLE_SCHEMA, person_rows)
    entity_counts = ((privilege, count.entities) for privilege, count in counts.items())
    entity_rows = _rank(_ENTITY_SCHEMA, read_urns(job.source), entity_counts)
    job.write_ordered_tables("entities", _ENTITY_SCHEMA, entity_rows)
    for kind in PLACE_FIELDS:
        job.write_table(f"{kind}s", _build_place_table(counts, kind))
    return Summary(tuple(_build_numbers(len(people), counts)), tuple(_build_charts(counts)))


def _rank(schema: pa.Schema, urns: pa.Array, counts: Iterable[tuple[str, "array[int]"]]) -> Iterator[pa.Table]:
    """Yield the rows of each privilege in batches: those with the highest count first, then by URN."""
    for privilege, numbers in counts:
        number_array = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        rows = pa.table({"urn": urns, "count": number_array})
        order = pc.sort_indices(rows, [("count", "descending"), ("urn", "ascending")])
        # Batches, since a sorted table would need as much memory as all URNs once more.
        for start in range(0, len(order), ROW_GROUP_ROWS):
            indexes = order.slice(start, ROW_GROUP_ROWS)
            columns = [pa.repeat(pa.scalar(privilege), len(indexes)), urns.take(indexes), number_array.take(indexes)]
            yield pa.table(columns, names=schema.names).cast(schema)


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


def _build_numbers(people_count: int, counts: Mapping[str, PrivilegeCount]) -> Iterator[Number]:
    yield Number("People", people_count)
    # Each privilege is counted on all entities.
    yield Number("Entities", len(next(iter(counts.values())).entities))
    for privilege, count in counts.items():
        name = families.display_privilege(privilege)
        yield Number(f"{name}: accesses, one for each person and entity", sum(count.people))
        yield Number(f"{name}: people who reach nothing", count.people.count(0))
        yield Number(f"{name}: entities that nobody reaches", count.entities.count(0))


def _build_charts(counts: Mapping[str, PrivilegeCount]) -> Iterator[Chart]:
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
        yield Chart(f"reach {privilege}", title, tuple(_build_reach_bars(count)))


def _build_reach_bars(count: PrivilegeCount) -> Iterator[Bar]:
    people_counts = Counter(
        next(share for share in _REACH_PERCENTAGES if reached_count * 100 <= share * len(count.entities))
        for reached_count in count.people
    )
    for share in _REACH_PERCENTAGES:
        label = {0: "nothing", 100: "more"}.get(share, f"up to {share} %")
        yield Bar(label, people_counts[share])


PROGRAM = JobProgram("effective_access", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
