"""Who somebody is and what is known of an entity: from this process's memory as long as that is true, else looked up.

What is kept is relied upon when it was compared with the database within `store.LOOK_EVERY`; a database that cannot be
asked raises its own error, so nothing is answered from what may be older than promised. Inside a transaction nothing is
kept and nothing relied upon: what it reads may be its own and taken back, or as old as its beginning.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.db import transaction

from policies.engine.model import Actor
from policies.engine.ports import FacetSource
from policies.engine.selectors import GROUP_MEMBERSHIP, HIERARCHICAL_FIELDS, Resource
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, snapshot_store
from policies.propagation.invalidating_cache import CacheRegion, process_cache

Value = TypeVar("Value")

#: Relatives of an entity by name.
RelativeUrns = Mapping[str, tuple[str, ...]]

#: Facets that follow from other things than the entity itself.
_DEPENDENCY_FACETS = (*sorted(HIERARCHICAL_FIELDS), GROUP_MEMBERSHIP)


def _actor_dependencies(actor: Actor) -> Iterable[Collection[str]]:
    return actor.groups, actor.roles


def _resource_dependencies(resource: Resource) -> Iterable[Collection[str]]:
    facets = resource.facets
    return [facets[field] for field in _DEPENDENCY_FACETS if field in facets]


def _relative_dependencies(relatives: RelativeUrns) -> Iterable[Collection[str]]:
    return [relatives["term_groups"]] if "term_groups" in relatives else ()


def _no_dependencies(_value: object) -> Iterable[Collection[str]]:
    return ()


_actors: CacheRegion[Actor] = process_cache.add_region(
    settings.ACTORS_KEPT, _actor_dependencies, ignored_prefixes=(USER_PREFIX,)
)
_resources: CacheRegion[Resource] = process_cache.add_region(
    settings.ENTITIES_KEPT, _resource_dependencies, ignored_prefixes=(USER_PREFIX, ROLE_PREFIX)
)
_relatives: CacheRegion[RelativeUrns] = process_cache.add_region(settings.ENTITIES_KEPT, _relative_dependencies)
_types: CacheRegion[str] = process_cache.add_region(settings.ENTITIES_KEPT, _no_dependencies)


def is_fresh() -> bool:
    """Whether what is kept may be relied upon here and now, comparing first when that was too long ago.

    Raises the error of a database that cannot be asked.
    """
    if transaction.get_connection().in_atomic_block:
        return False
    # A number that moved may be explained by a word on its way; the second look does not wait for it.
    for _ in range(2):
        if process_cache.is_fresh(snapshot_store.VERSION_CHECK_SECONDS):
            return True
        snapshot_store.refresh()
    return process_cache.is_fresh(snapshot_store.VERSION_CHECK_SECONDS)


def get_actor(*, urn: str) -> Actor:
    """Return an actor with its groups and roles; a user nobody knows is a bare actor."""
    return get_actors(urns=[urn])[urn]


def get_actors(*, urns: Collection[str]) -> Mapping[str, Actor]:
    """Return an actor for each URN."""
    return get_or_load(_actors, urns, lambda missing_urns: actor_resolution.load_actors(urns=missing_urns))


def get_or_load(
    region: CacheRegion[Value], keys: Collection[str], load: Callable[[Collection[str]], Mapping[str, Value]]
) -> Mapping[str, Value]:
    """Return what is kept under these keys, and keep what has to be loaded; what `load` does not return is left out."""
    if not is_fresh():
        return load(keys)
    cached_values = {key: value for key in keys if (value := region.get(key)) is not None}
    missing_keys = [key for key in keys if key not in cached_values]
    if not missing_keys:
        return cached_values
    generation = process_cache.generation()
    loaded_values = load(missing_keys)
    process_cache.put_if_current(region, loaded_values, generation)
    return {**cached_values, **loaded_values}


@dataclass(frozen=True, slots=True)
class CachingFacetSource:
    """`policies.engine.ports.FacetSource` over another one: keeps what that one loads."""

    source: FacetSource

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, with these fields and perhaps others that were asked for before."""
        if not is_fresh():
            return self.source.load(urns=urns, fields=fields)
        required_fields = frozenset(fields)
        cached_resources: dict[str, Resource] = {}
        cached_fields: set[str] = set()
        for urn in urns:
            resource = _resources.get(urn)
            if resource is None:
                continue
            if required_fields <= resource.facets.keys():
                cached_resources[urn] = resource
            else:
                cached_fields |= resource.facets.keys()
        missing_urns = [urn for urn in urns if urn not in cached_resources]
        if not missing_urns:
            return cached_resources
        generation = process_cache.generation()
        # With the fields that were asked for before, so that two questions do not take turns in ousting one another.
        loaded_resources = self.source.load(urns=missing_urns, fields=required_fields | cached_fields)
        process_cache.put_if_current(_resources, loaded_resources, generation)
        return {**cached_resources, **loaded_resources}

    def load_relatives(self, *, urns: Collection[str], names: Collection[str]) -> Mapping[str, RelativeUrns]:
        """Return, for each URN, the URNs of each of the named relatives."""
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
        """Return URN → entity type of those that are stored."""
        types_by_urn = get_or_load(
            _types,
            urns,
            lambda missing_urns: dict.fromkeys(missing_urns, "") | dict(self.source.load_types(urns=missing_urns)),
        )
        return {urn: entity_type for urn, entity_type in types_by_urn.items() if entity_type}

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) → URN of those that are stored; not kept."""
        return self.source.find(objects=objects)
