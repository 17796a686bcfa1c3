"""Loading of rows as SCIM resources; the number of queries of a page does not depend on its length."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max, QuerySet
from scim2_models import Resource, ResourceType, ResponseParameters

from policies.identity.scim import resource_mapping
from policies.models import ChangeEvent, GroupProfile, Membership, User
from policies.models.people import ROOT_USERNAME

OptionalParameters = ResponseParameters[Any] | None


def list_people() -> QuerySet[User]:
    """Return the users visible over SCIM: neither removed users, nor the root user, nor service accounts."""
    return User.objects.filter(is_removed=False, kind=User.Kind.PERSON).exclude(username=ROOT_USERNAME)


def list_groups() -> QuerySet[GroupProfile]:
    """Return all groups that are not removed, also native ones: providers look up the groups they are linked to."""
    return GroupProfile.objects.filter(is_removed=False).select_related("group")


def load_user_resources(
    users: Sequence[User],
    resource_type: ResourceType,
    parameters: OptionalParameters,
    pending_events: Iterable[ChangeEvent] = (),
) -> list[Resource[Any]]:
    """Return users as resources; `pending_events` are the unsaved change events of the open unit of work."""
    groups: dict[int, list[GroupProfile]] = {user.pk: [] for user in users}
    if _includes_attribute(parameters, "groups"):
        memberships = Membership.objects.filter(user__in=users, group__profile__is_removed=False)
        for membership in memberships.select_related("group__profile").order_by("group__profile__urn"):
            groups[membership.user_id].append(membership.group.profile)
    modified_times = _load_modified_times([user.urn for user in users], pending_events)
    return [
        resource_mapping.build_user_resource(
            user, resource_type=resource_type, groups=groups[user.pk], modified_at=modified_times.get(user.urn)
        )
        for user in users
    ]


def load_group_resources(
    groups: Sequence[GroupProfile],
    resource_type: ResourceType,
    parameters: OptionalParameters,
    pending_events: Iterable[ChangeEvent] = (),
) -> list[Resource[Any]]:
    """Return groups as resources; `pending_events` are the unsaved change events of the open unit of work."""
    members: dict[int, list[User]] = {group.group_id: [] for group in groups}
    if _includes_attribute(parameters, "members"):
        for membership in _list_external_memberships([group.group_id for group in groups]).select_related("user"):
            members[membership.group_id].append(membership.user)
    modified_times = _load_modified_times([group.urn for group in groups], pending_events)
    return [
        resource_mapping.build_group_resource(
            group,
            resource_type=resource_type,
            members=members[group.group_id],
            modified_at=modified_times.get(group.urn),
        )
        for group in groups
    ]


def _list_external_memberships(group_ids: Collection[int]) -> QuerySet[Membership]:
    memberships = Membership.objects.filter(group__in=group_ids, is_external=True, user__in=list_people())
    return memberships.order_by("user__urn")


def load_external_members(group: GroupProfile, scim_ids: Collection[uuid.UUID] | None) -> dict[uuid.UUID, User]:
    """Return SCIM id → user for the external members of a group; `scim_ids` limits them, None returns all."""
    memberships = _list_external_memberships([group.group_id]).select_related("user")
    if scim_ids is not None:
        memberships = memberships.filter(user__scim_id__in=scim_ids)
    return {membership.user.scim_id: membership.user for membership in memberships}


def _load_modified_times(urns: Collection[str], pending_events: Iterable[ChangeEvent]) -> dict[str, datetime]:
    """Return URN → time of the last change in the change log or in `pending_events`; one query."""
    last_changes = (
        ChangeEvent.objects.filter(object_urn__in=urns).order_by().values("object_urn").annotate(last=Max("at"))
    )
    return dict(last_changes.values_list("object_urn", "last")) | {
        event.object_urn: event.at for event in pending_events
    }


def _includes_attribute(parameters: OptionalParameters, name: str) -> bool:
    """Whether a response with these parameters contains an attribute."""
    if parameters is None:
        return True
    if parameters.attributes:
        return name in _attribute_names(parameters.attributes)
    return name not in _attribute_names(parameters.excluded_attributes or ())


def _attribute_names(paths: Collection[Any]) -> set[str]:
    return {str(path).rpartition(":")[2].partition(".")[0].lower() for path in paths}
