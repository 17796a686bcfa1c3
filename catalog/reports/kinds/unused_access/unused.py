"""What is held and was not used: privileges of people, memberships and policies, beside the decision log.

The log says which policies decided what somebody was allowed. A use counts for every privilege that would have done and
that a deciding policy gives, and for every group that the policy could have spoken to: where the log leaves a question
open, nothing is called unused.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from catalog.reports.kinds.policy_hygiene.hygiene import Stored
from catalog.reports.spark.partition_facts import Facts
from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Effect, Question
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, OWNER_OF_ANY_TYPE
from policies.engine.snapshot import Snapshot

#: Said of what was used, of what was not, and of what the log did not keep a use of but may have left out.
USED, UNUSED, NOT_SEEN = "USED", "UNUSED", "NOT_SEEN"

_COUNTS = (("people", pa.int64()), ("used_by", pa.int64()), ("last", pa.string()), ("state", pa.string()))
POLICIES = pa.schema([("policy", pa.string()), *_COUNTS])
PRIVILEGES = pa.schema([("privilege", pa.string()), *_COUNTS])
PEOPLE = pa.schema([(name, pa.string()) for name in ("person", "privilege", "state")])
MEMBERSHIPS = pa.schema([(name, pa.string()) for name in ("person", "group", "state")])


class Use(NamedTuple):
    """That somebody was allowed something by a policy, and when last (ISO 8601); `policy` "" when none is known."""

    person: str
    privilege: str
    policy: str
    last: str


class Held(NamedTuple):
    """That somebody has a privilege on something, or on the platform."""

    privilege: str
    person: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The privileges to look for on entities and on the platform, and the people to look at."""

    privileges: tuple[str, ...]
    platform: tuple[str, ...]
    people: tuple[Actor, ...]


def ask_of(policies: Iterable[Stored], actors: Iterable[Actor], wanted: Iterable[str] = ()) -> Ask:
    """Return what to look for: the wanted privileges, else all that policies give to some and not to everybody."""
    given: set[str] = set()
    everybodys: set[str] = set()
    for statement in (one for policy in policies for one in policy.statements if one.effect is Effect.ALLOW):
        given |= statement.privileges
        if EVERYONE in statement.actors.tokens:
            everybodys |= statement.privileges
    chosen = frozenset(wanted) or given - everybodys
    on_platform = {one.name for some in families.vocabularies().values() for one in some.platform()}
    return Ask(
        tuple(sorted(chosen - on_platform)),
        tuple(sorted(chosen & on_platform)),
        tuple(actor for actor in actors if actor.is_active),
    )


def held(facts: Facts, ask: Ask) -> Iterator[Held]:
    """Tell who has which of the privileges on something in this slice."""
    for privilege in ask.privileges:
        for actor in ask.people:
            covered = facts.reached(actor, privilege)
            is_open = (facts.decide(actor, privilege, place).is_allowed for place in covered.undecided)
            if covered.certain or any(is_open):
                yield Held(privilege, actor.urn)


def held_on_platform(snapshot: Snapshot, ask: Ask) -> Iterator[Held]:
    """Tell who has which of the privileges on the platform."""
    for privilege in ask.platform:
        for actor in ask.people:
            if decide(snapshot, Question(actor, privilege)).is_allowed:
                yield Held(privilege, actor.urn)


class Usage:
    """The uses that the log kept, and what may be said of what has none."""

    def __init__(self, uses: Iterable[Use], policies: Iterable[Stored], *, is_sure: bool) -> None:
        self._given = {
            policy.urn: frozenset[str]().union(*(one.privileges for one in policy.statements)) for policy in policies
        }
        self._uses = [use for use in uses if use.privilege in self._given.get(use.policy, (use.privilege,))]
        self._unused = UNUSED if is_sure else NOT_SEEN

    def state(self, *, is_used: bool) -> str:
        """Return what is said of something."""
        return USED if is_used else self._unused

    def by(self, key: Callable[[Use], str]) -> Mapping[str, list[Use]]:
        """Return the uses by something of them."""
        found: dict[str, list[Use]] = defaultdict(list)
        for use in self._uses:
            found[key(use)].append(use)
        return found

    def pairs(self) -> set[tuple[str, str]]:
        """Return who used which privilege."""
        return {(use.person, use.privilege) for use in self._uses}

    def counted(self, name: str, value: str, people: int, uses: Sequence[Use]) -> dict[str, Any]:
        """Return the row of a policy or a privilege."""
        return {
            name: value,
            "people": people,
            "used_by": len({use.person for use in uses}),
            "last": max((use.last for use in uses), default=None),
            "state": self.state(is_used=bool(uses)),
        }


def policies_used(policies: Sequence[Stored], actors: Sequence[Actor], usage: Usage) -> list[dict[str, Any]]:
    """Return a row for each policy, with how many people it names (owners are not counted)."""
    uses = usage.by(lambda use: use.policy)
    named = {
        policy.urn: sum(one.is_active and not one.tokens.isdisjoint(policy.tokens) for one in actors)
        for policy in policies
    }
    rows = [usage.counted("policy", policy.urn, named[policy.urn], uses.get(policy.urn, ())) for policy in policies]
    return _unused_first(rows, "policy")


def privileges_used(ask: Ask, found: Iterable[Held], usage: Usage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each privilege, and one for each person and privilege that was not used."""
    holders: dict[str, set[str]] = defaultdict(set)
    for one in found:
        holders[one.privilege].add(one.person)
    uses, pairs = usage.by(lambda use: use.privilege), usage.pairs()
    names = (*ask.privileges, *ask.platform)
    rows = [usage.counted("privilege", name, len(holders[name]), uses.get(name, ())) for name in names]
    idle = [
        {"person": person, "privilege": name, "state": usage.state(is_used=False)}
        for name in names
        for person in holders[name]
        if (person, name) not in pairs
    ]
    return _unused_first(rows, "privilege"), sorted(idle, key=lambda row: (row["person"], row["privilege"]))


def memberships_unused(
    policies: Iterable[Stored], actors: Iterable[Actor], roles: Mapping[str, frozenset[str]], usage: Usage
) -> list[dict[str, Any]]:
    """Return the memberships through which nobody can be shown to have been allowed something."""
    tokens = {policy.urn: policy.tokens for policy in policies}
    uses, rows = usage.by(lambda use: use.person), []
    for actor in actors:
        if not actor.is_active:
            continue
        spoken = [tokens.get(policy) for policy in {use.policy for use in uses.get(actor.urn, ())}]
        for group in sorted(actor.groups):
            names = frozenset((group, IN_ANY_GROUP)) | roles.get(group, frozenset())
            if not any(some is None or _may_speak(some, names) for some in spoken):
                rows.append({"person": actor.urn, "group": group, "state": usage.state(is_used=False)})
    return sorted(rows, key=lambda row: (row["person"], row["group"]))


def _may_speak(tokens: frozenset[str], names: frozenset[str]) -> bool:
    """Whether a policy could have spoken to somebody as a member: by name, or as an owner through the group."""
    return not tokens.isdisjoint(names) or any(token.startswith(OWNER_OF_ANY_TYPE) for token in tokens)


def _unused_first(rows: Iterable[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["state"] == USED, row["last"] or "", -row["people"], row[name]))
