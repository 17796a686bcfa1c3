"""`python -m bench.exporting POLICIES USERS ENTITIES`: fill an installation, take snapshots, print figures as JSON.

Runs in a process of its own, whose environment names the database (bench.export).
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import django

django.setup()

from django.conf import settings  # noqa: E402  # the apps are there from here on
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench import copying, filling  # noqa: E402
from bench.worlds import Company  # noqa: E402
from catalog.models import ChangeMarker, Entity, Facet, change_triggers  # noqa: E402
from catalog.reports.snapshot import bases, writer  # noqa: E402
from catalog.reports.snapshot.manifest import Manifest  # noqa: E402
from catalog.reports.storage import StorageFolder, parse_address  # noqa: E402
from policies.engine.selectors import TAG  # noqa: E402
from policies.models import Membership, User  # noqa: E402

#: What was measured: its name, seconds, processor seconds of this process, and a rate or share with its unit.
Row = tuple[str, float, float, str]

#: One entity in so many changes between two snapshots.
CHANGED_SHARE = 100
_ROUNDS = 3
_WRITTEN_ENTITIES = 10_000
_FACETS_PER_ENTITY = 12


def main() -> None:
    """Fill, measure, print."""
    policies, users, entities = (int(number) for number in sys.argv[1:])
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    began = time.perf_counter()
    filling.fill(Company(policies, users=users, entities=entities), copying.things)
    with connection.cursor() as cursor:
        # What its own housekeeping has done in any database that was not filled a second ago.
        cursor.execute("VACUUM (ANALYZE)")
    sys.stderr.write(f"Filled in {time.perf_counter() - began:.0f} s.\n")
    rows = [*_snapshots(), *_writes()]
    counts = {"entities": Entity.objects.count(), "facets": Facet.objects.count()}
    sys.stdout.write(json.dumps({**counts, "rows": rows}))


def _snapshots() -> Iterator[Row]:
    """Take full snapshots and continued ones in turn."""
    present_count = Entity.objects.filter(is_removed=False).count()
    take_next()
    whole, continued = [], []
    for number in range(_ROUNDS):
        change_some(number)
        whole.append(_time(lambda: writer.write(folder=_make_folder(), as_of=timezone.now())))
        continued.append(_time(take_next))
    whole_seconds = statistics.median(spent for spent, _ in whole)
    continued_seconds = statistics.median(spent for spent, _ in continued)
    yield "full snapshot", whole_seconds, _median_work(whole), f"{present_count / whole_seconds:,.0f} entities/s"
    share = f"{continued_seconds / whole_seconds:.1%} of the full one"
    yield f"snapshot after 1/{CHANGED_SHARE} changed", continued_seconds, _median_work(continued), share
    with_people = []
    for number in range(_ROUNDS):
        User.objects.filter(username=f"u{number}").update(email=f"u{number}@bench.org")
        Membership.objects.filter(user__username=f"u{number}").delete()
        with_people.append(_time(take_next))
    people_seconds = statistics.median(spent for spent, _ in with_people)
    share = f"{people_seconds / whole_seconds:.1%} of the full one"
    yield "snapshot after a person and a membership changed", people_seconds, _median_work(with_people), share
    nothing = [_time(take_next) for _ in range(_ROUNDS)]
    nothing_seconds = statistics.median(spent for spent, _ in nothing)
    share = f"{nothing_seconds / whole_seconds:.1%} of the full one"
    yield "snapshot after nothing changed", nothing_seconds, _median_work(nothing), share


def take_next() -> Manifest:
    """Take a snapshot that continues the last one, if there is one."""
    return bases.take_snapshot(folder=_make_folder(), as_of=timezone.now(), excluded_fields=())


def change_some(number: int) -> None:
    """Give one entity in a hundred, spread over all, another tag."""
    entity_ids = list(Entity.objects.order_by("pk").values_list("pk", flat=True)[number::CHANGED_SHARE])
    Facet.objects.bulk_create(
        [Facet(entity_id=pk, field=TAG, value=f"urn:li:tag:round-{number}") for pk in entity_ids], batch_size=2000
    )


def _make_folder() -> StorageFolder:
    return parse_address(settings.REPORTS_DIR) / f"taken-{time.monotonic_ns()}"


def _writes() -> Iterator[Row]:
    """Write the same entities with and without triggers, in turn; nothing of it stays."""
    spent: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(_ROUNDS):
        for is_noted in (False, True):
            with transaction.atomic():
                if not is_noted:
                    change_triggers.remove(connection)
                spent[is_noted].append(_time(_write_entities))
                if is_noted and ChangeMarker.objects.count() < _WRITTEN_ENTITIES:
                    raise RuntimeError("Changes are not noted.")
                transaction.set_rollback(True)
    without, noted = (statistics.median(seconds for seconds, _ in spent[key]) for key in (False, True))
    what = f"{_WRITTEN_ENTITIES:,} entities with {_FACETS_PER_ENTITY} facets each stored"
    yield f"{what}, changes not noted", without, _median_work(spent[False]), ""
    yield f"{what}, changes noted", noted, _median_work(spent[True]), f"{noted / without - 1:+.1%}"


def _write_entities() -> None:
    entities = Entity.objects.bulk_create(
        [Entity(urn=f"urn:li:dataset:bench-{number}", type="dataset") for number in range(_WRITTEN_ENTITIES)],
        batch_size=2000,
    )
    Facet.objects.bulk_create(
        [
            Facet(entity=entity, field=TAG, value=f"urn:li:tag:{number}")
            for entity in entities
            for number in range(_FACETS_PER_ENTITY)
        ],
        batch_size=2000,
    )


def _time(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds and the processor seconds that some work took."""
    began, began_working = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - began_working


def _median_work(spent: list[tuple[float, float]]) -> float:
    return statistics.median(worked for _, worked in spent)


if __name__ == "__main__":
    main()
