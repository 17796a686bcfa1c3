"""One write to people, roles or tokens: its transaction, its number in the order of all changes, and its record."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import ChangeEvent, PolicyVersion, Verb
from policies.services import lockout


@dataclass(slots=True)
class Change:
    """A write in progress, by this actor and through this door. What it records is stored when it ends well.

    `losing` is what it takes from people, None when it takes nothing, empty when nobody could manage policies anyway.
    `touched` are the URNs of which, or through which, every process forgets what it knows: all that it records, and
    whom else it reaches.
    """

    number: int
    by: Actor
    door: str
    events: list[ChangeEvent] = field(default_factory=list)
    losing: str | None = None
    touched: set[str] = field(default_factory=set)
    hooks: ExitStack = field(default_factory=ExitStack)

    def ends(self, urn: str) -> None:
        """Say, before it is written, which user, group or role cannot act any more.

        What other apps have to do then (settings.DEPARTURE_HOOKS) begins here and ends with the change.
        """
        for path in settings.DEPARTURE_HOOKS:
            self.hooks.enter_context(import_string(path)(urn=urn, doing=self))

    def takes(self, what: str) -> None:
        """Say, before it is written, what is taken from people: the change ends with Conflict if it locks all out."""
        if self.losing is None:
            self.losing = what if lockout.is_at_risk(by=self.by) else ""

    def record(self, *, urn: str, name: str, verb: Verb, before: Any = None, after: Any = None) -> None:
        """Remember what was done to one object; neither side may hold a secret."""
        self.touched.add(urn)
        self.events.append(
            ChangeEvent(
                object_urn=urn,
                name=name,
                verb=verb,
                by=self.by.urn,
                door=self.door,
                before=before,
                after=after,
                change_seq=self.number,
            )
        )


@contextmanager
def change(*, by: Actor, door: str) -> Iterator[Change]:
    """Open the transaction of one write, behind all writes that came before it.

    Raises Conflict, and stores nothing, when what it `takes` leaves nobody who can manage policies.
    """
    with transaction.atomic():
        doing = Change(PolicyVersion.advance(), by, door)
        with doing.hooks:
            yield doing
        if doing.losing:
            lockout.refuse_loss(of=doing.losing)
        PolicyVersion.touch(doing.touched, doing.touched)
        ChangeEvent.objects.bulk_create(doing.events)


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return a short text that differs when any of these facts does; a form carries it to say what it was made of."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def refuse_stale(*, seen: str, facts: Mapping[str, Any]) -> None:
    """Raise Stale when somebody saw other facts than these; one who does not say what was seen saw these."""
    if seen and seen != fingerprint(facts):
        raise Stale("Somebody else changed this meanwhile.")
