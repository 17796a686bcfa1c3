"""Spreads the word of a committed write: this process forgets what was touched, and so does whoever hears the bell."""

import json
import logging

from policies.propagation import invalidating_cache, pubsub
from policies.propagation.invalidating_cache import Word

log = logging.getLogger(__name__)

#: Of a write that touched more, nobody is told what: to forget everything is then the cheaper message.
MOST = 2000


def spread(word: Word) -> None:
    """Forget here, and ring. A carrier that is away undoes nothing: everybody compares within a second."""
    if word.urns is not None and len(word.urns) + len(word.through) > MOST:
        word = word._replace(urns=None, through=())
    invalidating_cache.memory.heard(word)
    try:
        pubsub.ring(_text(word))
    except pubsub.AWAY as error:
        log.warning("bell_not_rung", extra={"error": str(error)})


def heard(message: str) -> bool:
    """Forget what a message says was touched; return False for one that only says that something changed."""
    word = _read(message)
    if word is None:
        invalidating_cache.memory.doubt()
        return False
    invalidating_cache.memory.heard(word)
    return True


def _text(word: Word) -> str:
    urns = None if word.urns is None else sorted(word.urns)
    return json.dumps([word.before, word.number, urns, sorted(word.through)], separators=(",", ":"))


def _read(message: str) -> Word | None:
    try:
        match json.loads(message):
            case [int(before), int(number), (list() | None) as urns, list(through)]:
                listed = [*(urns or ()), *through]
                is_read = before < number and all(isinstance(urn, str) for urn in listed)
                return Word(before, number, urns, through) if is_read else None
            case _:
                return None
    except ValueError:
        return None
