"""The aspects of users, groups, roles and policies, composed from their rows (house.md section 8, one truth each)."""

from policies.models import GroupProfile, Membership, Policy, Role, RoleAssignment, User, documents
from policies.models.documents import Documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX


def aspects_of(*, urn: str) -> Documents | None:
    """Return aspect name → document of a user, group, role or DataHub policy; None when there is no such row.

    At most four queries. Key aspects, and aspects that have no home in this app, are not among them.
    """
    if not is_storable(urn):
        return None
    if urn.startswith(USER_PREFIX):
        return _of_user(urn)
    if urn.startswith(GROUP_PREFIX):
        return _of_group(urn)
    if urn.startswith(ROLE_PREFIX):
        role = Role.objects.filter(urn=urn).first()
        return None if role is None else documents.compose(role)
    if urn.startswith(POLICY_PREFIX):
        policy = Policy.objects.filter(urn=urn).first()
        if policy is None:
            return None
        return {"dataHubPolicyInfo": policy.document} if policy.family == Policy.Family.DATAHUB else {}
    return None


def _of_user(urn: str) -> Documents | None:
    user = User.objects.filter(urn=urn).first()
    if user is None:
        return None
    memberships = list(
        Membership.objects.filter(user=user)
        .order_by("pk")
        .values_list("group__profile__urn", "is_native", "is_external")
    )
    held = RoleAssignment.objects.filter(user=user).order_by("pk").values_list("role__urn", flat=True)
    return _with_relations(
        user,
        {
            documents.EXTERNAL_GROUPS: [group for group, _, is_external in memberships if is_external],
            documents.NATIVE_GROUPS: [group for group, is_native, _ in memberships if is_native],
            documents.ROLES: list(held),
        },
    )


def _of_group(urn: str) -> Documents | None:
    group = GroupProfile.objects.filter(urn=urn).first()
    if group is None:
        return None
    held = RoleAssignment.objects.filter(group=group.group_id).order_by("pk").values_list("role__urn", flat=True)
    return _with_relations(group, {documents.ROLES: list(held)})


def _with_relations(row: User | GroupProfile, relations: dict[str, list[str]]) -> Documents:
    composed = documents.compose(row)
    for aspect, urns in relations.items():
        document = documents.relation(row, aspect, urns)
        if document is not None:
            composed[aspect] = document
    return composed
