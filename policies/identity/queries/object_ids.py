"""Users and roles as the objects that Datazone's patterns name: by type, `user` or `role`, and object id."""

from collections.abc import Collection

from policies.models import Role, User
from policies.models.fields import storable
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX


def object_urns(*, objects: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return (type, object id) → URN of those that are users or roles; one query for each kind there is."""
    users = {object_id.lower() for kind, object_id in objects if kind == "user"}
    roles = {object_id.lower() for kind, object_id in objects if kind == "role"}
    found: dict[tuple[str, str], str] = {}
    if users:
        people = User.objects.filter(object_id__in=users).order_by()
        found |= {("user", object_id): urn for object_id, urn in people.values_list("object_id", "urn")}
    if roles:
        held = Role.objects.filter(object_id__in=roles).order_by()
        found |= {("role", object_id): urn for object_id, urn in held.values_list("object_id", "urn")}
    return found


def object_ids(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → object id of the users and roles among these; one query for each kind there is."""
    asked = storable(urns)
    users = [urn for urn in asked if urn.startswith(USER_PREFIX)]
    roles = [urn for urn in asked if urn.startswith(ROLE_PREFIX)]
    found: dict[str, str] = {}
    if users:
        found |= dict(User.objects.filter(urn__in=users).order_by().values_list("urn", "object_id"))
    if roles:
        found |= dict(Role.objects.filter(urn__in=roles).order_by().values_list("urn", "object_id"))
    return found
