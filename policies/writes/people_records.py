"""Visibility of people: the users whose address, title, state, groups and roles a caller may see, and hidden people.

The rule of records is `required_privileges.user_record`. The public part of every user is visible to all callers who
may read users: user name, display names, whether the user is active, and whether it is a service account.
"""

from collections.abc import Collection

from django.conf import settings
from django.db.models import Q

from policies.engine.model import Actor
from policies.engine.requirements import Requirement, any_of_requirement
from policies.models import User
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, per_snapshot
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.writes import required_privileges
from policies.writes.required_privileges import is_met

_USER_TYPE = "corpuser"

#: Prefix of the URNs of people -> type of the entity.
_TYPES = {USER_PREFIX: _USER_TYPE, GROUP_PREFIX: "corpGroup", ROLE_PREFIX: "dataHubRole"}


def list_visible(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these user URNs, stored or not, whose records the caller may see.

    Answers as `required_privileges.user_record` for each; at most one query beside those of the decisions.
    """
    if is_met(required_privileges.user_records(), by=by):
        return frozenset(urns)
    person = required_privileges.user_record(is_service=False)
    unique_urns = list(dict.fromkeys(urns))
    asks = [(by, AccessRequest(person, ResourceRef(urn, _USER_TYPE))) for urn in unique_urns]
    decisions = authorizer.answer_many(requests=asks) if asks else []
    visible_urns = {urn for urn, decision in zip(unique_urns, decisions, strict=True) if decision.is_allowed}
    if len(visible_urns) < len(unique_urns) and is_met(required_privileges.MANAGE_SERVICE_TOKENS, by=by):
        services = User.objects.filter(urn__among=filter_storable(unique_urns), kind=User.Kind.SERVICE).order_by()
        visible_urns.update(services.values_list("urn", flat=True))
    return frozenset(visible_urns)


def find_unseen(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these users, groups and roles that the caller may not see.

    A user is seen by whoever may see the record, a group by who may read it or change its members, a role by who may
    read it.
    """
    users = {urn for urn in urns if urn.startswith(USER_PREFIX)}
    others = frozenset(urns) - users
    seen_users = list_visible(urns=sorted(users), by=by) if users else frozenset()
    return find_unreadable(urns=others, by=by) | (users - seen_users)


def find_hidden(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these users, groups and roles that look absent to the caller.

    With VIEW_AUTHORIZATION_ENABLED: those that it may neither read nor see.
    """
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return frozenset()
    unreadable_urns = find_unreadable(urns=urns, by=by)
    return find_unseen(urns=unreadable_urns, by=by) if unreadable_urns else frozenset()


def find_unreadable(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these users, groups and roles that the caller may not read, nor change the members of.

    Everybody may read their own record, groups and roles.
    """
    other_urns = sorted(frozenset(urns) - {by.urn} - by.groups - by.roles)
    types_by_urn = {urn: type_ for urn in other_urns for prefix, type_ in _TYPES.items() if urn.startswith(prefix)}
    requests = [
        (by, AccessRequest(_build_read_requirement(type_), ResourceRef(urn, type_)))
        for urn, type_ in types_by_urn.items()
    ]
    decisions = authorizer.answer_many(requests=requests) if requests else []
    return frozenset(urn for urn, decision in zip(types_by_urn, decisions, strict=True) if not decision.is_allowed)


def build_condition(*, by: Actor) -> Q:
    """Return the condition on users whose records the caller may see; an empty Q when the caller may see all.

    Memoized for each snapshot. EDIT_ENTITY on single users is added by `catalog.access.people_records`.
    """
    return per_snapshot.memoize((__name__, by, settings.AUTH_POLICIES_ENABLED), lambda: _build(by))


def _build(by: Actor) -> Q:
    if is_met(required_privileges.user_records(), by=by):
        return Q()
    own_record = Q(urn=by.urn)
    return (
        own_record | Q(kind=User.Kind.SERVICE)
        if is_met(required_privileges.MANAGE_SERVICE_TOKENS, by=by)
        else own_record
    )


def _build_read_requirement(type_: str) -> Requirement:
    read = required_privileges.privilege_group("entity.read")
    if type_ != _TYPES[GROUP_PREFIX]:
        return read
    viewing = any_of_requirement(required_privileges.VIEW_GROUPS)
    return Requirement((*read.any_of, *viewing.any_of, *required_privileges.group_members().any_of))
