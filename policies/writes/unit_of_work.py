"""One write to people, roles, tokens or grants: its transaction and its record."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import ChangeEvent, Gate, PolicyVersion, Verb, open_write
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.writes import admin_lockout
from policies.writes.delegation import Delegation

#: What gives nobody anything. Who makes a credential is asked by the service that makes it (`delegation`).
_VERBS_WITHOUT_GAIN = frozenset(
    {
        Verb.DELETED,
        Verb.SUSPENDED,
        Verb.PASSWORD_SET,
        Verb.TOKEN_CREATED,
        Verb.TOKEN_REVOKED,
        Verb.RESET_CREATED,
    }
)


@dataclass(slots=True)
class UnitOfWork:
    """A write in progress, by this actor and through this door. What it records is stored when it ends well.

    `revocation` is what it takes from people, None when it takes nothing, empty when nobody could manage policies
    anyway. `touched_urns` are the URNs of which, or through which, every process forgets what it knows: all that it
    records, and whom else it reaches. `delegation` compares what people hold before and after.
    """

    by: Actor
    channel: str
    delegation: Delegation
    events: list[ChangeEvent] = field(default_factory=list)
    revocation: str | None = None
    touched_urns: set[str] = field(default_factory=set)
    hooks: ExitStack = field(default_factory=ExitStack)

    def announce_deactivation(self, urn: str) -> None:
        """Say, before it is written, which user, group or role cannot act any more.

        What other apps have to do then (settings.DEPARTURE_HOOKS) begins here and ends with the change.
        """
        for path in settings.DEPARTURE_HOOKS:
            self.hooks.enter_context(import_string(path)(urn=urn, uow=self))

    def announce(self, *urns: str) -> None:
        """Say, before it is written, which users and groups this is about: nobody may gain what the author lacks.

        Raises Forbidden at the end of the change. What is recorded of a user or group without this is a LookupError.
        """
        self.delegation.announce(urns)

    def announce_revocation(self, description: str) -> None:
        """Say, before it is written, what is taken from people: the change ends with Conflict if it locks all out."""
        if self.revocation is None:
            self.revocation = description if admin_lockout.is_at_risk(by=self.by) else ""

    def touch_members(self, *, added_urns: Collection[str], removed_urns: Collection[str]) -> None:
        """Say which users are in a group now, and which are not any more. Raises LookupError as `audit`."""
        self._require_announced(added_urns)
        self.touched_urns.update(added_urns, removed_urns)

    def audit(self, *, urn: str, name: str, verb: Verb, before: Any = None, after: Any = None) -> None:
        """Remember what was done to one object; neither side may hold a secret.

        Raises LookupError for a user or group that may gain something and was not announced: a mistake in the service.
        """
        is_list_of_members = verb is Verb.MEMBERS_CHANGED and urn.startswith(GROUP_PREFIX)
        if verb not in _VERBS_WITHOUT_GAIN and not is_list_of_members:
            self._require_announced([urn])
        self.touched_urns.add(urn)
        self.events.append(
            ChangeEvent(
                object_urn=urn,
                name=name,
                verb=verb,
                by=self.by.urn,
                door=self.channel,
                before=before,
                after=after,
            )
        )

    def _require_announced(self, urns: Iterable[str]) -> None:
        for urn in urns:
            if urn.startswith((USER_PREFIX, GROUP_PREFIX)) and urn not in self.delegation.announced_urns:
                raise LookupError(f"{urn} was changed without having been announced.")


@contextmanager
def open_unit_of_work(
    *, by: Actor, channel: str, author: Actor | None = None, gates: Sequence[Gate] = (Gate.PEOPLE,)
) -> Iterator[UnitOfWork]:
    """Open the transaction of one write, behind all writes at these gates that came before it.

    `author` answers for what the write gives to people, where that is somebody else than who makes it. Raises Conflict,
    and stores nothing, when what it `takes` leaves nobody who can manage policies, and Forbidden when somebody gains a
    platform privilege that the author may not give.
    """
    with open_write(*gates) as write:
        uow = UnitOfWork(by, channel, Delegation(author or by))
        with uow.hooks:
            yield uow
        uow.delegation.refuse_gain()
        if uow.revocation:
            admin_lockout.refuse_loss(loss=uow.revocation)
        PolicyVersion.touch(uow.touched_urns, uow.touched_urns)
        write.record(uow.events)


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return a short text that differs when any of these facts does; a form carries it to say what it was made of."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def refuse_stale(*, expected_fingerprint: str, facts: Mapping[str, Any]) -> None:
    """Raise Stale when somebody saw other facts than these; one who does not say what was seen saw these."""
    if expected_fingerprint and expected_fingerprint != fingerprint(facts):
        raise Stale("Somebody else changed this in the meantime.")
