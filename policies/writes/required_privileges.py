"""Requirements of reads and writes of users, groups, roles and tokens (clients.md 2.6, rules/datahub.md a.7)."""

from policies.engine.families import datahub
from policies.engine.families.privilege_effects import load_effects
from policies.engine.model import Actor
from policies.engine.requirements import Requirement, any_of_requirement, privilege_requirement
from policies.errors import NotFound
from policies.models import documents
from policies.models.fields import is_storable
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

MANAGE_POLICIES = privilege_requirement("MANAGE_POLICIES")
MANAGE_GUARDRAILS = privilege_requirement("MANAGE_GUARDRAILS")
MANAGE_CREDENTIALS = privilege_requirement("MANAGE_USER_CREDENTIALS")
MANAGE_OWN_TOKENS = any_of_requirement([["GENERATE_PERSONAL_ACCESS_TOKENS"], ["MANAGE_ACCESS_TOKENS"]])
MANAGE_OTHERS_TOKENS = privilege_requirement("MANAGE_ACCESS_TOKENS")
MANAGE_SERVICE_TOKENS = any_of_requirement([["MANAGE_ACCESS_TOKENS"], ["MANAGE_SERVICE_ACCOUNTS"]])
MANAGE_SERVICE_ACCOUNTS = privilege_requirement("MANAGE_SERVICE_ACCOUNTS")


#: Viewing users and groups needs one of these lists of privileges (pages, API and protocols alike).
VIEW_USERS = (
    ("MANAGE_USERS_AND_GROUPS",),
    ("UPDATE_USERS",),
    ("UPDATE_USERS_AND_GROUPS",),
    ("MANAGE_USER_CREDENTIALS",),
)
VIEW_GROUPS = (("MANAGE_USERS_AND_GROUPS",), ("UPDATE_GROUPS",), ("UPDATE_USERS_AND_GROUPS",))


def privilege_group(name: str) -> Requirement:
    """Return one of DataHub's privilege groups as a requirement, such as `user.update`."""
    return datahub.load_operation_groups()[name]


def user_profile(part: str | None = None, *, is_address: bool = False) -> Requirement:
    """Return the requirement for editing a part of a user's profile: a key of its editable aspect.

    EDIT_ENTITY suffices, held by each on itself (a.1), but not for the address, by which people are identified. No part
    stands for an edit that changes nothing.
    """
    requirement = (
        privilege_group("user.update") if is_address else _with_entity_privileges("user.update", "EDIT_ENTITY")
    )
    return _with_part_privileges(requirement, "corpuser", documents.USER_EDITABLE, part)


def user_records() -> Requirement:
    """Return the requirement for viewing the records of all users."""
    return Requirement(privilege_group("user.update").any_of + any_of_requirement(VIEW_USERS).any_of)


def user_record(*, is_service: bool) -> Requirement:
    """Return the requirement for viewing one user's record; EDIT_ENTITY suffices, held by each on itself (a.1)."""
    alternatives_to_view = user_records().any_of + privilege_requirement("EDIT_ENTITY").any_of
    return Requirement(alternatives_to_view + MANAGE_SERVICE_TOKENS.any_of if is_service else alternatives_to_view)


def service_profile() -> Requirement:
    """Return the requirement for editing a service account: MANAGE_SERVICE_ACCOUNTS, or that for editing any user."""
    return Requirement(MANAGE_SERVICE_ACCOUNTS.any_of + privilege_group("user.update").any_of)


def group_profile(part: str | None = None) -> Requirement:
    """Return the requirement for editing a part of a group's profile, as `user_profile`; EDIT_ENTITY suffices."""
    requirement = _with_entity_privileges("group.update", "EDIT_ENTITY")
    return _with_part_privileges(requirement, "corpGroup", documents.GROUP_EDITABLE, part)


def group_members() -> Requirement:
    """Return the requirement for changing members; EDIT_GROUP_MEMBERS or EDIT_ENTITY on the group suffices."""
    return _with_entity_privileges("group.update", "EDIT_GROUP_MEMBERS", "EDIT_ENTITY")


def require(*, by: Actor, requirement: Requirement, urn: str = "", type: str = "") -> None:
    """Raise Forbidden unless the actor meets the requirement; `urn` and `type` name the entity, none for the platform.

    Raises NotFound for a URN that cannot be stored.
    """
    if not is_storable(urn):
        raise NotFound(f"There is no {type} {urn!r}.")
    authorizer.require(by=by, requirement=requirement, resource=ResourceRef(urn, type) if urn else None)


def is_met(requirement: Requirement, *, by: Actor) -> bool:
    """Whether the actor meets a requirement on the platform."""
    return authorizer.answer(actor=by, request=AccessRequest(requirement)).is_allowed


def _with_part_privileges(requirement: Requirement, type_: str, aspect: str, part: str | None) -> Requirement:
    needs = load_effects().list_edit_needs(type_, aspect, part)
    return Requirement((*requirement.any_of, *((need,) for need in needs)))


def _with_entity_privileges(name: str, *privileges: str) -> Requirement:
    return Requirement(
        privilege_group(name).any_of + any_of_requirement([[privilege] for privilege in privileges]).any_of
    )
