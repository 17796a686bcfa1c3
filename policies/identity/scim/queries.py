"""Loading of rows as SCIM resources; the number of queries of a page does not depend on its length."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
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


def list_rows(resource_type: ResourceType) -> QuerySet[Any]:
    """Return the users or groups that are visible over SCIM."""
    return list_people() if is_user(resource_type) else list_groups()


def is_user(resource_type: ResourceType) -> bool:
    """Whether resources of this type are users, and not groups."""
    return resource_type.name == "User"


def load_resources(
    rows: Sequence[Any],
    resource_type: ResourceType,
    parameters: OptionalParameters,
    pending_events: Iterable[ChangeEvent] = (),
) -> list[Resource[Any]]:
    """Return users or groups as resources; `pending_events` are the unsaved change events of the open unit of work."""
    name, load_related = ("groups", _load_groups) if is_user(resource_type) else ("members", _load_members)
    related_rows = load_related(rows) if _includes_attribute(parameters, name) else {}
    modified_times = _load_modified_times([row.urn for row in rows], pending_events)
    return [
        resource_mapping.build_resource(
            row,
            resource_type=resource_type,
            related_rows=related_rows.get(row.pk, ()),
            modified_at=modified_times.get(row.urn, row.created_at),
        )
        for row in rows
    ]


def _load_groups(users: Collection[User]) -> Mapping[int, Sequence[GroupProfile]]:
    groups_by_user: dict[int, list[GroupProfile]] = defaultdict(list)
    memberships = Membership.objects.filter(user__in=users, group__profile__is_removed=False)
    for membership in memberships.select_related("group__profile").order_by("group__profile__urn"):
        groups_by_user[membership.user_id].append(membership.group.profile)
    return groups_by_user


def _load_members(groups: Collection[GroupProfile]) -> Mapping[int, Sequence[User]]:
    profile_ids = {group.group_id: group.pk for group in groups}
    members_by_group: dict[int, list[User]] = defaultdict(list)
    for membership in _list_external_memberships(profile_ids).select_related("user"):
        members_by_group[profile_ids[membership.group_id]].append(membership.user)
    return members_by_group


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
