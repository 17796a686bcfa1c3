"""What selectors cover, as one WHERE: the engine's `Selector.covers`, said in SQL.

Hierarchical fields hold direct values; a criterion reaches the closed set by asking for the wanted nodes and everything
below them. A property test holds `covered` and `covers` equal entity by entity.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from catalog.access import grant_coverage_sql
from catalog.access.coverage_simplify import Condensed, Reach, condensed
from catalog.models import Ancestry, Entity, Facet, prefix_range
from policies.engine import selectors
from policies.engine.model import Cover, Coverage
from policies.engine.requested_columns import blind_spots
from policies.engine.selectors import Condition, Criterion
from policies.models import Membership, Role, User
from policies.models.fields import storable

_COLUMNS = {selectors.TYPE: "type", selectors.URN: "urn"}
#: Columns that may be empty.
_OBJECTS = {selectors.ID: "object_id", selectors.PROJECT: "project"}

#: How many alternatives one OR holds. SQLite refuses expressions deeper than 1,000.
_CHUNK = 100

NOTHING = Q(pk__in=[])
#: Not the empty Q: that one vanishes in an OR instead of winning it.
EVERYTHING = ~NOTHING


def covered(coverage: Coverage, among: QuerySet[Entity] | None = None) -> QuerySet[Entity]:
    """Return the entities (among those given, else all) that some allow and no deny of the coverage reaches.

    A question about one of them is answered with ALLOW, and about any other with DENY. Removed entities are entities.
    """
    entities = Entity.objects.all() if among is None else among
    return entities if coverage.is_everything else entities.filter(ENTITIES.reached(coverage))


def reached_by_any(coverages: Sequence[Coverage]) -> Q:
    """Return the condition that at least one of one actor's coverages reaches an entity; none reaches nothing.

    Policies often give several of the privileges at once, so what only allows is condensed together.
    """
    if any(coverage.is_everything for coverage in coverages):
        return EVERYTHING
    simple = [coverage for coverage in coverages if _only_allows(coverage)]
    united = [replace(simple[0], allows=tuple(cover for one in simple for cover in one.allows))] if simple else []
    return ENTITIES.any(
        [ENTITIES.reached(coverage) for coverage in (*united, *(one for one in coverages if one not in simple))]
    )


def meets(criterion: Criterion) -> Q:
    """Return the condition that an entity passes a criterion, hierarchies closed."""
    return ENTITIES.meets(criterion)


def having(field: str, values: Q) -> Q:
    """Return the condition that an entity has, directly, a value of the facet that meets this condition on facets."""
    return ENTITIES.having(field, values)


def _only_allows(coverage: Coverage) -> bool:
    """Whether nothing but its allows says what a coverage reaches: no deny, no grants, no columns that hide others."""
    is_whole = all(cover.statement.restriction is None for cover in coverage.allows)
    return is_whole and not coverage.denies and not coverage.granted


class Conditions:
    """Conditions that coverages and criteria put on the rows of one table: here, the entities of the catalog."""

    def rows(self) -> QuerySet[Any]:
        """Return every row of the table."""
        return Entity.objects.all()

    def reached(self, coverage: Coverage) -> Q:
        """Return the condition that a coverage reaches a row."""
        if coverage.is_everything:
            return EVERYTHING
        found = self.any([*self._conditions(coverage.allows, coverage), *self.granted(coverage)])
        denied = self._conditions(coverage.denies, coverage)
        for blind in blind_spots(coverage):
            seen = self.any(self._conditions(blind.lifting, coverage))
            denied.append(self._meeting(blind.selector.criteria) & ~seen)
        return found & ~self.any(denied) if denied else found

    def granted(self, coverage: Coverage) -> list[Q]:
        """Return the conditions that a grant reaches a row."""
        return grant_coverage_sql.reached(coverage)

    def any(self, conditions: Sequence[Q]) -> Q:
        """OR any number of conditions, in a tree that no database finds too deep."""
        if not conditions:
            return NOTHING
        if len(conditions) == 1:
            return conditions[0]
        if len(conditions) <= _CHUNK:
            found = conditions[0]
            for condition in conditions[1:]:
                found |= condition
            return found
        parts = [self.any(conditions[start : start + _CHUNK]) for start in range(0, len(conditions), _CHUNK)]
        return self.any([self._found(part) for part in parts])

    def meets(self, criterion: Criterion) -> Q:
        """Return the condition that a row passes a criterion, hierarchies closed."""
        if criterion.field in selectors.CONSTANTS:
            holds = criterion.holds(frozenset({selectors.CONSTANTS[criterion.field]}))
            return EVERYTHING if holds else NOTHING
        if criterion.field == selectors.TYPE:
            return self.of_type(criterion)
        match criterion.condition:
            case Condition.EQUALS:
                return self._equals(criterion.field, storable(criterion.values))
            case Condition.NOT_EQUALS:
                return ~self._equals(criterion.field, storable(criterion.values))
            case Condition.STARTS_WITH:
                return self._begins(criterion.field, storable(criterion.values))

    def having(self, field: str, values: Q) -> Q:
        """Return the condition that a row has, directly, a value of the facet that meets this condition on facets.

        It is a list that the database makes once from the index of values, not a question about each entity: for fifty
        policies over 100,000 entities that is the difference between half a second and nine.
        """
        return Q(pk__in=Facet.objects.filter(values, field=field).values("entity"))

    def of_type(self, criterion: Criterion) -> Q:
        """Return the condition that the type of a row passes a criterion on types."""
        wanted = storable(criterion.values)
        if criterion.condition is Condition.STARTS_WITH:
            return self._begins(selectors.TYPE, wanted)
        found = Q(type__among=wanted) if wanted else NOTHING
        return ~found if criterion.condition is Condition.NOT_EQUALS else found

    def of_object(self, field: str, found: Q) -> Q:
        """Return the condition on an object id or project; users and roles have their ids in `policies`.

        A column without a value meets none: said outright, since the NOT of unknown is unknown.
        """
        own = Q(**{f"{_OBJECTS[field]}__isnull": False}) & found
        if field == selectors.PROJECT:
            return own
        users, roles = (model.objects.filter(found).values("urn") for model in (User, Role))
        return own | Q(urn__in=users) | Q(urn__in=roles)

    def _found(self, condition: Q) -> Q:
        return Q(pk__in=self.rows().filter(condition).order_by().values("pk"))

    def _conditions(self, covers: Iterable[Cover], coverage: Coverage) -> list[Q]:
        found = []
        for reach, parts in condensed(covers).items():
            found.append(self._towards(reach, coverage) & self.any([self._of_types(part) for part in parts]))
        return found

    def _of_types(self, part: Condensed) -> Q:
        met = self.any([self._meeting(criteria) for criteria in part.alternatives])
        # The type is the cheaper test, so it stands first.
        return self.of_type(Criterion(selectors.TYPE, Condition.EQUALS, part.types)) & met if part.types else met

    def _meeting(self, criteria: Iterable[Criterion]) -> Q:
        condition = EVERYTHING
        for criterion in criteria:
            condition &= self.meets(criterion)
        return condition

    def _towards(self, reach: Reach, coverage: Coverage) -> Q:
        if reach.is_unconditional:
            return EVERYTHING
        found = Q(urn=coverage.actor.urn) if reach.is_self else NOTHING
        if reach.is_owned:
            owned = Q(value__among=coverage.actor.holders)
            if reach.owner_types is not None:
                owned &= Q(type__among=reach.owner_types - {""})
            found |= self.having(selectors.OWNER, owned)
        return found

    def _equals(self, field: str, wanted: Collection[str]) -> Q:
        if not wanted:
            return NOTHING
        if field == selectors.URN:
            return Q(urn__among=wanted)
        if field in _OBJECTS:
            return self.of_object(field, Q(**{f"{_OBJECTS[field]}__among": wanted}))
        if field == selectors.GROUP_MEMBERSHIP:
            return _in_group(Q(group__profile__urn__in=wanted))
        found = self.having(field, Q(value__among=wanted))
        if field in selectors.HIERARCHIES:
            below = Ancestry.objects.filter(ancestor__among=wanted).values("node")
            found |= self.having(field, Q(value__in=below))
        return found

    def _begins(self, field: str, prefixes: Sequence[str]) -> Q:
        """Return the condition of any number of prefixes: each of them is two comparisons, so a long list is cut up."""
        if len(prefixes) <= _CHUNK:
            return self._starts_with(field, prefixes)
        parts = [prefixes[start : start + _CHUNK] for start in range(0, len(prefixes), _CHUNK)]
        return self.any([self._found(self._starts_with(field, part)) for part in parts])

    def _starts_with(self, field: str, prefixes: Collection[str]) -> Q:
        if not prefixes:
            return NOTHING
        if field in _COLUMNS:
            return prefix_range(_COLUMNS[field], prefixes)
        if field in _OBJECTS:
            return self.of_object(field, prefix_range(_OBJECTS[field], prefixes))
        if field == selectors.GROUP_MEMBERSHIP:
            return _in_group(prefix_range("group__profile__urn", prefixes))
        found = self.having(field, prefix_range("value", prefixes))
        if field in selectors.HIERARCHIES:
            below = Ancestry.objects.filter(prefix_range("ancestor", prefixes)).values("node")
            found |= self.having(field, Q(value__in=below))
        return found


def _in_group(groups: Q) -> Q:
    memberships = Membership.objects.filter(groups, user__urn=OuterRef("urn"), group__profile__is_removed=False)
    return Q(Exists(memberships))


ENTITIES = Conditions()
