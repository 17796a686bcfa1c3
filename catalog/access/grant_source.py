"""Grants as statements for the engine and as lists, and the writing of their rows (`grant_rows`)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db.models import Q, QuerySet

from catalog.access.grant_rows import instance_administrators, select_grants
from catalog.access.paged_list import PagedList
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, ScheduledGrant, WildcardGrant, prefix_range
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapPattern
from policies.engine.families.validity import UNLIMITED, Validity
from policies.engine.ports import GrantsByEntity
from policies.engine.selectors import URN, Condition
from policies.models import GroupProfile, Role, User
from policies.models.fields import filter_storable

if TYPE_CHECKING:
    from policies.engine.model import Statement

#: URN or pattern, privilege, holder and end of a grant.
_GrantColumns = tuple[str, str, str, datetime | None]


@dataclass(frozen=True, slots=True)
class Grant:
    """The privileges of one principal on one entity or pattern, in the order of privileges."""

    principal: str
    entity: str
    privileges: tuple[str, ...]


class OrmGrantSource:
    """`policies.engine.ports.GrantSource` over the rows of django-guardian and the patterns."""

    def load_statements(self, *, holders: Collection[str] | None, urns: Collection[str]) -> GrantsByEntity:
        """Return the grants of these holders (None: all) that reach these entities, by entity and holder; one query."""
        # Those with an end come after those without: privileges that end at the same time make one statement.
        privileges: dict[tuple[str, str, str, float], set[str]] = defaultdict(set)
        for urn, source, holder, privilege, ends in _find_reaching_grants(urns=urns, holders=holders):
            privileges[urn, holder, source, ends.timestamp() if ends else 0.0].add(privilege)
        grants: dict[str, dict[str, tuple[Statement, ...]]] = defaultdict(dict)
        for (urn, holder, source, timestamp), source_privileges in sorted(privileges.items()):
            end = datetime.fromtimestamp(timestamp, UTC) if timestamp else None
            statement = cdap.build_grant(holder, source_privileges, urn, source, end)
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


def insert_grants(*, grants: Iterable[Grant], by: str, at: datetime, validity: Validity = UNLIMITED) -> None:
    """Insert grants that count for this time, inside the transaction of an authorized write.

    Principals and entities must exist. An existing grant keeps its grantor and times.
    """
    grant_list = list(grants)
    holders = load_principal_columns(urns=[grant.principal for grant in grant_list])
    entity_ids = dict(
        Entity.objects.filter(urn__among=[grant.entity for grant in grant_list]).order_by().values_list("urn", "pk")
    )
    permission_ids = _load_permission_ids()
    provenance: dict[str, Any] = {
        "given_by": by,
        "given_at": at,
        "valid_from": validity.begins,
        "valid_until": validity.ends,
    }
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
    """Delete the grants on patterns inside one of these entities, which are about to be deleted (CD-17).

    The grants there that have not begun are deleted, too.
    """
    WildcardGrant.objects.filter(within__among=urns).delete()
    ScheduledGrant.objects.filter(within__among=urns).delete()


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
    rows = _load_rows({entity for _, entity in pairs}, {principal for principal, _ in pairs})
    privileges_by_pair: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, privilege, holder, _ in rows:
        privileges_by_pair[holder, source].add(privilege)
    return {pair: cdap.expand(privileges_by_pair.get(pair, ())) for pair in pairs}


def load_ends(*, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], dict[str, datetime | None]]:
    """Return (principal, entity) → privilege → the end of the grant on exactly this entity or pattern; None: for good.

    Privileges that are not granted are left out.
    """
    ends: dict[tuple[str, str], dict[str, datetime | None]] = {pair: {} for pair in pairs}
    for source, privilege, holder, end in _load_rows({entity for _, entity in pairs}, {holder for holder, _ in pairs}):
        if (holder, source) in ends:
            ends[holder, source][privilege] = end
    return ends


def load_grants(
    *, holders: Collection[str] | None = None, urns: Collection[str] | None = None
) -> dict[tuple[str, str], frozenset[str]]:
    """Return (holder, URN or pattern) -> privileges of the grants of these holders, or that may reach these entities.

    Instance administrators included.
    """
    sources = None if urns is None else _list_sources(urns)
    rows = [*_load_rows(sources, holders), *_setting_rows({INSTANCE_URN} if sources is None else sources, holders)]
    privileges: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, privilege, holder, _ in rows:
        privileges[holder, source].add(privilege)
    return {pair: frozenset(names) for pair, names in privileges.items()}


def find_unadministered(
    *, urns: Collection[str], privileges: Mapping[tuple[str, str], Collection[str]]
) -> frozenset[str]:
    """Return the entities on which no active principal would hold ADMIN if these were all grants."""
    admin_grants = {pair: (cdap.ADMIN,) for pair, names in privileges.items() if cdap.ADMIN in names}
    statements = cdap.build_reaching_grants(admin_grants, is_inherited=settings.INHERIT_PRIVILEGES)
    admins: dict[str, set[str]] = {urn: set() for urn in urns}
    for urn in urns:
        values = _reach_values(urn)
        for statement in statements:
            if all(criterion.holds(frozenset(values[criterion.field])) for criterion in statement.resources.criteria):
                admins[urn] |= statement.actors.tokens
    inactive_users = _list_inactive_users(frozenset[str]().union(*admins.values()))
    return frozenset(urn for urn, holders in admins.items() if not holders - inactive_users)


def list_administered(*, holder: str, limit: int | None = None) -> list[str]:
    """Return the entities on which this user, group or role itself holds ADMIN, directly or by pattern, sorted.

    At most `limit` of each kind of row.
    """
    users, groups, patterns = select_grants([holder], [cdap.ADMIN])
    urn_lists = [rows.order_by("source").values_list("source", flat=True) for rows in (users, groups)]
    if prefixes := set(patterns.values_list("prefix", flat=True)):
        matching_entities = Entity.objects.filter(prefix_range("urn", prefixes)).order_by("urn")
        urn_lists.append(matching_entities.values_list("urn", flat=True))
    return sorted({urn for urns in urn_lists for urn in urns[:limit]})


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
    _, _, rows = select_grants([principal] if principal else None)
    return sorted(set((rows.filter(pattern=entity) if entity else rows).values_list("pattern", flat=True)))


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
        users, groups, pattern_rows = select_grants([principal] if principal else None)
        if entities is not None:
            users, groups = (
                rows.filter(content_object__in=entities.order_by().values("pk")) for rows in (users, groups)
            )
        users, groups = (rows.exclude(source=INSTANCE_URN, holder__in=admins) for rows in (users, groups))
        parts = (users, groups, pattern_rows.filter(pattern__among=sorted(patterns)))
        first, *others = (rows.values_list("source", "holder") for rows in parts)
        self._pairs = first.union(*others).order_by("source", "holder")

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


def _find_reaching_grants(
    *, urns: Collection[str], holders: Collection[str] | None
) -> Iterator[tuple[str, str, str, str, datetime | None]]:
    """Yield (entity, source, holder, privilege, end) for each grant that reaches an entity (`cdap.grant_reach`).

    The source is the URN or pattern on which it was granted.
    """
    values_by_urn = {urn: _reach_values(urn) for urn in urns}
    sources = {value for fields in values_by_urn.values() for values in fields.values() for value in values}
    direct_grants: dict[str, list[tuple[str, str, datetime | None]]] = defaultdict(list)
    pattern_grants: dict[str, list[tuple[str, str, str, datetime | None]]] = defaultdict(list)
    for source, privilege, holder, ends in [*_load_rows(sources, holders), *_setting_rows(sources, holders)]:
        if (pattern := cdap_entity_ids.parse_pattern(source)) is not None:
            pattern_grants[pattern.kind].append((pattern.prefix, privilege, holder, ends))
        else:
            direct_grants[source].append((privilege, holder, ends))
    reach = cdap.grant_reach(is_inherited=settings.INHERIT_PRIVILEGES)
    for urn, condition, value in (
        (urn, condition, value)
        for urn, values in values_by_urn.items()
        for field, condition in reach
        for value in values[field]
    ):
        if condition is Condition.EQUALS:
            for privilege, holder, ends in direct_grants.get(value, ()):
                yield urn, value, holder, privilege, ends
        else:
            for prefix, privilege, holder, ends in pattern_grants.get(_urn_kind(value), ()):
                if value.startswith(prefix):
                    yield urn, f"{prefix}{cdap_entity_ids.WILDCARD}", holder, privilege, ends


def _reach_values(urn: str) -> dict[str, tuple[str, ...]]:
    """Return the values of an entity or pattern in the facets of `cdap.grant_reach`."""
    pattern = cdap_entity_ids.parse_pattern(urn) if cdap_entity_ids.WILDCARD in urn else None
    name = cdap_entity_ids.parse(urn if pattern is None else pattern.container)
    ancestors = () if name is None else name.ancestors if pattern is None else (name.urn, *name.ancestors)
    versionless_urns = (name.urn,) if name is not None and pattern is None and name.urn != urn else ()
    return {URN: (urn,), cdap.VERSION_OF: versionless_urns, cdap.WITHIN: ancestors}


def _list_sources(urns: Collection[str]) -> set[str]:
    """Return the entities a grant on which may reach one of these."""
    return {value for urn in urns for values in _reach_values(urn).values() for value in values}


def _load_admins(urns: Collection[str]) -> dict[str, frozenset[str]]:
    """Return URN -> holders of ADMIN, inactive ones included."""
    holders: dict[str, set[str]] = {urn: set() for urn in urns}
    for urn, _, holder, privilege, _ in _find_reaching_grants(urns=urns, holders=None):
        if privilege == cdap.ADMIN:
            holders[urn].add(holder)
    return {urn: frozenset(admins) for urn, admins in holders.items()}


def _list_inactive_users(holders: Collection[str]) -> frozenset[str]:
    """Return the holders that are users who are not active."""
    users = User.objects.filter(urn__among=filter_storable(sorted(holders)))
    inactive_users = users.exclude(state=User.State.ACTIVE, is_removed=False)
    return frozenset(inactive_users.order_by().values_list("urn", flat=True))


def _load_rows(entities: Collection[str] | None, holders: Collection[str] | None) -> list[_GrantColumns]:
    """Return (URN or pattern, privilege, holder, end) of grants on these entities and on patterns of their kinds.

    None stands for all entities.
    """
    if entities is not None and not entities:
        return []
    users, groups, patterns = select_grants(holders)
    if entities is not None:
        users, groups = (rows.filter(content_object__urn__among=entities) for rows in (users, groups))
        patterns = patterns.filter(kind__among={_urn_kind(urn) for urn in entities})
    parts = (users, groups, patterns)
    first, *others = (rows.values_list("source", "granted", "holder", "valid_until") for rows in parts)
    return list(first.union(*others, all=True))


def _setting_rows(entities: Collection[str], holders: Collection[str] | None) -> list[_GrantColumns]:
    """Return the rows of instance administrators: every privilege on the instance (CD-18)."""
    if INSTANCE_URN not in entities:
        return []
    admins = instance_administrators() if holders is None else instance_administrators() & frozenset(holders)
    return [(INSTANCE_URN, privilege, admin, None) for admin in sorted(admins) for privilege in cdap.PRIVILEGES]


def _load_permission_ids() -> dict[str, int]:
    rows = Permission.objects.filter(content_type__app_label="catalog", content_type__model="entity")
    return dict(rows.filter(codename__in=cdap.PRIVILEGES).values_list("codename", "pk"))


def _pattern_columns(pattern: CdapPattern) -> dict[str, str]:
    return {"pattern": pattern.urn, "kind": pattern.kind, "prefix": pattern.prefix, "within": pattern.container}


def _urn_kind(urn: str) -> str:
    return urn.split(":", 3)[2] if urn.count(":") > 2 else ""
