"""The views that a process does without until its first answer: all but those of decisions, health and metrics.

The URL configuration imports them when it is asked for one (`lazy_paths`). So that no caller waits for that, a thread
imports them soon after the first answer; where several worker processes share what is loaded, they are imported before.
"""

import logging
import threading
from typing import Any

from django.core.signals import request_finished
from django.urls import get_resolver

from policies.http.lazy_view import import_view

#: Seconds from the first answer until the others are imported: callers that waited for the start are answered first.
PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


def import_all() -> None:
    """Import every module of the URL configuration, and what takes the first call of SCIM a second to import."""
    _ = get_resolver().reverse_dict
    import_view("policies.identity.scim.views.handle_scim")


def import_after_first_answer() -> None:
    """Have a thread import all views when the first request of this process is answered."""
    request_finished.connect(_start_thread)


def _start_thread(**_: Any) -> None:
    # Two requests may end at the same time; only one of them finds the function connected.
    if request_finished.disconnect(_start_thread):
        thread = threading.Timer(PAUSE_SECONDS, _import_and_log)
        thread.name, thread.daemon = "later-views", True
        thread.start()


def _import_and_log() -> None:
    try:
        import_all()
    # Whatever it is: the request for such a view meets the error again, and decisions are not affected.
    except Exception:
        log.exception("views_not_imported")
