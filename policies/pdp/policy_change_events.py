"""Notification of all processes that policies changed, after the write is committed."""

import logging

from django.conf import settings
from django.core.cache import cache

from policies.models import PolicyVersion, open_write
from policies.pdp import snapshot_store
from policies.propagation import invalidation, task_queue
from policies.propagation.pubsub import list_connection_errors

log = logging.getLogger(__name__)

#: The task that has a worker compare its policies.
REFRESH_TASK = "policies.refresh_policy_cache"
#: Cache key set while it is queued, and the seconds after which it expires, in case the message is lost.
REFRESH_QUEUED_KEY = "policies:refresh-queued"
_REFRESH_QUEUED_SECONDS = 10


def publish_policy_change() -> None:
    """Make every process compare its policies now: this one, the subscribers of `pubsub`, and the workers by a task.

    A refresh task that has not begun yet serves all writes before it, so a second one is not queued. A broker or cache
    that is away is only logged: the write is committed, every process compares the version itself within a second, and
    the schedule repeats the refresh.
    """
    snapshot_store.mark_stale()
    if not invalidation.try_to_publish() and settings.REDIS_URL:
        # Cache and broker are the same Redis.
        return
    try:
        if cache.add(REFRESH_QUEUED_KEY, value=True, timeout=_REFRESH_QUEUED_SECONDS):
            task_queue.enqueue(REFRESH_TASK)
    except list_connection_errors() as error:
        log.warning("refresh_not_queued", extra={"error": str(error)})


def reload_all() -> int:
    """Reload all active policies, have the workers compare theirs, and return the policy version.

    Every process drops its cached facts, since the change number advances with an invalidation of everything.
    """
    with open_write():
        PolicyVersion.touch_everything()
    snapshot_store.reset()
    version = snapshot_store.refresh()
    publish_policy_change()
    return version
