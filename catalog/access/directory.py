"""Names, trees, search and coverage counts of the catalog, for pickers and the policy builder."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from catalog.access import coverage_sql, entity_lists, reachable_resources, view_permissions
from catalog.models import Ancestry, Entity, prefix_range
from policies.engine.model import Actor, Coverage
from policies.engine.ports import DirectoryEntry, DirectoryPage, LeveledNode, TreeNode
from policies.models.fields import filter_storable


@dataclass(frozen=True, slots=True)
class OrmDirectory:
    """`policies.engine.ports.Directory` over the tables of the catalog, limited to what `viewer` may view."""

    viewer: Actor | None = None

    def load_names(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return the names of the stored entities by URN, in one query."""
        rows = self._limit_to_viewer(Entity.objects.filter(urn__among=urns)).order_by()
        return dict(rows.values_list("urn", "name"))

    def find_hidden_urns(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return the URNs that the viewer may not view, by the rule of every page and list."""
        return frozenset() if self.viewer is None else view_permissions.find_hidden(urns=urns, by=self.viewer)

    def search(self, *, text: str, types: Collection[str], limit: int) -> Sequence[DirectoryEntry]:
        """Return entities whose name or URN has words beginning with the words of the text, best first."""
        rows = self._limit_to_viewer(entity_lists.search(text=text, types=types))[:limit]
        return [DirectoryEntry(urn, name, type_) for urn, name, type_ in rows.values_list("urn", "name", "type")]

    def list_children(self, *, parent: str, types: Collection[str], limit: int) -> Sequence[TreeNode]:
        """Return entities of these types directly in the parent, by name; '' means those with no stored parent."""
        type_names = filter_storable(types)
        child_rows = self._limit_to_viewer(_present_entities().filter(parent=OuterRef("urn"), type__in=type_names))
        rows = self._limit_to_viewer(_present_entities().filter(type__in=type_names)).annotate(
            is_parent=Exists(child_rows)
        )
        if parent:
            rows = rows.filter(parent__in=[parent])
        else:
            stored_parents = self._limit_to_viewer(_present_entities().filter(urn=OuterRef("parent")))
            rows = rows.filter(Q(parent__isnull=True) | ~Exists(stored_parents))
        columns = rows.order_by("name", "urn").values_list("urn", "name", "type", "is_parent")
        return [TreeNode(urn, name, type_, is_parent) for urn, name, type_, is_parent in columns[:limit]]

    def sample_covered(self, *, coverage: Coverage, excluded: Coverage | None, limit: int) -> Sequence[DirectoryEntry]:
        """Return the first entities by name that a coverage reaches and `excluded` does not."""
        rows = self._limit_to_viewer(coverage_sql.filter_covered(coverage, _present_entities()))
        if excluded is not None:
            rows = rows.exclude(coverage_sql.build_coverage_condition([excluded]))
        columns = rows.order_by("name", "urn").values_list("urn", "name", "type")
        return [DirectoryEntry(urn, name, type_) for urn, name, type_ in columns[:limit]]

    def list_covered(
        self,
        *,
        coverage: Coverage,
        viewer: Actor | None,
        text: str,
        types: Collection[str],
        start: int,
        limit: int,
        max_count: int,
    ) -> DirectoryPage:
        """Return a page of the resources that a coverage reaches and the viewer may view, counted to `max_count`."""
        resources = reachable_resources.list_reachable(
            coverage=coverage, text=text, types=types, viewer=viewer, max_count=max_count
        )
        rows = [DirectoryEntry(row.urn, row.name, row.type) for row in resources[start : start + limit]]
        if len(rows) < limit and (rows or not start):
            return DirectoryPage(rows, start + len(rows))
        return DirectoryPage(rows, len(resources))

    def list_deepest_nodes(self, *, type: str, limit: int) -> Sequence[LeveledNode]:
        """Return the nodes of this type on the deepest levels of its tree, deepest first."""
        prefix = prefix_range("node", [f"urn:li:{type}:"])
        nodes = Ancestry.objects.filter(prefix)
        if self.viewer is not None:
            nodes = nodes.filter(
                node__in=self._limit_to_viewer(Entity.objects.filter(type=type)).order_by().values("urn")
            )
        ancestor_counts = nodes.values("node").annotate(above=Count("pk")).order_by("-above", "node")
        levels = dict(ancestor_counts.values_list("node", "above")[:limit])
        names = self.load_names(urns=levels)
        return [
            LeveledNode(urn, names.get(urn, urn), type, ancestor_count + 1) for urn, ancestor_count in levels.items()
        ]

    def _limit_to_viewer(self, rows: QuerySet[Entity]) -> QuerySet[Entity]:
        return rows if self.viewer is None else view_permissions.filter_viewable(rows, by=self.viewer)


def _present_entities() -> QuerySet[Entity]:
    return Entity.objects.filter(is_removed=False).order_by()
