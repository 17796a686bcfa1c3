"""What can be asked of finished effective access reports: who reached an entity, what a person reached, and who gained
and lost access to some entities between two runs.

Each run kept what it was made from, so the engine answers about it exactly, and looks at no more of the catalog than
was asked about. No product of people and entities is kept or formed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.models import Report
from catalog.reports.run import run_state
from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partitions import State
from policies.engine.audience import Crowds, People
from policies.engine.model import Actor
from policies.engine.postings import NONE
from policies.engine.statement_groups import units_of
from policies.errors import NotFound

#: How many entities are looked at at once.
AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Changed:
    """On how many of the entities each person, by URN, gained access, and on how many it lost it."""

    gained: Counter[str]
    lost: Counter[str]


def who(*, report: Report, privilege: str, entity: str) -> list[str]:
    """Return the URNs of the people who could use a privilege on an entity, in order.

    Raises NotFound when the run did not keep what it was made from or knew no such entity, and Corrupt.
    """
    state = _state(report)
    numbers = partitions.named(state.source, [entity])
    if not len(numbers):
        raise NotFound(f"There was no entity {entity} when this report was made.")
    found = dict(_reached(state, state.actors, privilege, numbers))
    return sorted(state.actors[person].urn for person in found.get(entity, NONE))


def what(*, report: Report, privilege: str, person: str) -> list[str]:
    """Return the URNs of the entities that a person could use a privilege on, in order; raises as `who` does."""
    state = _state(report)
    actors = [actor for actor in state.actors if actor.urn == person]
    if not actors:
        raise NotFound(f"There was no user {person} when this report was made.")
    found = _reached(state, actors, privilege, partitions.numbers_of(state.source))
    return sorted(entity for entity, people in found if people)


def changed(*, before: Report, after: Report, privilege: str, field: str, value: str) -> Changed:
    """Return who gained and lost a privilege on entities that have a facet, such as a tag, in either of two runs.

    An entity that has it in one run only is looked at in both. Raises as `who` does.
    """
    states = [_state(report) for report in (before, after)]
    urns = frozenset[str]().union(*(_having(state, field, value) for state in states))
    people = sorted({actor.urn for state in states for actor in state.actors})
    old, new = (
        dict(_reached(state, _in_line(state, people), privilege, partitions.named(state.source, urns)))
        for state in states
    )
    both = [(old.get(urn, NONE), new.get(urn, NONE)) for urn in urns]
    return Changed(
        gained=_expanded(Counter(after - before for before, after in both), people),
        lost=_expanded(Counter(before - after for before, after in both), people),
    )


def _state(report: Report) -> State:
    source = run_state.folder_of(report.pk) / "input"
    if report.policy_version is None or not source.is_dir():
        raise NotFound("This run did not keep what it was made from.")
    return partitions.state_of(source.as_uri(), report.policy_version)


def _having(state: State, field: str, value: str) -> list[str]:
    numbers = partitions.having(state.source, field, value)
    return list(partitions.read(state, (), numbers).postings.urns)


def _in_line(state: State, people: Sequence[str]) -> list[Actor]:
    """Return the actors of a run in an order that another run shares; who was not there then can do nothing."""
    known = {actor.urn: actor for actor in state.actors}
    return [known.get(urn, Actor(urn, is_active=False)) for urn in people]


def _reached(
    state: State, actors: Sequence[Actor], privilege: str, numbers: pa.Array
) -> Iterator[tuple[str, FrozenBitMap]]:
    """Give each of the entities and who, by place among the actors, reaches it."""
    people = People(actors)
    for start in range(0, len(numbers), AT_ONCE):
        postings = partitions.read(state, state.fields_for([privilege]), numbers[start : start + AT_ONCE]).postings
        units = units_of(state.snapshot, privilege, postings.types)
        for crowd in Crowds(state.snapshot, privilege, units, people).of(postings):
            yield from ((postings.urns[number], crowd.of(number)) for number in crowd.alike.entities)


def _expanded(crowds: Counter[FrozenBitMap], people: Sequence[str]) -> Counter[str]:
    """Return how often each person is in the crowds; entities with the same crowd are looked at once."""
    found: Counter[str] = Counter()
    for crowd, times in crowds.items():
        for person in crowd:
            found[people[person]] += times
    return found
