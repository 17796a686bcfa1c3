"""Service accounts: users for programs (clients.md 2.3)."""

from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType
from django.db.models import Q

from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import paging
from catalog.protocols.datahub_graphql.access_tokens import to_milliseconds
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from policies.identity.queries import users_groups_roles
from policies.identity.services import service_accounts
from policies.models import User
from policies.pdp import authorizer
from policies.writes import required_privileges

query = QueryType()
mutation = MutationType()


@query.field("listServiceAccounts")
def list_accounts(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of service accounts, by URN."""
    authorizer.require(by=info.context.by, requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS)
    rows = users_groups_roles.list_users(
        q=paging.query_words(input), kind=User.Kind.SERVICE, address_condition=Q()
    ).prefetch_related(None)
    return paging.load_page(
        rows, input, "serviceAccounts", lambda page_rows: [_render_account(row) for row in page_rows]
    )


@query.field("getServiceAccount")
def get_account(_root: None, info: Info, *, urn: str) -> Mapping[str, Any]:
    """Return one service account. Raises NotFound, also for a person."""
    authorizer.require(by=info.context.by, requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS)
    return _render_account(service_accounts.get(urn=urn))


@mutation.field("createServiceAccount")
def create_account(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Create a service account with a generated user name."""
    account = service_accounts.create(
        display_name=input["displayName"],
        description=input.get("description") or "",
        by=info.context.by,
        channel=CHANNEL,
    )
    return _render_account(account)


@mutation.field("deleteServiceAccount")
def delete_account(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a service account with its tokens. Raises NotFound, also for a person."""
    by = info.context.by
    authorizer.require(by=by, requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS)
    deletes.delete(urn=service_accounts.get(urn=urn).urn, by=by, channel=CHANNEL)
    return True


def _render_account(user: User) -> dict[str, Any]:
    return {
        "urn": user.urn,
        "type": "CORP_USER",
        "name": user.username.removeprefix(service_accounts.USERNAME_PREFIX),
        "displayName": user.name,
        # Programs that write the account as aspects put its description into the title.
        "description": user.description or user.title or None,
        "createdBy": user.created_by,
        "createdAt": to_milliseconds(user.created_at),
    }


BINDABLES = (query, mutation)
