"""The sources of notices: each room tells of its own events, and of its own things that end soon.

The registry `notice_sources` names the sources; a room with further types of events adds one.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from policies import registries
from policies.models import OutboxEvent

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NoticeDraft:
    """One notice: a title of one line, a text, the path of the page, and who is told.

    `user_urns` are told themselves, of `group_urns` all members, of `role_urns` all holders; administrators are the
    people who may manage policies, and alert recipients the addresses of ALERT_RECIPIENTS. Nobody of `untold_urns` is
    told, through whatever they are.
    """

    title: str
    text: str = ""
    path: str = ""
    user_urns: frozenset[str] = frozenset()
    group_urns: frozenset[str] = frozenset()
    role_urns: frozenset[str] = frozenset()
    untold_urns: frozenset[str] = frozenset()
    to_administrators: bool = False
    to_alert_recipients: bool = False


class Ending(NamedTuple):
    """Something of a user that ends: a noun, its name, who has it, and the page that shows it."""

    noun: str
    key: str
    name: str
    user_urn: str
    at: datetime
    path: str = ""


class NoticeSource(Protocol):
    """The notices of one room (the registry `notice_sources`)."""

    @property
    def rules(self) -> Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]]:
        """Type of an event → what is told of it, None for nothing."""

    def iterate_endings(self, *, after: datetime, until: datetime) -> Iterator[Ending]:
        """Yield what ends after one time and up to the other, of users themselves."""


@dataclass(frozen=True, slots=True)
class RuleSource:
    """A source that tells of events alone."""

    rules: Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]] = field(default_factory=dict)

    def iterate_endings(self, *, after: datetime, until: datetime) -> Iterator[Ending]:  # noqa: ARG002 - of the protocol
        """Yield nothing."""
        yield from ()


def load_sources() -> tuple[NoticeSource, ...]:
    """Return the sources of the registry `notice_sources`."""
    return tuple(registries.load_entries("notice_sources").values())


def build_draft(event: OutboxEvent) -> NoticeDraft | None:
    """Return what is told of an event, None for nothing."""
    rules = (source.rules.get(event.type) for source in load_sources())
    rule = next((rule for rule in rules if rule is not None), None)
    try:
        return None if rule is None else rule(event)
    except (LookupError, TypeError, ValueError) as error:
        # One event that cannot be told of holds up no other one; the stream has it.
        log.error("notice_not_made", extra={"event": str(event.position), "type": event.type}, exc_info=error)
        return None


def iterate_endings(*, after: datetime, until: datetime) -> Iterable[Ending]:
    """Yield what ends in this time, of all sources."""
    for source in load_sources():
        yield from source.iterate_endings(after=after, until=until)
