"""Invalidations of committed writes: applied to this process's cache and published to all other processes."""

import json
import logging

from policies.propagation import invalidating_cache, pubsub
from policies.propagation.invalidating_cache import Invalidation

log = logging.getLogger(__name__)

#: Most URNs that one message names; for more it names none, and every process clears its cache.
MAX_NAMED_URNS = 2000


def broadcast(invalidation: Invalidation) -> None:
    """Apply an invalidation here and publish it; a failed publish is only logged, since processes poll every second."""
    if invalidation.urns is not None and len(invalidation.urns) + len(invalidation.dependency_urns) > MAX_NAMED_URNS:
        invalidation = invalidation._replace(urns=None, dependency_urns=())
    invalidating_cache.process_cache.apply(invalidation)
    try:
        pubsub.publish(_encode_message(invalidation))
    except pubsub.CONNECTION_ERRORS as error:
        log.warning("bell_not_rung", extra={"error": str(error)})


def receive(message: str) -> bool:
    """Apply a published invalidation; for a message without one, expire the cache and return False."""
    invalidation = _decode_message(message)
    if invalidation is None:
        invalidating_cache.process_cache.expire()
        return False
    invalidating_cache.process_cache.apply(invalidation)
    return True


def _encode_message(invalidation: Invalidation) -> str:
    urns = None if invalidation.urns is None else sorted(invalidation.urns)
    return json.dumps(
        [invalidation.previous_number, invalidation.number, urns, sorted(invalidation.dependency_urns)],
        separators=(",", ":"),
    )


def _decode_message(message: str) -> Invalidation | None:
    try:
        match json.loads(message):
            case [int(previous_number), int(number), (list() | None) as urns, list(dependency_urns)]:
                all_urns = [*(urns or ()), *dependency_urns]
                is_valid = previous_number < number and all(isinstance(urn, str) for urn in all_urns)
                return Invalidation(previous_number, number, urns, dependency_urns) if is_valid else None
            case _:
                return None
    except ValueError:
        return None
