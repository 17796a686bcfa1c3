"""States of the world of which more is known than policies: who there is, in which groups, and who owns what.

Unnamed facts are free: entities there could be, their facts, and further owners of those that are named.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.selectors import Owner
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class KnownState:
    """Policies and grants as a snapshot, people by URN as they are, and owners that entities have in any case.

    `objects` are entities by type and object id: no other entity of the type ever has the id.
    """

    snapshot: Snapshot
    people: Mapping[str, Actor]
    owners: Mapping[str, frozenset[Owner]] = field(default_factory=dict)
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownChange:
    """Two states with the same people, and what differs between them.

    `owned_entities` are those of which other owners are known, `moved_people` those whose groups differ.
    """

    before: KnownState
    after: KnownState
    owned_entities: Collection[str] = field(init=False)
    moved_people: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Find what differs. Raises ValueError where the people are others."""
        before, after = self.before, self.after
        if before.people.keys() != after.people.keys():
            raise ValueError("Both states need the same people.")
        urns = before.owners.keys() | after.owners.keys()
        differing = [urn for urn in sorted(urns) if before.owners.get(urn) != after.owners.get(urn)]
        object.__setattr__(self, "owned_entities", differing)
        moved = [
            urn
            for urn, was in before.people.items()
            if was is not after.people[urn] and was.groups != after.people[urn].groups
        ]
        object.__setattr__(self, "moved_people", frozenset(moved))

    @property
    def sides(self) -> tuple[KnownState, KnownState]:
        """The states, the earlier one first."""
        return self.before, self.after

    @property
    def objects(self) -> Mapping[tuple[str, str], str]:
        """The entities of both states by type and object id."""
        return {**self.before.objects, **self.after.objects}

    @property
    def tested_fields(self) -> frozenset[str]:
        """The facets that a statement of either state tests."""
        return self.before.snapshot.all_tested_fields | self.after.snapshot.all_tested_fields

    def can_ask(self, urn: str) -> bool:
        """Whether somebody may do anything after the change: active people other than the system."""
        return urn != SYSTEM_ACTOR and self.after.people[urn].is_active

    def find_owners(self, side: int, entity: str) -> frozenset[Owner]:
        """Return the owners that an entity has in any case, before (0) or after (1)."""
        return self.sides[side].owners.get(entity, frozenset())
