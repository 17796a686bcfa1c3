"""External roles: descriptions, holders, and the entities that they open."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from catalog.access.aspect_documents import load_documents
from catalog.access.entity_lists import list_entities
from catalog.access.view_permissions import filter_viewable
from catalog.aspects.facet_fields import ACCESS_ROLE, ROLE_GROUP, ROLE_TYPE, ROLE_USER
from catalog.aspects.register import ENTITY_TYPES_BY_ASPECT
from catalog.models import Entity, Facet
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.models.fields import is_storable

ENTITY_TYPE = "role"

#: Types of entities that name external roles.
ACCESS_TYPES = ENTITY_TYPES_BY_ASPECT["access"]


@dataclass(frozen=True, slots=True)
class ExternalRole:
    """An external role as one viewer sees it; `datasets` are those that the viewer may view."""

    urn: str
    name: str
    description: str
    type: str
    request_url: str | None
    users: tuple[str, ...]
    groups: tuple[str, ...]
    is_mine: bool
    datasets: tuple[str, ...] = ()


def list_roles(*, text: str = "", type: str = "", holders: Collection[str] = ()) -> QuerySet[Entity]:
    """Return external roles by name; `type` is READ, WRITE …; any of `holders` (users and groups) must hold it."""
    roles = list_entities(text=text, types=[ENTITY_TYPE])
    if type:
        roles = roles.filter(_facet_condition(field=ROLE_TYPE, value__among=[type.upper()]))
    if holders:
        roles = roles.filter(_facet_condition(field__in=(ROLE_USER, ROLE_GROUP), value__among=holders))
    return roles


def get_role(*, urn: str) -> Entity:
    """Return one external role. Raises NotFound, also for an entity of another type."""
    role = list_entities(types=[ENTITY_TYPE], with_removed=True).filter(urn=urn).first() if is_storable(urn) else None
    if role is None:
        raise NotFound(f"There is no external role {urn}.")
    return role


def list_types() -> list[str]:
    """Return the distinct types of external roles, sorted."""
    rows = Facet.objects.filter(field=ROLE_TYPE, entity__is_removed=False).order_by("value").distinct()
    return list(rows.values_list("value", flat=True))


def load_roles(*, urns: Sequence[str], by: Actor, with_datasets: bool = False) -> list[ExternalRole]:
    """Return external roles in the order of the URNs, in a constant number of queries.

    A role without a description has its URN as name and no holders.
    """
    documents_by_urn = load_documents(urns=urns)
    datasets = _load_datasets(urns, by) if with_datasets else {}
    return [
        _build_role(
            urn,
            {name: aspect.value for name, aspect in documents_by_urn.get(urn, {}).items()},
            datasets.get(urn, ()),
            by,
        )
        for urn in urns
    ]


def list_opened_entities(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return the entities that an external role opens and the viewer may view, by name."""
    rows = Entity.objects.filter(_facet_condition(field=ACCESS_ROLE, value=urn), is_removed=False)
    return filter_viewable(rows, by=by).order_by("name", "urn")


def count_opened_entities(*, urns: Collection[str], by: Actor) -> dict[str, int]:
    """Return role URN -> number of entities that it opens and the viewer may view, without zeros."""
    viewable_ids = filter_viewable(Entity.objects.filter(is_removed=False), by=by).order_by().values("pk")
    rows = Facet.objects.filter(field=ACCESS_ROLE, value__among=urns, entity__in=viewable_ids).order_by()
    return dict(rows.values_list("value").annotate(Count("entity")))


def _build_role(urn: str, documents: Mapping[str, Any], datasets: Iterable[str], by: Actor) -> ExternalRole:
    properties, actors = documents.get("roleProperties", {}), documents.get("actors", {})
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


def _load_datasets(urns: Collection[str], by: Actor) -> Mapping[str, list[str]]:
    viewable_ids = filter_viewable(Entity.objects.filter(is_removed=False), by=by).order_by().values("pk")
    rows = Facet.objects.filter(field=ACCESS_ROLE, value__among=urns, entity__in=viewable_ids)
    urns_by_role: dict[str, list[str]] = defaultdict(list)
    for role, urn in rows.order_by("entity__urn").values_list("value", "entity__urn"):
        urns_by_role[role].append(urn)
    return urns_by_role


def _facet_condition(**facet: Any) -> Q:
    return Q(Exists(Facet.objects.filter(entity=OuterRef("pk"), **facet)))
