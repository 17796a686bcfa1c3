"""Rows as resources, a page at a time: what is asked of the database does not depend on how many they are."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max, QuerySet
from scim2_models import Resource, ResourceType, ResponseParameters

from policies.identity.scim import resource_mapping
from policies.models import ChangeEvent, GroupProfile, Membership, User
from policies.models.people import ROOT_USERNAME

Parameters = ResponseParameters[Any] | None


def people() -> QuerySet[User]:
    """Return everybody whom a source may know: not the root user, and no programs."""
    return User.objects.filter(is_removed=False, kind=User.Kind.PERSON).exclude(username=ROOT_USERNAME)


def groups() -> QuerySet[GroupProfile]:
    """Return all groups, native ones, too: providers look for those that they are linked with."""
    return GroupProfile.objects.filter(is_removed=False).select_related("group")


def shown_users(
    users: Sequence[User], resource_type: ResourceType, parameters: Parameters, recorded: Iterable[ChangeEvent] = ()
) -> list[Resource[Any]]:
    """Return these users; `recorded` is what the open change will say of them."""
    groups: dict[int, list[GroupProfile]] = {user.pk: [] for user in users}
    if _wants(parameters, "groups"):
        held = Membership.objects.filter(user__in=users, group__profile__is_removed=False)
        for membership in held.select_related("group__profile").order_by("group__profile__urn"):
            groups[membership.user_id].append(membership.group.profile)
    modified = _modified([user.urn for user in users], recorded)
    return [
        resource_mapping.user_resource(
            user, resource_type=resource_type, groups=groups[user.pk], modified=modified.get(user.urn)
        )
        for user in users
    ]


def shown_groups(
    groups: Sequence[GroupProfile],
    resource_type: ResourceType,
    parameters: Parameters,
    recorded: Iterable[ChangeEvent] = (),
) -> list[Resource[Any]]:
    """Return these groups; `recorded` is what the open change will say of them."""
    members: dict[int, list[User]] = {group.group_id: [] for group in groups}
    if _wants(parameters, "members"):
        for membership in _memberships([group.group_id for group in groups]).select_related("user"):
            members[membership.group_id].append(membership.user)
    modified = _modified([group.urn for group in groups], recorded)
    return [
        resource_mapping.group_resource(
            group, resource_type=resource_type, members=members[group.group_id], modified=modified.get(group.urn)
        )
        for group in groups
    ]


def _memberships(groups: Collection[int]) -> QuerySet[Membership]:
    found = Membership.objects.filter(group__in=groups, is_external=True, user__in=people())
    return found.order_by("user__urn")


def external_members(group: GroupProfile, among: Collection[uuid.UUID] | None) -> dict[uuid.UUID, User]:
    """Return by their ids whom its source put into a group, of these or of all."""
    held = _memberships([group.group_id]).select_related("user")
    if among is not None:
        held = held.filter(user__scim_id__in=among)
    return {one.user.scim_id: one.user for one in held}


def _modified(urns: Collection[str], recorded: Iterable[ChangeEvent]) -> dict[str, datetime]:
    """Return URN → when it was changed last, as the record of changes has it; one query."""
    last = ChangeEvent.objects.filter(object_urn__in=urns).order_by().values("object_urn").annotate(last=Max("at"))
    return dict(last.values_list("object_urn", "last")) | {event.object_urn: event.at for event in recorded}


def _wants(parameters: Parameters, name: str) -> bool:
    """Whether an answer with these parameters shows an attribute."""
    if parameters is None:
        return True
    if parameters.attributes:
        return name in _named(parameters.attributes)
    return name not in _named(parameters.excluded_attributes or ())


def _named(paths: Collection[Any]) -> set[str]:
    return {str(path).rpartition(":")[2].partition(".")[0].lower() for path in paths}
