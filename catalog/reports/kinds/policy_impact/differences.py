"""Access gained and lost when policies change, computed for one partition of the catalog after another.

The comparison is that of the preview (`policies.engine.access_change`): one active person and one entity for one
privilege that a changed statement lists, everything else that gives or takes it counted.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from pyroaring import FrozenBitMap

from catalog.reports.snapshot.partition_facts import PartitionFacts
from policies.engine import access_change, explain, selectors
from policies.engine.access_change import WorkBudget
from policies.engine.changed_reach import AccessState
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.postings import Postings
from policies.engine.snapshot import Snapshot

#: Group in the table of groups for people without a group.
NO_GROUP = ""

#: People of a privilege that are explained in each partition.
_MAX_EXPLAINED_PEOPLE = 200

#: A report takes its time.
_NO_LIMIT = sys.maxsize
_NO_ENTITIES = Postings(urns=(), types=(), fields=())


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
    """The proposed snapshot, what its change can touch, and the people whom changed statements may apply to."""

    proposed_snapshot: Snapshot
    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    people: tuple[Actor, ...]


def compare_policies(
    current_snapshot: Snapshot, proposed_snapshot: Snapshot, policies: Collection[str], actors: Iterable[Actor]
) -> PolicyChange:
    """Return the change between two snapshots that differ in these policies, and what it can touch."""
    scope = access_change.find_scope(
        access_change.list_changed_statements(current_snapshot, proposed_snapshot, policies)
    )
    has_owners = any(map(selectors.is_relational, scope.tokens))
    people = [
        actor for actor in actors if actor.is_active and (has_owners or not actor.tokens.isdisjoint(scope.tokens))
    ]
    return PolicyChange(
        proposed_snapshot=proposed_snapshot,
        privileges=scope.privileges,
        platform_privileges=scope.platform_privileges,
        people=tuple(sorted(people, key=lambda actor: actor.urn)),
    )


def compare_partition(facts: PartitionFacts, change: PolicyChange) -> Iterator[AccessChange]:
    """Yield the changes in one partition."""
    people = {actor.urn: actor for actor in change.people}
    before = AccessState(facts.snapshot, facts.postings, people)
    after = AccessState(change.proposed_snapshot, facts.postings, people)
    explained_counts: dict[str, int] = defaultdict(int)
    for difference in access_change.compare_access(before, after, change.privileges, (), WorkBudget(_NO_LIMIT)):
        entity_index = (difference.gained or difference.lost).min()
        snapshot = (after if difference.gained else before).snapshot
        for privilege, person in product(difference.privileges, difference.people):
            row = AccessChange(
                privilege,
                person,
                len(difference.gained),
                len(difference.lost),
                _find_first(facts, difference.gained),
                _find_first(facts, difference.lost),
            )
            if explained_counts[privilege] < _MAX_EXPLAINED_PEOPLE:
                row = _explain_row(row, snapshot, facts.build_question(people[person], privilege, entity_index))
            explained_counts[privilege] += 1
            yield row


def compare_platform(current_snapshot: Snapshot, change: PolicyChange) -> Iterator[AccessChange]:
    """Yield the changes of privileges on the platform."""
    people = {actor.urn: actor for actor in change.people}
    before, after = (
        AccessState(snapshot, _NO_ENTITIES, people) for snapshot in (current_snapshot, change.proposed_snapshot)
    )
    for difference in access_change.compare_platform(before, after, change.platform_privileges):
        is_gained, snapshot = difference.is_gained, (after if difference.is_gained else before).snapshot
        for person in difference.people:
            row = AccessChange(difference.privilege, person, int(is_gained), int(not is_gained))
            yield _explain_row(row, snapshot, Question(people[person], difference.privilege))


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
