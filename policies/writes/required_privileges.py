"""What each write to people needs (clients.md 2.6, rules/datahub.md a.7)."""

from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.engine.requirements import Requirement, alternatives, one
from policies.errors import NotFound
from policies.models.fields import is_storable
from policies.pdp import authorizer
from policies.pdp.authorizer import Asked

MANAGE_POLICIES = one("MANAGE_POLICIES")
MANAGE_CREDENTIALS = one("MANAGE_USER_CREDENTIALS")
OWN_TOKEN = alternatives([["GENERATE_PERSONAL_ACCESS_TOKENS"], ["MANAGE_ACCESS_TOKENS"]])
TOKENS_OF_OTHERS = one("MANAGE_ACCESS_TOKENS")
TOKENS_OF_SERVICES = alternatives([["MANAGE_ACCESS_TOKENS"], ["MANAGE_SERVICE_ACCOUNTS"]])
SERVICES = one("MANAGE_SERVICE_ACCOUNTS")


#: Who looks at people and at groups: one of these lists of privileges (pages, API and doors alike).
SEEING_USERS = (
    ("MANAGE_USERS_AND_GROUPS",),
    ("UPDATE_USERS",),
    ("UPDATE_USERS_AND_GROUPS",),
    ("MANAGE_USER_CREDENTIALS",),
)
SEEING_GROUPS = (("MANAGE_USERS_AND_GROUPS",), ("UPDATE_GROUPS",), ("UPDATE_USERS_AND_GROUPS",))


def group_of(name: str) -> Requirement:
    """Return one of DataHub's privilege groups, such as `user.update`."""
    return datahub.groups()[name]


def user_profile() -> Requirement:
    """Return what editing the names of a user needs: also EDIT_ENTITY on it, which everybody has on itself (a.1)."""
    return _or_entity("user.update", "EDIT_ENTITY")


def user_records() -> Requirement:
    """Return what looking at the records of all users needs."""
    return Requirement(group_of("user.update").any_of + alternatives(SEEING_USERS).any_of)


def user_record(*, is_service: bool) -> Requirement:
    """Return what looking at a user's record needs: also EDIT_ENTITY on it, which everybody has on itself (a.1)."""
    found = user_records().any_of + one("EDIT_ENTITY").any_of
    return Requirement(found + TOKENS_OF_SERVICES.any_of if is_service else found)


def service_update() -> Requirement:
    """Return what editing a service account needs: to manage services, or whatever editing any user needs."""
    return Requirement(SERVICES.any_of + group_of("user.update").any_of)


def group_profile() -> Requirement:
    """Return what editing the names of a group needs: also EDIT_ENTITY on it."""
    return _or_entity("group.update", "EDIT_ENTITY")


def group_members() -> Requirement:
    """Return what adding and removing members needs: also EDIT_GROUP_MEMBERS or EDIT_ENTITY on the group."""
    return _or_entity("group.update", "EDIT_GROUP_MEMBERS", "EDIT_ENTITY")


def require(*, by: Actor, requirement: Requirement, urn: str = "", type: str = "") -> None:
    """Let the actor go on, or raise Forbidden with what is missing; `urn` and `type` name the entity asked about.

    Raises NotFound for a URN that no row can carry.
    """
    if not is_storable(urn):
        raise NotFound(f"There is no {type} {urn!r}.")
    authorizer.require(by=by, requirement=requirement, resource=Asked(urn, type) if urn else None)


def _or_entity(name: str, *privileges: str) -> Requirement:
    return Requirement(group_of(name).any_of + alternatives([[privilege] for privilege in privileges]).any_of)
