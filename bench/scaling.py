"""`python -m bench.scaling POLICIES USERS ENTITIES`: fill an installation, measure, print the figures as JSON.

Runs in a process of its own, whose environment names the database (bench.scale).
"""

import gc
import json
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import django

django.setup()

from django.conf import settings  # noqa: E402  # the apps are there from here on
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench import copying, exporting, filling, lists  # noqa: E402
from bench.worlds import HOT, Company  # noqa: E402
from catalog.models import Entity, Facet, Report  # noqa: E402
from catalog.reports.run import preparation, runner  # noqa: E402
from catalog.reports.services import reports  # noqa: E402
from catalog.reports.snapshot import bases, writer  # noqa: E402
from policies.pdp import authorizer, snapshot_store  # noqa: E402

Row = tuple[str, float, str]


def main() -> None:
    """Fill, measure, print."""
    policies, users, entities = (int(number) for number in sys.argv[1:])
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    began = time.perf_counter()
    filling.fill(Company(policies, is_hot=True, users=users, entities=entities), copying.things)
    with connection.cursor() as cursor:
        # What its own housekeeping has done in any database that was not filled a second ago.
        cursor.execute("VACUUM (ANALYZE)")
    sys.stderr.write(f"Filled in {time.perf_counter() - began:.0f} s.\n")
    counts = {"entities": Entity.objects.count(), "facets": Facet.objects.count()}
    rows = list(_snapshot())
    # As in a web process: policies and code stay in memory, so the collector does not traverse them.
    snapshot_store.get_current()
    gc.collect()
    gc.freeze()
    pages = list(lists.measure())
    sys.stdout.write(json.dumps({**counts, "lists": pages, "rows": [*rows, *_reports()]}))


def _snapshot() -> Iterator[Row]:
    folder = Path(settings.VAR_DIR) / "snapshot"
    before = _peak()
    began = time.perf_counter()
    writer.write(folder=folder, as_of=timezone.now())
    yield "snapshot of it all as files", time.perf_counter() - began, "s"
    yield "memory that this took", _peak() - before, "MiB"
    yield "size of the files", sum(file.stat().st_size for file in folder.rglob("*.*")) / 2**20, "MiB"
    shutil.rmtree(folder)
    exporting.take_next()
    exporting.change_some(1)
    began = time.perf_counter()
    exporting.take_next()
    yield f"snapshot after 1/{exporting.CHANGED_SHARE} of the entities changed", time.perf_counter() - began, "s"
    bases.forget_base(())


def _reports() -> Iterator[Row]:
    """Count effective access twice: with everything to read and Spark to start, and then with little of both."""
    # As workers have it.
    preparation.make_archive()
    what = "effective access, from the start of its task to its rows"
    yield what, _run_report(), "s"
    exporting.change_some(0)
    yield f"{what}, again after 1/{exporting.CHANGED_SHARE} of the entities changed", _run_report(), "s"


def _run_report() -> float:
    """Return the seconds that a run takes."""
    asked = {"privileges": [HOT]}
    report = reports.request_report(kind="effective_access", parameters=asked, by=authorizer.SYSTEM, is_queued=False)
    began = time.perf_counter()
    if runner.run_report(report.pk) != Report.Status.READY:
        report.refresh_from_db()
        raise RuntimeError(f"The report ended as {report.status}: {report.problem}\n{report.log}")
    return time.perf_counter() - began


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
