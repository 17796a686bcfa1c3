"""Actors, entity facts, relatives and types, from the cache of this process while it is fresh, else from the database.

Cached facts are used only if the cache was compared with the database within `snapshot_store.VERSION_CHECK_SECONDS`; a
database that does not answer raises its own error, so no decision uses facts older than promised. Inside a transaction
the cache is neither read nor filled: the transaction may see its own uncommitted rows, or rows as old as its start.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings

from policies.engine.model import Actor
from policies.engine.ports import FacetSource, LoadedFacts
from policies.engine.selectors import GROUP_MEMBERSHIP, HIERARCHICAL_FIELDS, Resource
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, snapshot_store
from policies.pdp.thread_connection import get_thread_connection
from policies.propagation.invalidating_cache import CacheRegion, process_cache

Value = TypeVar("Value")

#: Relative name → URNs, of one entity.
RelativeUrns = Mapping[str, tuple[str, ...]]

#: Facets that follow from other entities than the resource itself.
_DEPENDENCY_FACETS = (*sorted(HIERARCHICAL_FIELDS), GROUP_MEMBERSHIP)


def _resource_dependencies(resource: Resource) -> Iterable[Collection[str]]:
    facets = resource.facets
    return [facets[field] for field in _DEPENDENCY_FACETS if field in facets]


_actors: CacheRegion[Actor] = process_cache.add_region(
    settings.ACTORS_KEPT, lambda actor: (actor.groups, actor.roles), ignored_prefixes=(USER_PREFIX,)
)
_resources: CacheRegion[Resource] = process_cache.add_region(
    settings.ENTITIES_KEPT, _resource_dependencies, ignored_prefixes=(USER_PREFIX, ROLE_PREFIX)
)
_relatives: CacheRegion[RelativeUrns] = process_cache.add_region(
    settings.ENTITIES_KEPT, lambda relatives: (relatives.get("term_groups", ()),)
)
_types: CacheRegion[str] = process_cache.add_region(settings.ENTITIES_KEPT, lambda _type: ())


def is_fresh() -> bool:
    """Whether cached facts may be used now; compares with the database first if the last comparison is too old.

    False inside a transaction. Raises the error of a database that does not answer.
    """
    if get_thread_connection().in_atomic_block:
        return False
    if process_cache.is_fresh(snapshot_store.VERSION_CHECK_SECONDS) and not snapshot_store.is_boundary_passed():
        return True
    # A changed number may belong to an invalidation that is still on its way; the second comparison does not wait.
    for _ in range(2):
        snapshot_store.refresh()
        if process_cache.is_fresh(snapshot_store.VERSION_CHECK_SECONDS):
            return True
    return False


def get_actor(*, urn: str) -> Actor:
    """Return an actor with its groups and roles; an unknown user is an actor without either."""
    return find(_actors, urn) or get_actors(urns=[urn])[urn]


def get_actors(*, urns: Collection[str]) -> Mapping[str, Actor]:
    """Return user URN → actor, for every URN."""
    return get_or_load(_actors, urns, lambda missing_urns: actor_resolution.load_actors(urns=missing_urns))


def find(region: CacheRegion[Value], key: str) -> Value | None:
    """Return the cached value of a key; None if there is none, or if it may not be used now."""
    return region.get(key) if is_fresh() else None


def get_or_load(
    region: CacheRegion[Value], keys: Collection[str], load: Callable[[Collection[str]], Mapping[str, Value]]
) -> Mapping[str, Value]:
    """Return the values of these keys; missing ones are loaded and cached. Keys that `load` omits are left out."""
    if not is_fresh():
        return load(keys)
    all_values = region.find_all(keys)
    if all_values is not None:
        return all_values
    cached_values = {key: value for key in keys if (value := region.get(key)) is not None}
    missing_keys = [key for key in keys if key not in cached_values]
    generation = process_cache.generation()
    loaded_values = load(missing_keys)
    process_cache.put_if_current(region, loaded_values, generation)
    return {**cached_values, **loaded_values}


def _find_cached(actors: Iterable[str], urns: Iterable[str], required_fields: frozenset[str]) -> LoadedFacts:
    """Return the cached ones of these actors and entities; a resource without one of the fields counts as missing."""
    facts = LoadedFacts({}, {}, {})
    for urn in actors:
        actor = _actors.get(urn)
        if actor is not None:
            facts.actors[urn] = actor
    for urn in urns:
        resource, entity_type = _resources.get(urn), _types.get(urn)
        if resource is not None and entity_type is not None and required_fields <= resource.facets.keys():
            facts.resources[urn] = resource
            if entity_type:
                facts.types[urn] = entity_type
    return facts


def _list_cached_fields(urn: str) -> Collection[str]:
    resource = _resources.get(urn)
    return () if resource is None else resource.facets.keys()


@dataclass(frozen=True, slots=True)
class CachingFacetSource:
    """A `policies.engine.ports.FacetSource` that caches what another one loads."""

    source: FacetSource

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return URN → resource with at least these fields, for each URN."""
        if not fields:
            return self.source.load(urns=urns, fields=fields)
        required_fields = frozenset(fields)
        cached_resources = _resources.find_all(urns) if is_fresh() else None
        if cached_resources is None:
            return self.load_facts(actors=(), urns=urns, fields=fields).resources
        for resource in cached_resources.values():
            if not required_fields <= resource.facets.keys():
                return self.load_facts(actors=(), urns=urns, fields=fields).resources
        return cached_resources

    def load_facts(self, *, actors: Collection[str], urns: Collection[str], fields: Collection[str]) -> LoadedFacts:
        """Return the actors, the types of the stored entities, and resources with at least these fields.

        Missing facts are loaded together.
        """
        if not actors and not urns:
            return LoadedFacts({}, {}, {})
        if not is_fresh():
            return self.source.load_facts(actors=actors, urns=urns, fields=fields)
        required_fields = frozenset(fields)
        cached_facts = _find_cached(actors, urns, required_fields)
        missing_actors = [urn for urn in actors if urn not in cached_facts.actors]
        missing_urns = [urn for urn in urns if urn not in cached_facts.resources]
        if not missing_actors and not missing_urns:
            return cached_facts
        generation = process_cache.generation()
        # With the fields that were cached before, so that two questions do not evict each other's facts in turn.
        cached_fields = {field for urn in missing_urns for field in _list_cached_fields(urn)}
        loaded_facts = self.source.load_facts(
            actors=missing_actors, urns=missing_urns, fields=required_fields | cached_fields
        )
        process_cache.put_if_current(_actors, loaded_facts.actors, generation)
        process_cache.put_if_current(_types, dict.fromkeys(missing_urns, "") | loaded_facts.types, generation)
        process_cache.put_if_current(_resources, loaded_facts.resources, generation)
        return LoadedFacts(
            {**cached_facts.actors, **loaded_facts.actors},
            {**cached_facts.types, **loaded_facts.types},
            {**cached_facts.resources, **loaded_facts.resources},
        )

    def load_relatives(self, *, urns: Collection[str], names: Collection[str]) -> Mapping[str, RelativeUrns]:
        """Return URN → relative name → URNs, with at least the named relatives."""
        if not is_fresh():
            return self.source.load_relatives(urns=urns, names=names)
        required_names = frozenset(names)
        cached_relatives = {urn: relatives for urn in urns if (relatives := _relatives.get(urn)) is not None}
        sufficient_relatives = {
            urn: relatives for urn, relatives in cached_relatives.items() if required_names <= relatives.keys()
        }
        missing_urns = [urn for urn in urns if urn not in sufficient_relatives]
        if not missing_urns:
            return sufficient_relatives
        generation = process_cache.generation()
        loaded_relatives = self.source.load_relatives(
            urns=missing_urns, names=required_names.union(*cached_relatives.values())
        )
        process_cache.put_if_current(_relatives, loaded_relatives, generation)
        return {**sufficient_relatives, **loaded_relatives}

    def load_types(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return URN → entity type of the stored ones."""
        types_by_urn = get_or_load(
            _types,
            urns,
            lambda missing_urns: dict.fromkeys(missing_urns, "") | dict(self.source.load_types(urns=missing_urns)),
        )
        return {urn: entity_type for urn, entity_type in types_by_urn.items() if entity_type}

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) → URN of the stored ones; not cached."""
        return self.source.find(objects=objects)
