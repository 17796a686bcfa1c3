"""Records of people as interfaces return them: complete for callers who may see them, else the public part.

The rule is that of `policies.writes.people_records`. Members of a group, memberships and the members listed
by its identity source are visible to callers who may see the user or change the members of the group; holders of a role
to callers who may see the user or manage policies.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import Model, Q

from catalog import urns as catalog_urns
from catalog.access import guarded_documents
from catalog.access.aspect_documents import StoredAspect, load_aspect, load_documents
from catalog.access.people_conditions import PeopleConditions
from policies.engine.model import Actor
from policies.models import GroupProfile, Membership, RoleAssignment, User
from policies.models.documents import GROUP_INFO, STATUS, SUB_TYPES, USER_EDITABLE, USER_INFO
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.per_snapshot import memoize
from policies.writes import people_records, required_privileges
from policies.writes.required_privileges import is_met

USER, GROUP = "corpuser", "corpGroup"

#: Aspect of a user -> its public fields. DataHub's schema requires `active`.
PUBLIC_FIELDS: Mapping[str, frozenset[str]] = {
    USER_INFO: frozenset({"active", "displayName", "firstName", "fullName", "lastName"}),
    USER_EDITABLE: frozenset({"displayName"}),
    STATUS: frozenset({"removed"}),
    SUB_TYPES: frozenset({"typeNames"}),
}
#: Fields in which the identity source of a group lists people.
PEOPLE_LIST_FIELDS = ("admins", "members")

DocumentsByAspect = dict[str, StoredAspect]


def load_visible_documents(*, urns: Collection[str], by: Actor, is_open: bool = False) -> dict[str, DocumentsByAspect]:
    """Return the result of `load_documents` without records of users and members of groups hidden from the caller.

    Nor with documents that a privilege of their own guards, unless the interface is open to every caller.
    """
    documents_by_urn = load_documents(urns=urns)
    if not is_open:
        documents_by_urn = guarded_documents.remove_guarded(documents_by_urn, by=by)
    users = {urn for urn in documents_by_urn if catalog_urns.entity_type(urn) == USER}
    groups = {
        urn
        for urn, documents_by_aspect in documents_by_urn.items()
        if catalog_urns.entity_type(urn) == GROUP and GROUP_INFO in documents_by_aspect
    }
    public_users = users - people_records.list_visible(urns=sorted(users), by=by) if users else users
    closed_groups = groups - list_groups_with_visible_members(urns=sorted(groups), by=by) if groups else groups
    return (
        documents_by_urn
        | {urn: _without_record(urn, documents_by_urn[urn]) for urn in public_users}
        | _without_members(documents_by_urn, closed_groups, by)
    )


def load_visible_aspects(*, urn: str, by: Actor, is_open: bool = False) -> DocumentsByAspect | None:
    """Return the newest documents of one entity that the caller may see, None when the URN is unknown."""
    return load_visible_documents(urns=[urn], by=by, is_open=is_open).get(urn)


def load_visible_aspect(
    *, urn: str, name: str, by: Actor, version: int = 0, is_open: bool = False
) -> StoredAspect | None:
    """Return one version of one document, None when it does not exist or the caller may not see it.

    Raises Forbidden for a document of a stored entity that a privilege of its own guards.
    """
    if not is_open:
        guarded_documents.require_viewing(names_by_urn={urn: [name]}, by=by)
    stored_aspect = load_aspect(urn=urn, name=name, version=version)
    if stored_aspect is None or catalog_urns.entity_type(urn) not in (USER, GROUP):
        return stored_aspect
    if version == 0:
        return (load_visible_aspects(urn=urn, by=by) or {}).get(name)
    is_visible = catalog_urns.entity_type(urn) == GROUP or urn in people_records.list_visible(urns=[urn], by=by)
    return stored_aspect if is_visible else None


def list_groups_with_visible_members(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the groups whose members the caller may change, and therefore see."""
    group_urns = list(dict.fromkeys(urns))
    if not group_urns:
        return frozenset()
    decisions = authorizer.answer_many(
        requests=[
            (by, AccessRequest(required_privileges.group_members(), ResourceRef(urn, GROUP))) for urn in group_urns
        ]
    )
    return frozenset(urn for urn, decision in zip(group_urns, decisions, strict=True) if decision.is_allowed)


def build_user_condition(*, by: Actor) -> Q:
    """Return the condition on users whose records the caller may see; empty when it may see all."""
    return memoize((__name__, "users", by, settings.AUTH_POLICIES_ENABLED), lambda: _build_user_condition(by))


def build_tie_condition(*, model: type[Model], by: Actor) -> Q:
    """Return the condition on memberships or role assignments that the caller may see; empty for other models."""
    users = build_user_condition(by=by)
    if not users or model not in (Membership, RoleAssignment):
        return Q()
    visible_condition = Q(user__in=User.objects.filter(users).order_by().values("pk"))
    if model is RoleAssignment:
        may_see_all = is_met(required_privileges.MANAGE_POLICIES, by=by)
        return Q() if may_see_all else Q(user__isnull=True) | visible_condition
    groups = memoize((__name__, "groups", by, settings.AUTH_POLICIES_ENABLED), lambda: _build_group_condition(by))
    if not groups:
        return Q()
    return visible_condition | Q(group__in=GroupProfile.objects.filter(groups).order_by().values("group"))


def _build_user_condition(by: Actor) -> Q:
    condition = people_records.build_condition(by=by)
    return condition | _build_coverage_condition(USER, User, "EDIT_ENTITY", by) if condition else condition


def _build_group_condition(by: Actor) -> Q:
    if is_met(required_privileges.privilege_group("group.update"), by=by):
        return Q()
    return _build_coverage_condition(GROUP, GroupProfile, "EDIT_GROUP_MEMBERS", by) | _build_coverage_condition(
        GROUP, GroupProfile, "EDIT_ENTITY", by
    )


def _build_coverage_condition(kind: str, model: type[Any], privilege: str, by: Actor) -> Q:
    return PeopleConditions(kind, model.objects.all()).build_coverage_condition(
        authorizer.compute_coverage(actor=by, privilege=privilege)
    )


def _without_record(urn: str, documents_by_aspect: DocumentsByAspect) -> DocumentsByAspect:
    """Return the key of a user and the public fields of its aspects; an aspect without public fields is left out."""
    key = catalog_urns.parse(urn).key_aspect
    public_documents = {name: stored_aspect for name, stored_aspect in documents_by_aspect.items() if name == key}
    for name, fields in PUBLIC_FIELDS.items():
        value = documents_by_aspect[name].value if name in documents_by_aspect else {}
        public_value = {field: value[field] for field in value if field in fields}
        if public_value:
            public_documents[name] = _with_value(documents_by_aspect[name], public_value)
    return public_documents


def _without_members(
    documents_by_urn: Mapping[str, DocumentsByAspect], groups: Collection[str], by: Actor
) -> dict[str, DocumentsByAspect]:
    """Return the documents of these groups, listing only people whose records the caller may see."""
    values = {urn: documents_by_urn[urn][GROUP_INFO].value for urn in groups}
    people_urns = {
        person_urn
        for value in values.values()
        for field in PEOPLE_LIST_FIELDS
        for person_urn in _text_entries(value.get(field))
    }
    visible_urns = people_records.list_visible(urns=sorted(people_urns), by=by) if people_urns else frozenset()
    visible_values = {
        urn: value
        | {
            field: [person_urn for person_urn in _text_entries(value[field]) if person_urn in visible_urns]
            for field in PEOPLE_LIST_FIELDS
            if field in value
        }
        for urn, value in values.items()
    }
    return {
        urn: documents_by_urn[urn] | {GROUP_INFO: _with_value(documents_by_urn[urn][GROUP_INFO], value)}
        for urn, value in visible_values.items()
    }


def _with_value(stored_aspect: StoredAspect, value: Mapping[str, Any]) -> StoredAspect:
    return replace(stored_aspect, document=json.dumps(value, ensure_ascii=False))


def _text_entries(entries: Any) -> list[str]:
    return [entry for entry in entries or () if isinstance(entry, str)]
