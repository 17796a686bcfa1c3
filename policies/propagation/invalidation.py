"""Invalidations of committed writes: applied to this process's cache and published to all other processes.

Messages are signed with SECRET_KEY: one that another party made up or that was damaged on its way only makes the
process compare with the database. Applied, it could stand for the real write of its number, and what that write
touched would stay in the cache.
"""

import json
import logging

from django.core.signing import BadSignature, Signer

from policies.propagation import invalidating_cache, pubsub
from policies.propagation.invalidating_cache import Invalidation

log = logging.getLogger(__name__)

#: Most URNs that one message names; for more it names none, and every process clears its cache.
MAX_NAMED_URNS = 2000

#: Salt of the signatures. Another form of message needs another one, so that processes of two releases do not
#: misunderstand each other.
_SALT = "policies.propagation.invalidation.1"


def broadcast(invalidation: Invalidation) -> None:
    """Apply an invalidation here and publish it; a failed publish is only logged, since processes poll every second."""
    if invalidation.urns is not None and len(invalidation.urns) + len(invalidation.dependency_urns) > MAX_NAMED_URNS:
        invalidation = invalidation._replace(urns=None, dependency_urns=())
    invalidating_cache.process_cache.apply(invalidation)
    try_to_publish(encode_message(invalidation))


def try_to_publish(message: str = "") -> bool:
    """Publish a message; False, and a line in the log, if the carrier is away."""
    try:
        pubsub.publish(message)
    except pubsub.list_connection_errors() as error:
        log.warning("invalidation_not_published", extra={"error": str(error)})
        return False
    return True


def receive(message: str) -> bool:
    """Apply a published invalidation; for a message without a valid one, expire the cache and return False."""
    try:
        invalidation = Invalidation(*json.loads(Signer(salt=_SALT).unsign(message)))
    except (BadSignature, ValueError):
        invalidating_cache.process_cache.expire()
        return False
    invalidating_cache.process_cache.apply(invalidation)
    return True


def encode_message(invalidation: Invalidation) -> str:
    """Return the signed message of an invalidation."""
    urns = None if invalidation.urns is None else sorted(invalidation.urns)
    body = [invalidation.previous_number, invalidation.number, urns, sorted(invalidation.dependency_urns)]
    return Signer(salt=_SALT).sign(json.dumps(body, separators=(",", ":")))
