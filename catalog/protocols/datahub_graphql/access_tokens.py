"""Access tokens (clients.md 2.3). The text of a token is returned only when it is created."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ariadne import MutationType, ObjectType, QueryType

from catalog.protocols.datahub_graphql import paging
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens
from policies.models import AccessToken
from policies.models.fields import filter_storable
from policies.pdp import authorizer
from policies.writes import required_privileges

ENTITY_TYPE = "dataHubAccessToken"
TOKEN_URN_PREFIX = f"urn:li:{ENTITY_TYPE}:"

#: Filter of a list → its column: the user that a token acts as, and its creator.
_FILTER_COLUMNS: Mapping[str, str] = {"actorUrn": "user__urn", "ownerUrn": "created_by"}

#: Most filters of a list, and most values of one filter.
MAX_FILTERS = 200

query = QueryType()
mutation = MutationType()
metadata_type = ObjectType("AccessTokenMetadata")


@dataclass(frozen=True, slots=True)
class TokenNode:
    """An access token as an entity in a response."""

    token: AccessToken

    @property
    def urn(self) -> str:
        """URN of the token."""
        return f"{TOKEN_URN_PREFIX}{self.token.pk}"

    @property
    def kind(self) -> str:
        """Entity type in the URN."""
        return ENTITY_TYPE


@mutation.field("createAccessToken")
def create_token(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Create an access token for the caller, another user or a service account."""
    new_token = access_tokens.create(
        owner=input["actorUrn"],
        is_for_service=input["type"] == "SERVICE_ACCOUNT",
        name=input["name"],
        description=input.get("description") or "",
        duration=input["duration"],
        by=info.context.by,
        channel=CHANNEL,
    )
    return {"accessToken": new_token.text, "metadata": TokenNode(new_token.token)}


@mutation.field("revokeAccessToken")
def revoke_token(_root: None, info: Info, *, tokenId: str) -> bool:  # noqa: N803  # the schema's
    """Revoke a token at once."""
    access_tokens.revoke(token_id=tokenId.removeprefix(TOKEN_URN_PREFIX), by=info.context.by, channel=CHANNEL)
    return True


@query.field("listAccessTokens")
def list_tokens(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of tokens that are neither revoked nor expired, newest first."""
    values_by_field = _parse_filters(input.get("filters") or ())
    by = info.context.by
    authorizer.require(by=by, requirement=_find_requirement(values_by_field, by))
    rows = credentials.list_tokens()
    for name, values in values_by_field.items():
        rows = rows.filter(**{f"{_FILTER_COLUMNS[name]}__in": filter_storable(values)})
    return paging.load_page(rows, input, "tokens", lambda page_rows: [TokenNode(row) for row in page_rows])


def to_milliseconds(moment: datetime) -> int:
    """Return a time in milliseconds since 1970."""
    return int(moment.timestamp() * 1000)


#: Field of a token → its value.
_METADATA: Mapping[str, Callable[[AccessToken], Any]] = {
    "id": lambda token: str(token.pk),
    "name": lambda token: token.name,
    "description": lambda token: token.description,
    "actorUrn": lambda token: token.user.urn,
    "ownerUrn": lambda token: token.created_by,
    "createdAt": lambda token: to_milliseconds(token.created_at),
    "expiresAt": lambda token: None if token.expires_at is None else to_milliseconds(token.expires_at),
}


def resolve_metadata(token_node: TokenNode, info: Info) -> Any:
    """Return a field of a token; times in milliseconds since 1970."""
    return _METADATA[info.field_name](token_node.token)


for _field in _METADATA:
    metadata_type.set_field(_field, resolve_metadata)


def _parse_filters(filters: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return filter field → accepted values. Raises Invalid for too many filters and for unsupported ones."""
    if len(filters) > MAX_FILTERS or any(len(criterion.get("values") or ()) > MAX_FILTERS for criterion in filters):
        detail = f"A list of tokens has at most {MAX_FILTERS} filters of as many values."
        raise Invalid.from_problem(code="filter.large", pointer="/filters", detail=detail)
    problems: list[Problem] = []
    values_by_field: dict[str, list[str]] = {}
    for index, criterion in enumerate(filters):
        field = criterion["field"]
        if field not in _FILTER_COLUMNS:
            detail = f"Tokens are listed by {' and '.join(_FILTER_COLUMNS)}."
            problems.append(Problem("filter.field", f"/filters/{index}/field", detail))
            continue
        if criterion.get("negated") or criterion.get("condition") not in (None, "EQUAL", "IN"):
            detail = "The condition is EQUAL or IN, not negated."
            problems.append(Problem("filter.condition", f"/filters/{index}/condition", detail))
        criterion_values = [*(criterion.get("values") or ()), *([criterion["value"]] if criterion.get("value") else [])]
        values_by_field[field] = (
            criterion_values
            if field not in values_by_field
            else [value for value in values_by_field[field] if value in criterion_values]
        )
    if problems:
        raise Invalid(problems)
    return values_by_field


def _find_requirement(values_by_field: Mapping[str, Sequence[str]], by: Actor) -> Requirement:
    """Return the requirement of a list: for one actor that of creating its tokens, else of managing own or others'."""
    actor_urns, owner_urns = values_by_field.get("actorUrn"), values_by_field.get("ownerUrn")
    if actor_urns is not None and len(actor_urns) == 1:
        return access_tokens.creation_requirement(
            owner=actor_urns[0], user=users_groups_roles.find_user(urn=actor_urns[0]), by=by
        )
    return required_privileges.MANAGE_OWN_TOKENS if owner_urns == [by.urn] else required_privileges.MANAGE_OTHERS_TOKENS


BINDABLES = (query, mutation, metadata_type)
