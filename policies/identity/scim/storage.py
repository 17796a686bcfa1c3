"""The storage that scim2-server asks: rows through services, one for each request.

A request that writes is one change: the order of all changes is taken first, so what it reads is still so when it
writes, and nothing of it is stored when a part is refused.
"""

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.db.models import Q, QuerySet
from scim2_models import (
    InvalidFilterException,
    InvalidValueException,
    NotFoundException,
    Resource,
    ResourceType,
    ResponseParameters,
)
from scim2_server.storage import ScimStorage, SearchPage

from policies.engine.model import Actor
from policies.identity.scim import filters, member_patches, request_bodies, resource_mapping
from policies.identity.scim import queries as scim_queries
from policies.identity.scim.member_patches import Delta
from policies.identity.scim.schemas import PAGE
from policies.identity.services import groups as group_service
from policies.identity.services import scim_provisioning, users
from policies.models import ChangeEvent, GroupProfile, User
from policies.writes.unit_of_work import Change, change

#: What the record of changes calls this door.
DOOR = "scim"

Parameters = ResponseParameters[Any] | None


class PeopleStore(ScimStorage):
    """Users and groups for one request of this caller."""

    def __init__(self, *, by: Actor, is_writing: bool) -> None:
        self.by = by
        self.is_writing = is_writing
        self.doing: Change
        self.recorded: Sequence[ChangeEvent] = ()

    def operation(self) -> AbstractContextManager[None]:
        """Enclose a request that writes in its change."""
        return self._changing() if self.is_writing else nullcontext()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with change(by=self.by, door=DOOR) as self.doing:
            self.recorded = self.doing.events
            yield

    def get(
        self, resource_type: ResourceType, resource_id: str, *, response_parameters: Parameters = None
    ) -> Resource[Any]:
        """Return one; raises NotFoundException."""
        if _is_user(resource_type):
            return scim_queries.shown_users(
                [self._user(resource_id)], resource_type, response_parameters, self.recorded
            )[0]
        return scim_queries.shown_groups([self._group(resource_id)], resource_type, response_parameters, self.recorded)[
            0
        ]

    def search(self, resource_types: list[ResourceType], search_request: Any, *, position: Any = None) -> SearchPage:  # noqa: ARG002 - no cursors
        """Return a page: users before groups, each in the order in which they were stored."""
        start = search_request.start_index_0 or 0
        left = PAGE if search_request.count is None else search_request.count
        total = 0
        found: list[Resource[Any]] = []
        for resource_type in resource_types:
            listed: QuerySet[Any] = scim_queries.people() if _is_user(resource_type) else scim_queries.groups()
            show: Any = scim_queries.shown_users if _is_user(resource_type) else scim_queries.shown_groups
            if search_request.filter is not None:
                listed = listed.filter(_condition(search_request.filter, resource_type, len(resource_types)))
            count = listed.count()
            first = max(start - total, 0)
            if left > 0 and first < count:
                page = show(list(listed.order_by("pk")[first : first + left]), resource_type, search_request)
                found += page
                left -= len(page)
            total += count
        return SearchPage(total, found)

    def create(self, resource_type: ResourceType, resource: Any) -> Resource[Any]:
        """Store a new one; raises what the services raise."""
        if _is_user(resource_type):
            user = scim_provisioning.create_user(
                username=resource.user_name, told=resource_mapping.told(resource), doing=self.doing
            )
            return self.get(resource_type, str(user.scim_id))
        group = scim_provisioning.create_group(
            name=resource.display_name,
            external_id=resource.external_id or "",
            members=_users(list(member_patches.whole(resource.members).added)),
            doing=self.doing,
        )
        return self.get(resource_type, str(group.scim_id))

    def update(
        self,
        resource_type: ResourceType,
        resource: Any,
        *,
        expected_version: str | None = None,  # noqa: ARG002 - no versions: a change reads what it writes
    ) -> Resource[Any]:
        """Store the new state of one; raises NotFoundException and what the services raise."""
        if _is_user(resource_type):
            user, told = self._user(resource.id), resource_mapping.told(resource)
            for name, value in told.rest.items():
                if isinstance(value, list):
                    request_bodies.check_growth(name, before=len(user.delivered.get(name, ())), after=len(value))
            scim_provisioning.update_user(user=user, told=told, doing=self.doing)
            return self.get(resource_type, resource.id)
        self.change_group(resource, member_patches.whole(resource.members))
        return self.get(resource_type, resource.id)

    def change_group(self, resource: Any, delta: Delta) -> None:
        """Store what a group is called, who comes and who goes; raises as `update`."""
        group = self._group(resource.id)
        if len(delta.added) + len(delta.removed) > member_patches.MOST:
            raise InvalidValueException(detail=f"One request changes up to {member_patches.MOST} members of a group.")
        known = scim_queries.external_members(group, None if delta.is_whole else {*delta.added, *delta.removed})
        scim_provisioning.update_group(
            group=group,
            name=resource.display_name,
            external_id=resource.external_id or "",
            added=_users([key for key in delta.added if key not in known]),
            removed=[user for key, user in known.items() if key not in delta.added],
            doing=self.doing,
        )

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Delete one; raises NotFoundException and what the services raise."""
        if _is_user(resource_type):
            users.remove(urn=self._user(resource_id).urn, by=self.by, door=DOOR)
        else:
            group_service.remove(urn=self._group(resource_id).urn, by=self.by, door=DOOR)

    def _user(self, resource_id: str) -> User:
        key = filters.identified(resource_id)
        found = None if key is None else scim_queries.people().filter(scim_id=key).first()
        if found is None:
            raise NotFoundException(detail=f"There is no user {resource_id!r}.")
        return found

    def _group(self, resource_id: str) -> GroupProfile:
        key = filters.identified(resource_id)
        found = None if key is None else scim_queries.groups().filter(scim_id=key).first()
        if found is None:
            raise NotFoundException(detail=f"There is no group {resource_id!r}.")
        return found


def _is_user(resource_type: ResourceType) -> bool:
    return resource_type.name == "User"


def _condition(scim_filter: Any, resource_type: ResourceType, types: int) -> Q:
    """Return the condition of a filter; where several types are searched, it need not fit each."""
    try:
        return filters.condition(scim_filter.ast, str(resource_type.name))
    except InvalidFilterException:
        if types == 1:
            raise
        return filters.NOBODY


def _users(ids: Collection[uuid.UUID]) -> list[User]:
    """Return the users of these ids, in their order. Raises InvalidValueException for strangers."""
    found = {user.scim_id: user for user in scim_queries.people().filter(scim_id__in=ids)} if ids else {}
    if strangers := [str(key) for key in ids if key not in found]:
        raise InvalidValueException(detail=f"There are no users {', '.join(strangers[:10])}.")
    return [found[key] for key in ids]
