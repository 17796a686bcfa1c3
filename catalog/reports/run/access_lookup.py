"""Questions about finished effective access reports: people of an entity, entities of a person, changes between runs.

Each run retains its snapshot, so the engine answers exactly, and reads no more of the catalog than a question needs. No
product of people and entities is stored or built.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.models import Report
from catalog.reports.run import run_state
from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partitions import SnapshotState
from catalog.reports.snapshot.reader import CorruptSnapshot
from policies.engine.actor_index import ActorIndex
from policies.engine.audience import AudienceIndex
from policies.engine.model import Actor
from policies.engine.postings import EMPTY
from policies.engine.statement_groups import group_statements
from policies.errors import NotFound

#: Entities evaluated at once.
ENTITY_BATCH_SIZE = 100_000


@dataclass(frozen=True, slots=True)
class AccessChangeCounts:
    """Number of entities on which each person gained and lost access, by URN."""

    gained: Counter[str]
    lost: Counter[str]


def list_people(*, report: Report, privilege: str, entity: str) -> list[str]:
    """Return the URNs of the people who could use a privilege on an entity, sorted.

    Raises NotFound when the run did not retain its snapshot or it has no such entity, and CorruptSnapshot.
    """
    state = _load_state(report)
    numbers = partitions.find_entity_numbers(state.source, [entity])
    if not len(numbers):
        raise NotFound(f"There was no entity {entity} when this report was made.")
    people_by_entity = dict(_iterate_reach(state, state.actors, privilege, numbers))
    return sorted(state.actors[person].urn for person in people_by_entity.get(entity, EMPTY))


def list_entities(
    *, report: Report, privilege: str, person: str, check_deadline: Callable[[], None] = lambda: None
) -> list[str]:
    """Return the URNs of the entities on which a person could use a privilege, sorted.

    Raises NotFound and CorruptSnapshot, as `list_people` does, and what `check_deadline` raises between batches.
    """
    state = _load_state(report)
    actors = [actor for actor in state.actors if actor.urn == person]
    if not actors:
        raise NotFound(f"There was no user {person} when this report was made.")
    entities: list[str] = []
    for bounds in partitions.list_bounds(state.source):
        numbers = partitions.read_entity_numbers(state.source, bounds.first, bounds.last)
        entity_people = _iterate_reach(state, actors, privilege, numbers, check_deadline)
        entities += (entity for entity, people in entity_people if people)
    return sorted(entities)


def count_changes(
    *,
    older: Report,
    newer: Report,
    privilege: str,
    field: str,
    value: str,
    check_deadline: Callable[[], None] = lambda: None,
) -> AccessChangeCounts:
    """Return the changes of a privilege between two runs, on entities that have a facet value in either run.

    An entity that has it in one run only is evaluated in both. Raises NotFound and CorruptSnapshot, and what
    `check_deadline` raises between batches.
    """
    states = [_load_state(report) for report in (older, newer)]
    urns = frozenset[str]().union(*(_list_urns_with_facet(state, field, value) for state in states))
    people = sorted({actor.urn for state in states for actor in state.actors})
    older_people, newer_people = (
        dict(
            _iterate_reach(
                state,
                _align_actors(state, people),
                privilege,
                partitions.find_entity_numbers(state.source, urns),
                check_deadline,
            )
        )
        for state in states
    )
    people_pairs = [(older_people.get(urn, EMPTY), newer_people.get(urn, EMPTY)) for urn in urns]
    return AccessChangeCounts(
        gained=_count_by_person(Counter(newer - older for older, newer in people_pairs), people),
        lost=_count_by_person(Counter(older - newer for older, newer in people_pairs), people),
    )


def _load_state(report: Report) -> SnapshotState:
    try:
        source = run_state.find_kept_folder(report, "input")
        if report.policy_version is None or not source.is_there():
            raise NotFound("This run did not keep what it was made from.")
    except OSError as error:
        raise CorruptSnapshot("The storage of this run (REPORTS_DIR) cannot be reached.") from error
    return partitions.load_state(source.url, report.policy_version)


def _list_urns_with_facet(state: SnapshotState, field: str, value: str) -> list[str]:
    numbers = partitions.find_numbers_with_facet(state.source, field, value)
    return list(partitions.load_partition(state, (), numbers).postings.urns)


def _align_actors(state: SnapshotState, people: Sequence[str]) -> list[Actor]:
    """Return the actors of a run in the order of `people`; people unknown to the run are inactive actors."""
    actors_by_urn = {actor.urn: actor for actor in state.actors}
    return [actors_by_urn.get(urn, Actor(urn, is_active=False)) for urn in people]


def _iterate_reach(
    state: SnapshotState,
    actors: Sequence[Actor],
    privilege: str,
    numbers: pa.Array,
    check_deadline: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, FrozenBitMap]]:
    """Yield each of the entities with the positions of the actors that may use the privilege on it."""
    actor_index = ActorIndex(actors)
    for start in range(0, len(numbers), ENTITY_BATCH_SIZE):
        check_deadline()
        postings = partitions.load_partition(
            state, state.tested_fields([privilege]), numbers[start : start + ENTITY_BATCH_SIZE]
        ).postings
        statement_groups = group_statements(state.snapshot, privilege, postings.types)
        for audience in AudienceIndex(state.snapshot, privilege, statement_groups, actor_index).iterate_audiences(
            postings
        ):
            yield from ((postings.urns[number], audience.find_actors(number)) for number in audience.entities)


def _count_by_person(audience_counts: Counter[FrozenBitMap], people: Sequence[str]) -> Counter[str]:
    """Return the number of entities of each person; entities with the same audience are counted together."""
    person_counts: Counter[str] = Counter()
    for audience, count in audience_counts.items():
        for person in audience:
            person_counts[people[person]] += count
    return person_counts
