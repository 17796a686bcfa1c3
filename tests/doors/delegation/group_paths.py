"""Paths into a group that holds more."""

from tests.doors.conftest import proposal
from tests.doors.delegation.calls import Paths, quote_urn
from tests.doors.delegation.world import PLAIN, USER

SCIM_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
SCIM_GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ADD = "mutation ($input: AddGroupMembersInput!) { addGroupMembers(input: $input) }"


GROUP_PATHS: Paths = {
    "members by API": (
        "delegate",
        "api",
        lambda call: call.add_members(PLAIN),
    ),
    "members by API with UPDATE_GROUPS": (
        "updater",
        "api",
        lambda call: call.add_members(PLAIN),
    ),
    "members by API with EDIT_ENTITY": (
        "editor",
        "api",
        lambda call: call.add_members(f"{USER}editor"),
    ),
    "members by API with EDIT_GROUP_MEMBERS": (
        "membership",
        "api",
        lambda call: call.add_members(f"{USER}membership"),
    ),
    "a new group with members by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "groups/", {"id": f"new-{call.privilege}", "name": "New", "members": [PLAIN]}),
    ),
    "a new user with groups by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "users/", {"username": "fresh", "groups": [call.group("in")]}),
    ),
    "members by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/groups/add/{quote_urn(call.group('in'))}", members=[PLAIN]),
    ),
    "groups of a user by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/groups/{quote_urn(PLAIN)}", groups=[call.group("in")]),
    ),
    "a new user with groups by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/new", username="fresh", groups=[call.group("in")]),
    ),
    "a new group with members by page": (
        "delegate",
        "page",
        lambda call: call.page(
            "/settings/identities/groups/new", name="New", identifier=f"new-{call.privilege}", members=[PLAIN]
        ),
    ),
    "nativeGroupMembership": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "nativeGroupMembership", {"nativeGroups": [call.group("in")]})),
    ),
    "nativeGroupMembership with EDIT_GROUP_MEMBERS": (
        "membership",
        "gms",
        lambda call: call.gms(
            proposal(f"{USER}membership", "nativeGroupMembership", {"nativeGroups": [call.group("in")]})
        ),
    ),
    "groupMembership": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "groupMembership", {"groups": [call.group("source")]})),
    ),
    "groupMembership of a group that is not there": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "groupMembership", {"groups": [call.group("new")]})),
    ),
    "a batch": (
        "delegate",
        "gms",
        lambda call: call.gms(
            proposal(PLAIN, "corpUserInfo", {"active": True, "displayName": "Plain"}),
            proposal(PLAIN, "nativeGroupMembership", {"nativeGroups": [call.group("in")]}),
        ),
    ),
    "a snapshot": (
        "delegate",
        "gms",
        lambda call: call.snapshot(
            PLAIN,
            "com.linkedin.metadata.snapshot.CorpUserSnapshot",
            **{"com.linkedin.identity.NativeGroupMembership": {"nativeGroups": [call.group("in")]}},
        ),
    ),
    "OpenAPI": (
        "delegate",
        "gms",
        lambda call: call.openapi("corpuser", PLAIN, nativeGroupMembership={"nativeGroups": [call.group("in")]}),
    ),
    "a patch": (
        "delegate",
        "gms",
        lambda call: call.patch(
            PLAIN,
            "nativeGroupMembership",
            [{"op": "add", "path": "/nativeGroups", "value": [call.group("in")]}],
        ),
    ),
    "addGroupMembers": (
        "delegate",
        "graphql",
        lambda call: call.graphql(ADD, input={"groupUrn": call.group("in"), "userUrns": [PLAIN]}),
    ),
    "SCIM, a member": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "PATCH",
            f"/Groups/{call.scim_id(call.group('source'))}",
            {
                "schemas": [SCIM_PATCH],
                "Operations": [{"op": "add", "path": "members", "value": [{"value": call.scim_id(PLAIN)}]}],
            },
        ),
    ),
    "SCIM, all members": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "PUT",
            f"/Groups/{call.scim_id(call.group('source'))}",
            {
                "schemas": [SCIM_GROUP],
                "displayName": f"S {call.privilege}",
                "members": [{"value": call.scim_id(PLAIN)}],
            },
        ),
    ),
    "SCIM, a new group with members": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "POST",
            "/Groups",
            {
                "schemas": [SCIM_GROUP],
                "displayName": f"new-{call.privilege}",
                "members": [{"value": call.scim_id(PLAIN)}],
            },
        ),
    ),
    "a group that is there again": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.group("gone"), "status", {"removed": False})),
    ),
}
