"""Who gains and who loses what when policies change, asked of one slice of the catalog after another.

Both sides answer the same questions of the same people and entities: the statements as they are and as they would be.
Only privileges that a changed statement lists are asked about, and only people to whom one speaks.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.reports.spark.partition_facts import Facts
from policies.engine import explain, reach_index, selectors
from policies.engine.evaluate import decide
from policies.engine.families import vocabularies
from policies.engine.model import Actor, Question, Statement
from policies.engine.snapshot import Snapshot

#: The tables of results.
PRIVILEGES = pa.schema(
    [
        ("privilege", pa.string()),
        *((name, pa.int64()) for name in ("people_gain", "people_lose", "gained", "lost")),
    ]
)
GROUPS = pa.schema(
    [
        *((name, pa.string()) for name in ("group", "privilege")),
        *((name, pa.int64()) for name in ("people_gain", "people_lose", "gained", "lost")),
    ]
)
PEOPLE = pa.schema(
    [
        *((name, pa.string()) for name in ("person", "privilege")),
        *((name, pa.int64()) for name in ("gained", "lost")),
        *((name, pa.string()) for name in ("gained_entity", "lost_entity", "policy", "because")),
    ]
)

#: Stands in the table of groups for people who are in none.
NO_GROUP = ""

#: How many people of a privilege are explained in each slice.
_EXPLAINED = 200
_NOWHERE = -1


class Row(NamedTuple):
    """What changes for one person with one privilege; `first_…` are numbers of entities, -1 where there is none."""

    privilege: str
    person: str
    gained: int
    lost: int
    first_gained: int = _NOWHERE
    gained_urn: str | None = None
    first_lost: int = _NOWHERE
    lost_urn: str | None = None
    policy: str | None = None
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Policies as they would be: the other snapshot, the privileges to ask about, and whom changed statements name."""

    then: Snapshot
    privileges: tuple[str, ...]
    platform: tuple[str, ...]
    people: tuple[Actor, ...]


def change_of(now: Snapshot, then: Snapshot, actors: Sequence[Actor]) -> Change:
    """Compare two snapshots and return what is to be asked."""
    changed = _only(now, then) + _only(then, now)
    listed = frozenset[str]().union(*(one.privileges for one in changed))
    tokens = frozenset[str]().union(*(one.actors.tokens for one in changed))
    on_platform = {one.name for some in vocabularies().values() for one in some.platform()}
    towards = any(one == selectors.ONESELF or one.startswith(selectors.OWNER_OF_ANY_TYPE) for one in tokens)
    people = [one for one in actors if one.is_active and (towards or not one.tokens.isdisjoint(tokens))]
    return Change(
        then=then,
        privileges=tuple(sorted(listed - on_platform)),
        platform=tuple(sorted(listed & on_platform)),
        people=tuple(sorted(people, key=lambda one: one.urn)),
    )


def changed(facts: Facts, change: Change) -> Iterator[Row]:
    """Ask both sides about one slice."""
    then = facts.under(change.then)
    for privilege in change.privileges:
        explained = 0
        for actor in change.people:
            before, after = facts.may(actor, privilege), then.may(actor, privilege)
            difference = reach_index.difference(before, after)
            if not difference.gained and not difference.lost:
                continue
            row = Row(privilege, actor.urn, len(difference.gained), len(difference.lost))
            row = _at(row, facts, difference)
            if explained < _EXPLAINED:
                place = (difference.gained or difference.lost).min()
                side = then if difference.gained else facts
                row = _explained(row, side.snapshot, facts.question(actor, privilege, place))
            explained += 1
            yield row


def changed_platform(now: Snapshot, change: Change) -> Iterator[Row]:
    """Ask both sides about the platform."""
    for privilege in change.platform:
        for actor in change.people:
            question = Question(actor, privilege)
            before, after = decide(now, question).is_allowed, decide(change.then, question).is_allowed
            if before != after:
                side = change.then if after else now
                yield _explained(Row(privilege, actor.urn, int(after), int(before)), side, question)


def results(
    rows: Iterable[Row], actors: Iterable[Actor]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Add the rows of all slices up: by privilege, by group and privilege, and by person (most changed first)."""
    people: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (row.privilege, row.person)
        people[key] = _sum(people[key], row) if key in people else row
    groups_of = {actor.urn: sorted(actor.groups) or [NO_GROUP] for actor in actors}
    by_privilege: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    by_group: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for (privilege, person), row in people.items():
        by_privilege[privilege,].append(row)
        for group in groups_of[person]:
            by_group[group, privilege].append(row)
    ordered = sorted(people.values(), key=lambda row: (-row.gained - row.lost, row.privilege, row.person))
    return (
        _counted(("privilege",), by_privilege),
        _counted(("group", "privilege"), by_group),
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


def _only(one: Snapshot, other: Snapshot) -> list[Statement]:
    return list(set(one.statements) - set(other.statements))


def _at(row: Row, facts: Facts, difference: reach_index.Difference) -> Row:
    def first(some: FrozenBitMap) -> tuple[int, str | None]:
        return (facts.numbers[some.min()], facts.urns[some.min()]) if some else (_NOWHERE, None)

    gained, lost = first(difference.gained), first(difference.lost)
    return row._replace(first_gained=gained[0], gained_urn=gained[1], first_lost=lost[0], lost_urn=lost[1])


def _explained(row: Row, side: Snapshot, question: Question) -> Row:
    """Add the statement that gives what is gained, or gave what is lost."""
    for reason in explain.reasons(decide(side, question), question, str)[:1]:
        return row._replace(policy=reason.policy, because=reason.because)
    return row


def _sum(one: Row, other: Row) -> Row:
    """Add two slices up. What is explained is the first entity gained, or the first lost where nothing is gained."""
    gain = min(one, other, key=lambda row: (row.first_gained == _NOWHERE, row.first_gained))
    loss = min(one, other, key=lambda row: (row.first_lost == _NOWHERE, row.first_lost))
    told = gain if gain.first_gained != _NOWHERE else loss
    return Row(
        one.privilege,
        one.person,
        one.gained + other.gained,
        one.lost + other.lost,
        gain.first_gained,
        gain.gained_urn,
        loss.first_lost,
        loss.lost_urn,
        told.policy,
        told.because,
    )


def _counted(names: tuple[str, ...], found: Mapping[tuple[str, ...], Sequence[Row]]) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(names, key, strict=True)),
            "people_gain": sum(row.gained > 0 for row in rows),
            "people_lose": sum(row.lost > 0 for row in rows),
            "gained": sum(row.gained for row in rows),
            "lost": sum(row.lost for row in rows),
        }
        for key, rows in sorted(found.items())
    ]
