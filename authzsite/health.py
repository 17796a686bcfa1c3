"""Liveness and readiness checks; both are public and disclose no secrets.

`/health/live` answers as long as the process does, from threads reserved for it (authzsite.admission), and checks
nothing else. `/health/ready` answers 503 until database, migrations, broker, clock, policies and disk space are all
available, and shows the policy version that this process serves; it answers within a second, even if one of them does
not respond.
A failed check is also logged, with details that a public answer must not disclose: once, until it changes.
"""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Container
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from policies import deadlines
from policies.errors import Unavailable
from policies.http.guard import public
from policies.models import PolicyVersion
from policies.pdp import database_clock, snapshot_store
from policies.propagation import pubsub, task_queue

log = logging.getLogger(__name__)

CheckFacts = dict[str, object]

#: App and name of a migration.
MigrationKey = tuple[str, str]

#: Seconds for the broker to answer, and for the database in all checks together.
BROKER_SECONDS = 0.3
DATABASE_SECONDS = 0.4

#: Bytes that must be free on the disk: fewer than the smallest file that is written there at once.
MIN_FREE_BYTES = 1 << 16

#: The apps whose migrations belong to this project.
_OWN_APPS = ("policies", "catalog")

#: Check name → the detail logged last, of the checks that fail now.
_reported_details: dict[str, str] = {}


class NotReady(Exception):
    """A failed check; the text names the part and the reason."""


def database() -> CheckFacts:
    """Check that the database answers; return the milliseconds it took."""
    start = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"milliseconds": round((time.monotonic() - start) * 1000, 2)}


def migrations() -> CheckFacts:
    """Check that the tables match this code: every migration is applied, and none of a later release."""
    disk_migrations = load_disk_migrations()
    applied_keys = MigrationRecorder(connection).applied_migrations()
    missing_keys = [
        key
        for key, replaced_keys in disk_migrations.plan.items()
        if key not in applied_keys and not _are_applied(replaced_keys, applied_keys)
    ]
    if missing_keys:
        verb = "migration is" if len(missing_keys) == 1 else "migrations are"
        raise NotReady(f"{len(missing_keys)} {verb} not applied, the first is {'.'.join(missing_keys[0])}.")
    if later_keys := sorted(key for key in applied_keys if key[0] in _OWN_APPS and key not in disk_migrations.names):
        raise NotReady(f"The database is of a later release: {'.'.join(later_keys[0])} is not known here.")
    return {}


class DiskMigrations(NamedTuple):
    """The migrations on disk: all their names, and `plan`, those that a new database needs, in order.

    The plan maps each migration to the ones that it replaces, if it is squashed.
    """

    names: frozenset[MigrationKey]
    plan: dict[MigrationKey, tuple[MigrationKey, ...]]


@cache
def load_disk_migrations() -> DiskMigrations:
    """Return the migrations on disk, read once: the code of a process does not change, and reading takes 0.2 s."""
    loader = MigrationLoader(None)
    graph = loader.graph
    ordered_keys = dict.fromkeys(key for leaf in graph.leaf_nodes() for key in graph.forwards_plan(leaf))
    plan = {key: tuple(graph.nodes[key].replaces) for key in ordered_keys}
    return DiskMigrations(frozenset(loader.disk_migrations or ()), plan)


def _are_applied(replaced_keys: tuple[MigrationKey, ...], applied_keys: Container[MigrationKey]) -> bool:
    return bool(replaced_keys) and all(key in applied_keys for key in replaced_keys)


def broker() -> CheckFacts:
    """Check the broker; return its kind. Redis is pinged first: kombu would wait for seconds if it does not respond."""
    pubsub.check_redis(seconds=BROKER_SECONDS)
    with task_queue.connect_broker() as broker_connection:
        if not settings.REDIS_URL:
            broker_connection.connect()
        return {"kind": str(broker_connection.transport.driver_type)}


def policies() -> CheckFacts:
    """Return version and age of the snapshot; raises if it cannot be compared with the database."""
    version = snapshot_store.get_current().version
    return {"version": version, "age_seconds": round(snapshot_store.age() or 0.0, 2)}


def clock() -> CheckFacts:
    """Check that the clock of this process is that of the database; raises otherwise, and decides nothing then."""
    database_clock.compare_clock()
    return {"seconds_ahead": round(database_clock.check_clock(), 2)}


def disk() -> CheckFacts:
    """Check that files can be written into the folders of the site."""
    for name, folder in (("VAR_DIR", settings.VAR_DIR), ("METRICS_DIR", settings.METRICS_DIR)):
        try:
            _reserve_space(folder)
        except OSError as error:
            raise NotReady(f"Nothing can be written into {name}: {os.strerror(error.errno or 0)}.") from error
    return {}


def _reserve_space(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Space is reserved without flushing, which takes seconds on a busy disk; the answer has one second.
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, MIN_FREE_BYTES)


CHECKS: tuple[Callable[[], CheckFacts], ...] = (database, migrations, broker, clock, policies, disk)


def run_check(check: Callable[[], CheckFacts]) -> CheckFacts:
    """Return the facts of a check with `ok`; an expected error becomes `ok` false and a `detail`."""
    try:
        facts: CheckFacts = {"ok": True, **check()}
    except (NotReady, Unavailable) as error:
        return _report_failure(check.__name__, str(error), error)
    except pubsub.list_connection_errors(PolicyVersion.DoesNotExist) as error:
        # These errors may contain addresses and names of the installation, so their text goes to the log only.
        return _report_failure(check.__name__, f"{check.__name__} cannot be reached ({type(error).__name__}).", error)
    if _reported_details.pop(check.__name__, None):
        log.warning("ready_again", extra={"part": check.__name__})
    return facts


def _report_failure(part: str, detail: str, error: Exception) -> CheckFacts:
    if _reported_details.get(part) != detail:
        _reported_details[part] = detail
        log.warning("not_ready", extra={"part": part, "detail": detail, "error": str(error)})
    return {"ok": False, "detail": detail}


@public
@never_cache
@require_safe
def show_liveness(_request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as the process answers at all."""
    return JsonResponse({"status": "alive"})


@public
@never_cache
@require_safe
def show_readiness(_request: HttpRequest) -> HttpResponse:
    """Answer 200 if every check passes, else 503 with the same shape."""
    with deadlines.open_budget(DATABASE_SECONDS):
        facts_by_check = {check.__name__: run_check(check) for check in CHECKS}
    is_ready = all(facts["ok"] for facts in facts_by_check.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": facts_by_check,
        "refresh_interval_seconds": settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
    }
    return JsonResponse(body, status=200 if is_ready else 503)
