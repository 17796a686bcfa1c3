"""Unused access: privileges of people, memberships and policies without a counted use.

Counts name the policies that decided to allow. A use counts for every privilege that would have sufficed and that a
deciding policy grants, and for every group through which the policy may have applied. Where that is ambiguous, nothing
is reported as unused.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from catalog.reports.kinds.policy_hygiene.hygiene import PolicyStatements
from catalog.reports.kinds.unused_access.usage import UsageRow
from catalog.reports.snapshot.partition_facts import PartitionFacts, split_by_scope
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Effect, Question
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, OWNER_OF_ANY_TYPE
from policies.engine.snapshot import Snapshot

#: States: used; unused; without a counted use, where counts may be missing.
USED, UNUSED, NOT_SEEN = "USED", "UNUSED", "NOT_SEEN"


class HeldPrivilege(NamedTuple):
    """A privilege that a person has on some entity, or on the platform."""

    privilege: str
    person: str


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """The privileges on entities and on the platform, and the active people, that are examined."""

    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    people: tuple[Actor, ...]


def build_query(
    policies: Iterable[PolicyStatements], actors: Iterable[Actor], requested_privileges: Iterable[str] = ()
) -> UsageQuery:
    """Return the query: the requested privileges, else all that policies allow to some and none allows to everyone.

    One that excludes people does not allow to everyone.
    """
    allowed_privileges: set[str] = set()
    public_privileges: set[str] = set()
    for statement in (item for policy in policies for item in policy.statements if item.effect is Effect.ALLOW):
        allowed_privileges |= statement.privileges
        if EVERYONE in statement.actors.tokens and not statement.actors.excluded_tokens:
            public_privileges |= statement.privileges
    privileges = frozenset(requested_privileges) or allowed_privileges - public_privileges
    return UsageQuery(*split_by_scope(privileges), tuple(actor for actor in actors if actor.is_active))


def find_held(facts: PartitionFacts, query: UsageQuery) -> Iterator[HeldPrivilege]:
    """Yield the privileges that people have on some entity of this partition."""
    for privilege in query.privileges:
        for actor in query.people:
            extent = facts.find_extent(actor, privilege)
            is_allowed = (facts.decide(actor, privilege, index).is_allowed for index in extent.needs_decision)
            if extent.allowed or any(is_allowed):
                yield HeldPrivilege(privilege, actor.urn)


def find_held_on_platform(snapshot: Snapshot, query: UsageQuery) -> Iterator[HeldPrivilege]:
    """Yield the privileges that people have on the platform."""
    for privilege in query.platform_privileges:
        for actor in query.people:
            if decide(snapshot, Question(actor, privilege)).is_allowed:
                yield HeldPrivilege(privilege, actor.urn)


class Usage:
    """The counted uses, and the state of access without one."""

    def __init__(self, uses: Iterable[UsageRow], policies: Iterable[PolicyStatements], *, is_sure: bool) -> None:
        self._privileges_by_policy = {
            policy.urn: frozenset[str]().union(*(statement.privileges for statement in policy.statements))
            for policy in policies
        }
        self._uses = [use for use in uses if self._is_given(use)]
        self._unused_state = UNUSED if is_sure else NOT_SEEN

    def _is_given(self, use: UsageRow) -> bool:
        """Whether the policy has the privilege still; what it had once was a use of something else."""
        return use.privilege in self._privileges_by_policy.get(use.policy, (use.privilege,))

    def state(self, *, is_used: bool) -> str:
        """Return USED, UNUSED, or NOT_SEEN when counts may be missing."""
        return USED if is_used else self._unused_state

    def group_uses(self, key: Callable[[UsageRow], str]) -> Mapping[str, list[UsageRow]]:
        """Return the uses by a key."""
        uses_by_key: dict[str, list[UsageRow]] = defaultdict(list)
        for use in self._uses:
            uses_by_key[key(use)].append(use)
        return uses_by_key

    def list_pairs(self) -> set[tuple[str, str]]:
        """Return the used (person, privilege) pairs."""
        return {(use.person, use.privilege) for use in self._uses}

    def build_row(self, name: str, value: str, people: int, uses: Sequence[UsageRow]) -> dict[str, Any]:
        """Return the row of a policy or a privilege."""
        return {
            name: value,
            "people": people,
            "used_by": len({use.person for use in uses}),
            "last": max((use.last for use in uses), default=None),
            "state": self.state(is_used=bool(uses)),
        }


def build_policy_rows(
    policies: Sequence[PolicyStatements], actors: Sequence[Actor], usage: Usage
) -> list[dict[str, Any]]:
    """Return a row for each policy that allows, with the number of people it names (owners are not counted).

    A policy that denies is used by every question that it refuses, and no use of it is an access.
    """
    uses = usage.group_uses(lambda use: use.policy)
    rows = [
        usage.build_row("policy", policy.urn, policy.count_people(actors), uses.get(policy.urn, ()))
        for policy in policies
        if not policy.is_deny
    ]
    return _sort_unused_first(rows, "policy")


def build_privilege_rows(
    query: UsageQuery, held_privileges: Iterable[HeldPrivilege], usage: Usage
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each privilege, and one for each person who did not use a privilege."""
    holders: dict[str, set[str]] = defaultdict(set)
    for held_privilege in held_privileges:
        holders[held_privilege.privilege].add(held_privilege.person)
    uses, pairs = usage.group_uses(lambda use: use.privilege), usage.list_pairs()
    names = (*query.privileges, *query.platform_privileges)
    rows = [usage.build_row("privilege", name, len(holders[name]), uses.get(name, ())) for name in names]
    unused_rows = [
        {"person": person, "privilege": name, "state": usage.state(is_used=False)}
        for name in names
        for person in holders[name]
        if (person, name) not in pairs
    ]
    return _sort_unused_first(rows, "privilege"), sorted(unused_rows, key=lambda row: (row["person"], row["privilege"]))


def find_unused_memberships(
    policies: Iterable[PolicyStatements], actors: Iterable[Actor], roles: Mapping[str, frozenset[str]], usage: Usage
) -> list[dict[str, Any]]:
    """Return memberships of active users without a use of a policy that may have applied through the group.

    Those by which a policy denies or excludes are left out: they are of use, and whoever ends one may give access.
    """
    policies = list(policies)
    tokens = {policy.urn: policy.tokens for policy in policies}
    narrowing_tokens = _collect_narrowing_tokens(policies)
    uses, rows = usage.group_uses(lambda use: use.person), []
    for actor in actors:
        if not actor.is_active:
            continue
        used_token_sets = [tokens.get(policy) for policy in {use.policy for use in uses.get(actor.urn, ())}]
        for group in sorted(actor.groups):
            names = frozenset((group, IN_ANY_GROUP)) | roles.get(group, frozenset())
            if narrowing_tokens.isdisjoint(names) and not any(
                used_tokens is None or _may_apply(used_tokens, names) for used_tokens in used_token_sets
            ):
                rows.append({"person": actor.urn, "group": group, "state": usage.state(is_used=False)})
    return sorted(rows, key=lambda row: (row["person"], row["group"]))


def _collect_narrowing_tokens(policies: Iterable[PolicyStatements]) -> frozenset[str]:
    """Return the tokens by which statements deny or exclude."""
    statements = [statement for policy in policies for statement in policy.statements]
    return frozenset[str]().union(
        *(item.actors.tokens for item in statements if item.effect is Effect.DENY),
        *(item.actors.excluded_tokens for item in statements),
    )


def _may_apply(tokens: frozenset[str], names: frozenset[str]) -> bool:
    """Whether a policy may have applied to a holder of these names: by one of them, or as an owner."""
    return not tokens.isdisjoint(names) or any(token.startswith(OWNER_OF_ANY_TYPE) for token in tokens)


def _sort_unused_first(rows: Iterable[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["state"] == USED, row["last"] or "", -row["people"], row[name]))
