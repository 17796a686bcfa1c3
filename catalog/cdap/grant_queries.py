"""Who gave the grants on an entity, and when; grants on patterns that reach it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from catalog.access.grant_coverage_sql import of_groups
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, WildcardGrant, prefix_range
from policies.engine.families import cdap, cdap_entity_ids

_GROUP = Coalesce(F("group__profile__urn"), F("group__role__urn"))
_HOLDER = Coalesce(F("user__urn"), _GROUP)


@dataclass(frozen=True, slots=True)
class Given:
    """What `holder` was given at once on `source`, an entity or a pattern, in the order of privileges."""

    holder: str
    source: str
    privileges: tuple[str, ...]
    by: str
    at: datetime


def on(*, urn: str, holders: Collection[str]) -> list[Given]:
    """Return what each of these holders was given on exactly this entity, by holder and time; one query."""
    users = EntityUserGrant.objects.filter(content_object__urn=urn, user__urn__in=holders)
    groups = EntityGroupGrant.objects.filter(of_groups(frozenset(holders)), content_object__urn=urn)
    named = ("content_object__urn", "permission__codename", "given_by", "given_at")
    rows = users.values_list(F("user__urn"), *named).union(groups.values_list(_GROUP, *named), all=True)
    return _together(rows)


def by_pattern(*, urn: str, limit: int) -> tuple[list[Given], bool]:
    """Return what patterns that stand for this entity give (CD-5), and whether there is more; one query."""
    name = cdap_entity_ids.read(urn)
    if name is None:
        return [], False
    starts = [name.urn[:length] for length in range(1, len(name.urn) + 1)]
    return _wide(WildcardGrant.objects.filter(kind=name.kind, prefix__among=starts), limit)


def by_pattern_in(*, urn: str, limit: int) -> tuple[list[Given], bool]:
    """Return what is given on patterns all of whose entities lie in this one, and whether there is more; one query.

    A namespace has those of its applications among them, the instance only what is of no single namespace.
    """
    here = Q(within=urn)
    kind, name = urn.split(":", 3)[2:]
    if kind == cdap_entity_ids.NAMESPACE:
        here |= prefix_range("within", [f"urn:li:{cdap_entity_ids.APPLICATION}:{name}."])
    return _wide(WildcardGrant.objects.filter(here), limit)


def stands_for(*, pattern: cdap_entity_ids.Pattern, sample: int, limit: int) -> tuple[int, list[str]]:
    """Return how many entities a pattern stands for now, counted up to a limit, and the names of the first few."""
    rows = Entity.objects.filter(prefix_range("urn", [pattern.prefix]), is_removed=False)
    names = rows.order_by("name", "urn").values_list("name", "urn")[:sample]
    return rows.order_by()[:limit].count(), [name or urn for name, urn in names]


def _wide(rows: QuerySet[Any], limit: int) -> tuple[list[Given], bool]:
    rows = rows.exclude(group__profile__is_removed=True).order_by("pattern", "pk")
    found = list(rows.values_list(_HOLDER, "pattern", "privilege", "given_by", "given_at")[: limit + 1])
    return _together(found[:limit]), len(found) > limit


def _together(rows: Iterable[tuple[str, str, str, str, datetime]]) -> list[Given]:
    """Put together the privileges that were given at once."""
    found: dict[tuple[str, str, datetime, str], set[str]] = {}
    for holder, source, privilege, by, at in rows:
        found.setdefault((holder, source, at, by), set()).add(privilege)
    return [
        Given(holder, source, cdap.expand(privileges), by, at)
        for (holder, source, at, by), privileges in sorted(found.items())
    ]
