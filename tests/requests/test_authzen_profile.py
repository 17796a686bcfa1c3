"""AuthZEN's Access Request and Approval Profile (contract-requests.md section 5), as an enforcement point sees it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema_rs
import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.identity.services import users
from policies.models import Policy, RequestTask, RequestTrail, SubmittedRequest
from policies.pdp import authorizer
from policies.requests.tasks import forget_request_tasks
from tests.api.conftest import make_client, store_policy
from tests.requests.conftest import ADA, BOB, JO, ORDERS, REQUESTS, RULES, Company, act, days

EVALUATION, EVALUATIONS, SUBMISSIONS = "/access/v1/evaluation", "/access/v1/evaluations", "/access/v1/requests"
TYPE = "urn:openid:authzen:access-request:error:"
#: What jo lacks, as an enforcement point asks about it.
QUESTION: dict[str, Any] = {
    "subject": {"type": "user", "id": "jo", "properties": {"level": 1}},
    "action": {"name": "EDIT_ENTITY_TAGS"},
    "resource": {"type": "dataset", "id": ORDERS},
    "context": {"time": "noon"},
}
WHY = {"justification": "for the audit"}


@pytest.fixture
def gateway(company: Company) -> APIClient:
    """The enforcement point: a service that may ask about others, and nothing else."""
    return make_client("gateway", "CHECK_ACCESS")


def post(client: APIClient, path: str, body: Any, **headers: str) -> Any:
    return client.post(path, body, format="json", headers=headers)


def evaluate(client: APIClient, **members: Any) -> dict[str, Any]:
    answer = post(client, EVALUATION, {**QUESTION, **members})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def deny(client: APIClient, **members: Any) -> dict[str, Any]:
    """Return the context of a denial."""
    answer = evaluate(client, **members)
    assert answer["decision"] is False
    return dict(answer["context"])


def binding_of(context: dict[str, Any]) -> dict[str, Any]:
    """Return the denial as it is echoed."""
    offer = context.get("access_request", {"expires_at": "2126-01-01T00:00:00Z"})
    return {"evaluation_id": context["evaluation_id"], "expires_at": offer["expires_at"]}


def submit(client: APIClient, context: dict[str, Any], key: str = "", /, **members: Any) -> Any:
    """Hand in a request about the usual question, after this denial."""
    body = {**QUESTION, "context": {**QUESTION["context"], **WHY}, "denial": binding_of(context), **members}
    return post(client, SUBMISSIONS, body, **({"Idempotency-Key": key} if key else {}))


def code(answer: Any, status: int) -> str:
    """Return the last part of the type of a problem, or its code where it has no type of the profile."""
    problem = answer.json()
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), problem
    return str(problem["type"].removeprefix(TYPE) if problem["type"].startswith(TYPE) else problem["code"])


def request_of(task: dict[str, Any]) -> dict[str, Any]:
    return {"urn": SubmittedRequest.objects.get(task__token=task["id"]).urn}


def approved(client: APIClient, approver: APIClient, **members: Any) -> dict[str, Any]:
    """Ask and have it approved; return the answer about the task."""
    task = submit(client, deny(client), **members).json()["task"]
    answer = act(approver, request_of(task), "approve")
    assert answer.status_code == 200, answer.content
    return dict(client.get(task["status_endpoint"]).json())


def test_a_denial_is_requested_approved_and_evaluated_again(company: Company, gateway: APIClient) -> None:
    document = company["jo"].get("/.well-known/authzen-configuration").json()
    assert document["access_request_endpoint"] == f"http://testserver{SUBMISSIONS}"
    assert document["capabilities"] == ["urn:openid:authzen:capability:access-request"]
    context = deny(gateway)
    offer = context["access_request"]
    assert (context["code"], context["reason"], "template" in offer) == ("implicit_deny", "approval_required", False)
    assert offer["endpoint"] == document["access_request_endpoint"]
    form = parse_qs(urlsplit(offer["form_url"]).query)
    assert form == {"privilege": ["EDIT_ENTITY_TAGS"], "resource": [ORDERS], "actor": [JO]}
    until = days(5)
    pending = submit(gateway, context, requested_access={"requested_until": until, "emergency": True, "x": 1}, more=[])
    task = pending.json()["task"]
    assert (pending.status_code, task["status"], pending["Location"]) == (202, "pending", task["status_endpoint"])
    assert len(task["id"]) >= 22
    assert task["progress"] == {"current_step": 1, "total_steps": 1, "step_name": "Owner", "awaiting": [ADA]}
    request = SubmittedRequest.objects.get()
    assert (request.actor, request.by, request.reason) == (JO, "urn:li:corpuser:gateway", "for the audit")
    assert context["evaluation_id"] in RequestTrail.objects.get(what="asked").note
    assert RequestTask.objects.get().client == {"client": {}, "emergency": True}
    status = gateway.get(task["status_endpoint"])
    assert (status.status_code, status["Retry-After"], "result" in status.json()) == (200, "2", False)
    readers = {name: client.get(task["status_endpoint"]).status_code for name, client in company.items()}
    assert readers == {"jo": 200, "ada": 200, "admin": 200, "bob": 404, "eve": 404}
    assert code(company["bob"].get(task["status_endpoint"]), 404) == "unknown_task"
    assert act(company["ada"], {"urn": request.urn}, "approve").json()["state"] == "done"
    done = gateway.get(task["status_endpoint"])
    assert (done.json()["task"]["status"], done.has_header("Retry-After")) == ("approved", False)
    result = done.json()["result"]
    assert (result["mode"], result["approval"]["approved_until"][:16]) == ("reevaluate", until[:16])
    assert "cancel" not in done.json()["task"]["links"]
    again = evaluate(gateway, context={**QUESTION["context"], "approval": result["approval"]})
    assert again["decision"] is True
    assert {**result["approval"], **again["context"]["approval"]} == result["approval"]
    assert evaluate(gateway)["decision"] is True


def test_what_cannot_be_requested_has_an_id_and_nothing_to_ask_with(
    company: Company, gateway: APIClient, make_rule: Callable[..., Any]
) -> None:
    make_rule("closed", requestable=False, **{"for": {"privileges": ["DELETE_ENTITY"]}})
    users.suspend(urn=BOB, by=authorizer.SYSTEM, channel="test")
    questions = [
        {"action": {"name": "DELETE_ENTITY"}},
        {"action": {"name": "EDIT_ENTTY_TAGS"}},
        {"subject": {"type": "user", "id": "nobody"}},
        {"subject": {"type": "user", "id": "bob"}},
    ]
    batch = post(gateway, EVALUATIONS, {**QUESTION, "evaluations": [*questions, {"subject": {"type": "x", "id": "y"}}]})
    contexts = [answer["context"] for answer in batch.json()["evaluations"]]
    reasons = ["implicit_deny", "privilege_unknown", "implicit_deny", "actor_suspended", "subject_unknown"]
    assert [context["reason"] for context in contexts] == reasons
    assert [context["code"] for context in contexts] == reasons
    assert not any("access_request" in context for context in contexts)
    assert ["evaluation_id" in context for context in contexts] == [True] * 4 + [False]
    for question, context in zip(questions, contexts, strict=False):
        assert code(submit(gateway, context, **question), 400) == "not_requestable"
    assert not SubmittedRequest.objects.exists()


def test_a_denial_binds_exactly_what_was_denied(company: Company, gateway: APIClient) -> None:
    context = deny(gateway)
    denial = binding_of(context)
    changed: list[dict[str, Any]] = [
        {"subject": {"type": "user", "id": "eve"}},
        {"subject": {**QUESTION["subject"], "properties": {"level": True}}},
        {"action": {"name": "DELETE_ENTITY"}},
        {"action": {**QUESTION["action"], "properties": {}}},
        {"resource": {"type": "dataset", "id": ORDERS.replace("orders", "items")}},
        {"context": {**WHY, "time": "midnight"}},
        {"context": WHY},
        {"denial": None},
        {"denial": {"expires_at": denial["expires_at"]}},
        {"denial": {**denial, "expires_at": "2126-01-01T00:00:00Z"}},
        {"denial": {**denial, "evaluation_id": denial["evaluation_id"][:-1]}},
        {"denial": {**denial, "evaluation_id": "é" * 40}},
        {"items": [{name: QUESTION[name] for name in ("resource", "action")}] * 2, "resource": None, "action": None},
    ]
    found = [code(submit(gateway, context, **members), 400) for members in changed]
    assert found == ["invalid_denial_binding"] * len(changed)
    assert code(submit(make_client("other", "CHECK_ACCESS"), context), 400) == "invalid_denial_binding"
    assert code(submit(gateway, context, callback={"endpoint": "https://a.example/"}), 400) == "callback.refused"
    assert code(submit(gateway, context, subject=7), 400) == "malformed"
    assert code(submit(gateway, context, context={**QUESTION["context"]}), 400) == "reason.missing"
    for until, wanted in (
        (None, "until.missing"),
        ("2001-01-01T00:00:00Z", "until.past"),
        (days(91), "until.too_long"),
    ):
        refused = submit(gateway, context, requested_access={"requested_until": until})
        assert code(refused, 400) == wanted
        assert refused.json()["errors"][0]["pointer"] == "/requested_access/requested_until"
    # The same in another form: a number is a number, and the actor may be sent as the client's.
    subject = {"type": "user", "id": "jo", "properties": {"level": 1.0, "act": {"sub": "bot"}}}
    assert submit(gateway, context, subject=subject, client={"id": "g", "actor": {"id": "bot"}}).status_code == 202
    with override_settings(DENIAL_SECONDS=1):
        late = deny(gateway, action={"name": "EDIT_ENTITY_DOCS"})
    moved = timezone.now() + timedelta(seconds=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: moved)
        assert code(submit(gateway, late, action={"name": "EDIT_ENTITY_DOCS"}), 410) == "expired_denial"


def test_the_same_is_handed_in_once(company: Company, gateway: APIClient) -> None:
    context = deny(gateway)
    first = submit(gateway, context, "key")
    same = [
        submit(gateway, context, "key"),
        submit(gateway, context),
        submit(gateway, context, "k2", requested_access={"requested_until": days(1)}),
    ]
    assert [answer.json()["task"]["id"] for answer in same] == [first.json()["task"]["id"]] * 3
    other = submit(gateway, context, "key", requested_access={"requested_until": days(1)})
    assert (code(other, 409), other.json()["code"]) == ("duplicate_request", "duplicate_request")
    # The key is another account's own; a later denial of the same is asked about already, and its task can be followed.
    twice = submit(gateway, deny(gateway))
    assert (code(twice, 409), twice.json()["code"]) == ("duplicate_request", "request.duplicate")
    assert twice.json()["task"]["id"] == first.json()["task"]["id"]
    own = submit(company["jo"], deny(company["jo"]), "key")
    assert (code(own, 409), "task" in own.json()) == ("duplicate_request", False)
    assert SubmittedRequest.objects.count() == 1
    cancel = first.json()["task"]["links"]["cancel"]
    assert code(post(company["bob"], cancel, {}), 404) == "unknown_task"
    assert company["ada"].post(cancel).status_code == 403
    cancelled = post(gateway, cancel, {"reason": "gone", "comment": "not needed"})
    assert (cancelled.status_code, cancelled.json()["task"]["status"]) == (200, "cancelled")
    assert RequestTrail.objects.get(what="withdrawn").note == "not needed"
    assert code(gateway.post(cancel), 409) == "invalid_task_state"
    assert submit(gateway, context).json()["task"]["status"] == "cancelled"
    task = RequestTask.objects.get()
    task.expires_at = timezone.now()
    task.save()
    assert code(gateway.get(first.json()["task"]["status_endpoint"]), 410) == "task_expired"
    assert code(gateway.get(f"{SUBMISSIONS}/{'x' * 100}"), 404) == "unknown_task"
    assert forget_request_tasks() == 0
    RequestTask.objects.update(expires_at=timezone.now() - timedelta(days=8))
    assert (forget_request_tasks(), SubmittedRequest.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_what_is_handed_in_at_once_is_one_request(company: Company, gateway: APIClient) -> None:
    context = deny(gateway)

    def send(number: int) -> Any:
        try:
            ends = {"requested_access": {"requested_until": until}} if number == 0 else {}
            return submit(copy(gateway), context, "key", **ends)
        finally:
            connection.close()

    until = days(1)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(send, range(8)))
    # One of two bodies was first under the key, and all that is sent with the other one is refused.
    assert {answer.status_code for answer in answers} == {202, 409}
    assert {code(answer, 409) for answer in answers if answer.status_code == 409} == {"duplicate_request"}
    assert len({answer.json()["task"]["id"] for answer in answers if answer.status_code == 202}) == 1
    assert (SubmittedRequest.objects.count(), RequestTask.objects.count()) == (1, 1)


def test_a_rule_says_what_is_added_and_may_approve_at_once(
    company: Company, gateway: APIClient, make_rule: Callable[..., Any]
) -> None:
    rule = make_rule(
        "Tags",
        auto_approve=True,
        ticket="required",
        conditions=[{"id": "purpose", "text": "Only for the audit."}],
        longest="P3D",
        **{"for": {"privileges": ["EDIT_ENTITY_TAGS"]}},
    )
    context = deny(gateway)
    offer = context["access_request"]
    assert offer["template"] == rule["urn"]
    schema = gateway.get(offer["request_schema_url"]).json()
    added = {**WHY, "ticket": "https://t.example/1", "conditions": ["purpose"]}
    jsonschema_rs.validate(schema, {"context": added})
    for name in added:
        lacking = {"context": {other: value for other, value in added.items() if other != name}}
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validate(schema, lacking)
        refused = submit(gateway, context, context={**QUESTION["context"], **lacking["context"]})
        assert refused.json()["errors"][0]["pointer"] == f"/context/{name}"
    done = submit(gateway, context, context={**QUESTION["context"], **added})
    assert (done.status_code, done.json()["task"]["status"]) == (201, "approved")
    assert done.json()["result"]["approval"]["approved_until"][:10] == days(3)[:10]
    assert evaluate(gateway)["decision"] is True
    assert code(gateway.get(f"{SUBMISSIONS}/schema?template=urn:li:approvalRule:none"), 404) == "not_found"
    # An enforcement point that owns something approves nothing by handing a request on.
    company["admin"].patch(f"{RULES}{rule['urn']}/", {"state": "INACTIVE"}, format="json")
    docs = {"action": {"name": "EDIT_ENTITY_DOCS"}}
    owner = company["ada"]
    store_policy("of-ada", type="PLATFORM", privileges=["CHECK_ACCESS"], actors={"users": [ADA]})
    handed_on = submit(owner, deny(owner, **docs), **docs)
    assert (handed_on.status_code, handed_on.json()["task"]["status"]) == (202, "pending")


def test_items_are_decided_and_evaluated_one_by_one(company: Company, gateway: APIClient) -> None:
    other = {"resource": {"type": "dataset", "id": ORDERS.replace("orders", "items")}}
    platform = {"action": {"name": "MANAGE_TAGS"}}
    questions = [{}, other, platform]
    items = [
        {
            "resource": question.get("resource", QUESTION["resource"]),
            "action": question.get("action", QUESTION["action"]),
            "denial": binding_of(deny(gateway, **question)),
            "requested_access": {"requested_until": days(number)},
        }
        for number, question in enumerate(questions, 2)
    ]
    bundle = {**QUESTION, "context": {**QUESTION["context"], **WHY}, "items": items}
    assert code(post(gateway, SUBMISSIONS, bundle), 400) == "malformed"
    del bundle["resource"], bundle["action"]
    task = post(gateway, SUBMISSIONS, bundle).json()["task"]
    assert [item["status"] for item in task["items"]] == ["pending"] * 3
    assert [one["document"] for one in SubmittedRequest.objects.get().items.values("document")][2] == {
        "privilege": "MANAGE_TAGS",
        "resource": None,
    }
    partly = {**items[0], "subject": QUESTION["subject"], "context": bundle["context"]}
    assert code(post(gateway, SUBMISSIONS, partly), 409) == "duplicate_request"
    request = request_of(task)
    assert act(company["ada"], request, "approve").status_code == 200
    assert act(company["bob"], request, "deny", note="no").status_code == 200
    assert gateway.get(task["status_endpoint"]).json()["task"]["status"] == "pending"
    assert act(company["admin"], request, "deny", note="no").status_code == 200
    body = gateway.get(task["status_endpoint"]).json()
    assert ("result" in body, body["task"]["status"]) == (False, "partial")
    assert [item["status"] for item in body["task"]["items"]] == ["approved", "denied", "denied"]
    approval = body["task"]["items"][0]["result"]["approval"]
    assert approval["approved_until"][:10] == days(2)[:10]
    assert evaluate(gateway, context={**QUESTION["context"], "approval": approval})["decision"] is True
    beyond = deny(gateway, **other, context={**QUESTION["context"], "approval": approval})
    assert (beyond["reason"], beyond["next_action"], "access_request" in beyond) == ("out_of_scope", "request", True)


def test_a_refusal_in_spite_of_an_approval_says_what_to_do(company: Company, gateway: APIClient) -> None:
    approval = approved(gateway, company["ada"])["result"]["approval"]
    presented = {"context": {**QUESTION["context"], "approval": approval}}

    def reason(client: APIClient = gateway, **members: Any) -> tuple[str, str, bool]:
        context = deny(client, **{**presented, **members})
        return context["reason"], context["next_action"], "access_request" in context

    policy = Policy.objects.get(
        urn=SubmittedRequest.objects.get().items.get().granted["changes"][0]["put_policy"]["urn"]
    )
    denial = store_policy("never", effect="DENY", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]})
    assert reason() == ("policy_denied", "none", False)
    policies.delete(urn=denial, by=authorizer.SYSTEM, channel="test")
    users.suspend(urn=JO, by=authorizer.SYSTEM, channel="test")
    assert reason() == ("policy_denied", "none", False)
    users.activate(urn=JO, by=authorizer.SYSTEM, channel="test")
    assert evaluate(gateway, **presented)["context"]["approval"]["id"] == approval["id"]
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel="test")
    assert reason() == ("approval_expired", "request", True)
    assert reason(make_client("other", "CHECK_ACCESS")) == ("approval_unverifiable", "none", False)
    for forged in ({"id": "x" * 43}, {"id": 7}, "yes", {}):
        assert reason(context={**QUESTION["context"], "approval": forged})[0] == "approval_unverifiable"
    SubmittedRequest.objects.get().items.update(state="waiting_for_source")
    waiting = deny(gateway, **presented)
    assert (waiting["reason"], waiting["next_action"], waiting["retry_after"]) == ("grant_pending", "retry", 60)


def test_hidden_and_absent_resources_are_requested_alike(
    company: Company, gateway: APIClient, make_rule: Callable[..., Any]
) -> None:
    scope = {"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}}
    make_rule("Orders", requestable=False, **{"for": {"resources": scope}})
    absent = {"resource": {"type": "route", "id": "/orders"}}
    hidden = {"resource": {"type": "dataset", "id": ORDERS}}
    assert "access_request" not in deny(gateway)
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        offers = [deny(gateway, **question) for question in (hidden, absent)]
        assert sorted(offers[0]["access_request"]) == sorted(offers[1]["access_request"])
        bodies = [submit(gateway, context, **one).json() for context, one in zip(offers, (hidden, absent), strict=True)]
    assert sorted(bodies[0]["task"]) == sorted(bodies[1]["task"])
    assert not any("progress" in body["task"] for body in bodies)
    approval = act(company["admin"], request_of(bodies[1]["task"]), "approve")
    assert approval.json()["state"] == "done", approval.content
    assert evaluate(gateway, **absent)["decision"] is True
    assert company["jo"].get(f"{REQUESTS}?mine=true").json()["count"] == 2
