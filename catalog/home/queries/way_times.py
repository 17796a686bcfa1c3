"""Since when a way counts: the latest beginning of what it is made of."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q

from policies.engine.model import Actor
from policies.engine.selectors import EVERYONE
from policies.models import Membership, Policy, RoleAssignment
from policies.pdp.held_ways import HeldWay


@dataclass(slots=True)
class WayTimes:
    """The beginnings of policies, memberships and roles of one actor, and the groups by which it holds roles."""

    policies: dict[str, datetime] = field(default_factory=dict)
    holdings: dict[str, datetime | None] = field(default_factory=dict)
    groups_by_role: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, *, actor: Actor, ways: Collection[HeldWay]) -> "WayTimes":
        """Load those of these ways; three queries."""
        times = cls()
        policies = Policy.objects.filter(urn__in={way.policy for way in ways}).order_by()
        for urn, begins, created in policies.values_list("urn", "valid_from", "created_at"):
            times.policies[urn] = max(begins or created, created)
        tokens = {token for way in ways for token in way.through}
        memberships = Membership.objects.filter(user__urn=actor.urn, group__profile__urn__in=actor.groups).order_by()
        for group, begins in memberships.values_list("group__profile__urn", "valid_from"):
            times.holdings[group] = begins
        assignments = RoleAssignment.objects.filter(
            Q(user__urn=actor.urn) | Q(group__profile__urn__in=actor.groups), role__urn__in=tokens & actor.roles
        ).order_by("user", "created_at")
        columns = ("role__urn", "user__urn", "group__profile__name", "valid_from", "created_at")
        for role, user, group, begins, created in assignments.values_list(*columns):
            # What a person holds itself says more than what a group gives it.
            if user or role not in times.holdings:
                times.holdings[role] = max(begins or created, created)
                times.groups_by_role[role] = "" if user else group
        return times

    def find_beginning(self, way: HeldWay, actor: Actor) -> datetime | None:
        """Return since when a way counts; None where a part of it does not say."""
        begins = self.policies.get(way.policy)
        if begins is None or not self._is_known(way.through, actor):
            return None
        starts = [self.holdings.get(token) for token in way.through]
        known_starts = [start for start in starts if start is not None]
        return max(begins, min(known_starts)) if known_starts else begins

    def _is_known(self, through: Iterable[str], actor: Actor) -> bool:
        """Whether each of the tokens says since when the actor has it; being named, or a user, needs no time."""
        return all(token in (actor.urn, EVERYONE) or self.holdings.get(token) is not None for token in through)
