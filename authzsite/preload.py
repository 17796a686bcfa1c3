"""The part of the site that the web process loads before it starts worker processes, which then share its memory
(copy-on-write).

The workers are forks of the process that loads: code, URLs and policies are read and compiled once, a further worker
takes memory only for what it changes, and one that ended is there again at once. A fork inherits neither threads nor
connections that it could use, so none is left when workers start.
"""

import gc
import logging
import os
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

from authzsite import metrics_multiprocess
from authzsite.optional_libraries import exclude_modules

if TYPE_CHECKING:
    from authzsite.decision_gateway import WsgiApplication

log = logging.getLogger(__name__)

#: Seconds that the database has for all policies. After that the workers start, and load them when it answers.
LOAD_SECONDS = 10

#: Collections of younger objects between two of all objects (Python: 10). With the facts of 13,000 people and entities
#: in memory a collection of all stops every request for 70 to 150 ms, and under load there was one every few seconds.
#: It has next to nothing to do: plain decisions make no cycles, and those of other requests are collected young.
FULL_COLLECTION_THRESHOLD = 100


@cache
def build_application() -> "WsgiApplication":
    """Return the WSGI application, with the views of decisions; `later_views` has the others."""
    # prometheus_client reads the folder when it is imported, which happens in Django's setup.
    metrics_multiprocess.prepare(settings.METRICS_DIR)
    # For its client of tests, documents in YAML, and coloured examples; they take longer to import than it does itself.
    with exclude_modules("requests", "yaml", "pygments"):
        import rest_framework.compat  # noqa: F401
    from django.core.wsgi import get_wsgi_application

    handler = get_wsgi_application()
    # Models can be imported only after Django's setup.
    from django.db import connection
    from django.urls import get_resolver

    from authzsite import statement_timeout
    from authzsite.decision_gateway import DecisionGateway
    from authzsite.early_bodies import EarlyBodies

    # Imports the views that are not `lazy_paths`.
    _ = get_resolver().url_patterns
    statement_timeout.limit_statements(connection.settings_dict, settings.STATEMENT_SECONDS)
    return EarlyBodies(DecisionGateway(handler) if settings.DECISION_GATEWAY else handler)


def load_all(*, workers: int = 1) -> None:
    """Load everything that workers share. A database that does not answer is logged: they load the policies later.

    Views that a process can do without until its first answer are loaded only if several workers share them.
    """
    # Nearly all objects made here stay, so collecting garbage would only traverse them again and again.
    gc.disable()
    build_application()
    if workers > 1:
        from authzsite import later_views

        later_views.import_all()
    if settings.REDIS_URL:
        # Imported by what connects to it, which is every worker.
        import redis  # noqa: F401
    _load_policies()
    metrics_multiprocess.remove_files(settings.METRICS_DIR, os.getpid())
    # The collector of a worker would write into what it visits, and so copy it.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION_THRESHOLD)
    gc.enable()


def _load_policies() -> None:
    from django.db import connection

    from policies import deadlines
    from policies.pdp import snapshot_store

    try:
        with deadlines.open_budget(LOAD_SECONDS):
            snapshot_store.get_current()
    # Whatever it is: every worker tries again by itself, and is not ready before it succeeds.
    except Exception as error:
        is_expected = snapshot_store.is_load_error(error)
        log.warning("policies_not_preloaded", extra={"error": str(error)}, exc_info=not is_expected)
    finally:
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()
