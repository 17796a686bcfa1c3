"""Job of effective access: exact counts per person, per entity and per place, over the whole catalog.

The catalog is divided by entity numbers; each partition is evaluated in a process of Spark, with statements and people
broadcast. `reach_index` counts the entities of each person, `AudienceIndex` the people of each entity. The job has a
number for each person and privilege in memory; the rows of entities, however many, pass through it in order.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from catalog.reports.kinds.effective_access import entity_files
from catalog.reports.kinds.effective_access.counts import PLACE_FIELDS, PrivilegeCount, count_access
from catalog.reports.kinds.effective_access.entity_files import merge_entity_files
from catalog.reports.snapshot.reader import read_people
from catalog.reports.spark.job import Job, JobProgram, print_progress
from catalog.reports.spark.work_folder import open_temporary_folder
from catalog.reports.storage import parse_address
from catalog.reports.summary import Bar, Chart, Number, Summary
from policies.engine import families

_PEOPLE_SCHEMA = pa.schema([("privilege", pa.string()), ("person", pa.string()), ("entities", pa.int64())])

#: Upper bounds, in percent of the catalog, of the bars into which people are grouped by their reach.
_REACH_PERCENTAGES = (0, 1, 10, 25, 50, 75, 99, 100)


def compute_results(job: Job) -> Summary:
    """Count access, write the tables and return the summary. Raises CorruptSnapshot."""
    # Snapshots that no run has prepared have no such file, and no edges are wanted.
    has_edges = parse_address(job.source).has_file("edges.json")
    max_edges = job.read_json("edges.json")["max_rows"] if has_edges else 0
    people = read_people(job.source)
    with open_temporary_folder(job.target) as entity_folder:
        counts = count_access(job, job.parameters["privileges"], people, entity_folder, max_edges=max_edges)
        print_progress("Writing the results")
        file_names = {privilege: count.entity_files for privilege, count in counts.items()}
        job.write_ordered_tables("entities", entity_files.SCHEMA, merge_entity_files(entity_folder, file_names))
    job.write_ordered_tables("people", _PEOPLE_SCHEMA, _rank_people(counts, people))
    for kind in PLACE_FIELDS:
        job.write_table(f"{kind}s", _build_place_table(counts, kind))
    return Summary(tuple(_build_numbers(len(people), counts)), tuple(_build_charts(counts)))


def _rank_people(counts: Mapping[str, PrivilegeCount], people: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of the people for each privilege: most entities first, then by URN."""
    urns = pa.array(people, pa.string())
    for privilege, count in counts.items():
        columns = [pa.repeat(pa.scalar(privilege), len(urns)), urns, pa.array(count.people, pa.int64())]
        rows = pa.Table.from_arrays(columns, schema=_PEOPLE_SCHEMA)
        yield rows.sort_by([("entities", "descending"), ("person", "ascending")])


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
    yield Number("Entities", next(iter(counts.values())).entities)
    for privilege, count in counts.items():
        name = families.display_privilege(privilege)
        yield Number(f"{name}: accesses, one for each person and entity", sum(count.people))
        yield Number(f"{name}: people who reach nothing", count.people.count(0))
        yield Number(f"{name}: entities that nobody reaches", count.unreached_entities)


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
        next(share for share in _REACH_PERCENTAGES if reached_count * 100 <= share * count.entities)
        for reached_count in count.people
    )
    for share in _REACH_PERCENTAGES:
        label = {0: "nothing", 100: "more"}.get(share, f"up to {share} %")
        yield Bar(label, people_counts[share])


PROGRAM = JobProgram("effective_access", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
