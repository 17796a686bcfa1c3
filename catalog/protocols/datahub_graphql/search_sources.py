"""What can be searched: the catalog, and users, groups, roles and policies, which have their home elsewhere.

Each is a list by URN that a filter narrows; a field that a list has not is met by nothing in it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q, QuerySet

from catalog import urns
from catalog.access import entity_lists, view_permissions
from catalog.access.coverage_sql import having, meets
from catalog.access.naming_permissions import Nameable
from catalog.access.people_records import build_visible_users
from catalog.aspects.base import PLATFORM
from catalog.protocols.datahub_graphql import filters, nodes
from catalog.protocols.datahub_graphql.filters import Column, Reading
from catalog.protocols.datahub_graphql.paging import without_star
from policies.authoring.queries import policies
from policies.authoring.services.policies import MANAGE
from policies.engine import selectors
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.models import User
from policies.models.fields import storable
from policies.pdp import authorizer

Rows = QuerySet[Any, Any]

_REMOVED = "removed"
_NOTHING = Q(pk__in=[])
#: Fields that SDKs ask about and nothing here has.
_UNKEPT = ("customProperties", "env")


@dataclass(frozen=True, slots=True)
class Search:
    """What is sought: words (`*` for anything), types (none: see `of`), filters that all hold, and by whom."""

    text: str
    kinds: tuple[str, ...]
    criteria: tuple[Sequence[Any], ...]
    by: Actor
    with_removed: bool = False
    #: Fields that only this search knows; every list has them.
    own_fields: Mapping[str, Reading] = field(default_factory=dict)

    @property
    def fields(self) -> frozenset[str]:
        """The fields that the filters speak of."""
        return frozenset[str]().union(*map(filters.fields_of, self.criteria))


@dataclass(frozen=True, slots=True)
class FactReading:
    """The reading of a fact: has one of these values, directly; EXISTS: has any.

    A value that `by` may not view counts as none.
    """

    field: str
    by: Actor | None = None

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that facts do not know."""
        if condition == "EXISTS":
            return having(self.field, Nameable.to(self.by).condition("value") if self.by else Q())
        if condition not in ("EQUAL", "IN"):
            return None
        known = storable(values)
        hidden = view_permissions.hidden(urns=known, by=self.by) if self.by else frozenset()
        return having(self.field, Q(value__among=[one for one in known if one not in hidden]))


@dataclass(frozen=True, slots=True)
class Segment:
    """One list: its name, its types (none: all others), what it has for a search, and its fields."""

    name: str
    kinds: tuple[str, ...]
    rows: Callable[[Search], Rows]
    fields: Mapping[str, Reading]
    #: Fields that say something of those rows only that `visible` is true of; of others they are empty.
    private: frozenset[str] = frozenset()
    visible: Callable[[Actor], Q] = lambda _by: Q()

    def list_private(self, rows: Sequence[Any], *, by: Actor) -> frozenset[str]:
        """Return the URNs of those rows whose private fields the caller may not see; at most one query."""
        visible = self.visible(by)
        if not rows or not visible:
            return frozenset()
        seen = type(rows[0]).objects.filter(visible, pk__in=[row.pk for row in rows])
        return frozenset(row.urn for row in rows) - set(seen.values_list("urn", flat=True))


def of(search: Search) -> list[tuple[Segment, Rows]]:
    """Return the lists that a search goes through, narrowed to what it finds, in the order of a scroll.

    Without types those are the catalog, users and groups. Policies need MANAGE_POLICIES. Raises Invalid for fields that
    no list has.
    """
    kinds = set(search.kinds) or {"", "corpuser", "corpGroup"}
    known = frozenset(name for one in _SEGMENTS for name in one.fields) | search.own_fields.keys()
    strangers = sorted(search.fields - known)
    if strangers:
        detail = f"{strangers[0]!r} is none of {', '.join(sorted(known))}."
        raise Invalid.one(code="filter.field", pointer="/orFilters", detail=detail)
    return [(one, _narrowed(one, search, known)) for one in _SEGMENTS if _is_wanted(one, kinds)]


def _is_wanted(segment: Segment, kinds: set[str]) -> bool:
    return not kinds.isdisjoint(segment.kinds) if segment.kinds else bool(kinds - urns.PEOPLE_TYPES)


def _narrowed(segment: Segment, search: Search, known: Collection[str]) -> Rows:
    with_removed = search.with_removed or _REMOVED in search.fields
    missing: dict[str, Reading] = dict.fromkeys(known, _nothing)
    kind = _kinds(segment.kinds[0]) if segment.kinds else _types
    own = {name: _asked_by(search.by, reading) for name, reading in segment.fields.items()}
    own |= _guarded(segment, search)
    fields = {**missing, "_entityType": kind, "typeNames": kind, **own, **search.own_fields}
    rows = segment.rows(replace(search, with_removed=with_removed))
    return rows.filter(*(filters.condition(one, fields) for one in search.criteria))


def _asked_by(by: Actor, reading: Reading) -> Reading:
    return replace(reading, by=by) if isinstance(reading, FactReading) else reading


def _guarded(segment: Segment, search: Search) -> dict[str, Reading]:
    """Return the readings of the private fields that are asked about, met only by rows that the caller may see."""
    private = segment.private & search.fields
    visible = segment.visible(search.by) if private else Q()
    return {name: _where(visible, segment.fields[name]) for name in private} if visible else {}


def _where(visible: Q, reading: Reading) -> Reading:
    def read(condition: str, values: list[str]) -> Q | None:
        found = reading(condition, values)
        return None if found is None else visible & found

    return read


def _nothing(_condition: str, _values: list[str]) -> Q:
    return _NOTHING


def _kinds(kind: str) -> Reading:
    """Return the reading of the type, which all rows of a list share."""

    def read(condition: str, values: list[str]) -> Q | None:
        if condition not in ("EQUAL", "IN"):
            return None
        return ~_NOTHING if kind in map(nodes.kind_of, values) else _NOTHING

    return read


def _types(condition: str, values: list[str]) -> Q | None:
    if condition not in ("EQUAL", "IN"):
        return None
    return Q(type__among=storable(map(nodes.kind_of, values)))


def _below(condition: str, values: list[str]) -> Q | None:
    """Read `browsePathV2`: lies in one of these containers, on any level."""
    if condition not in ("CONTAIN", "EQUAL", "IN"):
        return None
    return meets(Criterion(selectors.CONTAINER, Condition.EQUALS, frozenset(values)))


def _origin(condition: str, values: list[str]) -> Q | None:
    if condition not in ("EQUAL", "IN"):
        return None
    found = _NOTHING
    for value in storable(values):
        found |= Q(type="dataset", urn__endswith=f",{value})")
    return found


_FLAGGED = {_REMOVED: Column("is_removed", filters.FLAG), "urn": Column("urn")}


def _catalog(search: Search) -> Rows:
    kinds = [kind for kind in search.kinds if kind not in urns.PEOPLE_TYPES]
    rows = entity_lists.search(text=search.text, types=kinds, with_removed=search.with_removed)
    rows = rows if kinds else rows.exclude(type__in=urns.PEOPLE_TYPES)
    return view_permissions.viewable(rows, by=search.by)


def _users(search: Search) -> Rows:
    words = without_star(search.text)
    seen = build_visible_users(by=search.by) if words else None
    return users_groups_roles.users(q=words, with_removed=search.with_removed, seen=seen).prefetch_related(None)


def _visible_users(by: Actor) -> Q:
    return build_visible_users(by=by)


def _groups(search: Search) -> Rows:
    return users_groups_roles.groups(q=without_star(search.text), with_removed=search.with_removed).prefetch_related(
        None
    )


def _roles(search: Search) -> Rows:
    return users_groups_roles.roles(q=without_star(search.text))


def _policies(search: Search) -> Rows:
    authorizer.require(by=search.by, any_of=MANAGE)
    return policies.policies(q=without_star(search.text), family=datahub.NAME)


_SEGMENTS = (
    Segment(
        "users",
        ("corpuser",),
        _users,
        {
            **_FLAGGED,
            "name": Column("username"),
            "username": Column("username"),
            "displayName": Column("display_name"),
            "fullName": Column("display_name"),
            "email": Column("email"),
            "title": Column("title"),
            "status": Column("state"),
            "typeNames": Column("kind", {"service_account": User.Kind.SERVICE, "corp_user": User.Kind.PERSON}),
        },
        private=frozenset({"email", "title", "status"}),
        visible=_visible_users,
    ),
    Segment(
        "groups",
        ("corpGroup",),
        _groups,
        {**_FLAGGED, "name": Column("name"), "displayName": Column("name"), "email": Column("email")},
    ),
    Segment(
        "roles",
        ("dataHubRole",),
        _roles,
        {"urn": Column("urn"), "name": Column("name"), "editable": Column("is_editable", filters.FLAG)},
    ),
    Segment(
        "policies",
        ("dataHubPolicy",),
        _policies,
        {
            "urn": Column("urn"),
            "name": Column("name"),
            "displayName": Column("name"),
            "type": Column("type"),
            "state": Column("state"),
            "editable": Column("is_editable", filters.FLAG),
        },
    ),
    Segment(
        "catalog",
        (),
        _catalog,
        {
            **_FLAGGED,
            **dict.fromkeys(_UNKEPT, _nothing),
            "_entityType": _types,
            "typeNames": _types,
            "name": Column("name"),
            "platform": FactReading(PLATFORM),
            "platformInstance": FactReading(selectors.DATA_PLATFORM_INSTANCE),
            "dataPlatformInstance": FactReading(selectors.DATA_PLATFORM_INSTANCE),
            "container": FactReading(selectors.CONTAINER),
            "browsePathV2": _below,
            "domains": FactReading(selectors.DOMAIN),
            "glossaryTerms": FactReading(selectors.GLOSSARY),
            "owners": FactReading(selectors.OWNER),
            "tags": FactReading(selectors.TAG),
            "origin": _origin,
        },
    ),
)
