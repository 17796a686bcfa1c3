"""SCIM schemas: only stored attributes are declared, since clients read the schemas to learn what is stored.

The library's own user has more attributes (passwords, certificates, photos); undeclared ones are ignored in bodies.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from scim2_models import (
    URN,
    Address,
    AnyExtension,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Extension,
    External,
    Filter,
    GroupMembership,
    Mutability,
    Name,
    Patch,
    PhoneNumber,
    Reference,
    Required,
    Resource,
    ResourceType,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

#: Maximum number of resources on a page of a list.
MAX_PAGE_SIZE = 200

ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"


class Email(ComplexAttribute):
    """An email address, as plain text: the library's own type rejects addresses inside a company (`jo@corp.local`)."""

    value: str | None = None
    display: str | None = None
    type: str | None = Field(None, examples=["work", "home", "other"])
    primary: bool | None = None


class User(Resource[AnyExtension]):
    """A person. The user name cannot be changed, since it is part of the URN that policies and owners use."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true, Mutability.immutable] = None
    name: Name | None = None
    display_name: str | None = None
    nick_name: str | None = None
    profile_url: Reference[External] | None = None
    title: str | None = None
    user_type: str | None = None
    preferred_language: str | None = None
    locale: str | None = None
    timezone: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    phone_numbers: list[PhoneNumber] | None = None
    addresses: list[Address] | None = None
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None

    # The library reads the type of a complex attribute from a class attribute with its name.
    Name: ClassVar[type[ComplexAttribute]] = Name
    Emails: ClassVar[type[ComplexAttribute]] = Email
    PhoneNumbers: ClassVar[type[ComplexAttribute]] = PhoneNumber
    Addresses: ClassVar[type[ComplexAttribute]] = Address
    Groups: ClassVar[type[ComplexAttribute]] = GroupMembership


class Manager(ComplexAttribute):
    """The manager of a user. The library's own type requires a link, which neither Okta nor Entra sends."""

    value: Annotated[str | None, CaseExact.true] = None
    display_name: str | None = None


class Enterprise(Extension):
    """Attributes of a user within a company."""

    __schema__ = URN(ENTERPRISE_SCHEMA)

    employee_number: str | None = None
    cost_center: str | None = None
    organization: str | None = None
    division: str | None = None
    department: str | None = None
    manager: Manager | None = None

    Manager: ClassVar[type[ComplexAttribute]] = Manager


if TYPE_CHECKING:
    _UserReference = Reference[Any]
else:
    _UserReference = Reference["User"]


class Member(ComplexAttribute):
    """A user in a group; groups do not nest."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[_UserReference | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class Group(Resource[Any]):
    """A group and its external members."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[Member] | None = None

    Members: ClassVar[type[ComplexAttribute]] = Member


_CONFIG = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MAX_PAGE_SIZE),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=True),
    etag=ETag(supported=False),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="Bearer token",
            description="A token of a service account that holds MANAGE_USERS_AND_GROUPS.",
            primary=True,
        )
    ],
)

#: Adapted to large identity providers: `Remove` with a value, filters that describe a new entry, unknown attributes.
_POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)

PROVIDER = ScimProvider(
    models=(User, Enterprise, Group),
    resource_types=(ResourceType.from_resource(User[Enterprise]), ResourceType.from_resource(Group)),
    config=_CONFIG,
    policy=_POLICY,
)
