"""The uses of privileges that this process has counted and not written yet.

Counting is a part of answering, so it only adds one to a number in a dictionary; which policies and privileges were
used is looked up later, once for all equal decisions, by the thread that writes them (`use_writing`).
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from policies.engine import families
from policies.engine.model import Actor, Decision
from policies.engine.requirements import Requirement
from policies.models.use import MAX_PRIVILEGE_LENGTH
from policies.pdp.access_requests import AccessRequest

#: Most different decisions that wait to be written; further ones are dropped, and their day is incomplete.
MAX_WAITING_DECISIONS = 100_000

_SECONDS_PER_DAY = 86_400
_EPOCH_DAY = date(1970, 1, 1)


class UseKey(NamedTuple):
    """The key of a count: day (UTC), policy or "", actor and privilege. Rows are written in this order."""

    day: date
    policy: str
    actor: str
    privilege: str


class UseCount(NamedTuple):
    """How often, and the last time."""

    uses: int
    last_at: datetime


class _CountedDecision:
    """Equal decisions of one day. It keeps the objects alive whose identities are in its key."""

    __slots__ = ("actor", "decision", "last_at", "requirement", "uses")

    def __init__(self, actor: str, requirement: Requirement, decision: Decision) -> None:
        self.actor = actor
        self.requirement = requirement
        self.decision = decision
        self.uses = 0
        self.last_at = 0.0


class TakenUses(NamedTuple):
    """The counts that a process has to write, and the days of which it lost some."""

    counts: dict[UseKey, UseCount]
    lost_days: frozenset[date]


class UseCounts:
    """Counts of allowed decisions, until they are taken."""

    def __init__(self, *, capacity: int = MAX_WAITING_DECISIONS) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        # Days since 1970 → key of equal decisions → their count.
        self._by_day: dict[int, dict[Any, _CountedDecision]] = {}
        self._lost_days: set[int] = set()

    @property
    def waiting_count(self) -> int:
        """The number of different decisions, and of days with lost counts, that wait to be written."""
        return sum(map(len, list(self._by_day.values()))) + len(self._lost_days)

    def add(self, requests: Sequence[tuple[Actor, AccessRequest]], decisions: Iterable[Decision], *, at: float) -> None:
        """Count the decisions that allow, made at this Unix time; never waits for more than another thread's count."""
        day = int(at // _SECONDS_PER_DAY)
        with self._lock:
            uses_by_key = self._by_day.get(day)
            if uses_by_key is None:
                uses_by_key = self._by_day[day] = {}
            for (actor, request), decision in zip(requests, decisions, strict=True):
                if not decision.is_allowed:
                    continue
                requirement = request.requirement
                # Hashing a requirement takes longer than all the rest, and most are a single privilege.
                key = (
                    actor.urn,
                    requirement.sole_privilege or id(requirement),
                    decision.bits,
                    id(decision.source),
                    _make_grants_key(decision) if decision.grants else None,
                )
                use = uses_by_key.get(key)
                if use is None:
                    if len(uses_by_key) >= self._capacity:
                        self._lost_days.add(day)
                        continue
                    use = uses_by_key[key] = _CountedDecision(actor.urn, requirement, decision)
                use.uses += 1
                use.last_at = at

    def mark_lost(self, days: Iterable[date]) -> None:
        """Remember days of which counts were lost."""
        with self._lock:
            self._lost_days.update((day - _EPOCH_DAY).days for day in days)

    def take(self) -> TakenUses:
        """Return the counts since the last call, by policy, actor and privilege."""
        with self._lock:
            by_day, self._by_day = self._by_day, {}
            lost_days, self._lost_days = self._lost_days, set()
        counts: dict[UseKey, UseCount] = {}
        for day, uses_by_key in by_day.items():
            for use in uses_by_key.values():
                last_at = datetime.fromtimestamp(use.last_at, UTC)
                for policy, privilege in _find_uses(use.requirement, use.decision):
                    _add_count(counts, UseKey(_to_date(day), policy, use.actor, privilege), UseCount(use.uses, last_at))
        return TakenUses(counts, frozenset(map(_to_date, lost_days)))


def rename_actors(counts: Mapping[UseKey, UseCount], rename: Callable[[str], str]) -> dict[UseKey, UseCount]:
    """Return the counts under other names of their actors; those that get the same name are added up."""
    renamed: dict[UseKey, UseCount] = {}
    for key, count in counts.items():
        _add_count(renamed, key._replace(actor=rename(key.actor)), count)
    return renamed


def _add_count(counts: dict[UseKey, UseCount], key: UseKey, count: UseCount) -> None:
    other = counts.get(key)
    counts[key] = count if other is None else UseCount(other.uses + count.uses, max(other.last_at, count.last_at))


def _find_uses(requirement: Requirement, decision: Decision) -> set[tuple[str, str]]:
    """Return the policies that decided, each with those required privileges that it gives.

    Without a policy (the system, policies switched off) the privileges that exist count: the names that callers send
    are without number.
    """
    statements = decision.statements
    if not statements:
        return {("", privilege) for privilege in requirement.privileges & _list_known_privileges()}
    return {
        (statement.origin.policy, privilege[:MAX_PRIVILEGE_LENGTH])
        for statement in statements
        for privilege in statement.privileges & requirement.privileges
    }


def _make_grants_key(decision: Decision) -> tuple[Any, ...]:
    """Return the part of grants that is counted: they are loaded again for every question."""
    return tuple((grant.origin.policy, grant.privileges) for grant in decision.grants)


@cache
def _list_known_privileges() -> frozenset[str]:
    return frozenset(
        privilege for vocabulary in families.load_vocabularies().values() for privilege in vocabulary.privileges
    )


def _to_date(day: int) -> date:
    return _EPOCH_DAY + timedelta(days=day)
