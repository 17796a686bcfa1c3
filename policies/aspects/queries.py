"""The aspects of users, groups, roles and policies, composed from their rows (house.md section 8, one truth each)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from policies.models import GroupProfile, Membership, Policy, Role, RoleAssignment, User, documents
from policies.models.documents import Documents
from policies.models.fields import storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX


def aspects_of(*, urn: str) -> Documents | None:
    """Return aspect name → document of a user, group, role or DataHub policy; None when there is no such row.

    At most four queries. Key aspects, and aspects that have no home in this app, are not among them.
    """
    return aspects_of_many(urns=[urn]).get(urn)


def aspects_of_many(*, urns: Collection[str]) -> dict[str, Documents]:
    """Return what `aspects_of` does for each of these that there is, in at most seven queries however many they are."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for urn in dict.fromkeys(storable(urns)):
        kinds[next((prefix for prefix in _LOADERS if urn.startswith(prefix)), "")].append(urn)
    return {urn: found for prefix, load in _LOADERS.items() if prefix in kinds for urn, found in load(kinds[prefix])}


def _of_users(urns: list[str]) -> Iterator[tuple[str, Documents]]:
    users = list(User.objects.filter(urn__in=urns))
    relations = _relations_of(users)
    if users:
        rows = Membership.objects.filter(user__in=users).order_by("pk")
        for urn, group, is_native, is_external in rows.values_list(
            "user__urn", "group__profile__urn", "is_native", "is_external"
        ):
            if is_external:
                relations[urn][documents.EXTERNAL_GROUPS].append(group)
            if is_native:
                relations[urn][documents.NATIVE_GROUPS].append(group)
        held = RoleAssignment.objects.filter(user__in=users).order_by("pk")
        for urn, role in held.values_list("user__urn", "role__urn"):
            relations[urn][documents.ROLES].append(role)
    return ((user.urn, _with_relations(user, relations[user.urn])) for user in users)


def _of_groups(urns: list[str]) -> Iterator[tuple[str, Documents]]:
    groups = list(GroupProfile.objects.filter(urn__in=urns))
    relations = _relations_of(groups)
    if groups:
        held = RoleAssignment.objects.filter(group__in=[group.group_id for group in groups]).order_by("pk")
        for urn, role in held.values_list("group__profile__urn", "role__urn"):
            relations[urn][documents.ROLES].append(role)
    return ((group.urn, _with_relations(group, relations[group.urn])) for group in groups)


def _of_roles(urns: list[str]) -> Iterator[tuple[str, Documents]]:
    return ((role.urn, documents.compose(role)) for role in Role.objects.filter(urn__in=urns))


def _of_policies(urns: list[str]) -> Iterator[tuple[str, Documents]]:
    for policy in Policy.objects.filter(urn__in=urns):
        is_datahub = policy.family == Policy.Family.DATAHUB
        yield policy.urn, {"dataHubPolicyInfo": policy.document} if is_datahub else {}


_LOADERS: Mapping[str, Callable[[list[str]], Iterable[tuple[str, Documents]]]] = {
    USER_PREFIX: _of_users,
    GROUP_PREFIX: _of_groups,
    ROLE_PREFIX: _of_roles,
    POLICY_PREFIX: _of_policies,
}


def _relations_of(rows: Sequence[User | GroupProfile]) -> dict[str, dict[str, list[str]]]:
    return {row.urn: defaultdict(list) for row in rows}


def _with_relations(row: User | GroupProfile, relations: Mapping[str, list[str]]) -> Documents:
    composed = documents.compose(row)
    kinds = (documents.EXTERNAL_GROUPS, documents.NATIVE_GROUPS) if isinstance(row, User) else ()
    for aspect in (*kinds, documents.ROLES):
        document = documents.relation(row, aspect, relations.get(aspect, []))
        if document is not None:
            composed[aspect] = document
    return composed
