"""Grants as statements and as rows: the only module that uses django-guardian's tables.

A grant on one entity is a row of guardian for a user or a group; a role holds its grants through its hidden Django
group. A grant on every entity whose URN has a common prefix is a row of `WildcardGrant` (rules/cdap.md CD-4, CD-5).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from catalog.access.grant_coverage_sql import instance_administrators
from catalog.access.paged_list import PagedList
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, WildcardGrant, prefix_range
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapPattern
from policies.engine.ports import GrantsByEntity
from policies.models import GroupProfile, Role, User
from policies.models.fields import filter_storable

if TYPE_CHECKING:
    from policies.engine.model import Statement


@dataclass(frozen=True, slots=True)
class Grant:
    """The privileges of one principal on one entity or pattern, in the order of privileges."""

    principal: str
    entity: str
    privileges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ReachingGrant:
    """A privilege that reaches an entity: granted to `holder` on `source`, a URN or a pattern."""

    urn: str
    source: str
    holder: str
    privilege: str


class OrmGrantSource:
    """`policies.engine.ports.GrantSource` over the rows of django-guardian and the patterns."""

    def load_statements(self, *, holders: Collection[str] | None, urns: Collection[str]) -> GrantsByEntity:
        """Return the grants of these holders (None: all) that reach these entities, by entity and holder; one query."""
        privileges: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for grant in _find_reaching_grants(urns=urns, holders=holders):
            privileges[grant.urn, grant.holder, grant.source].add(grant.privilege)
        grants: dict[str, dict[str, tuple[Statement, ...]]] = defaultdict(dict)
        for (urn, holder, source), source_privileges in sorted(privileges.items()):
            statement = cdap.build_grant(holder, source_privileges, urn, source)
            grants[urn][holder] = (*grants[urn].get(holder, ()), statement)
        return grants

    def load_grantors(self, *, urns: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return URN -> active principals that hold ADMIN on it, then the active instance administrators (CD-18)."""
        holders = _load_admins(urns)
        instance_admins = instance_administrators()
        candidates = instance_admins.union(*holders.values())
        active_principals = load_principal_columns(urns=candidates).keys() - _list_inactive_users(candidates)
        return {
            urn: (
                *sorted(entity_admins & active_principals),
                *sorted((instance_admins & active_principals) - entity_admins),
            )
            for urn, entity_admins in holders.items()
        }

    def list_sole_administered(self, *, holder: str, limit: int) -> tuple[Sequence[str], bool]:
        """Return the entities without another active ADMIN, of the first `limit` that `holder` administers.

        The second value says whether these are all that it administers.
        """
        urns = list_administered(holder=holder, limit=limit + 1)
        sole_urns = sorted(list_unadministered(urns=urns[:limit], excluded_holders=[holder]))
        return sole_urns, len(urns) <= limit


def insert_grants(*, grants: Iterable[Grant], by: str, at: datetime) -> None:
    """Insert grants, inside the transaction of an authorized write.

    Principals and entities must exist. An existing grant keeps its grantor and time.
    """
    grant_list = list(grants)
    holders = load_principal_columns(urns=[grant.principal for grant in grant_list])
    entity_ids = dict(
        Entity.objects.filter(urn__among=[grant.entity for grant in grant_list]).order_by().values_list("urn", "pk")
    )
    permission_ids = _load_permission_ids()
    provenance: dict[str, Any] = {"given_by": by, "given_at": at}
    users, groups, patterns = [], [], []
    for grant in grant_list:
        holder, pattern = holders[grant.principal], cdap_entity_ids.parse_pattern(grant.entity)
        for privilege in grant.privileges:
            if pattern is not None:
                patterns.append(WildcardGrant(**holder, **_pattern_columns(pattern), privilege=privilege, **provenance))
                continue
            row = {**holder, "content_object_id": entity_ids[grant.entity], "permission_id": permission_ids[privilege]}
            if "user_id" in holder:
                users.append(EntityUserGrant(**row, **provenance))
            else:
                groups.append(EntityGroupGrant(**row, **provenance))
    EntityUserGrant.objects.bulk_create(users, ignore_conflicts=True)
    EntityGroupGrant.objects.bulk_create(groups, ignore_conflicts=True)
    WildcardGrant.objects.bulk_create(patterns, ignore_conflicts=True)


def delete_grants(*, grants: Iterable[Grant]) -> None:
    """Delete grants, inside the transaction of an authorized write; missing ones are ignored."""
    entities_by_holding: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for grant in grants:
        entities_by_holding[grant.principal, grant.privileges].append(grant.entity)
    holders = load_principal_columns(urns=[principal for principal, _ in entities_by_holding])
    urns = {urn for entities in entities_by_holding.values() for urn in entities}
    entity_ids = dict(Entity.objects.filter(urn__among=urns).order_by().values_list("urn", "pk"))
    permission_ids = _load_permission_ids()
    for (principal, privileges), entities in entities_by_holding.items():
        holder = Q(**holders[principal])
        grant_model = EntityUserGrant if "user_id" in holders[principal] else EntityGroupGrant
        # By keys alone: without statistics about rows just written, PostgreSQL takes minutes for a delete that joins.
        entity_grants = grant_model.objects.filter(
            holder,
            content_object_id__in=[entity_ids[urn] for urn in entities if urn in entity_ids],
            permission_id__in=[permission_ids[privilege] for privilege in privileges],
        )
        entity_grants.delete()
        WildcardGrant.objects.filter(holder, pattern__among=entities, privilege__in=privileges).delete()


def delete_patterns_within(*, urns: Collection[str]) -> None:
    """Delete the grants on patterns inside one of these entities, which are about to be deleted (CD-17)."""
    WildcardGrant.objects.filter(within__among=urns).delete()


def load_principal_columns(*, urns: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return URN -> the column and id of each principal in a row of a grant; unknown principals are left out."""
    storable_urns = filter_storable(urns)
    users = User.objects.filter(urn__in=storable_urns, is_removed=False).order_by().values_list("urn", "pk")
    groups = (
        GroupProfile.objects.filter(urn__in=storable_urns, is_removed=False).order_by().values_list("urn", "group_id")
    )
    roles = Role.objects.filter(urn__in=storable_urns).order_by().values_list("urn", "group_id")
    columns_by_urn = {urn: {"user_id": pk} for urn, pk in users}
    return columns_by_urn | {urn: {"group_id": pk} for rows in (groups, roles) for urn, pk in rows}


def load_privileges(*, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return pair -> privileges granted on exactly this entity or pattern, in the order of privileges.

    `pairs` are (principal, entity).
    """
    rows = _load_rows(entities={entity for _, entity in pairs}, holders={principal for principal, _ in pairs})
    privileges_by_pair: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, privilege, holder in rows:
        privileges_by_pair[holder, source].add(privilege)
    return {pair: cdap.expand(privileges_by_pair.get(pair, ())) for pair in pairs}


def list_administered(*, holder: str, limit: int | None = None) -> list[str]:
    """Return the entities on which this user, group or role itself holds ADMIN, directly or by pattern, sorted.

    At most `limit` of each kind of row.
    """
    administered_urns: set[str] = set()
    for rows, urn_column in (
        (EntityUserGrant.objects.filter(user__urn=holder), "content_object__urn"),
        (EntityGroupGrant.objects.filter(_group_condition([holder])), "content_object__urn"),
    ):
        urns = rows.filter(permission__codename=cdap.ADMIN).order_by(urn_column).values_list(urn_column, flat=True)
        administered_urns.update(urns[:limit])
    pattern_grants = WildcardGrant.objects.filter(
        Q(user__urn=holder) | _group_condition([holder]), privilege=cdap.ADMIN
    )
    if prefixes := sorted(set(pattern_grants.values_list("prefix", flat=True))):
        matching_entities = Entity.objects.filter(prefix_range("urn", prefixes)).order_by("urn")
        administered_urns.update(matching_entities.values_list("urn", flat=True)[:limit])
    return sorted(administered_urns)


def list_unadministered(*, urns: Collection[str], excluded_holders: Collection[str] = ()) -> frozenset[str]:
    """Return the entities on which no active principal holds ADMIN (CD-19), `excluded_holders` not counted.

    A group or a role always counts, whoever its members are; a suspended user does not.
    """
    holders = _load_admins(urns)
    inactive_holders = _list_inactive_users(frozenset[str]().union(*holders.values())) | frozenset(excluded_holders)
    return frozenset(urn for urn, admins in holders.items() if not admins - inactive_holders)


def list_matching_entities(*, pattern: CdapPattern) -> list[str]:
    """Return the entities that a pattern matches, sorted."""
    return list(
        Entity.objects.filter(prefix_range("urn", [pattern.prefix])).order_by("urn").values_list("urn", flat=True)
    )


def list_patterns(*, entity: str = "", principal: str = "") -> list[str]:
    """Return the distinct patterns with a grant (to this principal), sorted."""
    rows = WildcardGrant.objects.filter(Q(pattern=entity) if entity else Q())
    rows = rows.filter(Q(user__urn=principal) | _group_condition([principal])) if principal else rows
    return sorted(set(rows.values_list("pattern", flat=True)))


class GrantList(PagedList[Grant]):
    """Grants by entity and principal, on the entities and patterns given, counted and paged by the database.

    Grants of instance administrators, which the settings give without a row, come first.
    """

    def __init__(
        self, *, entities: QuerySet[Entity] | None, patterns: Collection[str], principal: str, with_instance: bool
    ) -> None:
        admins = instance_administrators()
        instance_admins = sorted(admin for admin in admins if principal in ("", admin)) if with_instance else []
        self._instance_grants = [Grant(admin, INSTANCE_URN, cdap.PRIVILEGES) for admin in instance_admins]
        on_instance = Q(content_object__urn=INSTANCE_URN)
        entity_condition = Q() if entities is None else Q(content_object__in=entities.order_by().values("pk"))
        user_grants = EntityUserGrant.objects.filter(entity_condition).exclude(on_instance, user__urn__in=admins)
        group_grants = _exclude_removed_groups(EntityGroupGrant.objects.filter(entity_condition)).exclude(
            on_instance & (Q(group__profile__urn__in=admins) | Q(group__role__urn__in=admins))
        )
        pattern_grants = _exclude_removed_groups(WildcardGrant.objects.filter(pattern__among=sorted(patterns)))
        if principal:
            user_grants, group_grants = (
                user_grants.filter(user__urn=principal),
                group_grants.filter(_group_condition([principal])),
            )
            pattern_grants = pattern_grants.filter(Q(user__urn=principal) | _group_condition([principal]))
        self._pairs = (
            user_grants.annotate(on=F("content_object__urn"), holder=F("user__urn"))
            .values_list("on", "holder")
            .union(
                group_grants.annotate(on=F("content_object__urn"), holder=_GROUP_URN).values_list("on", "holder"),
                pattern_grants.annotate(on=F("pattern"), holder=_HOLDER_URN).values_list("on", "holder"),
            )
            .order_by("on", "holder")
        )

    def __len__(self) -> int:
        return len(self._instance_grants) + int(self._pairs.count())

    def read_rows(self, start: int, stop: int) -> list[Grant]:
        """Return the grants from `start` to `stop`; two queries."""
        offset = len(self._instance_grants)
        pairs = [(holder, entity) for entity, holder in self._pairs[max(0, start - offset) : max(0, stop - offset)]]
        return [
            *self._instance_grants[start:stop],
            *(Grant(*pair, privileges) for pair, privileges in load_privileges(pairs=pairs).items()),
        ]


#: URN of the group or role in a row of a group.
_GROUP_URN = Coalesce(F("group__profile__urn"), F("group__role__urn"))
#: URN of the principal of a row of a pattern.
_HOLDER_URN = Coalesce(F("user__urn"), F("group__profile__urn"), F("group__role__urn"))


def _find_reaching_grants(*, urns: Collection[str], holders: Collection[str] | None) -> Iterator[_ReachingGrant]:
    """Yield each privilege that reaches one of the entities: granted on it, by a pattern, or by the settings.

    With INHERIT_PRIVILEGES also those granted on an ancestor.
    """
    sources = {
        urn: (_strip_version(urn), *(_ancestor_urns(urn) if settings.INHERIT_PRIVILEGES else ())) for urn in urns
    }
    all_sources = {source for urn_sources in sources.values() for source in urn_sources}
    rows = [*_load_rows(entities=all_sources, holders=holders), *_setting_rows(all_sources, holders)]
    direct_grants: dict[str, list[tuple[str, str]]] = defaultdict(list)
    pattern_grants: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for source, privilege, holder in rows:
        if (pattern := cdap_entity_ids.parse_pattern(source)) is not None:
            pattern_grants[pattern.kind].append((pattern.prefix, privilege, holder))
        else:
            direct_grants[source].append((privilege, holder))
    for urn, urn_sources in sources.items():
        for source in urn_sources:
            for privilege, holder in direct_grants.get(source, ()):
                yield _ReachingGrant(urn, source, holder, privilege)
            for prefix, privilege, holder in pattern_grants.get(_urn_kind(source), ()):
                if source.startswith(prefix):
                    yield _ReachingGrant(urn, f"{prefix}{cdap_entity_ids.WILDCARD}", holder, privilege)


def _load_admins(urns: Collection[str]) -> dict[str, frozenset[str]]:
    """Return URN -> holders of ADMIN, inactive ones included."""
    holders: dict[str, set[str]] = {urn: set() for urn in urns}
    for grant in _find_reaching_grants(urns=urns, holders=None):
        if grant.privilege == cdap.ADMIN:
            holders[grant.urn].add(grant.holder)
    return {urn: frozenset(admins) for urn, admins in holders.items()}


def _list_inactive_users(holders: Collection[str]) -> frozenset[str]:
    """Return the holders that are users who are not active."""
    users = User.objects.filter(urn__among=filter_storable(sorted(holders)))
    inactive_users = users.exclude(state=User.State.ACTIVE, is_removed=False)
    return frozenset(inactive_users.order_by().values_list("urn", flat=True))


def _load_rows(*, entities: Collection[str], holders: Collection[str] | None) -> list[tuple[str, str, str]]:
    """Return (URN or pattern, privilege, holder) of the grants on these entities and on patterns of their kinds."""
    entity_urns = filter_storable(sorted(entities))
    if not entity_urns:
        return []
    user_grants = EntityUserGrant.objects.filter(content_object__urn__among=entity_urns)
    group_grants = _exclude_removed_groups(EntityGroupGrant.objects.filter(content_object__urn__among=entity_urns))
    pattern_grants = _exclude_removed_groups(
        WildcardGrant.objects.filter(kind__in=sorted({_urn_kind(urn) for urn in entity_urns}))
    )
    if holders is not None:
        holder_urns = filter_storable(sorted(holders))
        user_grants, group_grants = (
            user_grants.filter(user__urn__among=holder_urns),
            group_grants.filter(_group_condition(holder_urns)),
        )
        pattern_grants = pattern_grants.filter(Q(user__urn__among=holder_urns) | _group_condition(holder_urns))
    grant_rows = user_grants.values_list("content_object__urn", "permission__codename", "user__urn").union(
        group_grants.values_list("content_object__urn", "permission__codename", _GROUP_URN),
        pattern_grants.values_list("pattern", "privilege", _HOLDER_URN),
        all=True,
    )
    return list(grant_rows)


def _setting_rows(entities: Collection[str], holders: Collection[str] | None) -> list[tuple[str, str, str]]:
    """Return the rows of instance administrators: every privilege on the instance (CD-18)."""
    if INSTANCE_URN not in entities:
        return []
    admins = instance_administrators() if holders is None else instance_administrators() & frozenset(holders)
    return [(INSTANCE_URN, privilege, admin) for admin in sorted(admins) for privilege in cdap.PRIVILEGES]


def _exclude_removed_groups(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out grants of removed groups."""
    return rows.exclude(group__profile__is_removed=True)


def _group_condition(urns: Collection[str]) -> Q:
    return Q(group__profile__urn__among=list(urns)) | Q(group__role__urn__among=list(urns))


def _strip_version(urn: str) -> str:
    """Return the URN of an entity without the version that it may contain (CD-20)."""
    name = cdap_entity_ids.parse(urn)
    return urn if name is None else name.urn


def _ancestor_urns(urn: str) -> tuple[str, ...]:
    """Return the ancestors of an entity, or of everything that a pattern matches."""
    if (pattern := cdap_entity_ids.parse_pattern(urn)) is not None:
        return (pattern.container, *_ancestor_urns(pattern.container))
    name = cdap_entity_ids.parse(urn)
    return name.ancestors if name is not None else ()


def _load_permission_ids() -> dict[str, int]:
    rows = Permission.objects.filter(content_type__app_label="catalog", content_type__model="entity")
    return dict(rows.filter(codename__in=cdap.PRIVILEGES).values_list("codename", "pk"))


def _pattern_columns(pattern: CdapPattern) -> dict[str, str]:
    return {"pattern": pattern.urn, "kind": pattern.kind, "prefix": pattern.prefix, "within": pattern.container}


def _urn_kind(urn: str) -> str:
    return urn.split(":", 3)[2] if urn.count(":") > 2 else ""
