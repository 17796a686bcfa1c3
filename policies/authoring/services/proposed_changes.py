"""Changes that could be made, each by its name in the API (api-next.md section 2): their kinds and what each states."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from policies.authoring.services.policy_drafts import PolicyInput
from policies.authoring.services.staged_facts import FACT_KINDS, FactChange, read_fact_change

#: Most changes that are taken as one.
MAX_CHANGES = 100

PUT_POLICY, DELETE_POLICY, SET_STATE = "put_policy", "delete_policy", "set_state"
ADD_MEMBERS, REMOVE_MEMBERS = "add_members", "remove_members"
ASSIGN_ROLES, UNASSIGN_ROLES = "assign_roles", "unassign_roles"
SUSPEND, ACTIVATE = "suspend", "activate"
GRANT, REVOKE = "grant", "revoke"
#: Deletions of people, which the pages that ask before them preview.
DELETE_USER, DELETE_GROUP, DELETE_ROLE = "delete_user", "delete_group", "delete_role"

#: Changes of policies.
POLICY_KINDS = frozenset({PUT_POLICY, DELETE_POLICY, SET_STATE})


class PolicyPut(NamedTuple):
    """A draft that would be stored under a URN (None: a new one), with the JSON values of its times beside it."""

    urn: str | None
    draft: PolicyInput
    begins: Any = None
    ends: Any = None


class StateChange(NamedTuple):
    """The state that a policy would get."""

    urn: str
    state: str


class MemberChange(NamedTuple):
    """Users (URNs) who would enter or leave a group; the kind of the change says which."""

    group: str
    members: Sequence[str]


class RoleHolderChange(NamedTuple):
    """Users and groups (URNs) who would get or lose a role; the kind of the change says which."""

    role: str
    actors: Sequence[str]


class GrantChange(NamedTuple):
    """CDAP privileges that a principal would get or lose on an entity or pattern; None: all that it has.

    `is_confirmed` lets the last ADMIN that is revoked pass to the administrators of the instance.
    """

    principal: str
    entity: str
    privileges: Sequence[str] | None = None
    is_confirmed: bool = False


class Change(NamedTuple):
    """One change by its name in the API; a deletion has the URN of what is deleted, a suspension that of the user."""

    kind: str
    value: PolicyPut | StateChange | MemberChange | RoleHolderChange | FactChange | GrantChange | str


_VALUE_TYPES: Mapping[str, Callable[..., StateChange | MemberChange | RoleHolderChange | GrantChange]] = {
    SET_STATE: StateChange,
    ADD_MEMBERS: MemberChange,
    REMOVE_MEMBERS: MemberChange,
    ASSIGN_ROLES: RoleHolderChange,
    UNASSIGN_ROLES: RoleHolderChange,
    GRANT: GrantChange,
    REVOKE: GrantChange,
}


def read_change(change: Mapping[str, Any]) -> Change:
    """Return the change that an object of the API with one key states, kind → value; its shape has been checked."""
    ((kind, value),) = change.items()
    if isinstance(value, str):
        return Change(kind, value)
    if kind in _VALUE_TYPES:
        return Change(kind, _VALUE_TYPES[kind](**value))
    if kind in FACT_KINDS:
        return Change(kind, read_fact_change(**value))
    draft = PolicyInput(value["family"], value["document"], state=value.get("state"))
    return Change(kind, PolicyPut(value.get("urn"), draft, value.get("valid_from"), value.get("valid_until")))
