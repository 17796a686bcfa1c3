"""Sources of a search: the catalog, and users, groups, roles and policies, which have tables of their own.

Each is a queryset with a `urn` column, narrowed by filters; a field that a source lacks matches none of its rows.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q, QuerySet

from catalog import urns
from catalog.access import entity_lists, view_permissions
from catalog.access.people_records import build_user_condition
from catalog.aspects.facet_fields import PLATFORM
from catalog.protocols import search_filters
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.paging import without_star
from catalog.protocols.policy_filters import POLICY_FIELDS
from catalog.protocols.search_filters import ColumnFilter, FacetFilter, FieldFilter
from policies.authoring.queries import policies
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.engine import selectors
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.models import User
from policies.models.fields import filter_storable
from policies.pdp import authorizer

SearchRows = QuerySet[Any, Any]

#: Results of a page of a search if the input sets no count.
SEARCH_PAGE_SIZE = 10

_REMOVED_FIELD = "removed"
_MATCH_NOTHING = Q(pk__in=[])
#: Fields by which SDKs filter and which no entity has here.
_UNSUPPORTED_FIELDS = ("customProperties", "env")


@dataclass(frozen=True, slots=True)
class Search:
    """A search: text (`*`: all), types (none: see `list_source_rows`), filters that must all hold, and the caller."""

    text: str
    kinds: tuple[str, ...]
    criteria: tuple[Sequence[Any], ...]
    by: Actor
    with_removed: bool = False
    #: Fields of this search only; they apply to every source.
    own_fields: Mapping[str, FieldFilter] = field(default_factory=dict)

    @property
    def fields(self) -> frozenset[str]:
        """The fields that the filters test."""
        return frozenset[str]().union(*map(search_filters.field_names, self.criteria))


def build_search(
    input: Mapping[str, Any],
    info: Info,
    *,
    kind: str | None = None,
    own_fields: Mapping[str, FieldFilter] | None = None,
) -> Search:
    """Return the search of an input, of its `type` or `types` or of this type. Raises Invalid for a saved view."""
    if input.get("viewUrn"):
        detail = "There are no saved views of searches."
        raise Invalid.from_problem(code="view", pointer="/input/viewUrn", detail=detail)
    type_names = [input["type"]] if "type" in input else input.get("types") or ()
    kinds = map(nodes.parse_type_name, type_names) if kind is None else filter(None, [kind])
    return Search(
        text=input.get("query") or "*",
        kinds=tuple(kinds),
        criteria=(input.get("orFilters") or (), [{"and": input["filters"]}] if input.get("filters") else []),
        by=info.context.by,
        with_removed=bool((input.get("searchFlags") or {}).get("includeSoftDeleted")),
        own_fields=own_fields or {},
    )


@dataclass(frozen=True, slots=True)
class SearchSource:
    """One source: name, types (none: all others), rows for a search, and filters by field."""

    name: str
    kinds: tuple[str, ...]
    rows: Callable[[Search], SearchRows]
    fields: Mapping[str, FieldFilter]
    #: Fields that are readable only for rows that meet `visibility`; for other rows they are empty.
    private_fields: frozenset[str] = frozenset()
    visibility: Callable[[Actor], Q] = lambda _by: Q()

    def list_private_urns(self, rows: Sequence[Any], *, by: Actor) -> frozenset[str]:
        """Return the URNs of the rows whose private fields the caller may not see; at most one query."""
        visibility = self.visibility(by)
        if not rows or not visibility:
            return frozenset()
        visible_rows = type(rows[0]).objects.filter(visibility, pk__in=[row.pk for row in rows])
        return frozenset(row.urn for row in rows) - set(visible_rows.values_list("urn", flat=True))


def list_source_rows(search: Search) -> list[tuple[SearchSource, SearchRows]]:
    """Return the sources of a search with their matching rows, in the order of a scroll.

    Without types those are users, groups and the catalog. Policies need MANAGE_POLICIES. Raises Invalid for fields that
    no source has.
    """
    kinds = set(search.kinds) or {"", "corpuser", "corpGroup"}
    known_fields = frozenset(name for source in _SOURCES for name in source.fields) | search.own_fields.keys()
    unknown_fields = sorted(search.fields - known_fields)
    if unknown_fields:
        detail = f"{unknown_fields[0]!r} is none of {', '.join(sorted(known_fields))}."
        raise Invalid.from_problem(code="filter.field", pointer="/orFilters", detail=detail)
    return [(source, _filter_rows(source, search, known_fields)) for source in _SOURCES if _is_searched(source, kinds)]


def _is_searched(source: SearchSource, kinds: set[str]) -> bool:
    return not kinds.isdisjoint(source.kinds) if source.kinds else bool(kinds - urns.PEOPLE_TYPES)


def _filter_rows(source: SearchSource, search: Search, known_fields: Collection[str]) -> SearchRows:
    with_removed = search.with_removed or _REMOVED_FIELD in search.fields
    empty_filters: dict[str, FieldFilter] = dict.fromkeys(known_fields, _match_nothing)
    type_filter = _build_type_filter(source.kinds[0]) if source.kinds else _match_types
    own_filters = search_filters.bind_filters(source.fields, search.by)
    own_filters |= _private_field_filters(source, search)
    filters_by_field = {
        **empty_filters,
        "_entityType": type_filter,
        "typeNames": type_filter,
        **own_filters,
        **search.own_fields,
    }
    rows = source.rows(replace(search, with_removed=with_removed))
    return rows.filter(*(search_filters.build_condition(criteria, filters_by_field) for criteria in search.criteria))


def _private_field_filters(source: SearchSource, search: Search) -> dict[str, FieldFilter]:
    """Return the filters on the tested private fields, which match only rows that the caller may see."""
    private_fields = source.private_fields & search.fields
    visibility = source.visibility(search.by) if private_fields else Q()
    return {name: _restrict_filter(visibility, source.fields[name]) for name in private_fields} if visibility else {}


def _restrict_filter(visibility: Q, field_filter: FieldFilter) -> FieldFilter:
    def read(condition: str, values: list[str]) -> Q | None:
        clause = field_filter(condition, values)
        return None if clause is None else visibility & clause

    return read


def _match_nothing(_condition: str, _values: list[str]) -> Q:
    return _MATCH_NOTHING


def _build_type_filter(kind: str) -> FieldFilter:
    """Return the filter on the type, which all rows of a source share."""

    def read(condition: str, values: list[str]) -> Q | None:
        if condition not in ("EQUAL", "IN"):
            return None
        return ~_MATCH_NOTHING if kind in map(nodes.parse_type_name, values) else _MATCH_NOTHING

    return read


def _match_types(condition: str, values: list[str]) -> Q | None:
    if condition not in ("EQUAL", "IN"):
        return None
    return Q(type__among=filter_storable(map(nodes.parse_type_name, values)))


def _match_origin(condition: str, values: list[str]) -> Q | None:
    if condition not in ("EQUAL", "IN"):
        return None
    origins = filter_storable(values)
    if len(origins) > search_filters.MAX_CRITERIA:
        detail = f"At most {search_filters.MAX_CRITERIA} origins are searched for at once."
        raise Invalid.from_problem(code="filter.large", pointer="/orFilters", detail=detail)
    clause = _MATCH_NOTHING
    for origin in origins:
        if len(origin) <= urns.MAX_URN_BYTES:
            clause |= Q(type="dataset", urn__endswith=f",{origin})")
    return clause


_COMMON_FIELDS = {_REMOVED_FIELD: ColumnFilter("is_removed", search_filters.BOOLEAN_WORDS), "urn": ColumnFilter("urn")}


def _search_catalog(search: Search) -> SearchRows:
    kinds = [kind for kind in search.kinds if kind not in urns.PEOPLE_TYPES]
    rows = entity_lists.search(text=search.text, types=kinds, with_removed=search.with_removed)
    rows = rows if kinds else rows.exclude(type__in=urns.PEOPLE_TYPES)
    return view_permissions.filter_viewable(rows, by=search.by)


def _search_users(search: Search) -> SearchRows:
    words = without_star(search.text)
    visible_users = build_user_condition(by=search.by) if words else None
    return users_groups_roles.list_users(
        q=words, include_removed=search.with_removed, address_condition=visible_users
    ).prefetch_related(None)


def _build_user_visibility(by: Actor) -> Q:
    return build_user_condition(by=by)


def _search_groups(search: Search) -> SearchRows:
    return users_groups_roles.list_groups(
        q=without_star(search.text), include_removed=search.with_removed
    ).prefetch_related(None)


def _search_roles(search: Search) -> SearchRows:
    return users_groups_roles.list_roles(q=without_star(search.text))


def _search_policies(search: Search) -> SearchRows:
    authorizer.require(by=search.by, any_of=MANAGE_POLICIES)
    return policies.list_policies(q=without_star(search.text), family=datahub.NAME)


_SOURCES = (
    SearchSource(
        "users",
        ("corpuser",),
        _search_users,
        {
            **_COMMON_FIELDS,
            "name": ColumnFilter("username"),
            "username": ColumnFilter("username"),
            "displayName": ColumnFilter("display_name"),
            "fullName": ColumnFilter("display_name"),
            "email": ColumnFilter("email"),
            "title": ColumnFilter("title"),
            "status": ColumnFilter("state"),
            "typeNames": ColumnFilter("kind", {"service_account": User.Kind.SERVICE, "corp_user": User.Kind.PERSON}),
        },
        private_fields=frozenset({"email", "title", "status"}),
        visibility=_build_user_visibility,
    ),
    SearchSource(
        "groups",
        ("corpGroup",),
        _search_groups,
        {
            **_COMMON_FIELDS,
            "name": ColumnFilter("name"),
            "displayName": ColumnFilter("name"),
            "email": ColumnFilter("email"),
        },
    ),
    SearchSource(
        "roles",
        ("dataHubRole",),
        _search_roles,
        {
            "urn": ColumnFilter("urn"),
            "name": ColumnFilter("name"),
            "editable": ColumnFilter("is_editable", search_filters.BOOLEAN_WORDS),
        },
    ),
    SearchSource(
        "policies",
        ("dataHubPolicy",),
        _search_policies,
        POLICY_FIELDS,
    ),
    SearchSource(
        "catalog",
        (),
        _search_catalog,
        {
            **_COMMON_FIELDS,
            **dict.fromkeys(_UNSUPPORTED_FIELDS, _match_nothing),
            "_entityType": _match_types,
            "typeNames": _match_types,
            "name": ColumnFilter("name"),
            "platform": FacetFilter(PLATFORM),
            "platformInstance": FacetFilter(selectors.DATA_PLATFORM_INSTANCE),
            "dataPlatformInstance": FacetFilter(selectors.DATA_PLATFORM_INSTANCE),
            "container": FacetFilter(selectors.CONTAINER),
            "browsePathV2": FacetFilter(selectors.CONTAINER, is_path=True),
            "domains": FacetFilter(selectors.DOMAIN),
            "glossaryTerms": FacetFilter(selectors.GLOSSARY),
            "owners": FacetFilter(selectors.OWNER),
            "tags": FacetFilter(selectors.TAG),
            "origin": _match_origin,
        },
    ),
)
