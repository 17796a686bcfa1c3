"""The actors who may use one privilege on each of many entities: `reach_index` seen from the entities.

Actors are numbered from 0. An audience is a set of actors, a compressed bitmap. Statements are gathered into statement
groups (`policies.engine.statement_groups`) with one audience each. Entities that the same statement groups cover share
their audience except for owners.

No product of actors and entities is formed. Where a restricted allow applies, `decide` is called, once for each kind of
actor and of entity (rules/datazone.md DZ-55 to DZ-57, DZ-67).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import FrozenBitMap

from policies.engine.actor_conditional_reach import ConditionalAudience
from policies.engine.actor_index import ActorIndex
from policies.engine.evaluate import decide
from policies.engine.model import Effect, Question
from policies.engine.plain_audiences import GroupBase, PlainAudiences
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.relational_actors import RelationalActors
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.engine.statement_groups import EntityGroup, StatementGroup, group_entities


@dataclass(frozen=True, slots=True)
class Audience:
    """The actors who reach some entities, which are given by number.

    `base_actors` and `extra_actors` reach all of them, `extra_by_entity` has further actors of single entities.

    The three are disjoint, and many audiences share one `base_actors`. `extra_by_entity` has only entities with further
    actors; `decided_by_entity` are those of its actors that `decide` allowed because of a restricted allow.
    """

    entities: Sequence[int]
    base_actors: FrozenBitMap
    extra_actors: FrozenBitMap
    extra_by_entity: Mapping[int, FrozenBitMap]
    decided_by_entity: Mapping[int, FrozenBitMap] = field(default_factory=dict)

    def find_actors(self, number: int) -> FrozenBitMap:
        """Return the actors who reach one of the entities."""
        shared_actors = self.base_actors | self.extra_actors
        return shared_actors | self.extra_by_entity[number] if number in self.extra_by_entity else shared_actors


class AudienceIndex:
    """The audiences of statement groups; serves any number of partitions of entities."""

    def __init__(
        self, snapshot: Snapshot, privilege: str, statement_groups: Sequence[StatementGroup], actor_index: ActorIndex
    ) -> None:
        self.statement_groups = statement_groups
        self._snapshot = snapshot
        self._privilege = privilege
        self._actor_index = actor_index
        self._relational_tokens = [statement_group.relational_tokens for statement_group in statement_groups]
        self._wide_groups_by_type: dict[str, list[int]] = defaultdict(list)
        for number, statement_group in enumerate(statement_groups):
            if statement_group.covers_whole_type:
                self._wide_groups_by_type[statement_group.type].append(number)
        self._named_actors_by_kind: dict[tuple[int, int], FrozenBitMap] = {}
        self._bases: dict[tuple[str, tuple[int, ...]], GroupBase] = {}
        self._plain_audiences = PlainAudiences(statement_groups, actor_index, self._get_base, self._find_named_actors)
        self._is_plain = not any(
            statement_group.restricted_tokens or statement_group.deny_tokens for statement_group in statement_groups
        )
        self._conditional = [
            statement for statement in snapshot.list_statements(privilege) if statement.is_actor_specific
        ]
        self._has_conditional_deny = any(statement.effect is Effect.DENY for statement in self._conditional)

    def iterate_audiences(self, postings: Postings) -> Iterator[Audience]:
        """Yield the audiences of a partition's entities; every entity is in one of them.

        Raises MissingFact if a facet that a statement tests was not loaded.
        """
        conditional_audience = (
            ConditionalAudience(postings, self._conditional, self._actor_index.active_actors())
            if self._conditional
            else None
        )
        is_plain = self._is_plain and not self._has_conditional_deny
        for audience in self._iterate_plain(postings) if is_plain else self._iterate_decided(postings):
            yield (
                audience
                if conditional_audience is None
                else self._apply_conditional(audience, conditional_audience, postings)
            )

    def _apply_conditional(
        self, audience: Audience, conditional_audience: ConditionalAudience, postings: Postings
    ) -> Audience:
        """Return the audience with the actors that actor-specific statements allow, without those they deny."""
        extra_by_entity, decided_by_entity = dict(audience.extra_by_entity), dict(audience.decided_by_entity)
        for number in audience.entities:
            gained_actors = conditional_audience.allowed_by_entity.get(number, EMPTY) - audience.find_actors(number)
            if gained_actors and not self._is_plain:
                gained_actors = self._filter_allowed_actors(gained_actors, postings.build_resource(number))
            lost_actors = conditional_audience.denied_by_entity.get(number, EMPTY)
            for actors_by_entity, new_actors in ((extra_by_entity, gained_actors), (decided_by_entity, EMPTY)):
                remaining_actors = (actors_by_entity.get(number, EMPTY) | new_actors) - lost_actors
                if remaining_actors:
                    actors_by_entity[number] = remaining_actors
                else:
                    actors_by_entity.pop(number, None)
        return replace(audience, extra_by_entity=extra_by_entity, decided_by_entity=decided_by_entity)

    def _filter_allowed_actors(self, actor_numbers: FrozenBitMap, resource: Resource) -> FrozenBitMap:
        questions = (
            (actor_number, Question(self._actor_index.actors[actor_number], self._privilege, resource))
            for actor_number in actor_numbers
        )
        return FrozenBitMap(
            actor_number for actor_number, question in questions if decide(self._snapshot, question).is_allowed
        )

    def _get_base(self, type_name: str, excluding_groups: tuple[int, ...]) -> GroupBase:
        """Return the base of entities of a type that these of its whole-type statement groups exclude."""
        key = (type_name, excluding_groups)
        base = self._bases.get(key)
        if base is None:
            group_numbers = [
                number for number in self._wide_groups_by_type.get(type_name, ()) if number not in excluding_groups
            ]
            relational_tokens = frozenset[str]().union(*(self._relational_tokens[number] for number in group_numbers))
            actors_by_kind = [
                union(self._find_named_actors(number, kind) for number in group_numbers) for kind in range(3)
            ]
            actors_by_kind[0] |= self._actor_index.always_allowed
            base = self._bases[key] = GroupBase(group_numbers, relational_tokens, actors_by_kind)
        return base

    def _iterate_plain(self, postings: Postings) -> Iterator[Audience]:
        """Yield the audiences of entities to which only plain allows apply."""
        for entity_class, entities, extra_by_entity in self._plain_audiences.iterate_classes(postings):
            yield Audience(entities, entity_class.base_actors, entity_class.extra_actors, extra_by_entity)

    def _iterate_decided(self, postings: Postings) -> Iterator[Audience]:
        """Yield the audiences of entities, computed per entity because some statement restricts or denies."""
        relational_actors = RelationalActors(postings, self._actor_index, self._actor_index.eligible_actors)
        for entity_group in group_entities(postings, self.statement_groups):
            base = self._get_base(entity_group.type, entity_group.excluding_groups)
            yield self._decide_group(relational_actors, entity_group, base)

    def _find_named_actors(self, number: int, kind: int) -> FrozenBitMap:
        """Return the actors that statements of one kind of a statement group name by their own tokens."""
        actors = self._named_actors_by_kind.get((number, kind))
        if actors is None:
            actors = self._named_actors_by_kind[number, kind] = self._actor_index.with_any_token(
                self.statement_groups[number].tokens(kind)
            )
        return actors

    def _decide_group(
        self, relational_actors: RelationalActors, entity_group: EntityGroup, base: GroupBase
    ) -> Audience:
        """Return the audience of a group of entities."""
        covering_groups = (*entity_group.covering_groups, *base.group_numbers)
        extra_by_entity: dict[int, FrozenBitMap] = {}
        decided_by_entity: dict[int, FrozenBitMap] = {}
        actors_by_kind = [
            union(
                (
                    base.actors_by_kind[kind],
                    *(self._find_named_actors(number, kind) for number in entity_group.covering_groups),
                )
            )
            for kind in range(3)
        ]
        tokens_by_kind = [
            frozenset[str]().union(
                *(self.statement_groups[group_number].tokens(kind) for group_number in covering_groups)
            )
            for kind in range(3)
        ]
        named_tokens = frozenset[str]().union(*tokens_by_kind)
        # Actors with the same named tokens share one decision, unless more than tokens matters.
        is_uniform = not self._conditional and not any(self._relational_tokens[number] for number in covering_groups)
        answers: dict[frozenset[str], bool] | None = {} if is_uniform else None
        related_actors = [relational_actors.group_by_entity(tokens) for tokens in tokens_by_kind]
        for number in entity_group.entities:
            plain_actors, restricted_actors, denied_actors = (
                union((actors_by_kind[kind], *related_actors[kind].get(number, ()))) for kind in range(3)
            )
            allowed_actors = self._decide_actors(
                relational_actors.postings, number, restricted_actors - denied_actors, named_tokens, answers
            )
            if allowed_actors:
                decided_by_entity[number] = allowed_actors
            actors = (
                (plain_actors - restricted_actors - denied_actors) | allowed_actors | self._actor_index.always_allowed
            )
            if actors:
                extra_by_entity[number] = actors
        return Audience(entity_group.entities, EMPTY, EMPTY, extra_by_entity, decided_by_entity)

    def _decide_actors(
        self,
        postings: Postings,
        number: int,
        actor_numbers: FrozenBitMap,
        named_tokens: frozenset[str],
        answers: dict[frozenset[str], bool] | None,
    ) -> FrozenBitMap:
        """Decide for actors that a restricted allow reaches; with `answers`, once for the same named tokens."""
        if not actor_numbers:
            return EMPTY
        resource = postings.build_resource(number)
        if answers is None:
            return self._filter_allowed_actors(actor_numbers, resource)
        tokens_by_actor = {
            actor_number: self._actor_index.actors[actor_number].tokens & named_tokens for actor_number in actor_numbers
        }
        new_actors = {tokens: number for number, tokens in tokens_by_actor.items() if tokens not in answers}
        allowed_actors = self._filter_allowed_actors(FrozenBitMap(new_actors.values()), resource)
        answers.update((tokens, actor_number in allowed_actors) for tokens, actor_number in new_actors.items())
        return FrozenBitMap(actor_number for actor_number, tokens in tokens_by_actor.items() if answers[tokens])
