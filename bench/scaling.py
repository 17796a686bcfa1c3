"""`python -m bench.scaling POLICIES USERS ENTITIES`: fill an installation, measure, print the figures as JSON.

Runs in a process of its own, whose environment names the database (bench.scale).
"""

import json
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402  # the apps are there from here on
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench import copying, filling  # noqa: E402
from bench.worlds import HOT, Company  # noqa: E402
from catalog.models import Entity, Facet, Report  # noqa: E402
from catalog.reports.run import runner  # noqa: E402
from catalog.reports.services import reports  # noqa: E402
from catalog.reports.snapshot import writer  # noqa: E402
from policies.engine.families import vocabulary  # noqa: E402
from policies.models import User  # noqa: E402
from policies.models.people import USER_PREFIX  # noqa: E402
from policies.pdp import (  # noqa: E402
    actor_resolution,
    authorizer,
    snapshot_store,
)

#: With how many statements that speak to somebody lists are measured, and how often each is asked for.
STATEMENTS, VISITS = 50, 15
#: Among how many people they are looked for.
PEOPLE = 40

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
    rows = [*_snapshot(), *_lists(), *_report()]
    sys.stdout.write(json.dumps({**counts, "rows": rows}))


def _snapshot() -> Iterator[Row]:
    folder = Path(settings.VAR_DIR) / "snapshot"
    before = _peak()
    began = time.perf_counter()
    writer.write(folder=folder, as_of=timezone.now())
    yield "snapshot of it all as files", time.perf_counter() - began, "s"
    yield "memory that this took", _peak() - before, "MiB"
    yield "size of the files", sum(file.stat().st_size for file in folder.iterdir()) / 2**20, "MiB"
    shutil.rmtree(folder)


def _lists() -> Iterator[Row]:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(urn=f"{USER_PREFIX}datahub"), "django.contrib.auth.backends.ModelBackend")
    count, actor, privilege = min(_asked(), key=lambda one: abs(one[0] - STATEMENTS))
    yield "statements that speak to the actor of the lists", count, ""
    body: dict[str, Any] = {"actor": actor, "privilege": privilege}
    found: dict[str, Any] = {}
    for name, more in (
        ("first page of what she may use it on", {}),
        ("the same, datasets", {"type": "dataset"}),
        ("the same, third page", {"page": 3}),
    ):
        spent, found = _posted(client, body | more)
        yield f"{name}, median", spent, "ms"
    yield "entities that the list counts", found["count"], ""


def _asked() -> Iterator[tuple[int, str, str]]:
    """Give people and privileges with the number of statements that speak to them, whatever they own."""
    snapshot = snapshot_store.get_current()
    names = sorted(info.name for info in vocabulary.load_datahub().metadata_privileges() if info.name != HOT)
    for number in range(PEOPLE):
        actor = actor_resolution.load_actor(urn=f"{USER_PREFIX}u{number}")
        for name in names:
            yield len(snapshot.compute_coverage(actor, name).allows), actor.urn, name


def _posted(client: Client, body: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    spent = []
    found: dict[str, Any] = {}
    for _ in range(VISITS):
        began = time.perf_counter()
        answer = client.post("/api/v1/what", body, content_type="application/json")
        spent.append((time.perf_counter() - began) * 1000)
        found = answer.json()
        if answer.status_code != 200:
            raise RuntimeError(f"/api/v1/what answers {answer.status_code}: {found}")
    return statistics.median(spent[1:]), found


def _report() -> Iterator[Row]:
    asked = {"privileges": [HOT]}
    report = reports.request_report(kind="effective_access", parameters=asked, by=authorizer.SYSTEM, is_queued=False)
    began = time.perf_counter()
    if runner.run_report(report.pk) != Report.Status.READY:
        report.refresh_from_db()
        raise RuntimeError(f"The report ended as {report.status}: {report.problem}\n{report.log}")
    yield "effective access, from the start of its task to its rows", time.perf_counter() - began, "s"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
