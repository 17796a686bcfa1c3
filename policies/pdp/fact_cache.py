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
from policies.engine.selectors import GROUP_MEMBERSHIP, HIERARCHIES, Resource
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, snapshot_store
from policies.propagation.invalidating_cache import Shelf, memory

Value = TypeVar("Value")

#: Relatives of an entity by name.
Relatives = Mapping[str, tuple[str, ...]]

#: Facets that follow from other things than the entity itself.
_THROUGH = (*sorted(HIERARCHIES), GROUP_MEMBERSHIP)


def _of_actor(actor: Actor) -> Iterable[Collection[str]]:
    return actor.groups, actor.roles


def _of_resource(resource: Resource) -> Iterable[Collection[str]]:
    facets = resource.facets
    return [facets[field] for field in _THROUGH if field in facets]


def _of_relatives(relatives: Relatives) -> Iterable[Collection[str]]:
    return [relatives["term_groups"]] if "term_groups" in relatives else ()


def _of_nothing(_value: object) -> Iterable[Collection[str]]:
    return ()


_actors: Shelf[Actor] = memory.shelf(settings.ACTORS_KEPT, _of_actor, never=(USER_PREFIX,))
_resources: Shelf[Resource] = memory.shelf(settings.ENTITIES_KEPT, _of_resource, never=(USER_PREFIX, ROLE_PREFIX))
_relatives: Shelf[Relatives] = memory.shelf(settings.ENTITIES_KEPT, _of_relatives)
_types: Shelf[str] = memory.shelf(settings.ENTITIES_KEPT, _of_nothing)


def is_reliable() -> bool:
    """Whether what is kept may be relied upon here and now, comparing first when that was too long ago.

    Raises the error of a database that cannot be asked.
    """
    if transaction.get_connection().in_atomic_block:
        return False
    # A number that moved may be explained by a word on its way; the second look does not wait for it.
    for _ in range(2):
        if memory.is_true(snapshot_store.LOOK_EVERY):
            return True
        snapshot_store.refresh()
    return memory.is_true(snapshot_store.LOOK_EVERY)


def actor(*, urn: str) -> Actor:
    """Return an actor with its groups and roles; a user nobody knows is a bare actor."""
    return actors(urns=[urn])[urn]


def actors(*, urns: Collection[str]) -> Mapping[str, Actor]:
    """Return an actor for each URN."""
    return through(_actors, urns, lambda missing: actor_resolution.actors(urns=missing))


def through(
    shelf: Shelf[Value], keys: Collection[str], load: Callable[[Collection[str]], Mapping[str, Value]]
) -> Mapping[str, Value]:
    """Return what is kept under these keys, and keep what has to be loaded; what `load` does not return is left out."""
    if not is_reliable():
        return load(keys)
    found = {key: value for key in keys if (value := shelf.get(key)) is not None}
    missing = [key for key in keys if key not in found]
    if not missing:
        return found
    ticket = memory.ticket()
    loaded = load(missing)
    memory.keep(shelf, loaded, ticket)
    return {**found, **loaded}


@dataclass(frozen=True, slots=True)
class KeptFacets:
    """`policies.engine.ports.FacetSource` over another one: keeps what that one loads."""

    source: FacetSource

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, with these fields and perhaps others that were asked for before."""
        if not is_reliable():
            return self.source.load(urns=urns, fields=fields)
        wanted = frozenset(fields)
        found: dict[str, Resource] = {}
        fewer: set[str] = set()
        for urn in urns:
            kept = _resources.get(urn)
            if kept is None:
                continue
            if wanted <= kept.facets.keys():
                found[urn] = kept
            else:
                fewer |= kept.facets.keys()
        missing = [urn for urn in urns if urn not in found]
        if not missing:
            return found
        ticket = memory.ticket()
        # With the fields that were asked for before, so that two questions do not take turns in ousting one another.
        loaded = self.source.load(urns=missing, fields=wanted | fewer)
        memory.keep(_resources, loaded, ticket)
        return {**found, **loaded}

    def relatives(self, *, urns: Collection[str], names: Collection[str]) -> Mapping[str, Relatives]:
        """Return, for each URN, the URNs of each of the named relatives."""
        if not is_reliable():
            return self.source.relatives(urns=urns, names=names)
        wanted = frozenset(names)
        kept = {urn: one for urn in urns if (one := _relatives.get(urn)) is not None}
        found = {urn: one for urn, one in kept.items() if wanted <= one.keys()}
        missing = [urn for urn in urns if urn not in found]
        if not missing:
            return found
        ticket = memory.ticket()
        loaded = self.source.relatives(urns=missing, names=wanted.union(*kept.values()))
        memory.keep(_relatives, loaded, ticket)
        return {**found, **loaded}

    def known(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return URN → entity type of those that are stored."""
        found = through(
            _types, urns, lambda missing: dict.fromkeys(missing, "") | dict(self.source.known(urns=missing))
        )
        return {urn: kind for urn, kind in found.items() if kind}

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) → URN of those that are stored; not kept."""
        return self.source.find(objects=objects)
