"""Bounded delegation: a change gives nobody a platform privilege that its author does not hold.

Kubernetes' verbs `escalate` and `bind` are the model. A change announces the users and groups it is about before it
writes. When it ends, what these people hold is compared with what they held before, so it does not matter how they
came to hold it: by a group, a role, a policy that named them before they existed, or the end of a suspension. Whoever
is given a credential of an account can act as the account, so the author must hold everything that the account holds.

Holders of MANAGE_POLICIES may give everything, since they can write a policy that does. settings.BOUNDED_DELEGATION
switches the rule off, which is DataHub's own behaviour. docs/threats.md lists every path and what it needs.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.conf import settings

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Effect, Missing, Question
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.models import Membership, User
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import actor_resolution, snapshot_store, users_by_actor_clause

_MANAGE = "MANAGE_POLICIES"

_Holdings = Mapping[str, frozenset[str]]


@dataclass(slots=True)
class Delegation:
    """The platform privileges that people hold before and after one change by this author."""

    author: Actor
    announced: set[str] = field(default_factory=set)
    before: dict[str, frozenset[str]] = field(default_factory=dict)
    _withheld: frozenset[str] | None = None

    @property
    def withheld(self) -> frozenset[str]:
        """The platform privileges that the author may not give."""
        if self._withheld is None:
            self._withheld = find_withheld(by=self.author)
        return self._withheld

    def announce(self, urns: Iterable[str]) -> None:
        """Note what these users, and the members of these groups, hold as long as nothing is written."""
        fresh = set(urns) - self.announced
        self.announced |= fresh
        if fresh and self.withheld:
            for urn, privileges in find_holders(privileges=self.withheld, urns=fresh).items():
                self.before.setdefault(urn, privileges)

    def refuse_gain(self) -> None:
        """Raise Forbidden when somebody who was announced holds more now of what the author may not give."""
        if not self.announced or not self.withheld:
            return
        after = find_holders(privileges=self.withheld, urns=self.announced)
        _refuse(held - self.before.get(urn, frozenset()) for urn, held in after.items())


def find_withheld(*, by: Actor) -> frozenset[str]:
    """Return the platform privileges that somebody may not give: those not held, none for who may manage policies."""
    if not settings.BOUNDED_DELEGATION or not settings.AUTH_POLICIES_ENABLED:
        return frozenset()
    snapshot = snapshot_store.current()
    if _held(by, [_MANAGE], snapshot):
        return frozenset()
    names = frozenset(privilege.name for privilege in vocabulary.datahub().platform())
    return names - _held(by, names, snapshot)


def find_holders(*, privileges: Collection[str], urns: Collection[str]) -> _Holdings:
    """Return user URN → which of these platform privileges it holds, for users and members of groups that hold any.

    Users who may not act, and those who are not there, hold nothing. Three queries at most, however many users.
    """
    snapshot = snapshot_store.current()
    allowing = [one for name in privileges for one in snapshot.listed(name) if one.effect is Effect.ALLOW]
    tokens = frozenset[str]().union(*(one.actors.tokens for one in allowing))
    users = User.objects.filter(urn__in=[urn for urn in urns if urn.startswith(USER_PREFIX)])
    listed = set(users.order_by().values_list("urn", flat=True))
    if groups := [urn for urn in urns if urn.startswith(GROUP_PREFIX)]:
        members = Membership.objects.filter(group__profile__urn__in=groups).values("user")
        listed |= set(users_by_actor_clause.reached(tokens=tokens).filter(pk__in=members).values_list("urn", flat=True))
    actors = actor_resolution.actors(urns=listed) if listed else {}
    # Most people are named by none of these statements, and need not be asked about.
    named = {urn: actor for urn, actor in actors.items() if not tokens.isdisjoint(actor.tokens)}
    found = {urn: _held(actor, privileges, snapshot) for urn, actor in named.items()}
    return {urn: held for urn, held in found.items() if held}


def require_account(*, by: Actor, urns: Collection[str]) -> None:
    """Raise Forbidden unless the author holds every platform privilege of these users, so that it may act as them.

    A suspended user counts as an active one: a credential outlasts the suspension.
    """
    if withheld := find_withheld(by=by):
        snapshot = snapshot_store.current()
        actors = actor_resolution.actors(urns=urns).values()
        _refuse(_held(replace(actor, is_active=True), withheld, snapshot) for actor in actors)


def require_role(*, by: Actor, role: str) -> None:
    """Raise Forbidden unless the author holds every platform privilege that a role (its URN) gives to a person."""
    if withheld := find_withheld(by=by):
        _refuse([_held(Actor("", roles=frozenset({role})), withheld, snapshot_store.current())])


def list_gained(*, by: Actor, actor: Actor, groups: Mapping[str, Collection[str]]) -> _Holdings:
    """Return group URN → platform privileges that the actor would gain by joining it and the author may not give.

    `groups` is group URN → URNs of its roles. Groups that would give nothing of the kind are left out.
    """
    withheld, snapshot = find_withheld(by=by), snapshot_store.current()
    now = _held(actor, withheld, snapshot)
    joined = {
        urn: replace(actor, groups=actor.groups | {urn}, roles=actor.roles.union(roles))
        for urn, roles in groups.items()
    }
    found = {urn: _held(one, withheld, snapshot) - now for urn, one in joined.items()}
    return {urn: gained for urn, gained in found.items() if gained}


def _held(actor: Actor, privileges: Collection[str], snapshot: Snapshot) -> frozenset[str]:
    return frozenset(name for name in privileges if decide(snapshot, Question(actor, name)).is_allowed)


def _refuse(gains: Iterable[Collection[str]]) -> None:
    gained = frozenset[str]().union(*gains)
    missing = tuple(Missing(None, one.name) for one in vocabulary.datahub().platform() if one.name in gained)
    if missing:
        named = ", ".join(one.privilege for one in missing)
        raise Forbidden(missing, f"Nobody gives others a platform privilege without holding it. Missing: {named}.")
