"""The aspects of users, groups, roles and policies, composed from their rows (house.md section 8, one truth each)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from policies.models import GroupProfile, Membership, Policy, Role, RoleAssignment, User, documents
from policies.models.documents import AspectDocuments
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX


def load_aspects(*, urn: str) -> AspectDocuments | None:
    """Return aspect name → document of a user, group, role or DataHub policy; None if there is no such row.

    At most three queries. Key aspects and aspects of other apps are not included.
    """
    return load_aspects_many(urns=[urn]).get(urn)


def load_aspects_many(*, urns: Collection[str]) -> dict[str, AspectDocuments]:
    """Return URN → aspects, as `load_aspects`, of those that are stored; at most seven queries."""
    urns_by_prefix: dict[str, list[str]] = defaultdict(list)
    for urn in dict.fromkeys(filter_storable(urns)):
        urns_by_prefix[next((prefix for prefix in _LOADERS if urn.startswith(prefix)), "")].append(urn)
    return {
        urn: aspects
        for prefix, load in _LOADERS.items()
        if prefix in urns_by_prefix
        for urn, aspects in load(urns_by_prefix[prefix])
    }


def _load_user_aspects(urns: list[str]) -> Iterator[tuple[str, AspectDocuments]]:
    users = list(User.objects.filter(urn__in=urns))
    relations = _create_relations(users)
    if users:
        rows = Membership.objects.filter(user__in=users).order_by("pk")
        for urn, group, is_native, is_external in rows.values_list(
            "user__urn", "group__profile__urn", "is_native", "is_external"
        ):
            if is_external:
                relations[urn][documents.EXTERNAL_GROUPS].append(group)
            if is_native:
                relations[urn][documents.NATIVE_GROUPS].append(group)
        assignments = RoleAssignment.objects.filter(user__in=users).order_by("pk")
        for urn, role in assignments.values_list("user__urn", "role__urn"):
            relations[urn][documents.ROLES].append(role)
    return ((user.urn, _with_relations(user, relations[user.urn])) for user in users)


def _load_group_aspects(urns: list[str]) -> Iterator[tuple[str, AspectDocuments]]:
    groups = list(GroupProfile.objects.filter(urn__in=urns))
    relations = _create_relations(groups)
    if groups:
        assignments = RoleAssignment.objects.filter(group__in=[group.group_id for group in groups]).order_by("pk")
        for urn, role in assignments.values_list("group__profile__urn", "role__urn"):
            relations[urn][documents.ROLES].append(role)
    return ((group.urn, _with_relations(group, relations[group.urn])) for group in groups)


def _load_role_aspects(urns: list[str]) -> Iterator[tuple[str, AspectDocuments]]:
    return ((role.urn, documents.to_aspects(role)) for role in Role.objects.filter(urn__in=urns))


def _load_policy_aspects(urns: list[str]) -> Iterator[tuple[str, AspectDocuments]]:
    for policy in Policy.objects.filter(urn__in=urns):
        is_datahub = policy.family == Policy.Family.DATAHUB
        yield policy.urn, {"dataHubPolicyInfo": policy.document} if is_datahub else {}


_LOADERS: Mapping[str, Callable[[list[str]], Iterable[tuple[str, AspectDocuments]]]] = {
    USER_PREFIX: _load_user_aspects,
    GROUP_PREFIX: _load_group_aspects,
    ROLE_PREFIX: _load_role_aspects,
    POLICY_PREFIX: _load_policy_aspects,
}


def _create_relations(rows: Sequence[User | GroupProfile]) -> dict[str, dict[str, list[str]]]:
    return {row.urn: defaultdict(list) for row in rows}


def _with_relations(row: User | GroupProfile, relations: Mapping[str, list[str]]) -> AspectDocuments:
    aspects = documents.to_aspects(row)
    membership_aspects = (documents.EXTERNAL_GROUPS, documents.NATIVE_GROUPS) if isinstance(row, User) else ()
    for aspect in (*membership_aspects, documents.ROLES):
        document = documents.build_relation(row, aspect, relations.get(aspect, []))
        if document is not None:
            aspects[aspect] = document
    return aspects
