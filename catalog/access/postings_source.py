"""Resources with their facts as postings: whatever selectors cover, in a handful of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
from django.db.models import Aggregate, Max, Min, Q, QuerySet, TextField
from pyroaring import FrozenBitMap

from catalog.access import coverage_sql
from catalog.access.people_resources import find_removed_people, list_covered_people
from catalog.models import Ancestry, Entity, Facet
from catalog.urns import PEOPLE_TYPES, entity_type
from policies.engine import selectors
from policies.engine.model import Actor, Cover, Coverage, Effect, Statement, StatementOrigin
from policies.engine.postings import FacetGroup, FacetRow, Postings
from policies.engine.selectors import ActorMatch, Selector
from policies.identity.queries.object_ids import load_object_ids
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution

#: From this part of the catalog on, the facets of all entities are read: that goes through the index of values alone,
#: and takes a third of the time of reading those of half of them.
_MANY_PART = 4


class OrmPostingsSource:
    """`policies.engine.ports.PostingsSource` over the tables of the catalog."""

    def load_postings(
        self, *, covering: Collection[Selector], fields: Collection[str], limit: int, with_people: bool
    ) -> Postings | None:
        """Return the present resources that one of the selectors covers, with these facets; None for over `limit`.

        `with_people` users, groups, roles and policies, too.
        """
        coverage = _build_coverage(covering)
        rows = _list_covered(coverage)
        resources = _list_resources(coverage, rows, limit + 1, with_people=with_people)
        if resources.resource_count > limit:
            return None
        if extra_ids := resources.described_ids:
            rows = Entity.objects.filter(Q(pk__in=rows.order_by().values("pk")) | Q(pk__among=extra_ids))
        return _build_postings(rows, resources, fields)

    def load_sample(self, *, covering: Collection[Selector], fields: Collection[str], limit: int) -> Postings:
        """Return the first `limit` of the resources that one of the selectors covers, with these facets.

        Entities come first, then users, groups, roles and policies.
        """
        coverage = _build_coverage(covering)
        resources = _list_resources(coverage, _list_covered(coverage), limit, with_people=True)
        ids = [entity[0] for entity in resources.entities]
        rows = Entity.objects.filter(pk__among=ids) if ids else Entity.objects.none()
        return _build_postings(rows, resources, fields)


#: Columns of the row of an entity that is read.
_COLUMNS = ("pk", "urn", "type", "object_id", "project")


class _Resources(NamedTuple):
    """Rows of entities by id, and the URNs of people and policies that the catalog says nothing about.

    `described_ids` are those of entities that are listed only because they describe people or policies that are.
    """

    entities: Sequence[tuple[Any, ...]]
    undescribed_urns: Sequence[str] = ()
    described_ids: Sequence[int] = ()

    @property
    def resource_count(self) -> int:
        """The number of all of them."""
        return len(self.entities) + len(self.undescribed_urns)


def _list_resources(coverage: Coverage, rows: QuerySet[Entity], limit: int, *, with_people: bool) -> _Resources:
    """Return the covered resources, of which `rows` are those of the catalog; entities first, at most `limit`."""
    entities = list(rows.order_by("pk").values_list(*_COLUMNS)[:limit])
    if not with_people or len(entities) >= limit:
        return _Resources(entities)
    described_people = {entity[1] for entity in entities if entity[2] in PEOPLE_TYPES}
    if removed_urns := find_removed_people(described_people) if described_people else ():
        entities = [entity for entity in entities if entity[1] not in removed_urns]
    people = [urn for urn in list_covered_people(coverage, limit) if urn not in described_people]
    people = people[: limit - len(entities)]
    # What is stored for a person counts, also where the entity itself is removed.
    described = list(Entity.objects.filter(urn__among=people).values_list(*_COLUMNS)) if people else []
    described_urns = {entity[1] for entity in described}
    return _Resources(
        sorted([*entities, *described]),
        [urn for urn in people if urn not in described_urns],
        [entity[0] for entity in described],
    )


def _build_postings(rows: QuerySet[Entity], resources: _Resources, fields: Collection[str]) -> Postings:
    """Return resources, of which `rows` are the query of entities, with these facets."""
    loaded_fields = frozenset(fields) - selectors.CONSTANT_FACETS.keys()
    entities = resources.entities
    groups = list(_iterate_facet_groups(rows, loaded_fields, _EntityNumbers([entity[0] for entity in entities])))
    nodes = {value for field, value, _, _ in groups if field in selectors.HIERARCHICAL_FIELDS}
    urns = [*(entity[1] for entity in entities), *resources.undescribed_urns]
    return Postings(
        urns=urns,
        types=[*(entity[2] for entity in entities), *map(entity_type, resources.undescribed_urns)],
        fields=loaded_fields,
        rows=[
            *_iterate_object_rows(entities, loaded_fields),
            *(_list_id_rows(urns) if selectors.ID in loaded_fields else ()),
            *(_list_membership_rows(urns) if selectors.GROUP_MEMBERSHIP in loaded_fields else ()),
        ],
        groups=groups,
        descendants=_load_descendants(nodes),
    )


class JoinedIds(Aggregate):
    """Numbers joined by commas: a row for each value is read ten times as fast as one for each entity."""

    function = "group_concat"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        """Return the aggregate of PostgreSQL, which joins texts only."""
        return self.as_sql(compiler, connection, template="string_agg(CAST(%(expressions)s AS text), ',')", **context)


def _build_coverage(covering: Iterable[Selector]) -> Coverage:
    """Return the coverage of somebody for whom all of the selectors count."""
    covers = tuple(
        Cover(
            Statement(StatementOrigin("", ""), Effect.ALLOW, ActorMatch(), frozenset(), selector), is_unconditional=True
        )
        for selector in covering
    )
    return Coverage(Actor(""), covers)


def _list_covered(coverage: Coverage) -> QuerySet[Entity]:
    return coverage_sql.filter_covered(coverage, Entity.objects.filter(is_removed=False))


class _EntityNumbers:
    """The numbers of entities in order of their ids, from 0."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids
        self._first, self._last = (ids[0], ids[-1]) if ids else (0, -1)
        is_gapless = self._last - self._first + 1 == len(ids)
        self._number_by_id = None if is_gapless else {id_: number for number, id_ in enumerate(ids)}

    def find(self, ids: Iterable[int]) -> FrozenBitMap:
        """Return the numbers of those of the ids that are entities here: others may have appeared since."""
        if self._number_by_id is None:
            first, last = self._first, self._last
            return FrozenBitMap([id_ - first for id_ in ids if first <= id_ <= last])
        return FrozenBitMap([number for number in map(self._number_by_id.get, ids) if number is not None])

    def are_many(self) -> bool:
        """Whether they are a good part of the catalog."""
        bounds = Entity.objects.aggregate(first=Min("pk"), last=Max("pk"))
        return bool(self.ids) and len(self.ids) * _MANY_PART > bounds["last"] - bounds["first"]


def _iterate_facet_groups(
    entities: QuerySet[Entity], fields: Collection[str], numbers: _EntityNumbers
) -> Iterator[FacetGroup]:
    rows = Facet.objects.filter(field__among=sorted(fields)).order_by()
    if not numbers.are_many():
        rows = rows.filter(entity__in=entities.order_by().values("pk"))
    for field, value, type_, ids in (
        rows.values("field", "value", "type")
        .annotate(ids=JoinedIds("entity_id"))
        .values_list("field", "value", "type", "ids")
    ):
        if group := numbers.find(orjson.loads(f"[{ids}]")):
            yield field, value, type_, group


def _iterate_object_rows(entities: Sequence[Sequence[Any]], fields: Collection[str]) -> Iterator[FacetRow]:
    for field, column in ((selectors.ID, 3), (selectors.PROJECT, 4)):
        if field in fields:
            yield from ((number, field, entity[column], "") for number, entity in enumerate(entities) if entity[column])


def _list_id_rows(urns: Sequence[str]) -> list[FacetRow]:
    """Return the object ids of users and roles, which are stored with these."""
    numbers = {urn: number for number, urn in enumerate(urns) if urn.startswith((USER_PREFIX, ROLE_PREFIX))}
    ids = load_object_ids(urns=list(numbers))
    return [(numbers[urn], selectors.ID, object_id, "") for urn, object_id in ids.items() if object_id]


def _list_membership_rows(urns: Sequence[str]) -> list[FacetRow]:
    numbers = {urn: number for number, urn in enumerate(urns) if urn.startswith(USER_PREFIX)}
    return [
        (numbers[urn], selectors.GROUP_MEMBERSHIP, group, "")
        for urn, actor in actor_resolution.load_actors(urns=list(numbers)).items()
        for group in actor.groups
    ]


def _load_descendants(nodes: Collection[str]) -> dict[str, list[str]]:
    """Return the nodes among these by each of their ancestors."""
    nodes_by_ancestor: dict[str, list[str]] = defaultdict(list)
    if nodes:
        for node, ancestor in Ancestry.objects.filter(node__among=nodes).order_by().values_list("node", "ancestor"):
            nodes_by_ancestor[ancestor].append(node)
    return nodes_by_ancestor
