"""Access tokens (clients.md 2.3). The text of one is answered when it is made, and never again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ariadne import MutationType, ObjectType, QueryType

from catalog.protocols.datahub_graphql import paging
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens
from policies.models import AccessToken
from policies.models.fields import storable
from policies.pdp import authorizer
from policies.writes import required_privileges

TYPE = "dataHubAccessToken"
PREFIX = f"urn:li:{TYPE}:"

#: What a list is narrowed by → the column it is in: who acts with a token, and who made it.
_FIELDS: Mapping[str, str] = {"actorUrn": "user__urn", "ownerUrn": "created_by"}

#: Most filters of a list, and most values of one.
MOST = 200

query = QueryType()
mutation = MutationType()
metadata = ObjectType("AccessTokenMetadata")


@dataclass(frozen=True, slots=True)
class Shown:
    """A token as an entity to answer with."""

    token: AccessToken

    @property
    def urn(self) -> str:
        """Its URN."""
        return f"{PREFIX}{self.token.pk}"

    @property
    def kind(self) -> str:
        """The type that its URN names."""
        return TYPE


@mutation.field("createAccessToken")
def create(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make a token for oneself, for somebody else or for a service account."""
    made = access_tokens.create(
        owner=input["actorUrn"],
        is_for_service=input["type"] == "SERVICE_ACCOUNT",
        name=input["name"],
        description=input.get("description") or "",
        duration=input["duration"],
        by=info.context.by,
        door=DOOR,
    )
    return {"accessToken": made.text, "metadata": Shown(made.token)}


@mutation.field("revokeAccessToken")
def revoke(_root: None, info: Info, *, tokenId: str) -> bool:  # noqa: N803  # the schema's
    """End a token at once."""
    access_tokens.revoke(token_id=tokenId.removeprefix(PREFIX), by=info.context.by, door=DOOR)
    return True


@query.field("listAccessTokens")
def list_tokens(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of tokens that have not ended, newest first."""
    wanted = _wanted(input.get("filters") or ())
    by = info.context.by
    authorizer.require(by=by, requirement=_requirement(wanted, by))
    rows = credentials.tokens()
    for name, values in wanted.items():
        rows = rows.filter(**{f"{_FIELDS[name]}__in": storable(values)})
    return paging.part(rows, input, "tokens", lambda found: [Shown(row) for row in found])


@metadata.field("id")
def id_(shown: Shown, _info: Info) -> str:
    """Return its id."""
    return str(shown.token.pk)


@metadata.field("name")
def name(shown: Shown, _info: Info) -> str:
    """Return its name."""
    return shown.token.name


@metadata.field("description")
def description(shown: Shown, _info: Info) -> str:
    """Return what it is for."""
    return shown.token.description


@metadata.field("actorUrn")
def actor(shown: Shown, _info: Info) -> str:
    """Return who acts with it."""
    return str(shown.token.user.urn)


@metadata.field("ownerUrn")
def owner(shown: Shown, _info: Info) -> str:
    """Return who made it."""
    return str(shown.token.created_by)


@metadata.field("createdAt")
def created_at(shown: Shown, _info: Info) -> int:
    """Return when it was made, in milliseconds."""
    return milliseconds(shown.token.created_at)


@metadata.field("expiresAt")
def expires_at(shown: Shown, _info: Info) -> int | None:
    """Return when it ends, in milliseconds; nothing for one that never does."""
    return None if shown.token.expires_at is None else milliseconds(shown.token.expires_at)


def milliseconds(moment: datetime) -> int:
    """Return a time as clients read it: milliseconds since 1970."""
    return int(moment.timestamp() * 1000)


def _wanted(filters: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return field → the values one of which it has; raises Invalid for what a list of tokens is not narrowed by."""
    if len(filters) > MOST or any(len(one.get("values") or ()) > MOST for one in filters):
        detail = f"A list of tokens has at most {MOST} filters of as many values."
        raise Invalid.one(code="filter.large", pointer="/filters", detail=detail)
    problems: list[Problem] = []
    wanted: dict[str, list[str]] = {}
    for place, one in enumerate(filters):
        field = one["field"]
        if field not in _FIELDS:
            detail = f"Tokens are listed by {' and '.join(_FIELDS)}."
            problems.append(Problem("filter.field", f"/filters/{place}/field", detail))
            continue
        if one.get("negated") or one.get("condition") not in (None, "EQUAL", "IN"):
            detail = "The condition is EQUAL or IN, not negated."
            problems.append(Problem("filter.condition", f"/filters/{place}/condition", detail))
        given = [*(one.get("values") or ()), *([one["value"]] if one.get("value") else [])]
        wanted[field] = given if field not in wanted else [value for value in wanted[field] if value in given]
    if problems:
        raise Invalid(problems)
    return wanted


def _requirement(wanted: Mapping[str, Sequence[str]], by: Actor) -> Requirement:
    """Return what a list needs: that of one actor what making it a token does, else that of what one made oneself."""
    actors, makers = wanted.get("actorUrn"), wanted.get("ownerUrn")
    if actors is not None and len(actors) == 1:
        return access_tokens.requirement_for(owner=actors[0], user=users_groups_roles.stored_user(urn=actors[0]), by=by)
    return required_privileges.OWN_TOKEN if makers == [by.urn] else required_privileges.TOKENS_OF_OTHERS


BINDABLES = (query, mutation, metadata)
