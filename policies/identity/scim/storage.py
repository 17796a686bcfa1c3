"""Storage of users and groups for scim2-server: rows, read and written through queries and services.

A request that writes is one unit of work under the write lock: the state it reads stays current until it writes, and
nothing is stored when a part is refused.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import Q
from scim2_models import (
    InvalidFilterException,
    InvalidValueException,
    NotFoundException,
    Resource,
    ResourceType,
    ResponseParameters,
    SearchRequest,
)
from scim2_server.storage import ScimStorage, SearchPage

from policies.engine.model import Actor
from policies.identity.scim import filters, member_patches, request_bodies, resource_mapping, stored_attributes
from policies.identity.scim import queries as scim_queries
from policies.identity.scim.member_patches import MemberDelta
from policies.identity.scim.schemas import MAX_PAGE_SIZE
from policies.identity.services import groups, scim_provisioning, users
from policies.models import GroupProfile, User
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work

#: Channel of SCIM writes in the change log.
CHANNEL = "scim"

StorageParameters = ResponseParameters[Any] | None


class PeopleStorage(ScimStorage):
    """Storage for one request of one caller."""

    def __init__(self, *, by: Actor, is_writing: bool) -> None:
        self.by = by
        self.is_writing = is_writing
        self.uow: UnitOfWork

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Run a request, in a unit of work if it writes."""
        if not self.is_writing:
            yield
            return
        with open_unit_of_work(by=self.by, channel=CHANNEL) as self.uow:
            yield

    def get(
        self, resource_type: ResourceType, resource_id: str, *, response_parameters: StorageParameters = None
    ) -> Resource[Any]:
        """Return one resource; raises NotFoundException."""
        row = self._get_row(resource_type, resource_id)
        pending_events = self.uow.events if self.is_writing else ()
        return scim_queries.load_resources([row], resource_type, response_parameters, pending_events)[0]

    def search(self, resource_types: list[ResourceType], search_request: Any, *, position: Any = None) -> SearchPage:  # noqa: ARG002 - no cursors
        """Return a page of resources: users before groups, each in the order of creation, or in that which is asked."""
        start = search_request.start_index_0 or 0
        remaining_count = MAX_PAGE_SIZE if search_request.count is None else search_request.count
        total = 0
        resources: list[Resource[Any]] = []
        for resource_type in resource_types:
            queryset = scim_queries.list_rows(resource_type)
            if search_request.filter is not None:
                queryset = queryset.filter(_build_condition(search_request.filter, resource_type, len(resource_types)))
            order = _list_order(search_request, resource_type, len(resource_types))
            count = queryset.count()
            first_index = max(start - total, 0)
            if remaining_count > 0 and first_index < count:
                rows = list(queryset.order_by(*order)[first_index : first_index + remaining_count])
                resources += scim_queries.load_resources(rows, resource_type, search_request)
                remaining_count -= len(rows)
            total += count
        return SearchPage(total, resources)

    def create(self, resource_type: ResourceType, resource: Any) -> Resource[Any]:
        """Create a resource and return it; raises as the services."""
        row: User | GroupProfile
        if scim_queries.is_user(resource_type):
            row = scim_provisioning.create_user(
                username=resource.user_name, attributes=resource_mapping.parse_user(resource), uow=self.uow
            )
        else:
            row = scim_provisioning.create_group(
                name=resource.display_name,
                external_id=resource.external_id or "",
                members=_get_users(list(member_patches.parse_members(resource.members).added_ids)),
                uow=self.uow,
            )
        return self.get(resource_type, str(row.scim_id))

    def update(
        self,
        resource_type: ResourceType,
        resource: Any,
        *,
        expected_version: str | None = None,  # noqa: ARG002 - no versions: a change reads what it writes
    ) -> Resource[Any]:
        """Store the new state of a resource and return it; raises NotFoundException, and as the services."""
        if scim_queries.is_user(resource_type):
            user, attributes = self._get_row(resource_type, resource.id), resource_mapping.parse_user(resource)
            for name, value in attributes.other_attributes.items():
                if isinstance(value, list):
                    request_bodies.check_growth(name, before=len(user.delivered.get(name, ())), after=len(value))
            scim_provisioning.update_user(user=user, attributes=attributes, uow=self.uow)
        else:
            self.change_group(resource_type, resource, member_patches.parse_members(resource.members))
        return self.get(resource_type, resource.id)

    def change_group(self, resource_type: ResourceType, resource: Any, delta: MemberDelta) -> None:
        """Store the name and external id of a group and add and remove members; raises as `update`."""
        group = self._get_row(resource_type, resource.id)
        if len(delta.added_ids) + len(delta.removed_ids) > member_patches.MAX_CHANGED_MEMBERS:
            raise InvalidValueException(
                detail=f"One request changes up to {member_patches.MAX_CHANGED_MEMBERS} members of a group."
            )
        members_by_id = scim_queries.load_external_members(
            group, None if delta.is_replacement else {*delta.added_ids, *delta.removed_ids}
        )
        scim_provisioning.update_group(
            group=group,
            name=resource.display_name,
            external_id=resource.external_id or "",
            added_users=_get_users([key for key in delta.added_ids if key not in members_by_id]),
            removed_users=[user for key, user in members_by_id.items() if key not in delta.added_ids],
            uow=self.uow,
        )

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Delete a resource; raises NotFoundException, and as the services."""
        remove = users.remove if scim_queries.is_user(resource_type) else groups.remove
        remove(urn=self._get_row(resource_type, resource_id).urn, by=self.by, channel=CHANNEL)

    def _get_row(self, resource_type: ResourceType, resource_id: str) -> Any:
        key = filters.parse_id(resource_id)
        row = None if key is None else scim_queries.list_rows(resource_type).filter(scim_id=key).first()
        if row is None:
            raise NotFoundException(detail=f"There is no {str(resource_type.name).lower()} {resource_id!r}.")
        return row


def _build_condition(scim_filter: Any, resource_type: ResourceType, type_count: int) -> Q:
    """Return the condition of a filter; if several types are searched, a filter invalid for this one matches no row."""
    try:
        return filters.build_condition(scim_filter.ast, str(resource_type.name))
    except InvalidFilterException:
        if type_count == 1:
            raise
        return filters.NO_ROWS


def _list_order(search_request: Any, resource_type: ResourceType, type_count: int) -> list[Any]:
    """Return the order of rows; if several types are searched, those that lack the attribute keep their own."""
    if search_request.sort_by is None:
        return ["pk"]
    is_descending = search_request.sort_order == SearchRequest.SortOrder.descending
    try:
        name = str(resource_type.name)
        return stored_attributes.list_order(name, str(search_request.sort_by), is_descending=is_descending)
    except InvalidValueException:
        if type_count == 1:
            raise
        return ["pk"]


def _get_users(ids: Collection[uuid.UUID]) -> list[User]:
    """Return the users with these ids, in their order. Raises InvalidValueException for unknown ids."""
    users_by_id = {user.scim_id: user for user in scim_queries.list_people().filter(scim_id__in=ids)} if ids else {}
    if unknown_ids := [str(key) for key in ids if key not in users_by_id]:
        raise InvalidValueException(detail=f"There are no users {', '.join(unknown_ids[:10])}.")
    return [users_by_id[key] for key in ids]
