"""The entities on which somebody has any privilege, as the engine decides, counted by domain."""

from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet

from catalog.access import browsing
from catalog.access.coverage_sql import ALL_ROWS, build_coverage_condition
from catalog.access.grant_coverage_sql import build_held_grant_condition
from catalog.access.view_permissions import filter_viewable, find_hidden
from catalog.models import Entity, Facet
from policies.engine import families, selectors
from policies.engine.families import cdap
from policies.engine.model import Actor
from policies.engine.selectors import Owner
from policies.pdp import authorizer, fact_cache, snapshot_store
from policies.propagation.invalidating_cache import CacheRegion, process_cache

#: Most readers whose counts are kept; any write drops them all.
_MAX_READERS = 1_000


@dataclass(frozen=True, slots=True)
class HeldCounts:
    """The number of entities on which an actor has something, and of those directly in each domain, most first."""

    total: int
    by_domain: tuple[tuple[str, int], ...]


_counts_by_reader: CacheRegion[HeldCounts] = process_cache.add_region(_MAX_READERS, None)


def count_held(*, by: Actor) -> HeldCounts:
    """Return the counts of what `by` has and may view; two queries, and none until the next write."""
    key = f"{snapshot_store.get_current().version} {by.urn}"
    return fact_cache.get_or_load(_counts_by_reader, [key], lambda _: {key: _count(by)})[key]


def list_owned_as(*, by: Actor) -> frozenset[Owner]:
    """Return the owners, each with a type, as which `by` or a group of it owns something; one query."""
    rows = Facet.objects.filter(field=selectors.OWNER, value__among=sorted(by.holders)).order_by()
    return frozenset(Owner(value, type_) for value, type_ in rows.values_list("value", "type").distinct())


def _count(by: Actor) -> HeldCounts:
    entities = _list_held(by)
    rows = Facet.objects.filter(field=selectors.DOMAIN, entity__in=entities.order_by().values("pk")).order_by()
    # A domain is in itself; a list of it is about what else is in it.
    counts = (
        rows.exclude(entity__urn=F("value"))
        .values_list("value")
        .annotate(number=Count("entity"))
        .order_by("-number", "value")
    )
    count_by_domain = dict(counts)
    hidden_urns = find_hidden(urns=list(count_by_domain), by=by)
    return HeldCounts(
        entities.count(), tuple((urn, count) for urn, count in count_by_domain.items() if urn not in hidden_urns)
    )


def _list_held(by: Actor) -> QuerySet[Entity]:
    rows = Entity.objects.filter(is_removed=False).exclude(type__in=browsing.UNLISTED_TYPES)
    return filter_viewable(rows.filter(_build_condition(by)), by=by)


def _build_condition(by: Actor) -> Q:
    """Return the condition that a policy or a grant gives `by` any privilege on an entity."""
    if not settings.AUTH_POLICIES_ENABLED:
        return ALL_ROWS
    snapshot = snapshot_store.get_current()
    privileges = {
        info.name for vocabulary in families.load_vocabularies().values() for info in vocabulary.privileges.values()
    }
    # Privileges that the same statements list have the same coverage.
    privilege_by_listing = {
        listing: name
        for name in sorted(privileges - families.platform_privileges())
        if (listing := snapshot.find_listing(name))
    }
    coverages = [
        replace(authorizer.compute_coverage(actor=by, privilege=name), granted_privilege="")
        for name in privilege_by_listing.values()
    ]
    condition = build_coverage_condition(coverages) if coverages else Q(pk__in=[])
    return condition | build_held_grant_condition(by, cdap.PRIVILEGES)
