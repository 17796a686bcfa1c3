"""The facts of one partition: its entities with the reach of actors on them. No Django, and no Spark.

`policies.engine` evaluates a whole partition: its postings answer for all entities at once, its resources one by one
where only `decide` can. Grants are among the statements.
"""

from collections.abc import Iterable

from pyroaring import FrozenBitMap

from catalog.reports.snapshot import partitions
from policies.engine import families, reach_index, selectors
from policies.engine.actor_conditions import relevant_attributes, tested_attributes
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Decision, Question

_NO_URNS: frozenset[str] = frozenset()


class PartitionFacts:
    """One partition: `numbers` and `urns` of its entities in order, their postings, and the statements and actors."""

    def __init__(self, state: partitions.SnapshotState, partition: partitions.Partition) -> None:
        self.actors = state.actors
        self.snapshot = state.snapshot
        self.numbers: list[int] = partition.numbers.to_pylist()
        self.postings = partition.postings
        self.urns = partition.postings.urns
        self._reach_by_privilege: dict[str, _CachedReach] = {}

    def find_extent(self, actor: Actor, privilege: str) -> reach_index.EntityExtent:
        """Return the extent of an actor for a privilege, cached for actors that its statements cannot distinguish."""
        reach = self._reach_by_privilege.get(privilege)
        if reach is None:
            reach = self._reach_by_privilege[privilege] = _CachedReach(self, privilege)
        return reach.find_extent(actor)

    def find_allowed(self, actor: Actor, privilege: str, candidates: FrozenBitMap | None = None) -> FrozenBitMap:
        """Return the entities (among `candidates`) on which the actor may use the privilege, exactly."""
        extent = self.find_extent(actor, privilege)
        allowed_entities = extent.allowed if candidates is None else extent.allowed & candidates
        open_entities = extent.needs_decision if candidates is None else extent.needs_decision & candidates
        if not open_entities:
            return allowed_entities
        return allowed_entities | FrozenBitMap(
            index for index in open_entities if self.decide(actor, privilege, index).is_allowed
        )

    def decide(self, actor: Actor, privilege: str, index: int) -> Decision:
        """Return the decision about one entity of the partition."""
        return decide(self.snapshot, self.build_question(actor, privilege, index))

    def build_question(self, actor: Actor, privilege: str, index: int) -> Question:
        """Return the question about one entity of the partition."""
        return Question(actor, privilege, self.postings.build_resource(index))


class _CachedReach:
    """Extents for one privilege, shared by actors to whom the same statements apply and who own the same entities.

    Where statements have actor conditions, the tested attributes have to be the same too.
    """

    def __init__(self, facts: PartitionFacts, privilege: str) -> None:
        statements = facts.snapshot.list_statements(privilege)
        tokens = frozenset[str]().union(*(item.actors.tested_tokens for item in statements))
        is_owned = any(item.startswith(selectors.OWNER_OF_ANY_TYPE) for item in tokens)
        self._tokens = tokens
        self._tested_attributes = tested_attributes(statements)
        self._owner_urns = frozenset(facts.postings.owners(None)) if is_owned else _NO_URNS
        self._self_urns = frozenset(facts.urns) if selectors.ONESELF in tokens else _NO_URNS
        self._reach_index = reach_index.ReachIndex(facts.postings, facts.snapshot, privilege)
        self._extents: dict[object, reach_index.EntityExtent] = {}

    def find_extent(self, actor: Actor) -> reach_index.EntityExtent:
        """Return the extent of one actor."""
        self_urn = actor.urn if actor.urn in self._self_urns or actor.urn == SYSTEM_ACTOR else ""
        attributes = relevant_attributes(actor, self._tested_attributes)
        key = (actor.is_active, actor.tokens & self._tokens, actor.holders & self._owner_urns, self_urn, attributes)
        extent = self._extents.get(key)
        if extent is None:
            extent = self._extents[key] = self._reach_index.find_extent(actor)
        return extent


def split_by_scope(privileges: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the privileges on entities and those on the platform, both sorted."""
    platform_names = families.platform_privileges()
    names = sorted(privileges)
    return tuple(name for name in names if name not in platform_names), tuple(
        name for name in names if name in platform_names
    )
