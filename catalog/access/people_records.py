"""People's records as doors show them: whole to those who may see them, to others the public part.

The rule is that of `policies.identity.services.people_records`. What a group's identity source lists as its members,
and the memberships themselves, are seen by who may see the user or may change the members of the group; who holds a
role, by who may see the user or manages policies.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import Model, Q

from catalog import urns as urn_room
from catalog.access.aspect_documents import StoredAspect, aspect, documents
from catalog.access.people_conditions import PeopleConditions
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.identity.services import people_records
from policies.models import GroupProfile, Membership, RoleAssignment, User
from policies.models.documents import GROUP_INFO, STATUS, SUB_TYPES, USER_EDITABLE, USER_INFO
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked
from policies.pdp.per_snapshot import kept
from policies.writes import required_privileges

USER, GROUP = "corpuser", "corpGroup"

#: Aspect of a user → its fields that everybody sees. DataHub's schema requires `active`.
PUBLIC_FIELDS: Mapping[str, frozenset[str]] = {
    USER_INFO: frozenset({"active", "displayName", "firstName", "fullName", "lastName"}),
    USER_EDITABLE: frozenset({"displayName"}),
    STATUS: frozenset({"removed"}),
    SUB_TYPES: frozenset({"typeNames"}),
}
#: Fields in which the identity source of a group lists people.
LISTING_PEOPLE = ("admins", "members")

Documents = dict[str, StoredAspect]


def documents_for(*, urns: Collection[str], by: Actor) -> dict[str, Documents]:
    """Return what `documents` does, without what the caller may not see of users and of the members of groups."""
    found = documents(urns=urns)
    users = {urn for urn in found if urn_room.type_of(urn) == USER}
    groups = {urn for urn, one in found.items() if urn_room.type_of(urn) == GROUP and GROUP_INFO in one}
    public = users - people_records.list_visible(urns=sorted(users), by=by) if users else users
    closed = groups - list_groups_with_visible_members(urns=sorted(groups), by=by) if groups else groups
    return found | {urn: _without_record(urn, found[urn]) for urn in public} | _without_members(found, closed, by)


def aspects_for(*, urn: str, by: Actor) -> Documents | None:
    """Return what `aspects` does of what the caller may see, None when nothing is known of the entity."""
    return documents_for(urns=[urn], by=by).get(urn)


def aspect_for(*, urn: str, name: str, by: Actor, version: int = 0) -> StoredAspect | None:
    """Return one version of one document, None when it is not there or the caller may not see it."""
    found = aspect(urn=urn, name=name, version=version)
    if found is None or urn_room.type_of(urn) not in (USER, GROUP):
        return found
    if version == 0:
        return (aspects_for(urn=urn, by=by) or {}).get(name)
    is_seen = urn_room.type_of(urn) == GROUP or urn in people_records.list_visible(urns=[urn], by=by)
    return found if is_seen else None


def list_groups_with_visible_members(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these groups whose members the caller may change, and so see."""
    wanted = list(dict.fromkeys(urns))
    if not wanted:
        return frozenset()
    decisions = authorizer.answer_many(
        asks=[(by, Ask(required_privileges.group_members(), Asked(urn, GROUP))) for urn in wanted]
    )
    return frozenset(urn for urn, decision in zip(wanted, decisions, strict=True) if decision.is_allowed)


def build_visible_users(*, by: Actor) -> Q:
    """Return the condition on users that the caller may see their records; empty where it may see all."""
    return kept((__name__, "users", by, settings.AUTH_POLICIES_ENABLED), lambda: _build_users(by))


def build_visible_ties(*, model: type[Model], by: Actor) -> Q:
    """Return the condition on memberships or on holders of roles that the caller may see; empty for other models."""
    users = build_visible_users(by=by)
    if not users or model not in (Membership, RoleAssignment):
        return Q()
    seen = Q(user__in=User.objects.filter(users).order_by().values("pk"))
    if model is RoleAssignment:
        return Q() if _is_allowed(required_privileges.MANAGE_POLICIES, by) else Q(user__isnull=True) | seen
    groups = kept((__name__, "groups", by, settings.AUTH_POLICIES_ENABLED), lambda: _build_groups(by))
    if not groups:
        return Q()
    return seen | Q(group__in=GroupProfile.objects.filter(groups).order_by().values("group"))


def _build_users(by: Actor) -> Q:
    found = people_records.build_condition(by=by)
    return found | _covered(USER, User, "EDIT_ENTITY", by) if found else found


def _build_groups(by: Actor) -> Q:
    if _is_allowed(required_privileges.group_of("group.update"), by):
        return Q()
    return _covered(GROUP, GroupProfile, "EDIT_GROUP_MEMBERS", by) | _covered(GROUP, GroupProfile, "EDIT_ENTITY", by)


def _covered(kind: str, model: type[Any], privilege: str, by: Actor) -> Q:
    return PeopleConditions(kind, model.objects.all()).reached(authorizer.visible(actor=by, privilege=privilege))


def _is_allowed(requirement: Requirement, by: Actor) -> bool:
    return authorizer.answer(actor=by, ask=Ask(requirement)).is_allowed


def _without_record(urn: str, found: Documents) -> Documents:
    """Return the key of a user and the public fields of its aspects; an aspect without any is left out."""
    key = urn_room.parse(urn).key_aspect
    public = {name: one for name, one in found.items() if name == key}
    for name, fields in PUBLIC_FIELDS.items():
        value = found[name].value if name in found else {}
        shown = {field: value[field] for field in value if field in fields}
        if shown:
            public[name] = _rewritten(found[name], shown)
    return public


def _without_members(found: Mapping[str, Documents], groups: Collection[str], by: Actor) -> dict[str, Documents]:
    """Return the documents of these groups, which list those people only whose records the caller may see."""
    values = {urn: found[urn][GROUP_INFO].value for urn in groups}
    named = {one for value in values.values() for field in LISTING_PEOPLE for one in _texts(value.get(field))}
    seen = people_records.list_visible(urns=sorted(named), by=by) if named else frozenset()
    shown = {
        urn: value
        | {field: [one for one in _texts(value[field]) if one in seen] for field in LISTING_PEOPLE if field in value}
        for urn, value in values.items()
    }
    return {urn: found[urn] | {GROUP_INFO: _rewritten(found[urn][GROUP_INFO], value)} for urn, value in shown.items()}


def _rewritten(one: StoredAspect, value: Mapping[str, Any]) -> StoredAspect:
    return replace(one, document=json.dumps(value, ensure_ascii=False))


def _texts(listed: Any) -> list[str]:
    return [one for one in listed or () if isinstance(one, str)]
