"""The world that guardrails are judged in: policies and people now, and at every later boundary that is known today."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import Q

from policies.engine import families
from policies.engine.families.validity import Phase, Validity
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.selectors import EVERYONE, is_relational
from policies.engine.snapshot import Snapshot
from policies.models import Policy, User
from policies.models.fields import filter_storable
from policies.pdp import actor_resolution, later_actors, users_by_actor_clause
from policies.pdp.later_actors import LaterActor

#: Users that are loaded with one statement.
USER_BATCH_SIZE = 2_000


class TimedPolicy(NamedTuple):
    """A policy that begins or ends later, and what it says while it counts."""

    validity: Validity
    statements: tuple[Statement, ...]


class ActorPair(NamedTuple):
    """Somebody before a change and after it, at one time."""

    was: Actor
    now: Actor


@dataclass(slots=True)
class JudgedWorld:
    """Policies with their times, and whoever is asked about: people as stored, but for `changed_actors`.

    `changed_later` are the states in which these will be later. `newcomers` are those of them who are no users yet,
    `known_people` people among them: the table of users does not have everybody who was there before a change.
    """

    snapshot: Snapshot
    timed_policies: Mapping[str, TimedPolicy] = field(default_factory=dict)
    changed_actors: Mapping[str, Actor] = field(default_factory=dict)
    changed_later: Mapping[str, tuple[LaterActor, ...]] = field(default_factory=dict)
    newcomers: Collection[str] = ()
    known_people: Collection[str] = ()
    _snapshots: dict[frozenset[str], Snapshot] = field(default_factory=dict)
    _actors: dict[str, Actor] = field(default_factory=dict)
    _later: dict[str, tuple[LaterActor, ...]] = field(default_factory=dict)
    _everybody: list[str] | None = None

    def leave_out_newcomers(self) -> "JudgedWorld":
        """Return this world without those who are no users yet: nobody is asked about them."""
        if not self.newcomers:
            return self
        absent = {urn: Actor(urn, is_active=False) for urn in self.newcomers}
        return replace(self, changed_actors={**self.changed_actors, **absent})

    # -- policies ---------------------------------------------------------------------------------------------------

    def list_boundaries(self, privileges: Collection[str]) -> set[datetime]:
        """Return the later instants at which a policy about one of these privileges begins or ends."""
        names = frozenset(privileges)
        return {
            instant
            for policy in self.timed_policies.values()
            if any(not statement.privileges.isdisjoint(names) for statement in policy.statements)
            for instant in (policy.validity.begins, policy.validity.ends)
            if instant is not None
        }

    def find_snapshot(self, at: datetime | None) -> Snapshot:
        """Return the policies that count at an instant; None: now."""
        if at is None:
            return self.snapshot
        current = frozenset(
            urn for urn, policy in self.timed_policies.items() if policy.validity.find_phase(at) is Phase.CURRENT
        )
        if current not in self._snapshots:
            statements = {
                urn: policy.statements if urn in current else () for urn, policy in self.timed_policies.items()
            }
            self._snapshots[current] = self.snapshot.replace(self.snapshot.version, statements)
        return self._snapshots[current]

    # -- people -----------------------------------------------------------------------------------------------------

    @property
    def everybody(self) -> list[str]:
        """All active users."""
        if self._everybody is None:
            users = User.objects.filter(state=User.State.ACTIVE, is_removed=False).order_by("urn")
            urns = dict.fromkeys(users.values_list("urn", flat=True)) | dict.fromkeys(sorted(self.changed_actors))
            self._everybody = list(urns)
        return self._everybody

    def list_reached(self, statements: Iterable[Statement]) -> list[str]:
        """Return at least the users whom these statements can reach, now or later, with those who are changed."""
        tokens = frozenset[str]().union(*(statement.actors.tokens for statement in statements))
        if EVERYONE in tokens or any(map(is_relational, tokens)):
            return self.everybody
        users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
        urns = {*users.values_list("urn", flat=True), *later_actors.list_users_named_later(tokens=tokens)}
        present_urns = User.objects.filter(urn__in=urns, is_removed=False).values_list("urn", flat=True)
        return sorted({*present_urns, *self._list_changed_reached(tokens)})

    def _list_changed_reached(self, tokens: frozenset[str]) -> Iterator[str]:
        """Yield those whom the tables have in another state and whom one of these tokens names in this world."""
        for urn, actor in self.changed_actors.items():
            states = (actor, *(later.actor for later in self.changed_later.get(urn, ())))
            if any(not tokens.isdisjoint(state.tokens) for state in states):
                yield urn

    def load_actors(self, urns: Collection[str]) -> list[Actor]:
        """Return these users as actors, as they are now."""
        missing_urns = [urn for urn in urns if urn not in self._actors and urn not in self.changed_actors]
        for start in range(0, len(missing_urns), USER_BATCH_SIZE):
            actors = actor_resolution.load_actors(urns=missing_urns[start : start + USER_BATCH_SIZE])
            later = later_actors.load_later_states(actors=actors.values())
            self._actors |= actors
            self._later |= later
        return [self.changed_actors.get(urn) or self._actors[urn] for urn in urns]

    def list_later(self, urn: str) -> tuple[LaterActor, ...]:
        """Return the later states of a user that was loaded."""
        source = self.changed_later if urn in self.changed_actors else self._later
        return source.get(urn, ())

    def find_actor(self, urn: str, at: datetime | None) -> Actor:
        """Return a user that was loaded as it is at an instant; None: now."""
        actor = self.changed_actors.get(urn) or self._actors[urn]
        if at is None:
            return actor
        states = [state.actor for state in self.list_later(urn) if state.begins <= at]
        return states[-1] if states else actor


class Period(NamedTuple):
    """The time between two boundaries of policies; None: from now on, and without an end."""

    begins: datetime | None
    ends: datetime | None


def list_periods(worlds: Iterable[JudgedWorld], privileges: Collection[str]) -> list[Period]:
    """Return the times in which the policies about these privileges stay as they are, in all of these worlds."""
    boundaries = sorted(set[datetime]().union(*(world.list_boundaries(privileges) for world in worlds)))
    return [Period(*bounds) for bounds in zip((None, *boundaries), (*boundaries, None), strict=True)]


def list_pairs(before: JudgedWorld, after: JudgedWorld, urns: Sequence[str], period: Period) -> Iterator[ActorPair]:
    """Yield each state that these users are in during a period, beside the one in which they would have been."""
    pairs = zip(urns, before.load_actors(urns), after.load_actors(urns), strict=True)
    for urn, was, now in pairs:
        later = (*before.list_later(urn), *after.list_later(urn))
        if not later and period.begins is None:
            yield ActorPair(was, now)
            continue
        instants = {state.begins for state in later if _is_within(state.begins, period)}
        times: list[datetime | None] = [period.begins, *sorted(instants)]
        yield from dict.fromkeys(ActorPair(before.find_actor(urn, at), after.find_actor(urn, at)) for at in times)


def _is_within(instant: datetime, period: Period) -> bool:
    is_begun = period.begins is None or instant > period.begins
    return is_begun and (period.ends is None or instant < period.ends)


def load_timed_policies(staged: Mapping[str, Policy | None] = MappingProxyType({})) -> dict[str, TimedPolicy]:
    """Return the policies that begin or end later, by URN; what is staged counts in place of what is stored."""
    has_boundary = Q(phase=Phase.PENDING) | Q(phase=Phase.CURRENT, valid_until__isnull=False)
    rows = Policy.objects.filter(has_boundary, state=Policy.State.ACTIVE)
    stored_policies = [policy for policy in rows if policy.urn not in staged]
    changed_policies = [
        policy
        for policy in staged.values()
        if policy is not None
        and policy.state == Policy.State.ACTIVE
        and policy.validity.list_boundaries(Phase(policy.phase))
    ]
    return {
        policy.urn: build_timed_policy(policy.urn, policy.name, policy.family, policy.document, policy.validity)
        for policy in (*stored_policies, *changed_policies)
    }


def build_timed_policy(urn: str, name: str, family: str, document: Any, validity: Validity) -> TimedPolicy:
    """Return a policy with its time."""
    return TimedPolicy(validity, families.get(family).compile(document, StatementOrigin(urn, name)))


def list_present(urns: Iterable[str]) -> list[str]:
    """Return those of these users that there are."""
    users = User.objects.filter(urn__in=filter_storable(urns), is_removed=False)
    return list(users.values_list("urn", flat=True))
