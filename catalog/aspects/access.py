"""Aspects of external roles: roles of Snowflake, BigQuery and the like, described here and enforced there."""

from typing import Any

from catalog.aspects.base import (
    ACCESS_ROLE,
    ROLE_GROUP,
    ROLE_TYPE,
    ROLE_USER,
    Aspect,
    Facts,
    GroupUrn,
    Name,
    RoleUrn,
    Shape,
    UserUrn,
    values,
)
from catalog.urns import Urn
from policies.models.fields import is_storable

#: Longest type that lists are filtered by, in characters.
_TYPE_LENGTH = 64


class RoleProperties(Aspect):
    """What an external role is called, what it is for and where to ask for it."""

    name: Name
    description: str | None = None
    type: str | None = None
    requestUrl: str | None = None  # noqa: N815 - DataHub's key
    created: dict[str, Any] | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name, and the type as it is filtered by: in capitals, as the sources write READ and WRITE."""
        type_ = (self.type or "").strip().upper()[:_TYPE_LENGTH]
        return Facts(values(ROLE_TYPE, [type_] if is_storable(type_) and type_ else []), name=self.name)


class RoleUser(Shape):
    """A user who holds the role."""

    is_closed = True
    user: UserUrn


class RoleGroup(Shape):
    """A group whose members hold the role."""

    is_closed = True
    group: GroupUrn


class Actors(Aspect):
    """Who holds an external role."""

    is_closed = True
    users: list[RoleUser] | None = None
    groups: list[RoleGroup] | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return users and groups."""
        users = values(ROLE_USER, (entry.user for entry in self.users or ()))
        groups = values(ROLE_GROUP, (entry.group for entry in self.groups or ()))
        return Facts(users + groups)


class RoleEntry(Shape):
    """One external role."""

    is_closed = True
    urn: RoleUrn


class Access(Aspect):
    """The external roles through which a dataset can be reached."""

    is_closed = True
    roles: list[RoleEntry] | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the roles."""
        return Facts(values(ACCESS_ROLE, (entry.urn for entry in self.roles or ())))
