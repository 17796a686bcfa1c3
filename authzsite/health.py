"""Is the process alive, and can it do its work? Both answers are public and name no secrets.

`/health/live` answers as long as the process does, from threads that no other request takes (authzsite.admission), and
asks nobody. `/health/ready` answers 503 until database, migrations, broker, policies and room on the disk are all
there, and shows which policy version this process serves; it answers within a second, whichever of them says nothing.
What is not there is said in the log as well, with all that an answer to anybody must not tell: once, until it changes.
"""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Container
from functools import cache
from pathlib import Path
from typing import NamedTuple

from celery import current_app
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from policies import deadlines
from policies.errors import Unavailable
from policies.http.guard import public
from policies.models import PolicyVersion
from policies.pdp import snapshot_store
from policies.propagation import pubsub

log = logging.getLogger(__name__)

CheckFacts = dict[str, object]

#: App and name of a migration.
MigrationKey = tuple[str, str]

#: Seconds that the broker has to answer, and the database for all its answers together.
BROKER_SECONDS = 0.3
DATABASE_SECONDS = 0.4

#: Bytes that have to fit on the disk: fewer than the least that anything there writes at once.
MIN_FREE_BYTES = 1 << 16

#: The apps whose migrations are this project's own.
_OWN_APPS = ("policies", "catalog")

#: What the log was told last of each part that is not there.
_reported_details: dict[str, str] = {}


class NotReady(Exception):
    """One part is not there; the text says which and why."""


def database() -> CheckFacts:
    """The database answers."""
    start = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"milliseconds": round((time.monotonic() - start) * 1000, 2)}


def migrations() -> CheckFacts:
    """The tables are those that this code expects: neither older nor of a later release."""
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
    """The migrations that this process knows: all their names, and what a new database needs, in order of application.

    A squashed migration stands in the plan with those that it replaces.
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
    """Tasks can be handed over. Redis is asked once: the queue's library waits for seconds where it is silent."""
    pubsub.check_redis(seconds=BROKER_SECONDS)
    with current_app.connection_for_write() as broker_connection:
        if not settings.REDIS_URL:
            broker_connection.connect()
        return {"kind": str(broker_connection.transport.driver_type)}


def policies() -> CheckFacts:
    """The policies in this process's hands are those of the database, as of a second ago at most."""
    version = snapshot_store.get_current().version
    return {"version": version, "age_seconds": round(snapshot_store.age() or 0.0, 2)}


def disk() -> CheckFacts:
    """Files can be written where the site keeps them."""
    for name, folder in (("VAR_DIR", settings.VAR_DIR), ("METRICS_DIR", settings.METRICS_DIR)):
        try:
            _reserve_space(folder)
        except OSError as error:
            raise NotReady(f"Nothing can be written into {name}: {os.strerror(error.errno or 0)}.") from error
    return {}


def _reserve_space(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Room is reserved and nothing is flushed: a busy disk takes seconds for that, and an answer has one.
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, MIN_FREE_BYTES)


CHECKS: tuple[Callable[[], CheckFacts], ...] = (database, migrations, broker, policies, disk)


def run_check(check: Callable[[], CheckFacts]) -> CheckFacts:
    """What the check found; what is expected to go wrong becomes a sentence."""
    try:
        facts: CheckFacts = {"ok": True, **check()}
    except (NotReady, Unavailable) as error:
        return _report_failure(check.__name__, str(error), error)
    except (DatabaseError, OperationalError, RedisError, OSError, PolicyVersion.DoesNotExist) as error:
        # The text of these errors can hold addresses and names of an installation, so it goes to the log only.
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
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "alive"})


@public
@never_cache
@require_safe
def show_readiness(_request: HttpRequest) -> HttpResponse:
    """200 when every check holds, 503 with the same shape when one does not."""
    with deadlines.open_budget(DATABASE_SECONDS):
        facts_by_check = {check.__name__: run_check(check) for check in CHECKS}
    is_ready = all(facts["ok"] for facts in facts_by_check.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": facts_by_check,
        "refresh_interval_seconds": settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
    }
    return JsonResponse(body, status=200 if is_ready else 503)
