"""Paths to an account, a role or a credential that gives more."""

import json
from typing import Any

from django.test import Client

from tests.doors.conftest import proposal
from tests.doors.delegation.calls import JSON, Calling, Paths, quote_urn
from tests.doors.delegation.world import PASSWORD

SCIM_USER = "urn:ietf:params:scim:schemas:core:2.0:User"
TOKEN = "mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }"
RESET = (
    "mutation ($input: CreateNativeUserResetTokenInput!) { createNativeUserResetToken(input: $input) { resetToken } }"
)
INVITE = "mutation ($input: CreateInviteTokenInput!) { createInviteToken(input: $input) { inviteToken } }"
INVITED = "query ($input: GetInviteTokenInput!) { getInviteToken(input: $input) { inviteToken } }"
ENTRY = {"userName": "", "schemas": [SCIM_USER]}


def _signs_up(call: Calling) -> Any:
    fields = {"username": f"new-{call.privilege}", "password": PASSWORD, "again": PASSWORD}
    return Client().post(f"/signup?invite_token={call.invitation()}", fields)


def _signs_up_at_the_door(call: Calling) -> Any:
    body = {
        "userUrn": call.user("new"),
        "email": "new@example.com",
        "fullName": "New",
        "title": "",
        "password": PASSWORD,
        "inviteToken": call.invitation(),
    }
    return Client().post("/signUp", json.dumps(body), content_type=JSON)


ACCOUNT_PATHS: Paths = {
    # A user whom a policy names already.
    "a new user by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "users/", {"username": f"new-{call.privilege}"}),
    ),
    "a new user by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/new", username=f"new-{call.privilege}"),
    ),
    "a new user by ingestion": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.user("new"), "corpUserInfo", {"active": True})),
    ),
    "a new program by ingestion": (
        "robots",
        "gms",
        lambda call: call.gms(proposal(call.user("new"), "subTypes", {"typeNames": ["SERVICE_ACCOUNT"]})),
    ),
    "a new user by OpenAPI": (
        "delegate",
        "gms",
        lambda call: call.openapi("corpuser", call.user("new"), corpUserInfo={"active": True}),
    ),
    "a new user by SCIM": (
        "delegate",
        "scim",
        lambda call: call.scim_call("POST", "/Users", ENTRY | {"userName": f"new-{call.privilege}"}),
    ),
    "signing up by page": ("delegate", "page", _signs_up),
    "signing up by DataHub's door": ("delegate", "gms", _signs_up_at_the_door),
    # An account that is let in again.
    "activating by API": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{quote_urn(call.user('off'))}/", {"state": "ACTIVE"}),
    ),
    "activating by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/activate/{quote_urn(call.user('off'))}"),
    ),
    "activating by ingestion": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.user("off"), "corpUserStatus", {"status": "ACTIVE"})),
    ),
    "activating a program by API": (
        "robots",
        "api",
        lambda call: call.api("PATCH", f"service-accounts/{quote_urn(call.user('sleeping'))}/", {"state": "ACTIVE"}),
    ),
    "activating a program by page": (
        "robots",
        "page",
        lambda call: call.page(
            f"/settings/identities/service-accounts/state/{quote_urn(call.user('sleeping'))}", state="ACTIVE"
        ),
    ),
    # A role, by an invitation.
    "an invitation by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "invite-tokens/", {"role": call.role}),
    ),
    "an invitation by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/invite", role=call.role, duration="ONE_DAY"),
    ),
    "createInviteToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(INVITE, input={"roleUrn": call.role}),
    ),
    "getInviteToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(INVITED, input={"roleUrn": call.role}),
    ),
    # A credential of somebody who holds more.
    "a token by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "tokens/", {"name": "x", "actor": call.user("held")}),
    ),
    "a token by page": (
        "delegate",
        "page",
        lambda call: call.page(
            f"/settings/tokens/new?owner={quote_urn(call.user('held'))}", name="x", duration="ONE_DAY"
        ),
    ),
    "a token of a program by API": (
        "robots",
        "api",
        lambda call: call.api("POST", f"service-accounts/{quote_urn(call.user('robot'))}/tokens/", {"name": "x"}),
    ),
    "a token of a program by page": (
        "robots",
        "page",
        lambda call: call.page(
            f"/settings/tokens/new?owner={quote_urn(call.user('robot'))}", name="x", duration="ONE_DAY"
        ),
    ),
    "createAccessToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(
            TOKEN,
            input={"type": "PERSONAL", "actorUrn": call.user("held"), "duration": "ONE_DAY", "name": "x"},
        ),
    ),
    "createAccessToken of a program": (
        "robots",
        "graphql",
        lambda call: call.graphql(
            TOKEN,
            input={"type": "SERVICE_ACCOUNT", "actorUrn": call.user("robot"), "duration": "ONE_DAY", "name": "x"},
        ),
    ),
    "a password by API": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{quote_urn(call.user('held'))}/", {"password": PASSWORD}),
    ),
    "a password of a suspended account": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{quote_urn(call.user('off'))}/", {"password": PASSWORD}),
    ),
    "a reset link by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/reset/{quote_urn(call.user('held'))}"),
    ),
    "createNativeUserResetToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(RESET, input={"userUrn": call.user("held")}),
    ),
}
