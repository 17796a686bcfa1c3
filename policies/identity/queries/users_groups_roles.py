"""Users, groups and roles: lists and single rows.

Every list is a query set in a stable order that is paged by slicing. Related rows of a page are prefetched, so a page
costs the same number of queries at any length.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from django.db.models import Case, CharField, IntegerField, Model, Prefetch, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from policies.engine.families.validity import Phase
from policies.errors import NotFound
from policies.models import (
    GroupProfile,
    Membership,
    NameWord,
    PolicyFacet,
    Role,
    RoleAssignment,
    ScheduledMembership,
    ScheduledRoleAssignment,
    User,
)
from policies.models.fields import MAX_URN_LENGTH, is_storable
from policies.models.words import LAST_CHARACTER, MAX_NAME_WORDS, split_search
from policies.writes.validation import Checks


class HolderTimes(NamedTuple):
    """The times of a membership or an assignment: PENDING if it has not begun, else CURRENT."""

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    phase: Phase = Phase.CURRENT


class HolderRow(NamedTuple):
    """A holder of a role with its times."""

    urn: str
    is_group: int
    valid_from: datetime | None
    valid_until: datetime | None
    phase: str


_Row = TypeVar("_Row", User, GroupProfile, Role)

_NOUNS: Mapping[type[Model], str] = {User: "user", GroupProfile: "group", Role: "role"}


def list_users(
    *,
    q: str = "",
    state: str | None = None,
    kind: str | None = None,
    group: str | None = None,
    role: str | None = None,
    include_removed: bool = False,
    address_condition: Q | None = None,
) -> QuerySet[User]:
    """Return users by URN, with their groups and roles prefetched; removed users only with `include_removed`.

    Each word of `q` must be the beginning of a word of the user name, display name or address. `group` and `role` are
    URNs; `role` finds users that hold it directly. Addresses are searched only for the users that meet
    `address_condition`, those whose records the viewer may see: None for no user, an empty Q for all.
    """
    rows = User.objects.all() if include_removed else User.objects.filter(is_removed=False)
    if not _can_match(q, state, kind, group, role):
        return rows.none()
    rows = rows.filter(_build_search_condition("user", q, address_condition))
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    if group:
        rows = rows.filter(memberships__group__profile__urn=group)
    if role:
        rows = rows.filter(role_assignments__role__urn=role)
    return rows.order_by("urn").prefetch_related(*_user_prefetches())


def select_present_users() -> QuerySet[User]:
    """Return the users that writes may name: a removed user is as unknown to them until it is restored."""
    return User.objects.filter(is_removed=False)


def select_present_groups() -> QuerySet[GroupProfile]:
    """Return the groups that writes may name: a removed group is as unknown to them until it is restored."""
    return GroupProfile.objects.filter(is_removed=False)


def get_row(rows: QuerySet[_Row], *, urn: str) -> _Row:
    """Return the user, group or role of these rows that has this URN; raises NotFound."""
    if row := rows.filter(urn=urn).first():
        return row
    raise NotFound(f"There is no {_NOUNS[rows.model]} {urn!r}.")


def get_rows(rows: QuerySet[_Row], *, urns: Sequence[str], pointer: str) -> list[_Row]:
    """Return those of these users, groups or roles that have these URNs, each once and in this order.

    Raises Invalid naming every unknown URN, by its place in the list at `pointer`.
    """
    rows_by_urn = {row.urn: row for row in rows.filter(urn__in=urns)}
    checks = Checks()
    checks.validate_known(urns, rows_by_urn, pointer, _NOUNS[rows.model])
    checks.finish()
    return [rows_by_urn[urn] for urn in dict.fromkeys(urns)]


def get_user(*, urn: str) -> User:
    """Return one user with its groups and roles prefetched; raises NotFound."""
    return get_row(User.objects.prefetch_related(*_user_prefetches()), urn=urn)


def find_user(*, urn: str) -> User | None:
    """Return the user with this URN, or None."""
    return User.objects.filter(urn=urn).first()


def list_groups(
    *,
    q: str = "",
    origin: str | None = None,
    role: str | None = None,
    member: str | None = None,
    include_removed: bool = False,
) -> QuerySet[GroupProfile]:
    """Return groups by URN, with their roles prefetched; removed groups only with `include_removed`.

    Each word of `q` must be the beginning of a word of the name or id. `role` and `member` are URNs.
    """
    rows = GroupProfile.objects.all() if include_removed else GroupProfile.objects.filter(is_removed=False)
    if not _can_match(q, origin, role, member):
        return rows.none()
    rows = rows.filter(_build_search_condition("group", q))
    if origin:
        rows = rows.filter(origin=origin)
    if role:
        rows = rows.filter(group__role_assignments__role__urn=role)
    if member:
        rows = rows.filter(group__memberships__user__urn=member)
    return rows.order_by("urn").select_related("group").prefetch_related("group__role_assignments__role")


def get_group(*, urn: str) -> GroupProfile:
    """Return one group with its roles prefetched; raises NotFound."""
    rows = GroupProfile.objects.select_related("group").prefetch_related("group__role_assignments__role")
    return get_row(rows, urn=urn)


def find_group(*, urn: str) -> GroupProfile | None:
    """Return the group with this URN, or None."""
    return GroupProfile.objects.filter(urn=urn).first()


def list_native_member_urns(*, group: GroupProfile, users: Collection[User]) -> list[str]:
    """Return the URNs of those of these users that are native members of the group; one query."""
    rows = Membership.objects.filter(group=group.group_id, user__in=users, is_native=True)
    return list(rows.values_list("user__urn", flat=True))


def list_members(
    *, group: GroupProfile, q: str = "", state: str | None = None, address_condition: Q | None = None
) -> QuerySet[User]:
    """Return the members of a group, native and external, and those whose membership has not begun, by URN.

    Their groups and roles are prefetched, and their times are those of `load_member_times`. Searches as `list_users`.
    """
    members = Membership.objects.filter(group=group.group_id).values("user")
    scheduled_members = ScheduledMembership.objects.filter(group=group.group_id).values("user")
    rows = list_users(q=q, state=state, address_condition=address_condition)
    return rows.filter(Q(pk__in=members) | Q(pk__in=scheduled_members))


def load_member_times(*, group: GroupProfile, users: Collection[User]) -> dict[str, HolderTimes]:
    """Return user URN → the times of its membership in the group, for those that have any; two queries."""
    times: dict[str, HolderTimes] = {}
    columns = ("user__urn", "valid_from", "valid_until")
    scheduled_rows = ScheduledMembership.objects.filter(group=group.group_id, user__in=users).values_list(*columns)
    current_rows = Membership.objects.filter(group=group.group_id, user__in=users).values_list(*columns)
    for rows, phase in ((scheduled_rows, Phase.PENDING), (current_rows, Phase.CURRENT)):
        times |= {urn: HolderTimes(begins, ends, phase) for urn, begins, ends in rows}
    return times


def load_member_urns(*, groups: Collection[str]) -> dict[str, list[str]]:
    """Return group URN → sorted URNs of its members that are not removed, for each of these groups; one query."""
    urns_by_group: dict[str, list[str]] = {urn: [] for urn in groups}
    rows = Membership.objects.filter(group__profile__urn__in=groups, user__is_removed=False)
    for group_urn, user_urn in rows.order_by("user__urn").values_list("group__profile__urn", "user__urn"):
        urns_by_group[group_urn].append(user_urn)
    return urns_by_group


def list_roles(*, q: str = "") -> QuerySet[Role]:
    """Return roles by URN; `q` is a part of the name or id, in any letter case."""
    rows = Role.objects.order_by("urn")
    if not is_storable(q) or len(q) > MAX_URN_LENGTH:
        return rows.none()
    return rows.filter(Q(name__icontains=q) | Q(identifier__icontains=q)) if q else rows


def get_role(*, urn: str) -> Role:
    """Return the role with this URN; raises NotFound."""
    return get_row(Role.objects.all(), urn=urn)


def find_role(*, urn: str) -> Role | None:
    """Return the role with this URN, or None."""
    return Role.objects.filter(urn=urn).first()


def load_policy_urns_by_actor(*, actors: Collection[str]) -> dict[str, list[str]]:
    """Return actor URN (user, group or role) → sorted URNs of the policies that name or except it; one query."""
    policies_by_actor: dict[str, list[str]] = {urn: [] for urn in actors}
    fields = (PolicyFacet.Field.ACTOR, PolicyFacet.Field.EXCEPTION)
    rows = PolicyFacet.objects.filter(field__in=fields, value__in=actors).order_by("policy__urn")
    for actor, policy in rows.values_list("value", "policy__urn").distinct():
        policies_by_actor[actor].append(policy)
    return policies_by_actor


def list_holder_times(*, role: Role, holder: str | None = None) -> QuerySet[Any, HolderRow]:
    """Return the present and coming holders of a role, users before groups, each by URN; a row is `HolderRow`.

    With `holder`, a URN, only the rows of that user or group.
    """
    condition = Q() if holder is None else Q(user__urn=holder) | Q(group__profile__urn=holder)
    if not _can_match(holder):
        condition = Q(pk__in=[])
    parts: Iterable[QuerySet[Any, Any]] = (
        model.objects.filter(condition, role=role)
        .order_by()
        .annotate(
            urn=Coalesce("user__urn", "group__profile__urn"),
            is_group=Case(When(user__isnull=True, then=Value(1)), default=Value(0), output_field=IntegerField()),
            phase=Value(phase.value, output_field=CharField()),
        )
        .values_list(*HolderRow._fields, named=True)
        for model, phase in ((RoleAssignment, Phase.CURRENT), (ScheduledRoleAssignment, Phase.PENDING))
    )
    current, scheduled = parts
    rows: QuerySet[Any, HolderRow] = current.union(scheduled, all=True)
    return rows.order_by("is_group", "urn", "phase")


def count_holders(*, roles: Collection[Role]) -> dict[str, tuple[int, int]]:
    """Return role URN → (number of users, number of groups) that hold it directly, for each of the roles; one query."""
    counts_by_role: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    rows = RoleAssignment.objects.filter(role__in=roles).values_list("role__urn", "group_id")
    for urn, group_id in rows:
        counts_by_role[urn][group_id is not None] += 1
    return {role.urn: (counts_by_role[role.urn][0], counts_by_role[role.urn][1]) for role in roles}


def _user_prefetches() -> tuple[Prefetch, Prefetch]:  # type: ignore[type-arg]  # two models
    memberships = Membership.objects.filter(group__profile__is_removed=False).select_related("group__profile")
    return (
        Prefetch("memberships", memberships),
        Prefetch("role_assignments", RoleAssignment.objects.select_related("role")),
    )


def _build_search_condition(owner: str, text: str, address_condition: Q | None = None) -> Q:
    """Return the condition that each word of `text` begins a word of the user's or group's name; uses index ranges.

    `owner` is `user` or `group`. Words of addresses are searched only for rows that meet `address_condition`.
    """
    words = split_search(text)
    if len(words) > MAX_NAME_WORDS:
        return Q(pk__in=[])
    condition = Q()
    for word in words:
        name_words = NameWord.objects.filter(word__gte=word, word__lt=word + LAST_CHARACTER)
        name_words = name_words.filter(**{f"{owner}__isnull": False})
        matches_name = Q(pk__in=name_words.filter(is_address=False).values(owner))
        matches_any_word = Q(pk__in=name_words.values(owner))
        condition &= (
            matches_name
            if address_condition is None
            else matches_name | (matches_any_word & address_condition)
            if address_condition
            else matches_any_word
        )
    # A search text without letters or digits matches no row.
    return condition if condition or not text.strip() else Q(pk__in=[])


def _can_match(*texts: str | None) -> bool:
    return all(is_storable(text) for text in texts if text)
