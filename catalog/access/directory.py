"""Names, trees and search over the catalog, and how much of it a policy reaches: for pickers and the policy builder."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from catalog.access import coverage_sql, entity_lists, reachable_resources, view_permissions
from catalog.models import Ancestry, Entity, Facet, prefix_range
from policies.engine.model import Actor, Coverage
from policies.engine.ports import Branch, Deep, Named, Portion
from policies.engine.selectors import OWNER
from policies.models.fields import storable


@dataclass(frozen=True, slots=True)
class OrmDirectory:
    """`policies.engine.ports.Directory` over the tables of the catalog; what its viewer may not view is not found."""

    viewer: Actor | None = None

    def names(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return the names of those that are stored, in one query."""
        rows = self._seen(Entity.objects.filter(urn__among=urns)).order_by()
        return dict(rows.values_list("urn", "name"))

    def hidden(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return those that the viewer may not view, by the rule that every page and list follows."""
        return frozenset() if self.viewer is None else view_permissions.hidden(urns=urns, by=self.viewer)

    def search(self, *, text: str, types: Collection[str], limit: int) -> Sequence[Named]:
        """Return entities whose name or URN has words beginning with the words of the text, best first."""
        rows = self._seen(entity_lists.search(text=text, types=types))[:limit]
        return [Named(urn, name, type_) for urn, name, type_ in rows.values_list("urn", "name", "type")]

    def children(self, *, parent: str, types: Collection[str], limit: int) -> Sequence[Branch]:
        """Return what of these types lies directly in the parent, by name; without one what lies in nothing stored."""
        kinds = storable(types)
        below = self._seen(_present().filter(parent=OuterRef("urn"), type__in=kinds))
        rows = self._seen(_present().filter(type__in=kinds)).annotate(is_parent=Exists(below))
        if parent:
            rows = rows.filter(parent__in=[parent])
        else:
            stored = self._seen(_present().filter(urn=OuterRef("parent")))
            rows = rows.filter(Q(parent__isnull=True) | ~Exists(stored))
        columns = rows.order_by("name", "urn").values_list("urn", "name", "type", "is_parent")
        return [Branch(urn, name, type_, is_parent) for urn, name, type_, is_parent in columns[:limit]]

    def count_covered(self, *, coverage: Coverage, limit: int) -> int:
        """Return how many entities that are not removed a coverage reaches, counting no further than the limit."""
        return self._seen(coverage_sql.covered(coverage, _present()))[:limit].count()

    def sample_covered(self, *, coverage: Coverage, without: Coverage | None, limit: int) -> Sequence[Named]:
        """Return the first few that a coverage reaches, by name, leaving out what another one reaches."""
        rows = self._seen(coverage_sql.covered(coverage, _present()))
        if without is not None:
            rows = rows.exclude(coverage_sql.reached_by_any([without]))
        columns = rows.order_by("name", "urn").values_list("urn", "name", "type")
        return [Named(urn, name, type_) for urn, name, type_ in columns[:limit]]

    def owners_covered(self, *, coverage: Coverage, types: Collection[str] | None, limit: int) -> frozenset[str]:
        """Return who owns something that a coverage reaches, as one of these types (None: any), up to a limit."""
        rows = Facet.objects.filter(field=OWNER, entity__in=coverage_sql.covered(coverage, _present()).order_by())
        if types is not None:
            rows = rows.filter(type__in=types)
        return frozenset(rows.order_by().values_list("value", flat=True).distinct()[:limit])

    def covered(
        self,
        *,
        coverage: Coverage,
        viewer: Actor | None,
        text: str,
        types: Collection[str],
        start: int,
        limit: int,
        most: int,
    ) -> Portion:
        """Return a part of what a coverage reaches and the viewer may view, and its length, counted up to a most."""
        found = reachable_resources.reachable(coverage=coverage, text=text, types=types, viewer=viewer, most=most)
        rows = [Named(row.urn, row.name, row.type) for row in found[start : start + limit]]
        if len(rows) < limit and (rows or not start):
            return Portion(rows, start + len(rows))
        return Portion(rows, len(found))

    def deepest(self, *, type: str, limit: int) -> Sequence[Deep]:
        """Return the nodes of this type on the lowest levels of its tree, lowest first."""
        prefix = prefix_range("node", [f"urn:li:{type}:"])
        nodes = Ancestry.objects.filter(prefix)
        if self.viewer is not None:
            nodes = nodes.filter(node__in=self._seen(Entity.objects.filter(type=type)).order_by().values("urn"))
        counted = nodes.values("node").annotate(above=Count("pk")).order_by("-above", "node")
        levels = dict(counted.values_list("node", "above")[:limit])
        names = self.names(urns=levels)
        return [Deep(urn, names.get(urn, urn), type, above + 1) for urn, above in levels.items()]

    def _seen(self, rows: QuerySet[Entity]) -> QuerySet[Entity]:
        return rows if self.viewer is None else view_permissions.viewable(rows, by=self.viewer)


def _present() -> QuerySet[Entity]:
    return Entity.objects.filter(is_removed=False).order_by()
