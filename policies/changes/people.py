"""Memberships, roles and states of people as changes would leave them; nothing is stored."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from policies.engine.model import Actor
from policies.models import Membership, RoleAssignment
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution
from policies.pdp.later_actors import LaterActor

if TYPE_CHECKING:
    from django.db.models import QuerySet

#: Most people whom the deletion of a group or role is worked out for.
MAX_AFFECTED = 20_000


class ChangedActor(NamedTuple):
    """A user before and after the changes."""

    was: Actor
    now: Actor


class Holding(NamedTuple):
    """Whether a user is in a group, or a holder has a role, after the changes; `ends` is an end that they set."""

    is_held: bool
    ends: datetime | None = None

    def is_current(self, at: datetime | None) -> bool:
        """Whether it counts at an instant; None: now."""
        return self.is_held and (at is None or self.ends is None or self.ends > at)


GAINED, LOST = Holding(is_held=True), Holding(is_held=False)

#: Group or role → whether somebody has it after the changes.
_Holdings = Mapping[str, Holding]
_NO_HOLDINGS: _Holdings = {}


class StagedPeople:
    """The changes of people so far; a later one wins over an earlier one."""

    def __init__(self) -> None:
        #: User → group → membership, and user or group → role → assignment, after the changes.
        self.memberships: dict[str, dict[str, Holding]] = defaultdict(dict)
        self.assignments: dict[str, dict[str, Holding]] = defaultdict(dict)
        #: User → whether it is active after the changes.
        self.states: dict[str, bool] = {}
        #: Groups and roles that are deleted.
        self.deleted_urns: set[str] = set()
        #: Users and groups that are deleted: nothing is owned by them any more.
        self.deleted_owners: set[str] = set()
        #: Whether nobody was left out for being one too many.
        self.is_complete = True
        self._stored_roles: Mapping[str, frozenset[str]] = {}

    def limit_people(self, urns: "QuerySet[Any, str]") -> list[str]:
        """Return the first of these people, and note if there are more."""
        first_urns = list(urns[: MAX_AFFECTED + 1])
        self.is_complete &= len(first_urns) <= MAX_AFFECTED
        return first_urns[:MAX_AFFECTED]

    def load_actors(self) -> dict[str, ChangedActor]:
        """Return the users whom the changes concern, as they are and as they would be."""
        urns = {*self.memberships, *self.states}
        urns |= {holder for holder in self.assignments if holder.startswith(USER_PREFIX)}
        members = Membership.objects.filter(group__profile__urn__in=list(self.assignments), user__is_removed=False)
        urns.update(members.values_list("user__urn", flat=True))
        actors = actor_resolution.load_actors(urns=sorted(urns))
        groups = {group for actor in actors.values() for group in actor.groups}
        groups.update(group for holdings in self.memberships.values() for group in holdings)
        self._stored_roles = _load_roles({*urns, *groups})
        changed_actors = {urn: ChangedActor(actor, self._build_actor(actor, at=None)) for urn, actor in actors.items()}
        return {
            urn: changed
            for urn, changed in changed_actors.items()
            if changed.was != changed.now or any(self._list_ends(changed.now))
        }

    def build_later_states(
        self, actors: Mapping[str, ChangedActor], later: Mapping[str, tuple[LaterActor, ...]]
    ) -> dict[str, tuple[LaterActor, ...]]:
        """Return the later states of these users after the changes; `later` are those without the changes.

        Everything that is staged begins at once, and each end that is set is an instant of its own.
        """
        later_states = {}
        for urn, changed in actors.items():
            states = later.get(urn, ())
            instants = {state.begins for state in states}.union(self._list_ends(changed.now))
            later_states[urn] = tuple(
                LaterActor(instant, self._build_later_actor(changed, states, instant)) for instant in sorted(instants)
            )
        return later_states

    def _build_actor(self, actor: Actor, *, at: datetime | None) -> Actor:
        """Return a stored user with what the changes give and take, as that counts at an instant."""
        groups = _apply_holdings(self.memberships.get(actor.urn, _NO_HOLDINGS), actor.groups, at)
        roles = (
            _apply_holdings(self.assignments.get(holder, _NO_HOLDINGS), self._stored_roles[holder], at)
            for holder in (actor.urn, *groups)
        )
        return replace(
            actor,
            groups=groups,
            roles=frozenset[str]().union(*roles),
            is_active=self.states.get(actor.urn, actor.is_active),
        )

    def _build_later_actor(self, changed: ChangedActor, states: Iterable[LaterActor], at: datetime) -> Actor:
        """Return the user at an instant: as it would be then without the changes, and with what they give and take."""
        base = changed.was
        for state in states:
            if state.begins <= at:
                base = state.actor
        was, then = changed.was, self._build_actor(changed.was, at=at)
        memberships = self._list_timed(self.memberships, [was.urn])
        assignments = self._list_timed(self.assignments, [was.urn, *then.groups])
        timed_groups, timed_roles = (
            {urn for urn, holding in holdings if holding.is_current(at)} for holdings in (memberships, assignments)
        )
        return replace(
            base,
            groups=((base.groups | (then.groups - was.groups)) - (was.groups - then.groups)) | timed_groups,
            roles=((base.roles | (then.roles - was.roles)) - (was.roles - then.roles)) | timed_roles,
            is_active=then.is_active,
        )

    def _list_ends(self, actor: Actor) -> list[datetime]:
        """Return the ends that the changes set for a user, itself or by its groups."""
        timed = (
            *self._list_timed(self.memberships, [actor.urn]),
            *self._list_timed(self.assignments, [actor.urn, *actor.groups]),
        )
        return [holding.ends for _, holding in timed if holding.ends is not None]

    @staticmethod
    def _list_timed(holdings_by_holder: Mapping[str, _Holdings], holders: Iterable[str]) -> list[tuple[str, Holding]]:
        """Return what these holders are given until an end."""
        return [
            (urn, holding)
            for holder in holders
            for urn, holding in holdings_by_holder.get(holder, _NO_HOLDINGS).items()
            if holding.ends is not None
        ]


def _load_roles(holders: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Return the stored direct roles of each of these users and groups; two queries."""
    roles_by_holder: dict[str, set[str]] = {holder: set() for holder in holders}
    rows = RoleAssignment.objects.order_by()
    for column in ("user__urn", "group__profile__urn"):
        pairs = rows.filter(**{f"{column}__in": holders}).values_list(column, "role__urn")
        for holder, role in pairs:
            roles_by_holder[holder].add(role)
    return {holder: frozenset(roles) for holder, roles in roles_by_holder.items()}


def _apply_holdings(holdings: _Holdings, urns: frozenset[str], at: datetime | None) -> frozenset[str]:
    """Return the groups or roles of a holder after the changes, as they count at an instant."""
    return (urns - frozenset(holdings)) | {urn for urn, holding in holdings.items() if holding.is_current(at)}
