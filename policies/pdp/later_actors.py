"""Actors as they will be: in the groups that they join later and with the roles that begin, without those that end.

Nothing is decided by it. A judgement of a write asks about its later effect, too, since nobody is asked when its time
comes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q
from django.utils import timezone

from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.engine.model import Actor
from policies.engine.selectors import IN_ANY_GROUP
from policies.models import Membership, RoleAssignment, ScheduledMembership, ScheduledRoleAssignment
from policies.models.people import USER_PREFIX

_TIMES = ("valid_from", "valid_until")

#: A holder (user or group) → each group that it is in, or role that it holds, with the time of that.
_Ways = Mapping[str, list[tuple[str, Validity]]]


class LaterActor(NamedTuple):
    """An actor as it will be from an instant on."""

    begins: datetime
    actor: Actor


def load_later_actors(*, actors: Collection[Actor]) -> dict[str, tuple[Actor, ...]]:
    """Return user URN → the actor as its groups and roles will be, one actor for each later state, in their order.

    Only of actors that will change. At most six queries. A removed group counts in no state.
    """
    current_actors = {actor.urn: actor for actor in actors}
    later_actors = {
        urn: tuple(dict.fromkeys(state.actor for state in states if state.actor != current_actors[urn]))
        for urn, states in load_later_states(actors=actors).items()
    }
    return {urn: states for urn, states in later_actors.items() if states}


def load_later_states(*, actors: Collection[Actor]) -> dict[str, tuple[LaterActor, ...]]:
    """Return user URN → each later state of the actor with the instant at which it begins, as `load_later_actors`.

    Each differs from the one before it, the first from the actor as it is.
    """
    scheduled = _ScheduledRows.load()
    actors_by_urn = {actor.urn: actor for actor in actors if actor.ends or scheduled.is_about(actor)}
    if not actors_by_urn:
        return {}
    now = timezone.now()
    memberships = _load_memberships(actors_by_urn, scheduled)
    groups = {group for ways in memberships.values() for group, _ in ways}
    roles = _load_roles(actors_by_urn.keys() | groups, scheduled)
    later_states: dict[str, tuple[LaterActor, ...]] = {}
    for urn, actor in actors_by_urn.items():
        ways = [*memberships[urn], *roles[urn], *(way for group, _ in memberships[urn] for way in roles[group])]
        instants = sorted(
            {instant for _, validity in ways for instant in (validity.begins, validity.ends) if instant is not None}
        )
        states: list[LaterActor] = []
        for instant in instants:
            state = _build_state(actor, memberships[urn], roles, instant)
            if instant > now and state != (states[-1].actor if states else actor):
                states.append(LaterActor(instant, state))
        later_states[urn] = tuple(states)
    return {urn: states for urn, states in later_states.items() if states}


def list_users_named_later(*, tokens: Collection[str]) -> set[str]:
    """Return the URNs of the users who will be in a group, or hold a role, that is among these tokens."""
    return _ScheduledRows.load().list_users(tokens)


@dataclass(slots=True)
class _ScheduledRows:
    """Everything that has not begun: memberships by user, and roles by user and by group."""

    memberships: dict[str, list[tuple[str, Validity]]] = field(default_factory=lambda: defaultdict(list))
    roles: dict[str, list[tuple[str, Validity]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def load(cls) -> "_ScheduledRows":
        """Load them; two queries."""
        rows = cls()
        memberships = ScheduledMembership.objects.filter(group__profile__is_removed=False)
        for user, group, *times in memberships.values_list("user__urn", "group__profile__urn", *_TIMES):
            rows.memberships[user].append((group, Validity(*times)))
        assignments = ScheduledRoleAssignment.objects.values_list(
            "user__urn", "group__profile__urn", "role__urn", *_TIMES
        )
        for user, group, role, *times in assignments:
            rows.roles[user or group].append((role, Validity(*times)))
        return rows

    def is_about(self, actor: Actor) -> bool:
        """Whether something will begin for an actor."""
        if actor.urn in self.memberships:
            return True
        return bool(self.roles) and any(holder in self.roles for holder in actor.holders)

    def list_users(self, tokens: Collection[str]) -> set[str]:
        """Return the users for whom one of these groups or roles begins."""
        holders = {
            holder
            for ways in (self.memberships, self.roles)
            for holder, entries in ways.items()
            if any(urn in tokens for urn, _ in entries)
        }
        holders |= set(self.memberships) if IN_ANY_GROUP in tokens else set()
        groups_of_roles = {group for entries in self.memberships.values() for group, _ in entries}
        roles_by_group = _load_roles(groups_of_roles, self)
        for user, entries in self.memberships.items():
            if any(role in tokens for group, _ in entries for role, _ in roles_by_group[group]):
                holders.add(user)
        members = Membership.objects.filter(group__profile__urn__in=holders & self.roles.keys())
        users = {holder for holder in holders if holder.startswith(USER_PREFIX)}
        return users.union(members.values_list("user__urn", flat=True))


def _load_memberships(actors: Collection[str], scheduled: _ScheduledRows) -> _Ways:
    """Return user URN → its groups; one query. A membership that a source gives, too, does not end."""
    memberships: dict[str, list[tuple[str, Validity]]] = defaultdict(list)
    rows = Membership.objects.filter(user__urn__in=actors, group__profile__is_removed=False)
    for user, group, is_external, *times in rows.values_list(
        "user__urn", "group__profile__urn", "is_external", *_TIMES
    ):
        memberships[user].append((group, UNLIMITED if is_external else Validity(*times)))
    for user in actors:
        memberships[user] += scheduled.memberships.get(user, [])
    return memberships


def _load_roles(holders: Collection[str], scheduled: _ScheduledRows) -> _Ways:
    """Return the direct roles of users and groups; one query."""
    roles: dict[str, list[tuple[str, Validity]]] = defaultdict(list)
    rows = RoleAssignment.objects.filter(Q(user__urn__in=holders) | Q(group__profile__urn__in=holders))
    for user, group, role, *times in rows.values_list("user__urn", "group__profile__urn", "role__urn", *_TIMES):
        roles[user or group].append((role, Validity(*times)))
    for holder in holders:
        roles[holder] += scheduled.roles.get(holder, [])
    return roles


def _build_state(actor: Actor, memberships: Iterable[tuple[str, Validity]], roles: _Ways, instant: datetime) -> Actor:
    """Return the actor as it will be at an instant."""
    groups = frozenset(group for group, validity in memberships if validity.find_phase(instant) is Phase.CURRENT)
    held_roles = (way for holder in (actor.urn, *groups) for way in roles[holder])
    role_urns = frozenset(role for role, validity in held_roles if validity.find_phase(instant) is Phase.CURRENT)
    return replace(actor, groups=groups, roles=role_urns, ends=())
