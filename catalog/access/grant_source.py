"""Grants, as statements and as rows. All that is said to django-guardian's tables is said here.

A grant on one entity is a row of guardian's, for a user or for a group; a role holds its grants through its hidden
Django group. A grant on every entity whose URN begins alike is a row of our own (rules/cdap.md CD-4, CD-5).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from catalog.access.grant_coverage_sql import instance_administrators
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, WildcardGrant, prefix_range
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, Pattern
from policies.engine.ports import Grants
from policies.models import GroupProfile, Role, User
from policies.models.fields import storable

if TYPE_CHECKING:
    from policies.engine.model import Statement


@dataclass(frozen=True, slots=True)
class Grant:
    """What one principal holds on one entity, or on all that a pattern stands for, in the order of privileges."""

    principal: str
    entity: str
    privileges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A privilege that reaches an entity: granted to `holder` on `source`, which is a URN or a pattern."""

    urn: str
    source: str
    holder: str
    privilege: str


class OrmGrantSource:
    """`policies.engine.ports.GrantSource` over the rows of django-guardian and the patterns."""

    def statements(self, *, holders: Collection[str] | None, urns: Collection[str]) -> Grants:
        """Return the grants of these holders (None: of everybody) that reach these entities, in one query."""
        privileges: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for found in _reaching(urns=urns, holders=holders):
            privileges[found.urn, found.holder, found.source].add(found.privilege)
        grants: dict[str, dict[str, tuple[Statement, ...]]] = defaultdict(dict)
        for (urn, holder, source), granted in sorted(privileges.items()):
            statement = cdap.grant(holder, granted, urn, source)
            grants[urn][holder] = (*grants[urn].get(holder, ()), statement)
        return grants

    def grantors(self, *, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return who holds ADMIN on each of these and may act, then who administers the instance (CD-18)."""
        holders = _holding_admin(urns)
        anywhere = instance_administrators()
        everybody = anywhere.union(*holders.values())
        able = principals(urns=everybody).keys() - _resting(everybody)
        return {urn: (*sorted(own & able), *sorted((anywhere & able) - own)) for urn, own in holders.items()}

    def kept_alone(self, *, holder: str, limit: int) -> Sequence[str]:
        """Return the entities on which nobody else who may act holds ADMIN, of so many that the holder was given."""
        urns = administered(holder=holder, limit=limit)[:limit]
        return sorted(without_administrator(urns=urns, leaving=[holder]))


def give(*, grants: Iterable[Grant], by: str, at: datetime) -> None:
    """Add to what principals hold, inside the transaction of a write that was authorized.

    Principals and entities exist. What is held already keeps its giver and its time.
    """
    listed = list(grants)
    holders = principals(urns=[one.principal for one in listed])
    numbers = dict(Entity.objects.filter(urn__among=[one.entity for one in listed]).order_by().values_list("urn", "pk"))
    permissions = _permissions()
    given: dict[str, Any] = {"given_by": by, "given_at": at}
    users, groups, patterns = [], [], []
    for one in listed:
        holder, pattern = holders[one.principal], cdap_entity_ids.pattern(one.entity)
        for privilege in one.privileges:
            if pattern is not None:
                patterns.append(WildcardGrant(**holder, **_columns(pattern), privilege=privilege, **given))
                continue
            row = {**holder, "content_object_id": numbers[one.entity], "permission_id": permissions[privilege]}
            if "user_id" in holder:
                users.append(EntityUserGrant(**row, **given))
            else:
                groups.append(EntityGroupGrant(**row, **given))
    EntityUserGrant.objects.bulk_create(users, ignore_conflicts=True)
    EntityGroupGrant.objects.bulk_create(groups, ignore_conflicts=True)
    WildcardGrant.objects.bulk_create(patterns, ignore_conflicts=True)


def take(*, grants: Iterable[Grant]) -> None:
    """Take privileges away, inside the transaction of a write that was authorized; what is not held is no problem."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for one in grants:
        alike[one.principal, one.privileges].append(one.entity)
    holders = principals(urns=[principal for principal, _ in alike])
    for (principal, privileges), entities in alike.items():
        holder = Q(**holders[principal])
        rows = EntityUserGrant if "user_id" in holders[principal] else EntityGroupGrant
        single = rows.objects.filter(holder, content_object__urn__among=entities)
        single.filter(permission__codename__in=privileges).delete()
        WildcardGrant.objects.filter(holder, pattern__among=entities, privilege__in=privileges).delete()


def end_within(*, urns: Collection[str]) -> None:
    """End the grants on patterns all of whose entities lie in one of these, which are about to go (CD-17)."""
    WildcardGrant.objects.filter(within__among=urns).delete()


def principals(*, urns: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the columns that name each principal in a row of a grant; one that is not known is left out."""
    wanted = storable(urns)
    users = User.objects.filter(urn__in=wanted, is_removed=False).order_by().values_list("urn", "pk")
    groups = GroupProfile.objects.filter(urn__in=wanted, is_removed=False).order_by().values_list("urn", "group_id")
    roles = Role.objects.filter(urn__in=wanted).order_by().values_list("urn", "group_id")
    found = {urn: {"user_id": number} for urn, number in users}
    return found | {urn: {"group_id": number} for rows in (groups, roles) for urn, number in rows}


def held(*, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return what each principal was granted on exactly this entity or pattern, in the order of privileges.

    `pairs` are (principal, entity).
    """
    rows = _rows(entities={entity for _, entity in pairs}, holders={principal for principal, _ in pairs})
    granted: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, privilege, holder in rows:
        granted[holder, source].add(privilege)
    return {pair: cdap.expand(granted.get(pair, ())) for pair in pairs}


def administered(*, holder: str, limit: int | None = None) -> list[str]:
    """Return the entities on which this user, group or role was itself given ADMIN, one by one or by pattern, in order.

    Not more than the limit of either kind.
    """
    found: set[str] = set()
    for rows, named in (
        (EntityUserGrant.objects.filter(user__urn=holder), "content_object__urn"),
        (EntityGroupGrant.objects.filter(_of_group([holder])), "content_object__urn"),
    ):
        urns = rows.filter(permission__codename=cdap.ADMIN).order_by(named).values_list(named, flat=True)
        found.update(urns[:limit])
    wide = WildcardGrant.objects.filter(Q(user__urn=holder) | _of_group([holder]), privilege=cdap.ADMIN)
    if prefixes := sorted(set(wide.values_list("prefix", flat=True))):
        rows_of = Entity.objects.filter(prefix_range("urn", prefixes)).order_by("urn")
        found.update(rows_of.values_list("urn", flat=True)[:limit])
    return sorted(found)


def without_administrator(*, urns: Collection[str], leaving: Collection[str] = ()) -> frozenset[str]:
    """Return those of the entities on which nobody who may act holds ADMIN (CD-19), not counting who is `leaving`.

    A group or a role counts whoever is in it; a suspended user does not.
    """
    holders = _holding_admin(urns)
    resting = _resting(frozenset[str]().union(*holders.values())) | frozenset(leaving)
    return frozenset(urn for urn, own in holders.items() if not own - resting)


def covered_by(*, pattern: Pattern) -> list[str]:
    """Return the entities that a pattern stands for, in order."""
    return list(
        Entity.objects.filter(prefix_range("urn", [pattern.prefix])).order_by("urn").values_list("urn", flat=True)
    )


def patterns(*, entity: str = "", principal: str = "") -> list[str]:
    """Return the patterns on which something is granted (to this principal), each once."""
    rows = WildcardGrant.objects.filter(Q(pattern=entity) if entity else Q())
    rows = rows.filter(Q(user__urn=principal) | _of_group([principal])) if principal else rows
    return sorted(set(rows.values_list("pattern", flat=True)))


class Listed(Sequence[Grant]):
    """Grants by entity and principal, of the entities and patterns given, counted and cut into pages by the database.

    What the settings give to instance administrators comes first: it is held without a row.
    """

    def __init__(
        self, *, entities: QuerySet[Entity] | None, patterns: Collection[str], principal: str, with_instance: bool
    ) -> None:
        admins = instance_administrators()
        kept = sorted(one for one in admins if principal in ("", one)) if with_instance else []
        self._first = [Grant(one, INSTANCE_URN, cdap.PRIVILEGES) for one in kept]
        by_setting = Q(content_object__urn=INSTANCE_URN)
        within = Q() if entities is None else Q(content_object__in=entities.order_by().values("pk"))
        users = EntityUserGrant.objects.filter(within).exclude(by_setting, user__urn__in=admins)
        groups = _in_force(EntityGroupGrant.objects.filter(within)).exclude(
            by_setting & (Q(group__profile__urn__in=admins) | Q(group__role__urn__in=admins))
        )
        wide = WildcardGrant.objects.filter(pattern__among=sorted(patterns))
        if principal:
            users, groups = users.filter(user__urn=principal), groups.filter(_of_group([principal]))
            wide = wide.filter(Q(user__urn=principal) | _of_group([principal]))
        self._pairs = (
            users.annotate(on=F("content_object__urn"), holder=F("user__urn"))
            .values_list("on", "holder")
            .union(
                groups.annotate(on=F("content_object__urn"), holder=_GROUP).values_list("on", "holder"),
                wide.annotate(on=F("pattern"), holder=_HOLDER).values_list("on", "holder"),
            )
            .order_by("on", "holder")
        )

    def __len__(self) -> int:
        return len(self._first) + int(self._pairs.count())

    @overload
    def __getitem__(self, wanted: int) -> Grant: ...
    @overload
    def __getitem__(self, wanted: slice) -> Sequence[Grant]: ...
    def __getitem__(self, wanted: int | slice) -> Grant | Sequence[Grant]:
        if isinstance(wanted, int):
            return self[wanted : wanted + 1][0]
        start, stop, first = wanted.start or 0, wanted.stop, len(self._first)
        pairs = [(holder, on) for on, holder in self._pairs[max(0, start - first) : max(0, stop - first)]]
        return [*self._first[wanted], *(Grant(*pair, privileges) for pair, privileges in held(pairs=pairs).items())]


#: The group or role that a row of a group is about.
_GROUP = Coalesce(F("group__profile__urn"), F("group__role__urn"))
#: Who a row of a pattern is for.
_HOLDER = Coalesce(F("user__urn"), F("group__profile__urn"), F("group__role__urn"))


def _reaching(*, urns: Collection[str], holders: Collection[str] | None) -> Iterator[_Found]:
    """Return each privilege that reaches one of the entities: granted on it, by a pattern, or by the settings.

    With INHERIT_PRIVILEGES also what was granted on something that it lies in.
    """
    sources = {urn: (_named(urn), *(_above(urn) if settings.INHERIT_PRIVILEGES else ())) for urn in urns}
    named = {source for some in sources.values() for source in some}
    rows = [*_rows(entities=named, holders=holders), *_by_setting(named, holders)]
    direct: dict[str, list[tuple[str, str]]] = defaultdict(list)
    wide: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for source, privilege, holder in rows:
        if (pattern := cdap_entity_ids.pattern(source)) is not None:
            wide[pattern.kind].append((pattern.prefix, privilege, holder))
        else:
            direct[source].append((privilege, holder))
    for urn, some in sources.items():
        for source in some:
            for privilege, holder in direct.get(source, ()):
                yield _Found(urn, source, holder, privilege)
            for prefix, privilege, holder in wide.get(_kind(source), ()):
                if source.startswith(prefix):
                    yield _Found(urn, f"{prefix}{cdap_entity_ids.WILDCARD}", holder, privilege)


def _holding_admin(urns: Collection[str]) -> dict[str, frozenset[str]]:
    """Return who was granted ADMIN on each of these, whoever may act."""
    holders: dict[str, set[str]] = {urn: set() for urn in urns}
    for found in _reaching(urns=urns, holders=None):
        if found.privilege == cdap.ADMIN:
            holders[found.urn].add(found.holder)
    return {urn: frozenset(some) for urn, some in holders.items()}


def _resting(holders: Collection[str]) -> frozenset[str]:
    """Return those of the holders that are users who may not act."""
    named = User.objects.filter(urn__among=storable(sorted(holders)))
    idle = named.exclude(state=User.State.ACTIVE, is_removed=False)
    return frozenset(idle.order_by().values_list("urn", flat=True))


def _rows(*, entities: Collection[str], holders: Collection[str] | None) -> list[tuple[str, str, str]]:
    """Return (URN or pattern, privilege, holder) of the grants on these entities and on patterns of their kinds."""
    asked = storable(sorted(entities))
    if not asked:
        return []
    users = EntityUserGrant.objects.filter(content_object__urn__among=asked)
    groups = _in_force(EntityGroupGrant.objects.filter(content_object__urn__among=asked))
    wide = _in_force(WildcardGrant.objects.filter(kind__in=sorted({_kind(urn) for urn in asked})))
    if holders is not None:
        wanted = storable(sorted(holders))
        users, groups = users.filter(user__urn__among=wanted), groups.filter(_of_group(wanted))
        wide = wide.filter(Q(user__urn__among=wanted) | _of_group(wanted))
    found = users.values_list("content_object__urn", "permission__codename", "user__urn").union(
        groups.values_list("content_object__urn", "permission__codename", _GROUP),
        wide.values_list("pattern", "privilege", _HOLDER),
        all=True,
    )
    return list(found)


def _by_setting(entities: Collection[str], holders: Collection[str] | None) -> list[tuple[str, str, str]]:
    """Return what instance administrators hold: everything on the instance (CD-18)."""
    if INSTANCE_URN not in entities:
        return []
    admins = instance_administrators() if holders is None else instance_administrators() & frozenset(holders)
    return [(INSTANCE_URN, privilege, admin) for admin in sorted(admins) for privilege in cdap.PRIVILEGES]


def _in_force(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out what is held by groups that were removed."""
    return rows.exclude(group__profile__is_removed=True)


def _of_group(urns: Collection[str]) -> Q:
    return Q(group__profile__urn__among=list(urns)) | Q(group__role__urn__among=list(urns))


def _named(urn: str) -> str:
    """Return an entity without the version that its URN may be spelled with (CD-20)."""
    name = cdap_entity_ids.read(urn)
    return urn if name is None else name.urn


def _above(urn: str) -> tuple[str, ...]:
    """Return what an entity, or everything that a pattern stands for, lies in."""
    if (pattern := cdap_entity_ids.pattern(urn)) is not None:
        return (pattern.within, *_above(pattern.within))
    name = cdap_entity_ids.read(urn)
    return name.above if name is not None else ()


def _permissions() -> dict[str, int]:
    rows = Permission.objects.filter(content_type__app_label="catalog", content_type__model="entity")
    return dict(rows.filter(codename__in=cdap.PRIVILEGES).values_list("codename", "pk"))


def _columns(pattern: Pattern) -> dict[str, str]:
    return {"pattern": pattern.urn, "kind": pattern.kind, "prefix": pattern.prefix, "within": pattern.within}


def _kind(urn: str) -> str:
    return urn.split(":", 3)[2] if urn.count(":") > 2 else ""
