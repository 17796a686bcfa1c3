"""No operation of the OpenAPI document holds the interpreter for long, whatever fits into its body.

The bodies are made from the document, so that a new operation or field is covered by itself.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.test import Client

from authzsite.middleware import find_body_limit
from policies.http.api import openapi_schema
from policies.writes import strict_json
from tests.limits.conftest import EXTERNAL_ROLE, GROUP, GUARDRAIL, POLICY, ROLE, Objects
from tests.limits.costs import MAX_SECONDS, Costs
from tests.limits.largest import list_largest
from tests.limits.shapes import Room, Schema, Shapes, list_raw_bodies

#: What the rest of a body may take beside the part that is as large as can be.
AROUND = 4_000

#: Operation → seconds that it may take, and why.
ALLOWED: dict[str, tuple[float, str]] = {
    "post /api/v1/authorize/batch": (2.0, "it answers 10,000 questions, with up to 3 MB"),
    "post /api/v1/entities/": (1.0, "it stores 1,000 entities and answers with all of them, 290 KB"),
    "post /api/v1/external-roles/": (1.5, "it answers with the 10,000 users that the role is for, 240 KB"),
    "put /api/v1/external-roles/{urn}/": (1.5, "the same"),
    "patch /api/v1/external-roles/{urn}/": (1.5, "the same"),
    "post /api/v1/bundles/plan": (2.0, "it compares up to 1,000 files, 2 MB of YAML"),
    "post /api/v1/bundles/apply": (2.0, "the same"),
    "post /api/v1/bundles/test": (2.0, "the same, with up to 2 MB of tables"),
    "post /api/v1/policies/": (2.0, "it answers with the policy, up to 1 MB"),
    "put /api/v1/policies/{urn}/": (2.0, "the same"),
    "post /api/v1/guardrails/": (1.0, "it judges what 10,000 people may do, for every privilege there is"),
    "put /api/v1/guardrails/{urn}/": (1.0, "the same"),
    "patch /api/v1/guardrails/{urn}/": (1.0, "the same"),
    "post /api/v1/preview": (2.0, "it reads what policies take, up to 1 MB, and compares what 20,000 people may do"),
    "post /api/v1/policies/validate/": (0.6, "it reads what these take: 10,000 users or criteria, up to 1 MB"),
}

DOCUMENT: Schema = openapi_schema.generate_document()


def list_operations() -> Iterator[tuple[str, str]]:
    """Yield (method, path) of each operation that takes a body."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                yield method, path


def fill_path(path: str, objects: Objects) -> str:
    """Return an address of this path that something is at."""
    values = {
        "policies": POLICY,
        "users": "urn:li:corpuser:n1",
        "groups": GROUP,
        "roles": ROLE,
        "guardrails": GUARDRAIL,
        "entities": "urn:li:tag:pii",
        "external-roles": EXTERNAL_ROLE,
        "service-accounts": objects.service_account,
    }
    return re.sub(r"(?<=/)([a-z-]+)/\{[a-z_]+\}", lambda at: f"{at[1]}/{quote(values.get(at[1], '1'), safe=':')}", path)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("method", "path"), list(list_operations()))
def test_the_worst_bodies_of_an_operation(client: Client, objects: Objects, method: str, path: str) -> None:
    schema = DOCUMENT["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    address = fill_path(path, objects)
    room = Room(find_body_limit(address) - AROUND, strict_json.MAX_SIGNS - 200)
    costs = Costs(client, ALLOWED.get(f"{method} {path}", (MAX_SECONDS, ""))[0])
    costs.measure(method.upper(), address, Shapes(DOCUMENT["components"]["schemas"]).list_bodies(schema, room))
    costs.measure(method.upper(), address, list_largest(f"{method} {path}"))
    assert not costs.failures, "\n".join(costs.failures)


@pytest.mark.parametrize("address", ["/api/v1/authorize/batch", "/api/v1/policies/", "/api/v1/render", "/api/v1/who"])
def test_bodies_that_are_hardly_json(client: Client, address: str) -> None:
    costs = Costs(client)
    costs.measure("POST", address, list_raw_bodies(find_body_limit(address) - AROUND, strict_json.MAX_SIGNS))
    assert not costs.failures, "\n".join(costs.failures)
