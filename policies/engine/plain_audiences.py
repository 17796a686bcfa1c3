"""Audiences where only plain allows apply: entities are divided into classes, one statement group after the other.

Groups that cover a whole type give each entity its first class. Every other group moves the entities that it covers to
the class in which its actors have access, too; one that names nobody new leaves them where they are. So entities that
differ only in statements for people who have access anyway share a class, and a class is found once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyroaring import FrozenBitMap

from policies.engine.actor_index import ActorIndex
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.relational_actors import RelationalActors
from policies.engine.selectors import Selector
from policies.engine.statement_groups import StatementGroup, list_excluding_groups


@dataclass(frozen=True, slots=True)
class GroupBase:
    """The whole-type statement groups that cover an entity, and the actors they name by kind of statement."""

    group_numbers: Sequence[int]
    relational_tokens: frozenset[str]
    actors_by_kind: Sequence[FrozenBitMap]


@dataclass(slots=True, eq=False)
class EntityClass:
    """Who reaches some entities: actors of a base and further ones, disjoint; all other eligible actors are missing.

    Relational tokens give access, too, to those who have them for an entity. Never changed: freezing a class would
    triple the time to create one.
    """

    base_actors: FrozenBitMap
    extra_actors: FrozenBitMap
    missing_actors: FrozenBitMap
    relational_tokens: frozenset[str]


class _Moves(dict[EntityClass, EntityClass]):
    """The class of an entity that one statement group covers, by its class without that group."""

    def __init__(self, named_actors: FrozenBitMap, relational_tokens: frozenset[str]) -> None:
        self._named_actors = named_actors
        self._relational_tokens = relational_tokens

    def __missing__(self, entity_class: EntityClass) -> EntityClass:
        tokens = entity_class.relational_tokens
        has_tokens = self._relational_tokens <= tokens
        if self._named_actors.intersect(entity_class.missing_actors):
            new_class = EntityClass(
                entity_class.base_actors,
                entity_class.extra_actors | (self._named_actors & entity_class.missing_actors),
                entity_class.missing_actors - self._named_actors,
                tokens if has_tokens else tokens | self._relational_tokens,
            )
        elif has_tokens:
            new_class = entity_class
        else:
            new_class = EntityClass(
                entity_class.base_actors,
                entity_class.extra_actors,
                entity_class.missing_actors,
                tokens | self._relational_tokens,
            )
        self[entity_class] = new_class
        return new_class


class PlainAudiences:
    """The classes of entities of any number of partitions, with what does not depend on a partition kept."""

    def __init__(
        self,
        statement_groups: Sequence[StatementGroup],
        actor_index: ActorIndex,
        get_base: Callable[[str, tuple[int, ...]], GroupBase],
        find_named_actors: Callable[[int, int], FrozenBitMap],
    ) -> None:
        self._statement_groups = statement_groups
        self._relational_tokens = [statement_group.relational_tokens for statement_group in statement_groups]
        self._eligible_actors = actor_index.eligible_actors
        self._actor_index = actor_index
        self._get_base = get_base
        self._find_named_actors = find_named_actors
        self._uncommon_actors = EMPTY
        self._uncommon_named_actors: dict[int, FrozenBitMap] = {}

    def iterate_classes(
        self, postings: Postings
    ) -> Iterator[tuple[EntityClass, Sequence[int], dict[int, FrozenBitMap]]]:
        """Yield each class with its entities, and the further actors of single entities where there are such.

        Raises MissingFact if a facet that a statement tests was not loaded.
        """
        classes = self._list_first_classes(postings)
        first_classes = set(classes)
        self._add_uncommon_actors(first_classes)
        common_tokens = (
            frozenset.intersection(*(first_class.relational_tokens for first_class in first_classes))
            if first_classes
            else frozenset[str]()
        )
        for group_number, statement_group in enumerate(self._statement_groups):
            typed_entities = postings.with_type(statement_group.type)
            if not typed_entities or statement_group.covers_whole_type:
                continue
            extent = postings.find_extent(Selector(statement_group.criteria))
            named_actors, tokens = self._find_uncommon_actors(group_number), self._relational_tokens[group_number]
            if named_actors or not tokens <= common_tokens:
                moves = _Moves(named_actors, tokens)
                for number in extent & typed_entities:
                    classes[number] = moves[classes[number]]
        entities_by_class: dict[EntityClass, list[int]] = defaultdict(list)
        for number, entity_class in enumerate(classes):
            entities_by_class[entity_class].append(number)
        relational_actors = RelationalActors(postings, self._actor_index, self._uncommon_actors)
        for entity_class, entities in entities_by_class.items():
            yield entity_class, entities, _find_related_actors(entity_class, entities, relational_actors)

    def _list_first_classes(self, postings: Postings) -> list[EntityClass]:
        """Return the class of each entity by the statement groups that cover its whole type."""
        excluding_groups = list_excluding_groups(postings, self._statement_groups)
        class_by_key: dict[tuple[str, tuple[int, ...]], EntityClass] = {}

        def get_class(type_name: str, groups: tuple[int, ...]) -> EntityClass:
            entity_class = class_by_key.get((type_name, groups))
            if entity_class is None:
                base = self._get_base(type_name, groups)
                base_actors = base.actors_by_kind[0]
                missing_actors = self._eligible_actors - base_actors
                entity_class = EntityClass(base_actors, EMPTY, missing_actors, base.relational_tokens)
                class_by_key[type_name, groups] = entity_class
            return entity_class

        whole_classes = {type_name: get_class(type_name, ()) for type_name in set(postings.types)}
        classes = [whole_classes[type_name] for type_name in postings.types]
        for number, groups in excluding_groups.items():
            classes[number] = get_class(postings.types[number], tuple(groups))
        return classes

    def _add_uncommon_actors(self, first_classes: set[EntityClass]) -> None:
        """Note the usually few actors whom not every base names: nobody else can be added to a class."""
        uncommon_actors = union(
            {id(first_class.base_actors): first_class.missing_actors for first_class in first_classes}.values()
        )
        if not uncommon_actors <= self._uncommon_actors:
            self._uncommon_actors |= uncommon_actors
            self._uncommon_named_actors.clear()

    def _find_uncommon_actors(self, group_number: int) -> FrozenBitMap:
        actors = self._uncommon_named_actors.get(group_number)
        if actors is None:
            actors = self._find_named_actors(group_number, 0) & self._uncommon_actors
            self._uncommon_named_actors[group_number] = actors
        return actors


def _find_related_actors(
    entity_class: EntityClass, entities: Sequence[int], relational_actors: RelationalActors
) -> dict[int, FrozenBitMap]:
    """Return entity -> the missing actors that have a relational token of the class for it."""
    if not entity_class.relational_tokens or not entity_class.missing_actors:
        return {}
    sets_by_entity = relational_actors.group_by_entity(entity_class.relational_tokens)
    missing_actors = entity_class.missing_actors
    actors_by_entity: dict[int, FrozenBitMap] = {}
    for number in entities:
        if number in sets_by_entity:
            # Most of these have access already, and an intersection costs more than this check.
            new_actors = [
                actors & missing_actors for actors in sets_by_entity[number] if actors.intersect(missing_actors)
            ]
            if new_actors:
                actors_by_entity[number] = union(new_actors)
    return actors_by_entity
