"""Conversion between URNs and the (type, object id) pairs by which Datazone patterns name users and roles."""

from collections.abc import Collection

from policies.models import Role, User
from policies.models.fields import filter_storable
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX


def load_object_urns(*, objects: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return (type, object id) → URN; `type` is `user` or `role`, unknown ids are left out. One query for each type."""
    users = {object_id.lower() for kind, object_id in objects if kind == "user"}
    roles = {object_id.lower() for kind, object_id in objects if kind == "role"}
    urns_by_object: dict[tuple[str, str], str] = {}
    if users:
        user_rows = User.objects.filter(object_id__in=users).order_by()
        urns_by_object |= {("user", object_id): urn for object_id, urn in user_rows.values_list("object_id", "urn")}
    if roles:
        role_rows = Role.objects.filter(object_id__in=roles).order_by()
        urns_by_object |= {("role", object_id): urn for object_id, urn in role_rows.values_list("object_id", "urn")}
    return urns_by_object


def load_object_ids(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → object id of the users and roles among these URNs; one query for each type."""
    storable_urns = filter_storable(urns)
    users = [urn for urn in storable_urns if urn.startswith(USER_PREFIX)]
    roles = [urn for urn in storable_urns if urn.startswith(ROLE_PREFIX)]
    ids_by_urn: dict[str, str] = {}
    if users:
        ids_by_urn |= dict(User.objects.filter(urn__in=users).order_by().values_list("urn", "object_id"))
    if roles:
        ids_by_urn |= dict(Role.objects.filter(urn__in=roles).order_by().values_list("urn", "object_id"))
    return ids_by_urn
