"""Unit of work: one write to users, groups, roles, tokens or grants, with its transaction and its change events."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from policies import registries
from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import ChangeEvent, Gate, PolicyVersion, Verb, open_write
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.writes import admin_lockout, guardrail_check
from policies.writes.admin_lockout import Management
from policies.writes.delegation import Delegation
from policies.writes.guardrail_check import GuardrailCheck

#: Verbs that give nobody a privilege. Services that create credentials check their author themselves (`delegation`).
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
    """A write in progress by an actor through a channel. Its events are stored when it ends without an error.

    `revocation` describes the access it revokes, None if none is; `management` is what it may not diminish.
    `touched_urns` are the URNs whose cached facts, and facts known through them, every process drops: those of all
    events and of the members concerned. `delegation` compares privileges before and after. `has_additions` says that
    somebody was announced.
    """

    by: Actor
    channel: str
    delegation: Delegation
    guardrail_check: GuardrailCheck
    events: list[ChangeEvent] = field(default_factory=list)
    revocation: str | None = None
    management: Management = field(default_factory=Management)
    touched_urns: set[str] = field(default_factory=set)
    hooks: ExitStack = field(default_factory=ExitStack)
    has_additions: bool = False

    def announce_deactivation(self, urn: str) -> None:
        """Announce, before it is written, that a user, group or role will no longer be able to act.

        Enters the hooks of other apps (the registry `departure_hooks`), which are left at the end of the change.
        """
        self.guardrail_check.announce([urn])
        for open_hook in registries.load_entries("departure_hooks").values():
            self.hooks.enter_context(open_hook(urn=urn, uow=self))

    def announce(self, *urns: str) -> None:
        """Announce, before anything is written, the users and groups concerned.

        The write ends with Forbidden if one gains a privilege that the author lacks. `audit` raises LookupError for a
        user or group that was not announced. Where a policy denies MANAGE_POLICIES, or excludes people from it, this is
        an announced revocation, too: who joins a group can lose the privilege.
        """
        self.guardrail_check.announce(urns)
        self.delegation.announce(urns)
        if urns and not self.has_additions:
            self.has_additions = True
            if self.revocation is None and admin_lockout.can_narrow(by=self.by):
                self.announce_revocation("the groups and roles of people as they are")

    def announce_removal(self, *urns: str) -> None:
        """Announce, before it is written, that these users, or the members of these groups, leave a group or a role.

        The write ends with Forbidden if one gains a privilege that the author lacks, by a policy that denies the group
        or excludes it. `touch_members` raises LookupError for a removed member that was not announced.
        """
        self.guardrail_check.announce(urns)
        self.delegation.announce_removal(urns)

    def announce_revocation(self, description: str) -> None:
        """Announce, before it is written, a revocation: the write ends with Conflict if nobody can manage policies."""
        if self.revocation is None:
            self.revocation, self.management = description, admin_lockout.measure_risk(by=self.by)

    def touch_members(self, *, added_urns: Collection[str], removed_urns: Collection[str]) -> None:
        """Mark the users added to or removed from a group as touched. Raises LookupError as `audit`."""
        self._require_announced(added_urns)
        self._require_announced(set(removed_urns) - self.delegation.removed_urns)
        self.touched_urns.update(added_urns, removed_urns)

    def audit(self, *, urn: str, name: str, verb: Verb, before: Any = None, after: Any = None) -> None:
        """Add a change event on one object; neither `before` nor `after` may hold a secret.

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
    """Open the transaction of one write, after all earlier writes at these gates have ended.

    `author` answers for the privileges that the write gives, if it is not `by`. Raises Conflict, and stores nothing, if
    an announced revocation leaves nobody who can manage policies, GuardrailBroken if a guardrail would be, and
    Forbidden if a user gains a platform privilege that the author may not give.
    """
    with open_write(*gates) as write:
        uow = UnitOfWork(by, channel, Delegation(author or by), guardrail_check.join_check(write, by=by))
        with uow.hooks:
            yield uow
        uow.delegation.refuse_gain()
        if uow.revocation is not None:
            admin_lockout.refuse_loss(before=uow.management, loss=uow.revocation, by=uow.by)
        uow.guardrail_check.announce(uow.touched_urns)
        PolicyVersion.touch(uow.touched_urns, uow.touched_urns)
        write.record(uow.events)


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return 32 hexadecimal digits that differ if any of these facts does; a form carries them to detect conflicts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def refuse_stale(*, expected_fingerprint: str, facts: Mapping[str, Any]) -> None:
    """Raise Stale if the fingerprint is not that of these facts; an empty one is accepted."""
    if expected_fingerprint and expected_fingerprint != fingerprint(facts):
        raise Stale("Somebody else changed this in the meantime.")
