"""Reports: effective access of a whole company, from a snapshot on disk to tables of results, JVM start included.

Its counts have to equal those of a straight program: one thread, one bitmap a facet value, no Spark, no engine.
"""

import json
import os
import tempfile
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path

import django
import pyarrow.parquet as pq
from pyroaring import BitMap

from bench.processes import measure_work
from bench.tables import Table
from bench.worlds import HOT, Company, Document, Thing, below

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
django.setup()

from bench import snapshots  # noqa: E402 - needs the settings
from catalog.reports.kinds.effective_access import spec as effective_access_spec  # noqa: E402
from catalog.reports.run import launcher, preparation  # noqa: E402
from catalog.reports.storage import parse_address  # noqa: E402

_Postings = Mapping[tuple[str, str], BitMap]


def run(*, is_quick: bool, is_large: bool = False) -> list[Table]:
    """Measure the job, and the straight program beside it."""
    company = Company(
        1_000 if is_quick else 10_000,
        is_hot=True,
        users=5_000 if is_quick else 100_000,
        entities=20_000 if is_quick else 10_000_000 if is_large else 1_000_000,
    )
    with tempfile.TemporaryDirectory(prefix="authzsite-bench-") as name:
        source, target = Path(name) / "in", Path(name) / "out"
        rows = snapshots.write(company, source, {"privileges": [HOT]})
        preparation.make_archive()
        began = time.perf_counter()
        with measure_work() as work:
            launcher.run(
                module=effective_access_spec.SPEC.module,
                source=parse_address(source),
                target=parse_address(target),
                spark_folder=Path(name) / "spark",
                on_progress=lambda *_: True,
            )
            spent = time.perf_counter() - began
        things = list(company.things())
        began = time.process_time()
        expected = straight(company, things)
        alone = time.process_time() - began
        found = pq.read_table(target / "people").to_pylist()
        if {row["person"]: row["entities"] for row in found} != expected:
            raise SystemExit("The report counted otherwise than the straight program.")
        summary = json.loads((target / "summary.json").read_text(encoding="utf-8"))
    title = f"{rows['entities']:,} entities, {rows['facets']:,} facets, {company.users:,} people"
    table = Table(f"{title}, {company.policies:,} policies", ("what", "figure", "unit"))
    table.rows += [
        ("effective access, from start to results, on the clock", spent, "s"),
        ("the same, processor time of all its processes", work.seconds, "s"),
        ("straight program, counts of people only, processor time", alone, "s"),
        ("processor time of the report, in times of the straight program", work.seconds / alone, ""),
        ("pairs of person and entity", sum(expected.values()), ""),
    ]
    table.notes += [f"{one['title']}: {one['value']:,}" for one in summary["numbers"]]
    table.notes.append(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the end")
    return [table]


# -- the straight program ---------------------------------------------------------------------------------------------


def straight(company: Company, things: Sequence[Thing]) -> dict[str, int]:
    """Return how many of these entities each person may view, by bitmaps alone."""
    world = _Straight(_gathered(things), sorted((thing.urn, number) for number, thing in enumerate(things)), below())
    postings = world.postings
    given: dict[str, list[BitMap]] = defaultdict(list)
    owned: dict[str, list[BitMap]] = defaultdict(list)
    for _, document in company.documents:
        extent = world.extent(document)
        actors = document["actors"]
        for key in ("users", "groups", "roles"):
            for name in actors.get(key, ()):
                given[name].append(extent)
        for kind in actors.get("resourceOwnersTypes", [""]) if actors.get("resourceOwners") else ():
            owned[kind].append(extent)
    whole = {name: BitMap.union(*some) for name, some in given.items()}
    by_kind = {kind: BitMap.union(*some) for kind, some in owned.items()}
    counts = {}
    for number in range(company.users):
        person = company.person(number)
        groups = _groups_of(company, number)
        parts = [whole[name] for name in (person.urn, *groups, *person.roles) if name in whole]
        parts += [
            postings[f"OWNER{kind}", holder] & extent
            for kind, extent in by_kind.items()
            for holder in (person.urn, *groups)
            if (f"OWNER{kind}", holder) in postings
        ]
        counts[person.urn] = len(BitMap.union(*parts)) if parts else 0
    return counts


def _groups_of(company: Company, number: int) -> Sequence[str]:
    return [group for _, group in snapshots.memberships_of(company, number)]


def _gathered(things: Sequence[Thing]) -> _Postings:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, thing in enumerate(things):
        for field, value in _facts(thing):
            found[field, value].append(number)
    return {key: BitMap(numbers) for key, numbers in found.items()}


def _facts(thing: Thing) -> Iterator[tuple[str, str]]:
    yield from (("TYPE", thing.type), ("DOMAIN", thing.domain), ("CONTAINER", thing.schema), ("URN", thing.urn))
    yield from (("TAG", tag) for tag in thing.tags)
    for holder, kind in thing.owners:
        yield from (("OWNER", holder), (f"OWNER{kind}", holder))


@dataclass(frozen=True)
class _Straight:
    """Everything by facet value, and every URN in order."""

    postings: _Postings
    urns: Sequence[tuple[str, int]]
    under: Mapping[str, Collection[str]]

    @cached_property
    def everything(self) -> BitMap:
        return BitMap(range(len(self.urns)))

    def extent(self, document: Document) -> BitMap:
        found = self.everything
        for criterion in document["resources"]["filter"]["criteria"]:
            found = found & self._passing(criterion)
        return found

    def _passing(self, criterion: Document) -> BitMap:
        field, values = criterion["field"], criterion["values"]
        if criterion.get("condition") == "STARTS_WITH":
            starts = ((value, bisect_left(self.urns, (value,))) for value in values)
            return BitMap(
                number
                for value, start in starts
                for _, number in takewhile(lambda pair: pair[0].startswith(value), islice(self.urns, start, None))  # noqa: B023 - used up before the next value comes
            )
        wanted = {node for value in values for node in (value, *self.under.get(value, ()))}
        found = BitMap.union(BitMap(), *(self.postings[field, one] for one in wanted if (field, one) in self.postings))
        return self.everything - found if criterion.get("condition") == "NOT_EQUALS" else found
