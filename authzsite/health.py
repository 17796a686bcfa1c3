"""Is the process alive, and can it do its work? Both answers are public and name no secrets.

`/health/live` answers as long as the process does. `/health/ready` answers 503 until database, migrations, broker and
policies are all there, and shows which policy version this process serves.
"""

import time
from collections.abc import Callable

from celery import current_app
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from policies import store
from policies.errors import Unavailable
from policies.guard import public

Facts = dict[str, object]

BROKER_PATIENCE_SECONDS = 2


class NotReady(Exception):
    """One part is not there; the text says which and why."""


def database() -> Facts:
    """The database answers."""
    begin = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"milliseconds": round((time.monotonic() - begin) * 1000, 2)}


def migrations() -> Facts:
    """The tables are those that this code expects."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        first = plan[0][0]
        raise NotReady(f"{len(plan)} migrations are not applied, the first is {first.app_label}.{first.name}.")
    return {}


def broker() -> Facts:
    """Tasks can be handed over."""
    with current_app.connection_for_write(connect_timeout=BROKER_PATIENCE_SECONDS) as link:
        link.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=BROKER_PATIENCE_SECONDS)
        return {"kind": str(link.transport.driver_type)}


def policies() -> Facts:
    """The policies in this process's hands are those of the database, as of a second ago at most."""
    version = store.current().version
    return {"version": version, "age_seconds": round(store.age() or 0.0, 2)}


CHECKS: tuple[Callable[[], Facts], ...] = (database, migrations, broker, policies)


def outcome(check: Callable[[], Facts]) -> Facts:
    """What the check found; what is expected to go wrong becomes a sentence."""
    try:
        return {"ok": True, **check()}
    except (NotReady, Unavailable) as error:
        return {"ok": False, "detail": str(error)}
    except (DatabaseError, OperationalError, OSError) as error:
        # The text of these errors can hold addresses and names of an installation, so it goes to the log only.
        return {"ok": False, "detail": f"{check.__name__} cannot be reached ({type(error).__name__})."}


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
    found = {check.__name__: outcome(check) for check in CHECKS}
    is_ready = all(facts["ok"] for facts in found.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": found,
        "refresh_interval_seconds": settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
    }
    return JsonResponse(body, status=200 if is_ready else 503)
