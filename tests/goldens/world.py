"""An installation to look at: a part of the sample company, further policies, a CDAP namespace, runs of reports."""

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from tests.goldens import product

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "catalog" / "sample" / "sample_catalog.json.gz"

#: Types of entities of which every n-th, in the order of their URNs, is loaded.
SHARES = {"dataset": 40, "container": 12, "chart": 20, "dashboard": 8, "dataJob": 20, "dataFlow": 5, "query": 20}

#: Who looks at pages: the root user, a data steward, somebody without a role, and nobody.
PEOPLE = {"root": "datahub", "steward": "jenny", "outsider": "tim.schreiber", "anonymous": ""}

USER, POLICY, ROLE = "urn:li:corpuser:", "urn:li:dataHubPolicy:", "urn:li:dataHubRole:"
NAMESPACE, PROJECT, OBJECT = "urn:li:namespace:shop", "1" * 24, "a" * 24

Json = dict[str, Any]


def build(folder: Path) -> None:
    """Fill an empty database; the same every time but for ids, secrets and the time."""
    call_command("bootstrap", "--restricted")
    part = folder / "sample.json"
    part.write_text(json.dumps(list(choose(json.loads(gzip.decompress(SAMPLE.read_bytes()))))), encoding="utf-8")
    call_command("load_catalog", str(part), stdout=io.StringIO(), stderr=io.StringIO())
    root = sign_in("root")
    for address, body in list_writes():
        answer = root.post(address, body, content_type="application/json")
        assert answer.status_code in {200, 201}, (address, body, answer.status_code, answer.content)
    product.store_report_runs()


def choose(proposals: Iterable[Json]) -> Iterable[Json]:
    """Yield the proposals of the sample that are loaded."""
    proposals = list(proposals)
    chosen: set[str] = set()
    for kind in {one["entityType"] for one in proposals}:
        urns = sorted({one["entityUrn"] for one in proposals if one["entityType"] == kind})
        chosen |= set(urns[:: SHARES.get(kind, 1)])
    # What they lie in lies in the catalog.
    parents = {one["entityUrn"]: one["aspect"]["json"] for one in proposals if one["aspectName"] == "container"}
    for urn in sorted(chosen):
        while urn in parents:
            urn = parents[urn]["container"]
            chosen.add(urn)
    return (one for one in proposals if one["entityUrn"] in chosen)


def sign_in(person: str) -> Client:
    """Return a browser in which somebody of `PEOPLE` is signed in."""
    client = Client(raise_request_exception=True)
    if PEOPLE[person]:
        user = get_user_model().objects.get(username=PEOPLE[person])
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def issue_token(person: str) -> str:
    """Return an access token of somebody of `PEOPLE`."""
    printed = io.StringIO()
    call_command("create_token", USER + PEOPLE[person], "--name", "goldens", stdout=printed)
    return printed.getvalue().strip()


def list_writes() -> Iterable[tuple[str, Json]]:
    """Yield the calls of the API that add to the sample, in their order."""
    for name, document in list_datahub_policies():
        yield "/api/v1/policies/", {"urn": POLICY + name, "family": "datahub", "document": document}
    yield "/api/v1/roles/", {"name": "Analyst", "id": "analyst"}
    yield "/api/v1/roles/assign/", {"role": f"{ROLE}analyst", "actors": [f"{USER}jenny"]}
    for name, statements in DATAZONE.items():
        document = {"name": name, "statements": statements, "roles": [f"{ROLE}analyst"]}
        yield "/api/v1/policies/", {"urn": POLICY + name, "family": "datazone", "document": document}
    yield "/api/v1/service-accounts/", {"display_name": "Nightly load"}
    yield "/api/v1/invite-tokens/", {}
    for operation, entity in OPERATIONS:
        yield "/api/v1/operations", {"operation": operation, "entity": entity}
    for principal, entity, privileges in GRANTS:
        yield "/api/v1/grants", {"principal": principal, "entity": entity, "privileges": privileges}


def list_datahub_policies() -> Iterable[tuple[str, Json]]:
    """Yield the names and documents of policies that use what those of the sample do not."""
    for name, (criteria, actors) in CRITERIA.items():
        yield (
            name,
            {
                "displayName": name.replace("-", " ").capitalize(),
                "description": "",
                "type": "METADATA",
                "state": "ACTIVE",
                "editable": True,
                "privileges": ["EDIT_DOMAINS_PRIVILEGE", "EDIT_ENTITY_DOCS"],
                "actors": {"users": [f"{USER}jenny", f"{USER}james"]} | actors,
                "resources": {"filter": {"criteria": criteria}},
            },
        )


def equal(field: str, *values: str, **more: str) -> Json:
    """Return a criterion."""
    return {"field": field, "values": list(values), **more}


CRITERIA: dict[str, tuple[list[Json], Json]] = {
    "layer-of-a-dataset": ([equal("PROPERTY.layer", "core", "mart")], {}),
    "layer-of-the-caller": ([equal("PROPERTY.layer", "${ACTOR.PROPERTY.team}")], {}),
    "what-the-caller-is": ([equal("ACTOR.PROPERTY.team", "sales"), equal("TYPE", "dataset")], {}),
    "what-the-action-says": ([equal("ACTION.PROPERTY.purpose", "audit", condition="NOT_EQUALS")], {}),
    "owned-by-jenny": ([equal("OWNER", f"{USER}jenny", condition="NOT_EQUALS")], {"resourceOwners": True}),
    "begins-like-this": ([equal("URN", "urn:li:dataset:(urn:li:dataPlatform:snowflake", condition="STARTS_WITH")], {}),
}
DATAZONE: dict[str, list[Json]] = {
    "reads-one-dataset": [{"resource": f"dataset:{OBJECT}", "actions": ["dataset:read"], "effect": "allow"}],
    "reads-no-column": [
        {
            "resource": f"dataset:{OBJECT}",
            "actions": ["dataset:read"],
            "effect": "deny",
        }
    ],
}
OPERATIONS = (("namespace.create", NAMESPACE), ("artifact.add", "urn:li:artifact:shop.etl"))
GRANTS = ((f"{USER}jenny", NAMESPACE, ["READ", "WRITE"]), ("urn:li:corpGroup:data-platform", NAMESPACE, ["ADMIN"]))
