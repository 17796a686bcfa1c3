"""No call of SCIM, AuthZEN, DataHub's REST protocols or the sign-in holds the interpreter for long.

These have no description of their own here, so the members that any of their calls reads stand in schemas below.
"""

import pytest
from django.test import Client

from authzsite.middleware import find_body_limit
from catalog.protocols.authzen import request_models
from catalog.protocols.datahub_rest import request_bodies as gms_bodies
from catalog.protocols.datahub_rest import views as gms
from policies.identity.scim import member_patches
from policies.identity.scim import request_bodies as scim_bodies
from tests.limits.conftest import Objects
from tests.limits.costs import MAX_SECONDS, Costs
from tests.limits.shapes import Body, Room, Schema, Shapes, encode, list_raw_bodies

TEXT: Schema = {"type": "string"}
ANYTHING: Schema = {}
#: What the rest of a body may take beside the part that is as large as can be.
AROUND = 4_000

SCIM_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:"
SCIM_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


def make_object(**properties: Schema) -> Schema:
    """Return the schema of an object that needs none of these."""
    return {"type": "object", "properties": properties}


def make_list(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


PROPOSAL = make_object(entityUrn=TEXT, aspectName=TEXT, aspect=make_object(value=TEXT), headers=ANYTHING)
CRITERION = make_object(field=TEXT, condition=TEXT, values=make_list(TEXT))
FILTER = make_object(**{"or": make_list(make_object(**{"and": make_list(CRITERION)}))})
PARTY = make_object(type=TEXT, id=TEXT, properties=ANYTHING)
VALUE = make_object(value=TEXT, type=TEXT, display=TEXT)
OPERATION = make_object(op=TEXT, path=TEXT, value=ANYTHING)
ACTION = make_object(name=TEXT)
REST = make_object(proposal=PROPOSAL, entity=ANYTHING, aspect=TEXT, urn=TEXT, input=TEXT, filter=FILTER, runId=TEXT)
AUTHZEN = make_object(
    subject=PARTY,
    resource=PARTY,
    action=make_object(name=TEXT, properties=ANYTHING),
    context=ANYTHING,
    evaluations=make_list(make_object(subject=PARTY, resource=PARTY, action=ACTION)),
)
#: A request for access; without `resource` and `action` beside them, which every call of AuthZEN reads alike.
SUBMISSION = make_object(
    subject=PARTY,
    items=make_list(make_object(resource=PARTY, action=ACTION, denial=make_object(evaluation_id=TEXT))),
    context=ANYTHING,
    client=ANYTHING,
)
SCIM = make_object(
    schemas=make_list(TEXT),
    userName=TEXT,
    displayName=TEXT,
    name=make_object(familyName=TEXT),
    emails=make_list(VALUE),
    members=make_list(VALUE),
    Operations=make_list(OPERATION),
    filter=TEXT,
    attributes=make_list(TEXT),
)
SIGNING = make_object(username=TEXT, password=TEXT, email=TEXT, fullName=TEXT, inviteToken=TEXT)
ENTITIES = make_list(make_object(urn=TEXT, status=make_object(value=ANYTHING)))
SCROLL = make_object(entities=make_list(TEXT), aspects=make_list(TEXT), filter=FILTER)
PATCH = make_object(value=ANYTHING, patch=make_list(make_object(op=TEXT, path=TEXT, value=ANYTHING)))
BATCH = make_object(proposals=make_list(PROPOSAL))

#: Address → (method, schema, commas and brackets).
CALLS: dict[str, tuple[str, Schema, int]] = {
    **{f"/aspects?action={action}": ("POST", REST, gms_bodies.MAX_SIGNS) for action in gms._ASPECT_ACTIONS},
    **{f"/entities?action={action}": ("POST", REST, gms_bodies.MAX_SIGNS) for action in gms._ENTITY_ACTIONS},
    **{f"/runs?action={action}": ("POST", REST, gms_bodies.MAX_SIGNS) for action in gms._RUN_ACTIONS},
    "/aspects?action=ingestProposalBatch": ("POST", BATCH, gms_bodies.MAX_BATCH_SIGNS),
    "/openapi/v3/entity/tag": ("POST", ENTITIES, gms_bodies.MAX_BATCH_SIGNS),
    "/openapi/v3/entity/tag/urn:li:tag:pii/ownership": ("PATCH", PATCH, gms_bodies.MAX_SIGNS),
    "/openapi/v3/entity/tag/batchGet": ("POST", ENTITIES, gms_bodies.MAX_BATCH_SIGNS),
    "/openapi/v3/entity/scroll": ("POST", SCROLL, gms_bodies.MAX_SIGNS),
    f"/openapi/v1/trace/write/{'0' * 32}": ("POST", ANYTHING, gms_bodies.MAX_SIGNS),
    "/access/v1/evaluation": ("POST", AUTHZEN, request_models.MAX_SIGNS),
    "/access/v1/evaluations": ("POST", AUTHZEN, request_models.MAX_SIGNS),
    "/access/v1/requests": ("POST", SUBMISSION, request_models.MAX_SIGNS),
    "/access/v1/search/subject": ("POST", AUTHZEN, request_models.MAX_SIGNS),
    "/access/v1/search/resource": ("POST", AUTHZEN, request_models.MAX_SIGNS),
    "/access/v1/search/action": ("POST", AUTHZEN, request_models.MAX_SIGNS),
    "/scim/v2/Users": ("POST", SCIM, scim_bodies.MAX_SIGNS),
    "/scim/v2/Groups": ("POST", SCIM, scim_bodies.MAX_SIGNS),
    "/scim/v2/Users/.search": ("POST", SCIM, scim_bodies.MAX_SIGNS),
    "/logIn": ("POST", SIGNING, 60_000),
    "/signUp": ("POST", SIGNING, 60_000),
}

#: Call → seconds that it may take, and why.
ALLOWED: dict[str, tuple[float, str]] = {
    "/aspects?action=ingestProposalBatch": (2.0, "JSON of 16 MiB is read: clients fill a batch of proposals up to 15"),
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("address", CALLS)
def test_the_worst_bodies_of_a_call(client: Client, address: str) -> None:
    method, schema, signs = CALLS[address]
    # Texts take a mebibyte of the 16 that a batch of proposals may: more are copied, and not looked at.
    room = Room(min(find_body_limit(address), 1024 * 1024) - AROUND, signs - 300, depth=15, members=10_000)
    kind = "application/scim+json" if address.startswith("/scim") else "application/json"
    costs = Costs(client, ALLOWED.get(address, (MAX_SECONDS, ""))[0])
    costs.measure(method, address, Shapes({}).list_bodies(schema, room), kind)
    assert not costs.failures, "\n".join(costs.failures)


@pytest.mark.parametrize(
    "address",
    [
        "/aspects?action=ingestProposal",
        "/aspects?action=ingestProposalBatch",
        "/access/v1/evaluation",
        "/scim/v2/Groups",
    ],
)
def test_bodies_that_are_hardly_json(client: Client, address: str) -> None:
    kind = "application/scim+json" if address.startswith("/scim") else "application/json"
    costs = Costs(client, ALLOWED.get(address, (MAX_SECONDS, ""))[0])
    costs.measure("POST", address, list_raw_bodies(find_body_limit(address) - AROUND, CALLS[address][2]), kind)
    assert not costs.failures, "\n".join(costs.failures)


@pytest.mark.parametrize("name", ["add", "add in 100 operations", "remove", "remove in 100 operations"])
def test_as_many_members_as_a_patch_of_scim_may_bring(client: Client, objects: Objects, name: str) -> None:
    path = f"/scim/v2/Groups/{objects.scim_group}"
    verb = name.partition(" ")[0]
    count = member_patches.MAX_CHANGED_MEMBERS if verb == "add" else scim_bodies.MAX_REMOVED_MEMBERS
    entries = [{"value": key} for key in objects.scim_members[:count]]
    parts = 100 if name.endswith("operations") else 1
    size = count // parts
    operations = [
        {"op": verb, "path": "members", "value": entries[size * part : size * (part + 1)]} for part in range(parts)
    ]
    body = Body(name, encode({"schemas": [SCIM_PATCH], "Operations": operations}))
    if verb == "remove":
        everybody = [{"op": "add", "path": "members", "value": entries}]
        stored = client.patch(path, encode({"schemas": [SCIM_PATCH], "Operations": everybody}), "application/scim+json")
        assert stored.status_code == 204, stored.content
    # Each of the members is a row, and an event of the stream.
    costs = Costs(client, 1.6 * MAX_SECONDS)
    costs.measure("PATCH", path, [body], "application/scim+json")
    assert not costs.failures, "\n".join(costs.failures)
