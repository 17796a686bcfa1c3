"""External roles: what they are for, who holds them, what they open, and which of them are mine."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from catalog.access.aspect_documents import documents
from catalog.access.entity_lists import entities
from catalog.access.view_permissions import viewable
from catalog.aspects.base import ACCESS_ROLE, ROLE_GROUP, ROLE_TYPE, ROLE_USER
from catalog.aspects.register import BEARERS
from catalog.models import Entity, Facet
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.models.fields import is_storable

TYPE = "role"

#: Types of entities that name external roles.
REACHED_TYPES = BEARERS["access"]


@dataclass(frozen=True, slots=True)
class ExternalRole:
    """An external role as one reader sees it: `datasets` are those that they may view."""

    urn: str
    name: str
    description: str
    type: str
    request_url: str | None
    users: tuple[str, ...]
    groups: tuple[str, ...]
    is_mine: bool
    datasets: tuple[str, ...] = ()


def external_roles(*, text: str = "", type: str = "", holders: Collection[str] = ()) -> QuerySet[Entity]:
    """Return external roles by name; `type` is READ, WRITE …, `holders` are people and groups that one must name."""
    found = entities(text=text, types=[TYPE])
    if type:
        found = found.filter(_has(field=ROLE_TYPE, value__among=[type.upper()]))
    if holders:
        found = found.filter(_has(field__in=(ROLE_USER, ROLE_GROUP), value__among=holders))
    return found


def external_role(*, urn: str) -> Entity:
    """Return one external role. Raises NotFound, also for an entity of another type."""
    found = entities(types=[TYPE], with_removed=True).filter(urn=urn).first() if is_storable(urn) else None
    if found is None:
        raise NotFound(f"There is no external role {urn}.")
    return found


def role_types() -> list[str]:
    """Return the types that external roles have, in order."""
    rows = Facet.objects.filter(field=ROLE_TYPE).order_by("value").distinct()
    return list(rows.values_list("value", flat=True))


def described(*, urns: Sequence[str], by: Actor, with_datasets: bool = False) -> list[ExternalRole]:
    """Return external roles in the order of their URNs given, in a number of queries that does not grow.

    One that nobody described is called by its URN and held by nobody.
    """
    found = documents(urns=urns)
    datasets = _datasets(urns, by) if with_datasets else {}
    return [
        _described(urn, {name: aspect.value for name, aspect in found.get(urn, {}).items()}, datasets.get(urn, ()), by)
        for urn in urns
    ]


def opened(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return the entities that an external role opens, as far as the reader may view them, by name."""
    rows = Entity.objects.filter(_has(field=ACCESS_ROLE, value=urn), is_removed=False)
    return viewable(rows, by=by).order_by("name", "urn")


def counts(*, urns: Collection[str], by: Actor) -> dict[str, int]:
    """Return how many entities each external role opens, of those that the reader may view; zeros are left out."""
    seen = viewable(Entity.objects.filter(is_removed=False), by=by).order_by().values("pk")
    rows = Facet.objects.filter(field=ACCESS_ROLE, value__among=urns, entity__in=seen).order_by()
    return dict(rows.values_list("value").annotate(Count("entity")))


def _described(urn: str, said: Mapping[str, Any], datasets: Iterable[str], by: Actor) -> ExternalRole:
    properties, actors = said.get("roleProperties", {}), said.get("actors", {})
    users = tuple(dict.fromkeys(entry["user"] for entry in actors.get("users") or ()))
    groups = tuple(dict.fromkeys(entry["group"] for entry in actors.get("groups") or ()))
    return ExternalRole(
        urn=urn,
        name=properties.get("name") or urn,
        description=properties.get("description") or "",
        type=properties.get("type") or "",
        request_url=properties.get("requestUrl") or None,
        users=users,
        groups=groups,
        is_mine=not by.holders.isdisjoint({*users, *groups}),
        datasets=tuple(datasets),
    )


def _datasets(urns: Collection[str], by: Actor) -> Mapping[str, list[str]]:
    seen = viewable(Entity.objects.filter(is_removed=False), by=by).order_by().values("pk")
    rows = Facet.objects.filter(field=ACCESS_ROLE, value__among=urns, entity__in=seen)
    found: dict[str, list[str]] = defaultdict(list)
    for role, urn in rows.order_by("entity__urn").values_list("value", "entity__urn"):
        found[role].append(urn)
    return found


def _has(**facet: Any) -> Q:
    return Q(Exists(Facet.objects.filter(entity=OuterRef("pk"), **facet)))
