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

Facts = dict[str, object]

#: App and name of a migration.
MigrationKey = tuple[str, str]

#: Seconds that the broker has to answer, and the database for all its answers together.
BROKER_SECONDS = 0.3
DATABASE_SECONDS = 0.4

#: Bytes that have to fit on the disk: fewer than the least that anything there writes at once.
ROOM = 1 << 16

#: The apps whose migrations are this project's own.
_OURS = ("policies", "catalog")

#: What the log was told last of each part that is not there.
_told: dict[str, str] = {}


class NotReady(Exception):
    """One part is not there; the text says which and why."""


def database() -> Facts:
    """The database answers."""
    begin = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"milliseconds": round((time.monotonic() - begin) * 1000, 2)}


def migrations() -> Facts:
    """The tables are those that this code expects: neither older nor of a later release."""
    disk = load_disk_migrations()
    applied = MigrationRecorder(connection).applied_migrations()
    missing = [key for key, replaced in disk.plan.items() if key not in applied and not _are_applied(replaced, applied)]
    if missing:
        verb = "migration is" if len(missing) == 1 else "migrations are"
        raise NotReady(f"{len(missing)} {verb} not applied, the first is {'.'.join(missing[0])}.")
    if later := sorted(key for key in applied if key[0] in _OURS and key not in disk.names):
        raise NotReady(f"The database is of a later release: {'.'.join(later[0])} is not known here.")
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
    ordered = dict.fromkeys(key for leaf in graph.leaf_nodes() for key in graph.forwards_plan(leaf))
    plan = {key: tuple(graph.nodes[key].replaces) for key in ordered}
    return DiskMigrations(frozenset(loader.disk_migrations or ()), plan)


def _are_applied(replaced: tuple[MigrationKey, ...], applied: Container[MigrationKey]) -> bool:
    return bool(replaced) and all(key in applied for key in replaced)


def broker() -> Facts:
    """Tasks can be handed over. Redis is asked once: the queue's library waits for seconds where it is silent."""
    pubsub.check_redis(seconds=BROKER_SECONDS)
    with current_app.connection_for_write() as link:
        if not settings.REDIS_URL:
            link.connect()
        return {"kind": str(link.transport.driver_type)}


def policies() -> Facts:
    """The policies in this process's hands are those of the database, as of a second ago at most."""
    version = snapshot_store.current().version
    return {"version": version, "age_seconds": round(snapshot_store.age() or 0.0, 2)}


def disk() -> Facts:
    """Files can be written where the site keeps them."""
    for name, folder in (("VAR_DIR", settings.VAR_DIR), ("METRICS_DIR", settings.METRICS_DIR)):
        try:
            _reserve_room(folder)
        except OSError as error:
            raise NotReady(f"Nothing can be written into {name}: {os.strerror(error.errno or 0)}.") from error
    return {}


def _reserve_room(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Room is reserved and nothing is flushed: a busy disk takes seconds for that, and an answer has one.
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, ROOM)


CHECKS: tuple[Callable[[], Facts], ...] = (database, migrations, broker, policies, disk)


def outcome(check: Callable[[], Facts]) -> Facts:
    """What the check found; what is expected to go wrong becomes a sentence."""
    try:
        found: Facts = {"ok": True, **check()}
    except (NotReady, Unavailable) as error:
        return _missing(check.__name__, str(error), error)
    except (DatabaseError, OperationalError, RedisError, OSError, PolicyVersion.DoesNotExist) as error:
        # The text of these errors can hold addresses and names of an installation, so it goes to the log only.
        return _missing(check.__name__, f"{check.__name__} cannot be reached ({type(error).__name__}).", error)
    if _told.pop(check.__name__, None):
        log.warning("ready_again", extra={"part": check.__name__})
    return found


def _missing(part: str, detail: str, error: Exception) -> Facts:
    if _told.get(part) != detail:
        _told[part] = detail
        log.warning("not_ready", extra={"part": part, "detail": detail, "error": str(error)})
    return {"ok": False, "detail": detail}


@public
@never_cache
@require_safe
def live(_request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "alive"})


@public
@never_cache
@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """200 when every check holds, 503 with the same shape when one does not."""
    with deadlines.within(DATABASE_SECONDS):
        found = {check.__name__: outcome(check) for check in CHECKS}
    is_ready = all(facts["ok"] for facts in found.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": found,
        "refresh_interval_seconds": settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
    }
    return JsonResponse(body, status=200 if is_ready else 503)
