"""Entities that somebody owns, who reaches them, and the requests about them that wait."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from catalog.access import browsing
from catalog.access.coverage_sql import facet_condition
from catalog.access.view_permissions import filter_viewable
from catalog.models import Entity
from policies.engine import selectors
from policies.engine.model import Actor
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.models import RequestItem
from policies.models.request import RequestState
from policies.pdp import inverse_queries, users_by_actor_clause
from policies.pdp.access_requests import ResourceRef
from policies.pdp.inverse_queries import AllowedActors

#: The privilege whose holders reach an entity.
REACHING_PRIVILEGE = "VIEW_ENTITY_PAGE"


@dataclass(frozen=True, slots=True)
class Reach:
    """How many people reach an entity; not exact where a deny, an exception or a condition tells some of them apart."""

    people: int
    is_exact: bool


def list_owned(*, by: Actor) -> QuerySet[Any, Any]:
    """Return the entities that `by` or a group of it owns and `by` may view, those with most open requests first.

    Each row has urn, name and type, and the number of these requests in `waiting`.
    """
    is_owned = facet_condition(selectors.OWNER, Q(value__among=sorted(by.holders)))
    open_items = RequestItem.objects.filter(
        entity=OuterRef("urn"), state=RequestState.OPEN, request__state=RequestState.OPEN
    ).order_by()
    counts = open_items.values("entity").annotate(number=Count("request", distinct=True)).values("number")
    rows = Entity.objects.filter(is_owned, is_removed=False).exclude(type__in=browsing.UNLISTED_TYPES)
    waiting = Coalesce(Subquery(counts, output_field=IntegerField()), 0)
    entities = filter_viewable(rows, by=by).annotate(waiting=waiting).order_by("-waiting", "name", "urn")
    return entities.values("urn", "name", "type", "waiting")


def count_reach(*, urns: Collection[str]) -> dict[str, Reach]:
    """Return entity URN → how many people may view it; the number of queries does not grow with the entities."""
    questions = [(REACHING_PRIVILEGE, ResourceRef(urn)) for urn in urns]
    allowed_actors = inverse_queries.find_named_actors_many(questions=questions) if questions else []
    token_sets = [_list_tokens(allowed) for allowed in allowed_actors]
    counts = users_by_actor_clause.count_users_by_actor_tokens(token_sets=token_sets)
    return {
        urn: Reach(count, is_exact=not allowed.is_conditional and not any(_list_exceptions(allowed)))
        for urn, allowed, count in zip(urns, allowed_actors, counts, strict=True)
    }


def _list_tokens(allowed: AllowedActors) -> frozenset[str]:
    tokens = {*allowed.users, *allowed.groups, *allowed.roles}
    tokens |= {EVERYONE} if allowed.is_all_users else set()
    return frozenset(tokens | ({IN_ANY_GROUP} if allowed.is_all_groups else set()))


def _list_exceptions(allowed: AllowedActors) -> tuple[str, ...]:
    return (*allowed.exceptions.users, *allowed.exceptions.groups, *allowed.exceptions.roles)
