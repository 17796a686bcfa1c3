"""Access gained and lost when policies change, computed for one partition of the catalog after another.

The current and the proposed statements decide the same questions about the same people and entities: only privileges
that a changed statement lists, and only people whom a changed statement applies to.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyroaring import FrozenBitMap

from catalog.reports.spark.partition_facts import PartitionFacts
from policies.engine import explain, reach_index, selectors
from policies.engine.evaluate import decide
from policies.engine.families import load_vocabularies
from policies.engine.model import Actor, Question, Statement
from policies.engine.snapshot import Snapshot

#: Group in the table of groups for people without a group.
NO_GROUP = ""

#: People of a privilege that are explained in each partition.
_MAX_EXPLAINED_PEOPLE = 200
_NO_ENTITY = -1


class AccessChange(NamedTuple):
    """The change for one person and one privilege; `first_…` are numbers of entities, -1 for none."""

    privilege: str
    person: str
    gained: int
    lost: int
    first_gained: int = _NO_ENTITY
    gained_urn: str | None = None
    first_lost: int = _NO_ENTITY
    lost_urn: str | None = None
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
    platform_names = {
        item.name
        for family_vocabulary in load_vocabularies().values()
        for item in family_vocabulary.platform_privileges()
    }
    is_relational = any(item == selectors.ONESELF or item.startswith(selectors.OWNER_OF_ANY_TYPE) for item in tokens)
    people = [item for item in actors if item.is_active and (is_relational or not item.tokens.isdisjoint(tokens))]
    return PolicyChange(
        proposed_snapshot=proposed_snapshot,
        privileges=tuple(sorted(changed_privileges - platform_names)),
        platform_privileges=tuple(sorted(changed_privileges & platform_names)),
        people=tuple(sorted(people, key=lambda item: item.urn)),
    )


def compare_partition(facts: PartitionFacts, change: PolicyChange) -> Iterator[AccessChange]:
    """Yield the changes in one partition."""
    proposed_facts = facts.with_snapshot(change.proposed_snapshot)
    for privilege in change.privileges:
        explained_count = 0
        for actor in change.people:
            current_extent, proposed_extent = (
                facts.find_allowed(actor, privilege),
                proposed_facts.find_allowed(actor, privilege),
            )
            difference = reach_index.compare_extents(current_extent, proposed_extent)
            if not difference.gained and not difference.lost:
                continue
            row = AccessChange(privilege, actor.urn, len(difference.gained), len(difference.lost))
            row = _add_first_entities(row, facts, difference)
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
                "gained_entity": row.gained_urn,
                "lost_entity": row.lost_urn,
                "policy": row.policy,
                "because": row.because,
            }
            for row in ordered
        ],
    )


def _subtract_statements(snapshot: Snapshot, other_snapshot: Snapshot) -> list[Statement]:
    return list(set(snapshot.statements) - set(other_snapshot.statements))


def _add_first_entities(row: AccessChange, facts: PartitionFacts, difference: reach_index.Difference) -> AccessChange:
    def first_entity(indexes: FrozenBitMap) -> tuple[int, str | None]:
        return (facts.numbers[indexes.min()], facts.urns[indexes.min()]) if indexes else (_NO_ENTITY, None)

    first_gained, first_lost = first_entity(difference.gained), first_entity(difference.lost)
    return row._replace(
        first_gained=first_gained[0], gained_urn=first_gained[1], first_lost=first_lost[0], lost_urn=first_lost[1]
    )


def _explain_row(row: AccessChange, snapshot: Snapshot, question: Question) -> AccessChange:
    """Return the row with the statement that grants what is gained, or granted what is lost."""
    for reason in explain.list_reasons(decide(snapshot, question), question, str)[:1]:
        return row._replace(policy=reason.policy, because=reason.explanation)
    return row


def _merge_rows(row: AccessChange, other_row: AccessChange) -> AccessChange:
    """Return the sum of two rows, explained by the first entity gained, else by the first lost."""
    gain = min(row, other_row, key=lambda candidate: (candidate.first_gained == _NO_ENTITY, candidate.first_gained))
    loss = min(row, other_row, key=lambda candidate: (candidate.first_lost == _NO_ENTITY, candidate.first_lost))
    explained_row = gain if gain.first_gained != _NO_ENTITY else loss
    return AccessChange(
        row.privilege,
        row.person,
        row.gained + other_row.gained,
        row.lost + other_row.lost,
        gain.first_gained,
        gain.gained_urn,
        loss.first_lost,
        loss.lost_urn,
        explained_row.policy,
        explained_row.because,
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
