"""Wrong JSON types anywhere in a body are refused in the form of the door, and never a fault."""

import json
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.protocols.authzen.views import ENDPOINTS
from catalog.protocols.datahub_rest import views as gms
from tests.doors.conftest import DATASET, ROOT

pytestmark = pytest.mark.django_db

JSON: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 1.5, 2**70, "", "x", DATASET, ROOT, "UPSERT", "\x00", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "urn", "or", "x"]), inner),
    max_leaves=6,
)

#: A call of each door that passes, or nearly.
PROPOSAL = {
    "entityType": "dataset",
    "entityUrn": DATASET,
    "changeType": "UPSERT",
    "aspectName": "ownership",
    "aspect": {"value": '{"owners": []}', "contentType": "application/json"},
    "headers": {"If-None-Match": "*"},
    "systemMetadata": {"runId": "x"},
}
FILTER = {"or": [{"and": [{"field": "name", "condition": "EQUAL", "value": "x", "values": ["x"]}]}]}
PARTY = {"type": "user", "id": "x", "properties": {"a": "b"}}
BODIES: dict[str, Any] = {
    "ingestProposal": {"proposal": PROPOSAL, "async": "false"},
    "ingestProposalBatch": {"proposals": [PROPOSAL], "async": "false"},
    "getCount": {"entity": "dataset", "aspect": "ownership", "urnLike": "%"},
    "getTimeseriesAspectValues": {"urn": DATASET, "entity": "dataset", "aspect": "x", "limit": 1, "filter": FILTER},
    "delete": {"urn": "urn:li:tag:none", "aspectName": "x", "startTimeMillis": 1, "endTimeMillis": 2},
    "deleteReferences": {"urn": "urn:li:tag:none", "dryRun": True},
    "ingest": {
        "entity": {"value": {"com.linkedin.metadata.snapshot.TagSnapshot": {"urn": "urn:li:tag:x", "aspects": [{}]}}}
    },
    "listUrns": {"entity": "dataset", "start": 0, "count": 1},
    "search": {"input": "*", "entity": "dataset", "start": 0, "count": 1, "filter": FILTER, "sort": {"field": "urn"}},
    "describe": {"runId": "x", "start": 0, "count": 1, "includeSoft": False},
    "list": {"pageOffset": 0, "pageSize": 1, "includeSoft": False},
    "rollback": {"runId": "x", "dryRun": True, "hardDelete": False, "safe": True},
}
CALLS = [
    *(
        (f"/{path}?action={action}", BODIES[action])
        for path, actions in (
            ("aspects", gms._ASPECT_ACTIONS),
            ("entities", gms._ENTITY_ACTIONS),
            ("runs", gms._RUN_ACTIONS),
        )
        for action in actions
    ),
    (
        "/openapi/v3/entity/dataset",
        [{"urn": DATASET, "ownership": {"value": {"owners": []}, "headers": {}, "systemMetadata": {}}}],
    ),
    (
        f"/openapi/v3/entity/dataset/{DATASET}/ownership",
        {"value": {"owners": [{"owner": ROOT, "type": "NONE"}]}, "headers": {}},
    ),
    ("/openapi/v3/entity/dataset/batchGet", [{"urn": DATASET, "ownership": {}}]),
    ("/openapi/v3/entity/scroll", {"entities": ["dataset"], "aspects": ["ownership"], "filter": FILTER}),
    (f"/openapi/v1/trace/write/{'0' * 32}", {DATASET: ["ownership"]}),
    *(
        (
            "/access/v1/" + name.removeprefix("authzen-").replace("search-", "search/"),
            {
                "subject": PARTY,
                "resource": PARTY,
                "action": {"name": "read", "properties": {}},
                "context": {},
                "options": {"evaluations_semantic": "execute_all"},
                "page": {"token": "", "limit": 1},
                "evaluations": [{"subject": PARTY}],
            },
        )
        for name in ENDPOINTS.values()
    ),
    ("/logIn", {"username": "x", "password": "x"}),
    ("/signUp", {"email": "x@y", "fullName": "x", "password": "x", "title": "x", "inviteToken": "x"}),
]


def places(value: Any) -> list[tuple[Any, ...]]:
    """Return where something stands in a value, the value itself first."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, inner in inside for rest in places(inner))]


def replaced(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    """Return a value with something else at this place."""
    if not place:
        return by
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[place[0]] = replaced(copied[place[0]], place[1:], by)
    return copied


@pytest.mark.parametrize(("path", "body"), CALLS, ids=[path for path, _ in CALLS])
def test_another_type_at_any_place(root, path, body):
    root.client.raise_request_exception = False

    @settings(max_examples=12, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(places(body)), JSON)
    def check(place, other):
        sent = json.dumps(replaced(body, place, other))
        with transaction.atomic():
            answer = root.post(path, sent)
            transaction.set_rollback(True)
        assert answer.status_code < 500, (sent, answer.content)
        if answer.status_code >= 400:
            assert answer["Content-Type"].startswith(("application/json", "text/plain")), sent

    check()


@pytest.mark.parametrize("name", PROPOSAL)
@pytest.mark.parametrize("value", [[], {}, [[]], 1, True, 2**70])
def test_every_member_of_a_proposal(root, name, value):
    root.client.raise_request_exception = False
    answer = root.post("/aspects?action=ingestProposalBatch", {"proposals": [PROPOSAL, PROPOSAL | {name: value}]})
    assert answer.status_code in (200, 400), answer.content
    if answer.status_code == 400:
        assert answer.json().keys() == {"status", "message", "exceptionClass"}
