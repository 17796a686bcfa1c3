"""Resources that an actor may use a privilege on: entities of the catalog, and users, groups, roles and policies.

Facts of people and policies are in tables of their own, so each of these types is a list beside the list of entities.
All lists are filtered in the database, by the same conditions.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from pyroaring import FrozenBitMap64

from catalog.access import reachable_parts
from catalog.access.coverage_simplify import narrow_coverage
from catalog.access.coverage_sql import filter_covered
from catalog.access.covered_entries import CoveredEntries, find_covered_entries, select_boundless
from catalog.access.entity_lists import build_text_condition, find_named_entries, list_entities, parse_search
from catalog.access.entity_types import find_present, load_types
from catalog.access.facet_entries import MAX_ENTRIES
from catalog.access.naming_permissions import NamingPermissions
from catalog.access.paged_list import PagedList
from catalog.access.people_conditions import PeopleConditions, find_described_models
from catalog.access.people_records import build_user_condition
from catalog.access.reachable_parts import DensePart, KnownPart, LongPart, ReachablePart, ReachableRow, ShortPart
from catalog.access.view_permissions import build_view_conditions
from catalog.models import Entity, prefix_range
from catalog.urns import PEOPLE_TYPES
from policies.authoring.queries import policies
from policies.engine import selectors
from policies.engine.model import Actor, Coverage
from policies.identity.queries import users_groups_roles
from policies.models import GroupProfile, Policy, Role, User
from policies.models.fields import is_storable

#: Each type of people and policies with its table, and the name of that type in Datazone's patterns ('' for none).
_PEOPLE_TABLES: tuple[tuple[str, type[Any], str], ...] = (
    ("corpuser", User, "user"),
    ("corpGroup", GroupProfile, ""),
    ("dataHubRole", Role, "role"),
    ("dataHubPolicy", Policy, ""),
)

#: Names of the types of people and policies.
_PEOPLE_NAMES = frozenset(name for type_, _, pattern_type in _PEOPLE_TABLES for name in (type_, pattern_type) if name)


class ReachableList(PagedList[ReachableRow]):
    """All reachable resources: entities by name, then users, groups, roles and policies, each by URN.

    The length is exact up to `max_count`; any larger number is reported as one more. Slicing reads the parts.
    """

    def __init__(self, parts: Iterable[ReachablePart], max_count: int) -> None:
        self._remaining_parts = iter(parts)
        self._parts: list[ReachablePart] = []
        self._max_count = max_count

    def __len__(self) -> int:
        count = 0
        for part in self._walk_parts():
            if count > self._max_count:
                break
            count += part.count(self._max_count + 1 - count)
        return count

    def count_all(self) -> int:
        """Return the exact number of resources."""
        return sum(part.count() for part in self._walk_parts())

    def list_urns_after(self, urn: str, count: int) -> list[str]:
        """Return the first `count` URNs after this one, ordered by URN."""
        return list(islice(merge(*(part.list_urns_after(urn, count) for part in self._walk_parts())), count))

    def read_rows_after(self, urn: str, count: int) -> list[ReachableRow]:
        """Return the first `count` resources after this URN, ordered by URN: whatever is written, none comes twice."""
        urns = self.list_urns_after(urn, count)
        rows = {row.urn: row for part in self._walk_parts() for row in part.read_named_rows(urns)} if urns else {}
        return [rows[urn] for urn in urns if urn in rows]

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        """Return rows across the parts; a part is counted only when it ends before the start."""
        rows: list[ReachableRow] = []
        offset, missing_count = start, stop - start
        for part in self._walk_parts():
            if missing_count <= 0:
                break
            part_rows = part.read_rows(offset, offset + missing_count)
            rows += part_rows
            missing_count -= len(part_rows)
            offset = 0 if part_rows or not offset else max(0, offset - part.count())
        return rows

    def _walk_parts(self) -> Iterator[ReachablePart]:
        """Yield the parts; those that nobody asks for are never made."""
        yield from self._parts
        for part in self._remaining_parts:
            self._parts.append(part)
            yield part


def list_reachable(
    *,
    coverage: Coverage,
    text: str = "",
    types: Collection[str] = (),
    viewer: Actor | None = None,
    max_count: int,
    max_entries: int = MAX_ENTRIES,
) -> ReachableList:
    """Return the existing resources that a coverage reaches, filtered by words of the name and by types.

    With a `viewer`, only entities that it may view, and people and policies of types that it may read. Up to
    `max_entries` entries are read from indexes before entities are tested.
    """
    entity_part = _list_entity_part(coverage, text, types, viewer, max_entries)
    return ReachableList(chain([entity_part], _list_people_parts(coverage, text, types, viewer)), max_count)


def _list_entity_part(
    coverage: Coverage, text: str, types: Collection[str], viewer: Actor | None, max_entries: int
) -> ReachablePart:
    """Return the list of entities; where indexes say which few it can be, only these are tested."""
    coverage = narrow_coverage(coverage, types)
    named_entries = find_named_entries(text)
    covered_entries = find_covered_entries(coverage, max_entries)
    known_sets = [ids for ids in (named_entries.ids, covered_entries.list_ids()) if ids is not None]
    ids = FrozenBitMap64.intersection(*known_sets) if known_sets else None
    text_condition = build_text_condition(text, replace(named_entries, ids=None))
    view_conditions = [] if viewer is None else build_view_conditions(by=viewer)
    # Only where nothing else is asked of an entity its id says that it is on the list.
    is_told_by_id = ids is not None and not text_condition and not view_conditions
    listed_ids = _find_listed(covered_entries, ids, types) if ids is not None and is_told_by_id else None
    entities = list_entities(types=types).filter(text_condition, _catalog_only_condition(types), *view_conditions)

    def build_rows() -> QuerySet[Entity]:
        return entities.filter(covered_entries.build_condition(ids if listed_ids is None else listed_ids))

    def build_probed_rows() -> QuerySet[Entity]:
        return entities.filter(covered_entries.build_probing_condition())

    if listed_ids is not None:
        return KnownPart(build_rows, ids=listed_ids)
    if ids is None:
        boundless = select_boundless(coverage)
        if not boundless.allows:
            return ReachablePart(build_rows)
        certain_rows = filter_covered(boundless, entities)
        return DensePart(build_rows, certain_rows=certain_rows, entities=entities, build_probed_rows=build_probed_rows)
    return ShortPart(build_rows) if len(ids) <= reachable_parts.MAX_SHORT else LongPart(build_rows)


def _find_listed(covered_entries: CoveredEntries, ids: FrozenBitMap64, types: Collection[str]) -> FrozenBitMap64 | None:
    """Return those of the ids that are on a list of these types (none: of all); None when only a test tells."""
    if not covered_entries.is_exact:
        return None
    present_ids = find_present(ids)
    if present_ids is None:
        return None
    entity_types = load_types(present_ids)
    listed_ids = entity_types.select(covered_entries.select_ids(present_ids, entity_types), types)
    people_ids = entity_types.select(listed_ids, PEOPLE_TYPES)
    if not people_ids:
        return listed_ids
    rows = Entity.objects.filter(_catalog_only_condition(PEOPLE_TYPES), pk__among=people_ids).order_by()
    return (listed_ids - people_ids) | FrozenBitMap64(rows.values_list("pk", flat=True))


def _catalog_only_condition(types: Collection[str]) -> Q:
    """Return the condition that an entity is not one of the people and policies, which have lists of their own."""
    if types and not PEOPLE_TYPES & set(types):
        return Q()
    people_condition = Q(pk__in=[])
    for type_, model, _ in _PEOPLE_TABLES:
        people_condition |= Q(type=type_) & Q(Exists(model.objects.order_by().filter(urn=OuterRef("urn"))))
    return ~people_condition


def _list_people_parts(
    coverage: Coverage, text: str, types: Collection[str], viewer: Actor | None
) -> Iterator[ReachablePart]:
    """Yield the lists of people and policies; rows reached only by statements on Datazone's type get that type."""
    if types and _PEOPLE_NAMES.isdisjoint(types):
        return
    nameable = None if viewer is None else NamingPermissions.load(viewer)
    described_models = find_described_models()
    for type_, model, pattern_type in _PEOPLE_TABLES:
        type_names = [
            type_name for type_name in (type_, pattern_type) if type_name and (not types or type_name in types)
        ]
        rows = _search_people(type_, text, viewer) if type_names else model.objects.none()
        if nameable is not None:
            rows = rows.filter(nameable.person_condition("urn"))
        for type_name in type_names:
            type_coverage = coverage if type_name == type_ else _restrict_to_type(coverage, type_name)
            type_coverage = narrow_coverage(type_coverage, [type_name])
            conditions = PeopleConditions(type_name, model.objects.all(), is_described=model in described_models)
            condition = conditions.build_coverage_condition(type_coverage)
            yield ReachablePart(partial(rows.filter, condition), type_name)
            rows = rows.exclude(pk__in=model.objects.filter(condition).order_by().values("pk"))


def _restrict_to_type(coverage: Coverage, type_: str) -> Coverage:
    """Return the coverage with only the allows that name a type."""
    covers = (
        cover
        for cover in coverage.allows
        if any(criterion.field == selectors.TYPE and type_ in criterion.values for criterion in cover.selector.criteria)
    )
    return replace(coverage, allows=tuple(covers), is_everything=False)


def _search_people(type_: str, text: str, viewer: Actor | None) -> QuerySet[Any]:
    """Return the rows that match a text; addresses match only for users whose records the viewer may see."""
    words, urn_prefix = parse_search(text)
    visible_users = None if viewer is None or not words else build_user_condition(by=viewer)
    rows_by_type: dict[str, QuerySet[Any]] = {
        "corpuser": users_groups_roles.list_users(q=words, address_condition=visible_users).prefetch_related(None),
        "corpGroup": users_groups_roles.list_groups(q=words).prefetch_related(None),
        "dataHubRole": users_groups_roles.list_roles(q=words).prefetch_related(None),
        "dataHubPolicy": policies.list_policies(q=words).defer("document", "extra"),
    }
    if not is_storable(text):
        return rows_by_type[type_].none()
    rows = rows_by_type[type_].order_by("urn")
    return rows.filter(prefix_range("urn", [urn_prefix])) if urn_prefix else rows
