"""Access gained and lost when policies change, computed for one partition of the catalog after another.

The current and the proposed statements decide the same questions about the same people and entities: only privileges
that a changed statement lists, and only people whom a changed statement applies to.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyroaring import FrozenBitMap

from catalog.reports.snapshot.partition_facts import PartitionFacts, split_by_scope
from policies.engine import explain, reach_index, selectors
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question, Statement
from policies.engine.snapshot import Snapshot

#: Group in the table of groups for people without a group.
NO_GROUP = ""

#: People of a privilege that are explained in each partition.
_MAX_EXPLAINED_PEOPLE = 200


class AccessChange(NamedTuple):
    """The change for one person and one privilege; `first_…` are number and URN of the first entity, None for none."""

    privilege: str
    person: str
    gained: int
    lost: int
    first_gained: tuple[int, str] | None = None
    first_lost: tuple[int, str] | None = None
    policy: str | None = None
    because: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The proposed snapshot, the privileges of changed statements, and the people whom these may apply to."""

    proposed_snapshot: Snapshot
    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    people: tuple[Actor, ...]


def compare_policies(current_snapshot: Snapshot, proposed_snapshot: Snapshot, actors: Sequence[Actor]) -> PolicyChange:
    """Return the change between two snapshots: the privileges and people that it can affect."""
    changed_statements = _subtract_statements(current_snapshot, proposed_snapshot) + _subtract_statements(
        proposed_snapshot, current_snapshot
    )
    changed_privileges = frozenset[str]().union(*(item.privileges for item in changed_statements))
    tokens = frozenset[str]().union(*(item.actors.tokens for item in changed_statements))
    privileges, platform_privileges = split_by_scope(changed_privileges)
    is_relational = any(item == selectors.ONESELF or item.startswith(selectors.OWNER_OF_ANY_TYPE) for item in tokens)
    people = [item for item in actors if item.is_active and (is_relational or not item.tokens.isdisjoint(tokens))]
    return PolicyChange(
        proposed_snapshot=proposed_snapshot,
        privileges=privileges,
        platform_privileges=platform_privileges,
        people=tuple(sorted(people, key=lambda item: item.urn)),
    )


def compare_partition(facts: PartitionFacts, change: PolicyChange) -> Iterator[AccessChange]:
    """Yield the changes in one partition."""
    proposed_facts = facts.with_snapshot(change.proposed_snapshot)
    for privilege in change.privileges:
        explained_count = 0
        for actor in change.people:
            difference = reach_index.compare_extents(
                facts.find_allowed(actor, privilege), proposed_facts.find_allowed(actor, privilege)
            )
            if not difference.gained and not difference.lost:
                continue
            row = AccessChange(
                privilege,
                actor.urn,
                len(difference.gained),
                len(difference.lost),
                _find_first(facts, difference.gained),
                _find_first(facts, difference.lost),
            )
            if explained_count < _MAX_EXPLAINED_PEOPLE:
                entity_index = (difference.gained or difference.lost).min()
                deciding_facts = proposed_facts if difference.gained else facts
                row = _explain_row(row, deciding_facts.snapshot, facts.build_question(actor, privilege, entity_index))
            explained_count += 1
            yield row


def compare_platform(current_snapshot: Snapshot, change: PolicyChange) -> Iterator[AccessChange]:
    """Yield the changes of privileges on the platform."""
    for privilege in change.platform_privileges:
        for actor in change.people:
            question = Question(actor, privilege)
            was_allowed, is_allowed = (
                decide(current_snapshot, question).is_allowed,
                decide(change.proposed_snapshot, question).is_allowed,
            )
            if was_allowed != is_allowed:
                deciding_snapshot = change.proposed_snapshot if is_allowed else current_snapshot
                yield _explain_row(
                    AccessChange(privilege, actor.urn, int(is_allowed), int(was_allowed)), deciding_snapshot, question
                )


def aggregate_rows(
    rows: Iterable[AccessChange], actors: Iterable[Actor]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the sums of all partitions: by privilege, by group and privilege, and by person (most changes first)."""
    people: dict[tuple[str, str], AccessChange] = {}
    for row in rows:
        key = (row.privilege, row.person)
        people[key] = _merge_rows(people[key], row) if key in people else row
    groups_of = {actor.urn: sorted(actor.groups) or [NO_GROUP] for actor in actors}
    by_privilege: dict[tuple[str, ...], list[AccessChange]] = defaultdict(list)
    by_group: dict[tuple[str, ...], list[AccessChange]] = defaultdict(list)
    for (privilege, person), row in people.items():
        by_privilege[privilege,].append(row)
        for group in groups_of[person]:
            by_group[group, privilege].append(row)
    ordered = sorted(people.values(), key=lambda row: (-row.gained - row.lost, row.privilege, row.person))
    return (
        _count_by_key(("privilege",), by_privilege),
        _count_by_key(("group", "privilege"), by_group),
        [
            {
                "person": row.person,
                "privilege": row.privilege,
                "gained": row.gained,
                "lost": row.lost,
                "gained_entity": row.first_gained and row.first_gained[1],
                "lost_entity": row.first_lost and row.first_lost[1],
                "policy": row.policy,
                "because": row.because,
            }
            for row in ordered
        ],
    )


def _subtract_statements(snapshot: Snapshot, other_snapshot: Snapshot) -> list[Statement]:
    return list(set(snapshot.statements) - set(other_snapshot.statements))


def _find_first(facts: PartitionFacts, indexes: FrozenBitMap) -> tuple[int, str] | None:
    return (facts.numbers[indexes.min()], facts.urns[indexes.min()]) if indexes else None


def _explain_row(row: AccessChange, snapshot: Snapshot, question: Question) -> AccessChange:
    """Return the row with the statement that grants what is gained, or granted what is lost."""
    for reason in explain.list_reasons(decide(snapshot, question), question, str)[:1]:
        return row._replace(policy=reason.policy, because=reason.explanation)
    return row


def _merge_rows(row: AccessChange, other_row: AccessChange) -> AccessChange:
    """Return the sum of two rows, explained by the first entity gained, else by the first lost."""
    rows = (row, other_row)
    first_gained = min((item.first_gained for item in rows if item.first_gained), default=None)
    first_lost = min((item.first_lost for item in rows if item.first_lost), default=None)
    has_first = row.first_gained == first_gained if first_gained else row.first_lost == first_lost
    first_row = row if has_first else other_row
    return first_row._replace(
        gained=row.gained + other_row.gained,
        lost=row.lost + other_row.lost,
        first_gained=first_gained,
        first_lost=first_lost,
    )


def _count_by_key(
    columns: tuple[str, ...], rows_by_key: Mapping[tuple[str, ...], Sequence[AccessChange]]
) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(columns, key, strict=True)),
            "people_gain": sum(row.gained > 0 for row in rows),
            "people_lose": sum(row.lost > 0 for row in rows),
            "gained": sum(row.gained for row in rows),
            "lost": sum(row.lost for row in rows),
        }
        for key, rows in sorted(rows_by_key.items())
    ]
