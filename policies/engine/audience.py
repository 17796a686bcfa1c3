"""The actors who may use one privilege on each of many entities: `reach_index` seen from the entities.

Actors are numbered from 0. An audience is a set of actors, a compressed bitmap. Statements are gathered into statement
groups (`policies.engine.statement_groups`) with one audience each. Entities that the same statement groups cover share
their audience except for owners.

No product of actors and entities is formed. Where a restricted allow applies, `decide` is called, once for each kind of
actor and of entity (rules/datazone.md DZ-55 to DZ-57, DZ-67).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from pyroaring import FrozenBitMap

from policies.engine.actor_conditional_reach import ConditionalAudience
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, Resource, owner_type
from policies.engine.snapshot import Snapshot
from policies.engine.statement_groups import EntityGroup, StatementGroup, group_entities


class ActorIndex:
    """Actors by number, and the actors of each token; inactive ones have none, the system actor is always allowed."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self.actors = actors
        self.numbers = {actor.urn: number for number, actor in enumerate(actors)}
        self.always_allowed = FrozenBitMap(number for number, actor in enumerate(actors) if actor.urn == SYSTEM_ACTOR)
        active_actors = [(number, actor) for number, actor in enumerate(actors) if actor.is_active]
        self.eligible_actors = FrozenBitMap(number for number, _ in active_actors) | self.always_allowed
        self._numbers_by_token = _invert((number, actor.tokens) for number, actor in active_actors)
        self._numbers_by_holder = _invert((number, actor.holders) for number, actor in active_actors)

    def with_any_token(self, tokens: Iterable[str]) -> FrozenBitMap:
        """Return the actors that have any of the tokens."""
        return union(self._numbers_by_token[token] for token in tokens if token in self._numbers_by_token)

    def with_holder(self, holder: str) -> FrozenBitMap:
        """Return the actors that own the entities of a holder: the user itself, or the members of a group."""
        return self._numbers_by_holder.get(holder, EMPTY)

    def active_actors(self) -> Iterator[tuple[int, Actor]]:
        """Yield the active actors with their numbers, without the system actor."""
        return (
            (self.numbers[actor.urn], actor) for actor in self.actors if actor.is_active and actor.urn != SYSTEM_ACTOR
        )

    def with_urn(self, urn: str) -> FrozenBitMap:
        """Return the actor of this URN as a set, empty if it is unknown or inactive."""
        number = self.numbers.get(urn)
        return EMPTY if number is None or not self.actors[number].is_active else FrozenBitMap((number,))


@dataclass(frozen=True, slots=True)
class Audience:
    """The actors who reach the entities of a group.

    `base_actors` and `extra_actors` reach all of them, `extra_by_entity` has further actors of single entities.

    The three are disjoint, and many groups share one `base_actors`. `extra_by_entity` has only entities with further
    actors; `decided_by_entity` are those of its actors that `decide` allowed because of a restricted allow.
    """

    group: EntityGroup
    base_actors: FrozenBitMap
    extra_actors: FrozenBitMap
    extra_by_entity: Mapping[int, FrozenBitMap]
    decided_by_entity: Mapping[int, FrozenBitMap] = field(default_factory=dict)

    def find_actors(self, number: int) -> FrozenBitMap:
        """Return the actors who reach one entity of the group."""
        group_actors = self.base_actors | self.extra_actors
        return group_actors | self.extra_by_entity[number] if number in self.extra_by_entity else group_actors


class _GroupBase:
    """The whole-type statement groups that cover an entity: the actors they name, and those that other groups add."""

    def __init__(
        self,
        group_numbers: Sequence[int],
        relational_tokens: frozenset[str],
        actors_by_kind: Sequence[FrozenBitMap],
        eligible_actors: FrozenBitMap,
    ) -> None:
        self.group_numbers = group_numbers
        self.relational_tokens = relational_tokens
        self.actors_by_kind = actors_by_kind
        self.unnamed_actors = eligible_actors - actors_by_kind[0]
        self._added_by_group: dict[int, FrozenBitMap] = {}

    def find_added_actors(self, number: int, find_named: Callable[[int], FrozenBitMap]) -> FrozenBitMap:
        """Return the actors that a statement group's plain allows name and the base's do not."""
        added_actors = self._added_by_group.get(number)
        if added_actors is None:
            added_actors = self._added_by_group[number] = find_named(number) & self.unnamed_actors
        return added_actors


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
        self._bases: dict[tuple[str, tuple[int, ...]], _GroupBase] = {}
        self._is_plain = not any(
            statement_group.restricted_tokens or statement_group.deny_tokens for statement_group in statement_groups
        )
        self._conditional = [
            statement for statement in snapshot.list_statements(privilege) if statement.is_actor_specific
        ]
        self._has_conditional_deny = any(statement.effect is Effect.DENY for statement in self._conditional)

    def iterate_audiences(self, postings: Postings) -> Iterator[Audience]:
        """Yield the audiences of a partition's entities, grouped by statement groups; every entity is in one group.

        Raises MissingFact if a facet that a statement tests was not loaded.
        """
        group_bases = [
            (entity_group, self._get_base(entity_group))
            for entity_group in group_entities(postings, self.statement_groups)
        ]
        conditional_audience = (
            ConditionalAudience(postings, self._conditional, self._actor_index.active_actors())
            if self._conditional
            else None
        )
        if self._is_plain and not self._has_conditional_deny:
            audiences = self._iterate_plain(postings, group_bases)
        else:
            relational_actors = _RelationalActors(postings, self._actor_index, self._actor_index.eligible_actors)
            audiences = (
                self._decide_group(relational_actors, entity_group, base) for entity_group, base in group_bases
            )
        for audience in audiences:
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
        for number in audience.group.entities:
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

    def _get_base(self, entity_group: EntityGroup) -> _GroupBase:
        key = (entity_group.type, entity_group.excluding_groups)
        base = self._bases.get(key)
        if base is None:
            excluding_groups = frozenset(entity_group.excluding_groups)
            group_numbers = [
                number
                for number in self._wide_groups_by_type.get(entity_group.type, ())
                if number not in excluding_groups
            ]
            relational_tokens = frozenset[str]().union(*(self._relational_tokens[number] for number in group_numbers))
            actors_by_kind = [
                union(self._find_named_actors(number, kind) for number in group_numbers) for kind in range(3)
            ]
            actors_by_kind[0] |= self._actor_index.always_allowed
            base = self._bases[key] = _GroupBase(
                group_numbers, relational_tokens, actors_by_kind, self._actor_index.eligible_actors
            )
        return base

    def _iterate_plain(
        self, postings: Postings, group_bases: Sequence[tuple[EntityGroup, _GroupBase]]
    ) -> Iterator[Audience]:
        """Yield the audiences of groups to which only plain allows apply.

        Relational tokens are resolved only for the usually few actors that some base does not name.
        """
        bases = {id(base): base.actors_by_kind[0] for _, base in group_bases}
        uncommon_actors = (
            self._actor_index.eligible_actors - FrozenBitMap.intersection(*bases.values()) if bases else EMPTY
        )
        relational_actors = _RelationalActors(postings, self._actor_index, uncommon_actors)
        find_named = cache(lambda number: self._find_named_actors(number, 0) & uncommon_actors)
        for entity_group, base in group_bases:
            extra_actors = union(
                actors
                for number in entity_group.covering_groups
                if (actors := base.find_added_actors(number, find_named))
            )
            further_tokens = [
                group_tokens
                for number in entity_group.covering_groups
                if not (group_tokens := self._relational_tokens[number]) <= base.relational_tokens
            ]
            relational_tokens = (
                base.relational_tokens.union(*further_tokens) if further_tokens else base.relational_tokens
            )
            extra_by_entity: dict[int, FrozenBitMap] = {}
            for number, owner_sets in relational_actors.iterate_actors(entity_group.entities, relational_tokens):
                # The base names most owners already, and a union costs more than this check.
                unnamed_actors = [
                    actors for owners in owner_sets if (actors := (owners & base.unnamed_actors) - extra_actors)
                ]
                if unnamed_actors:
                    extra_by_entity[number] = union(unnamed_actors)
            yield Audience(entity_group, base.actors_by_kind[0], extra_actors, extra_by_entity)

    def _find_named_actors(self, number: int, kind: int) -> FrozenBitMap:
        actors = self._named_actors_by_kind.get((number, kind))
        if actors is None:
            actors = self._named_actors_by_kind[number, kind] = self._actor_index.with_any_token(
                self.statement_groups[number].tokens(kind)
            )
        return actors

    def _decide_group(
        self, relational_actors: "_RelationalActors", entity_group: EntityGroup, base: _GroupBase
    ) -> Audience:
        """Return the audience of a group, computed per entity because some statement restricts or denies."""
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
        for number in entity_group.entities:
            plain_actors, restricted_actors, denied_actors = (
                union((actors_by_kind[kind], *relational_actors.find_actors(number, tokens_by_kind[kind])))
                for kind in range(3)
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
        return Audience(entity_group, EMPTY, EMPTY, extra_by_entity, decided_by_entity)

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


class _RelationalActors:
    """The actors (of a given set) that have relational tokens for an entity: by being it, or by owning it."""

    def __init__(self, postings: Postings, actor_index: ActorIndex, actor_numbers: FrozenBitMap) -> None:
        self.postings = postings
        self._actor_index = actor_index
        self._actor_numbers = actor_numbers
        self._owners_by_tokens: dict[frozenset[str], Mapping[int, list[FrozenBitMap]]] = {}

    def iterate_actors(
        self, entities: Sequence[int], relational_tokens: frozenset[str]
    ) -> Iterator[tuple[int, Sequence[FrozenBitMap]]]:
        """Yield the entities for which actors have one of the relational tokens, with these sets of actors."""
        if not relational_tokens:
            return
        owners_by_entity, is_oneself = self._find_owners(relational_tokens), ONESELF in relational_tokens
        for number in entities:
            actor_sets = owners_by_entity.get(number, ())
            if is_oneself and (
                self_actor := self._actor_index.with_urn(self.postings.urns[number]) & self._actor_numbers
            ):
                actor_sets = (*actor_sets, self_actor)
            if actor_sets:
                yield number, actor_sets

    def find_actors(self, number: int, relational_tokens: frozenset[str]) -> Sequence[FrozenBitMap]:
        """Return the sets of actors that have one of the relational tokens for one entity."""
        return next((actor_sets for _, actor_sets in self.iterate_actors((number,), relational_tokens)), ())

    def _find_owners(self, relational_tokens: frozenset[str]) -> Mapping[int, list[FrozenBitMap]]:
        owners_by_entity = self._owners_by_tokens.get(relational_tokens)
        if owners_by_entity is None:
            owners_by_entity = self._owners_by_tokens[relational_tokens] = defaultdict(list)
            # An owner of a specific type is also an owner of any type.
            for token in (OWNER_OF_ANY_TYPE,) if OWNER_OF_ANY_TYPE in relational_tokens else relational_tokens:
                if token.startswith(OWNER_OF_ANY_TYPE):
                    for holder, numbers in self.postings.owners(owner_type(token)).items():
                        if owners := self._actor_index.with_holder(holder) & self._actor_numbers:
                            for number in numbers:
                                owners_by_entity[number].append(owners)
        return owners_by_entity


def _invert(names_by_number: Iterable[tuple[int, Iterable[str]]]) -> dict[str, FrozenBitMap]:
    numbers_by_name: dict[str, list[int]] = defaultdict(list)
    for number, names in names_by_number:
        for name in names:
            numbers_by_name[name].append(number)
    return {name: FrozenBitMap(numbers) for name, numbers in numbers_by_name.items()}
