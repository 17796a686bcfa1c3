"""Bodies that are in order and as large as docs/operations.md lets them be.

What costs most is often what is done and not what is refused. Only what a schema cannot say is here; every list by
itself is filled from the document.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from catalog.entities.changes import MAX_ATTACHMENTS
from catalog.external_roles.services import MAX_DATASETS
from policies.changes.replay import MAX_DAYS
from policies.changes.staging import MAX_CHANGES
from policies.decisions.api.request_serializers import MAX_ALTERNATIVES, MAX_BATCH_QUESTIONS, MAX_COLUMNS, MAX_LIST_URNS
from policies.engine.families import vocabulary
from policies.engine.families.datazone import MAX_STATEMENTS
from policies.identity.services.roles import MAX_ACTORS
from tests.limits.conftest import DATASETS, GROUP, ROLE, name_dataset
from tests.limits.shapes import Body, encode

ROOT = "urn:li:corpuser:datahub"
PEOPLE = [f"urn:li:corpuser:n{number}" for number in range(10_000)]
QUESTION: Mapping[str, Any] = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": name_dataset(1)}}
ALTERNATIVES = [[f"PRIVILEGE_{row}_{number}" for number in range(MAX_ALTERNATIVES)] for row in range(MAX_ALTERNATIVES)]
COLUMN_NAMES = [f"c{number}" for number in range(MAX_COLUMNS)]
BATCH_DATASETS = [name_dataset(number) for number in range(min(MAX_BATCH_QUESTIONS, DATASETS))]
GROUPS = [GROUP] * MAX_LIST_URNS


def make_policy(**fields: Any) -> dict[str, Any]:
    """Return a DataHub policy as the API takes it."""
    document = {
        "displayName": "Large",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": PEOPLE[:1]},
    }
    return {"family": "datahub", "document": document | fields}


def make_filter(*criteria: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resources of a policy with these criteria."""
    return {"filter": {"criteria": list(criteria)}}


def list_policies() -> Iterator[dict[str, Any]]:
    """Yield policies of both families, each with one list as long as it may be."""
    yield make_policy(actors={"users": PEOPLE})
    yield make_policy(privileges=[f"PRIVILEGE_{number}" for number in range(10_000)])
    yield make_policy(resources=make_filter({"field": "URN", "values": BATCH_DATASETS, "condition": "EQUALS"}))
    criteria = [{"field": "URN", "values": [urn], "condition": "EQUALS"} for urn in BATCH_DATASETS]
    yield make_policy(resources=make_filter(*criteria))
    statements = [
        {"resource": f"dataset:{number:024x}", "actions": ["dataset:read"], "effect": "allow"}
        for number in range(MAX_STATEMENTS)
    ]
    yield {"family": "datazone", "document": {"name": "large", "statements": statements, "roles": [ROLE]}}


def list_previews() -> Iterator[dict[str, Any]]:
    """Yield changes of policies with lists as long as they may be, and as many changes as there may be."""
    for policy in list_policies():
        yield {"changes": [{"put_policy": policy}]}
    everybody = make_policy(actors={"allUsers": True})
    yield {"changes": [{"put_policy": everybody}] * MAX_CHANGES}
    yield {"changes": [{"add_members": {"group": GROUP, "members": PEOPLE[:1_000]}}] * 20}
    yield {"changes": [{"suspend": urn} for urn in PEOPLE[:MAX_CHANGES]], "replay_days": MAX_DAYS}
    tags = [f"urn:li:tag:{number}" for number in range(MAX_ATTACHMENTS)]
    yield {"changes": [{"add_tags": {"entity": name_dataset(number), "tags": tags}} for number in range(MAX_CHANGES)]}
    granted = [
        {"principal": urn, "entity": "urn:li:instance:cdap", "privileges": ["ALL"]} for urn in PEOPLE[:MAX_CHANGES]
    ]
    yield {"changes": [{"grant": grant} for grant in granted]}
    yield {"changes": [{"revoke": grant} for grant in granted]}
    owners = [{"owner": urn} for urn in PEOPLE[:MAX_ATTACHMENTS]]
    yield {"changes": [{"add_owners": {"entity": name_dataset(1), "owners": owners}}] * MAX_CHANGES}


def list_questions() -> Iterator[dict[str, Any]]:
    """Yield questions, each with lists as long as they may be."""
    yield {**QUESTION, "sub_resources": [name_dataset(number) for number in range(MAX_LIST_URNS)]}
    yield {**QUESTION, "sub_resources": BATCH_DATASETS[:500], "explain": True}
    yield {"any_of": ALTERNATIVES, "resource": QUESTION["resource"]}
    yield {"any_of": ALTERNATIVES, "resource": QUESTION["resource"], "explain": True}
    related = {"assets": BATCH_DATASETS[:450], "domains": [f"urn:li:domain:{number}" for number in range(450)]}
    yield {"operation": "datahub.dataProduct.create", "resource": QUESTION["resource"], "related": related}
    yield {"privilege": "read", "resource": {"type": "dataset", "id": f"{1:024x}", "columns": COLUMN_NAMES}}


def list_batches() -> Iterator[dict[str, Any]]:
    """Yield batches of questions that are as large as batches may be."""
    yield {"questions": [{**QUESTION, "resource": {"urn": urn}} for urn in BATCH_DATASETS]}
    yield {"questions": [{**QUESTION, "actor": urn} for urn in PEOPLE]}
    yield {"questions": [{**QUESTION, "explain": True}] * MAX_BATCH_QUESTIONS}
    yield {"questions": [{**QUESTION, "sub_resources": BATCH_DATASETS[:MAX_LIST_URNS]}] * 10}
    yield {"questions": [{"any_of": ALTERNATIVES[:1], "resource": QUESTION["resource"]}] * 350}
    yield {"questions": [{"privilege": "read", "resource": {"type": "dataset", "columns": COLUMN_NAMES}}] * 20}


def list_entities() -> Iterator[list[dict[str, Any]]]:
    """Yield lists of entities."""
    yield [{"type": "tag", "urn": f"urn:li:tag:t{number}", "name": f"t{number}"} for number in range(1_000)]
    status = {"status": {"removed": False}, "globalTags": {"tags": []}}
    yield [{"type": "dataset", "urn": name_dataset(50_000 + number), "aspects": status} for number in range(1_000)]


def list_bundles() -> Iterator[dict[str, Any]]:
    """Yield as many policies as a call takes, new and each of another name."""
    names = [f"{number:04}" for number in range(1_000)]
    texts = {
        f"policies/{name}.yaml": f"urn: urn:li:dataHubPolicy:{name}\nfamily: datahub\ndocument: "
        + json.dumps(make_policy(displayName=name)["document"])
        for name in names
    }
    yield {"files": texts}


def list_bundle_tests() -> Iterator[dict[str, Any]]:
    """Yield as many questions as fit, each about somebody and something else, and the policies."""
    question = "  - [urn:li:corpuser:{0}, EDIT_ENTITY_TAGS, urn:li:tag:{0}, DENY]\n"
    table = "table:\n" + "".join(question.format(number) for number in range(3_300))
    yield {"files": {f"tests/{number}.yaml": table for number in range(3)}}
    yield from list_bundles()


def list_external_roles() -> Iterator[dict[str, Any]]:
    """Yield external roles with as many members and datasets as they may have."""
    yield {"name": "Large", "type": "READ", "users": PEOPLE[:1_000], "datasets": BATCH_DATASETS[:MAX_DATASETS]}


def list_guardrails() -> Iterator[dict[str, Any]]:
    """Yield guardrails, with long lists; the root user, who may do everything, is left out."""
    privileges = sorted(vocabulary.load_datahub().names)
    tags = [f"urn:li:tag:t{number}" for number in range(700)]
    everybody_else = {"everybody_except": {"users": [ROOT]}}
    conditions = [{"field": "TAG", "values": [tag], "condition": "NOT_EQUALS"} for tag in tags]
    rules: list[dict[str, Any]] = [
        {"never": {"actors": {"everybody_except": {"users": [ROOT, *PEOPLE[:1_500]]}}, "privileges": privileges}},
        {"never": {"actors": everybody_else, "privileges": privileges, "resources": make_filter(*conditions)}},
        {"always": {"actors": {"users": PEOPLE[:1]}, "privileges": privileges[:100]}},
        {
            "not_both": {
                "first": {"privileges": privileges[::2]},
                "second": {"privileges": privileges[1::2]},
                "except": {"users": [ROOT]},
            }
        },
    ]
    for rule in rules:
        yield {"name": "Large", "mode": "warn", "rule": rule}


#: Operation → its bodies.
LARGEST: Mapping[str, Any] = {
    "post /api/v1/authorize": list_questions,
    "post /api/v1/authorize/batch": list_batches,
    "post /api/v1/policies/": list_policies,
    "put /api/v1/policies/{urn}/": list_policies,
    "post /api/v1/policies/validate/": list_policies,
    "post /api/v1/preview": list_previews,
    "post /api/v1/guardrails/": list_guardrails,
    "put /api/v1/guardrails/{urn}/": list_guardrails,
    "patch /api/v1/guardrails/{urn}/": list_guardrails,
    "post /api/v1/entities/": list_entities,
    "post /api/v1/bundles/plan": list_bundles,
    "post /api/v1/bundles/apply": list_bundles,
    "post /api/v1/bundles/test": list_bundle_tests,
    "post /api/v1/external-roles/": list_external_roles,
    "post /api/v1/render": lambda: [
        {"resource": {"type": "dataset", "id": f"{1:024x}"}, "table": "t", "columns": COLUMN_NAMES}
    ],
    "post /api/v1/roles/assign/": lambda: [{"role": ROLE, "actors": PEOPLE[:MAX_ACTORS]}],
    "post /api/v1/grants": lambda: [
        [{"principal": urn, "entity": "urn:li:instance:cdap", "privileges": ["GET"]} for urn in PEOPLE[:1_000]]
    ],
    "post /api/v1/groups/": lambda: [{"name": "Large", "members": PEOPLE[:1_000], "roles": [ROLE] * MAX_LIST_URNS}],
    "post /api/v1/users/": lambda: [{"username": "large", "groups": GROUPS, "roles": [ROLE] * MAX_LIST_URNS}],
    "patch /api/v1/users/{urn}/": lambda: [{"groups": GROUPS, "roles": [ROLE] * MAX_LIST_URNS}],
    "patch /api/v1/reports/findings/": lambda: [
        {"ids": list(range(1, 10_001)), "state": "ACCEPTED", "note": "x" * 900}
    ],
    "post /api/v1/reports/": lambda: [
        {"kind": "policy_impact", "parameters": {"document": json.dumps(next(list_policies())["document"])}}
    ],
}


def list_largest(operation: str) -> list[Body]:
    """Return the largest bodies of an operation that are in order."""
    bodies = LARGEST.get(operation, list)()
    return [Body(f"largest {number}", encode(value)) for number, value in enumerate(bodies)]
