"""Aspects of external roles: roles of Snowflake, BigQuery and the like, described here and enforced there."""

from typing import Any

from catalog.aspects.base import AspectFacts, DocumentPart, GroupUrn, Name, OwnedAspect, RoleUrn, UserUrn, facet_values
from catalog.aspects.facet_fields import ACCESS_ROLE, ROLE_GROUP, ROLE_TYPE, ROLE_USER
from catalog.urns import Urn
from policies.models.fields import is_storable

#: Maximum length of a type that lists filter by, in characters.
_MAX_ROLE_TYPE_LENGTH = 64


class RoleProperties(OwnedAspect):
    """Name, purpose and request URL of an external role."""

    name: Name
    description: str | None = None
    type: str | None = None
    requestUrl: str | None = None  # noqa: N815 - DataHub's key
    created: dict[str, Any] | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name, and the type for filters in capitals, as the sources write READ and WRITE."""
        type_ = (self.type or "").strip().upper()[:_MAX_ROLE_TYPE_LENGTH]
        return AspectFacts(facet_values(ROLE_TYPE, [type_] if is_storable(type_) and type_ else []), name=self.name)


class RoleUser(DocumentPart):
    """A user who holds the role."""

    is_closed = True
    user: UserUrn


class RoleGroup(DocumentPart):
    """A group whose members hold the role."""

    is_closed = True
    group: GroupUrn


class ActorsAspect(OwnedAspect):
    """The holders of an external role."""

    is_closed = True
    users: list[RoleUser] | None = None
    groups: list[RoleGroup] | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        users = facet_values(ROLE_USER, (entry.user for entry in self.users or ()))
        groups = facet_values(ROLE_GROUP, (entry.group for entry in self.groups or ()))
        return AspectFacts(users + groups)


class RoleEntry(DocumentPart):
    """One external role."""

    is_closed = True
    urn: RoleUrn


class AccessAspect(OwnedAspect):
    """The external roles that open a dataset."""

    is_closed = True
    roles: list[RoleEntry] | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(ACCESS_ROLE, (entry.urn for entry in self.roles or ())))
