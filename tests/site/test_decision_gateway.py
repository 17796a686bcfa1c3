"""The short way for decisions gives what the view gives: status, headers, body, rows of the log, and counters."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from time import sleep
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import OperationalError
from django.test import RequestFactory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from authzsite.decision_gateway import DecisionGateway, Environ
from policies import deadlines
from policies.models import DailyUse, LoggedDecision
from policies.pdp import snapshot_store
from policies.pdp.log import decision_log
from policies.propagation.metric_buffer import metric_buffer
from tests.api.conftest import make_client, store_policy
from tests.forgetting import forget_rows

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
JO, KIM = "urn:li:corpuser:jo", "urn:li:corpuser:kim"
AUTHORIZE, BATCH = "/api/v1/authorize", "/api/v1/authorize/batch"
EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"
PLAIN = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": ORDERS}}

EVALUATED = {
    "subject": {"type": "user", "id": "jo"},
    "action": {"name": "EDIT_ENTITY_TAGS"},
    "resource": {"type": "dataset", "id": ORDERS},
}
OTHER = {**EVALUATED, "subject": {"type": "user", "id": "kim"}}

#: What differs from call to call, in a log of decisions and among counters.
FLEETING_COLUMNS = frozenset({"id", "at", "milliseconds", "evaluation_id"})
#: Members of an answer that are its own: the id of an evaluation, and times.
FLEETING_MEMBERS = re.compile(rb'"(evaluation_id|evaluated_at|expires_at)":"[^"]+"')
FLEETING_COUNTERS = re.compile(r"_created$|authz_authorize_seconds_(bucket|sum)|timestamp|authz_snapshot")


@dataclass
class Answer:
    """An answer, and what it has left behind."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes
    rows: list[dict[str, Any]]
    uses: dict[tuple[str, str, str], int]
    counters: dict[str, float]
    was_handed_over: bool


class Site:
    """An application whose answers and traces are collected."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.calls = 0
        handler = WSGIHandler()

        def count_and_call(environ: Environ, start_response: Callable[..., Any]) -> Any:
            self.calls += 1
            return handler(environ, start_response)

        self.view = count_and_call
        self.gateway = DecisionGateway(count_and_call)

    def environ(self, path: str, body: bytes, **changes: Any) -> Environ:
        """Return the call of a client with the token; a change to None leaves something out."""
        request = RequestFactory().generic("POST", path, body, content_type="application/json")
        environ: Environ = {
            **{name: value for name, value in request.environ.items() if name != "HTTP_COOKIE"},
            "wsgi.input": BytesIO(body),
            "HTTP_AUTHORIZATION": f"Bearer {self.token}",
            "HTTP_X_REQUEST_ID": "a-test",
            "HTTP_HOST": "localhost",
            "REMOTE_ADDR": "10.0.0.1",
            **changes,
        }
        return {name: value for name, value in environ.items() if value is not None}

    def call(self, application: Callable[..., Any], environ: Environ) -> Answer:
        """Call an application, and collect the answer and its traces."""
        begun: list[Any] = []
        calls, counted = self.calls, read_counters()
        LoggedDecision.objects.all().delete()
        DailyUse.objects.all().delete()
        decision_log.start()
        try:
            answer = application(environ, lambda status, headers, *_: begun.append((status, headers)))
            body = FLEETING_MEMBERS.sub(rb'"\1":"OWN"', b"".join(answer))
            getattr(answer, "close", lambda: None)()
        finally:
            decision_log.stop()
        rows = [
            {name: value for name, value in row.items() if name not in FLEETING_COLUMNS}
            for row in LoggedDecision.objects.order_by("id").values()
        ]
        uses = {
            (row.policy, row.actor, row.privilege): row.uses
            for row in DailyUse.objects.order_by("policy", "actor", "privilege")
        }
        counters = {name: value - counted.get(name, 0) for name, value in read_counters().items()}
        ((status, headers),) = begun
        return Answer(
            status,
            # The moment of an answer that must not be kept; both ways have one.
            sorted((name, "now" if name == "Expires" else value) for name, value in headers),
            body,
            rows,
            uses,
            {name: number for name, number in counters.items() if number},
            self.calls > calls,
        )


def read_counters() -> dict[str, float]:
    """Return every counter of this product by its name and labels."""
    metric_buffer.flush()
    return {
        f"{sample.name} {sorted(sample.labels.items())}": sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name.startswith("authz_") and not FLEETING_COUNTERS.search(sample.name)
    }


@pytest.fixture(scope="module")
def _committed(django_db_setup, django_db_blocker) -> Iterator[None]:
    """Rows that the thread of the decision log finds as well, until the tests of this module are over."""
    with django_db_blocker.unblock():
        forget_rows()
        yield
        forget_rows()
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """What was asked once stays known, in place of the fixture that has each test begin without it."""


@pytest.fixture(autouse=True)
def _fresh_snapshot() -> None:
    """The policies stay the same, too."""


@pytest.fixture(scope="module")
def _site_of_module(_committed) -> Site:
    filtered = {"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}}
    store_policy("tags", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]}, resources=filtered)
    found = Site(read_token(make_client("jo", "CHECK_ACCESS", "MANAGE_POLICIES")))
    # What is known once it was asked: the headers, and that jo may ask about others.
    for path, body in (
        (AUTHORIZE, {**PLAIN, "actor": KIM}),
        (f"{AUTHORIZE}/", PLAIN),
        (BATCH, {"questions": [PLAIN]}),
        (f"{BATCH}/", {"questions": [PLAIN]}),
        (EVALUATION, EVALUATED),
        (EVALUATIONS, {"evaluations": [EVALUATED]}),
    ):
        found.call(found.gateway, found.environ(path, encode(body)))
    return found


@pytest.fixture
def site(_site_of_module: Site, settings) -> Site:
    """A site of which jo, who may ask about others, is a caller, with a policy for jo on one dataset."""
    settings.DECISION_LOG_SAMPLE = 1.0
    return _site_of_module


def read_token(client: Any) -> str:
    header: str = client._credentials["HTTP_AUTHORIZATION"]
    return header.removeprefix("Bearer ")


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def compare(site: Site, path: str, body: bytes, **changes: Any) -> Answer:
    """Send a call both ways, compare everything, and return the answer of the short way."""
    by_view = site.call(site.view, site.environ(path, body, **changes))
    by_gateway = site.call(site.gateway, site.environ(path, body, **changes))
    for part in ("status", "headers", "body", "rows", "uses", "counters"):
        assert getattr(by_gateway, part) == getattr(by_view, part), part
    return by_gateway


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (AUTHORIZE, PLAIN),
        (f"{AUTHORIZE}/", PLAIN),
        (AUTHORIZE, {**PLAIN, "actor": JO}),
        (AUTHORIZE, {**PLAIN, "actor": KIM}),
        (AUTHORIZE, {"privilege": "MANAGE_POLICIES"}),
        (AUTHORIZE, {"privilege": "nothing knows this"}),
        (AUTHORIZE, {"operation": "stream.get", "resource": {"urn": "urn:li:stream:ns1.x"}}),
        (AUTHORIZE, {"privilege": "dataset:read", "resource": {"urn": "urn:li:dataset:é ü".replace(" ", "")}}),
        (BATCH, {"questions": []}),
        (BATCH, {"questions": [PLAIN, {**PLAIN, "actor": KIM}, {"privilege": "X"}]}),
        (f"{BATCH}/", {"questions": [PLAIN]}),
        (EVALUATION, EVALUATED),
        (EVALUATION, OTHER),
        (EVALUATION, {**EVALUATED, "subject": {"type": "car", "id": "x"}}),
        (EVALUATION, {**EVALUATED, "action": {"name": "x" * 300}}),
        (EVALUATIONS, {"evaluations": [EVALUATED, OTHER]}),
        (EVALUATIONS, {**EVALUATED, "evaluations": [{"action": {"name": "é"}}, {"resource": OTHER["resource"]}]}),
        (EVALUATIONS, {"evaluations": [EVALUATED, {"action": {"name": "READ"}}, {}]}),
    ],
)
def test_a_plain_call_is_answered_in_front_of_django(site, path, body):
    assert not compare(site, path, encode(body)).was_handed_over


def test_a_question_about_another_is_a_use_of_the_privilege_to_ask(site):
    answer = compare(site, AUTHORIZE, encode({**PLAIN, "actor": JO}))
    assert answer.uses == {("urn:li:dataHubPolicy:tags", JO, "EDIT_ENTITY_TAGS"): 1}
    kim = compare(site, AUTHORIZE, encode({**PLAIN, "actor": KIM}))
    assert not kim.was_handed_over
    assert {key[1:]: uses for key, uses in kim.uses.items()} == {
        (JO, "CHECK_ACCESS"): 1,
        (JO, "MANAGE_POLICIES"): 1,
    }


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        (encode({**PLAIN, "explain": True}), {}),
        (encode({**PLAIN, "at_least_version": 1}), {}),
        (encode({"privilege": ""}), {}),
        (encode({"privilege": "A", "operation": "B"}), {}),
        (encode({**PLAIN, "actor": "urn:li:corpGroup:x"}), {}),
        (encode({**PLAIN, "colour": "red"}), {}),
        (b'{"privilege": "A", "privilege": "B"}', {}),
        (b'{"privilege": "A", "resource": {"urn": "urn:li:dataset:a", "urn": "urn:li:dataset:b"}}', {}),
        (rb'{"privilege": "A\u0000"}', {}),
        (rb'{"privilege": "\ud800"}', {}),
        (b'{"privilege": "\xff"}', {}),
        (b'{"privilege": NaN}', {}),
        (b"[" * 100, {}),
        (b"{", {}),
        (b"", {}),
        (encode(PLAIN), {"HTTP_AUTHORIZATION": "Bearer azs_wrong"}),
        (encode(PLAIN), {"HTTP_AUTHORIZATION": None}),
        (encode(PLAIN), {"HTTP_AUTHORIZATION": "Basic eDp5"}),
        (encode(PLAIN), {"HTTP_HOST": "elsewhere.example"}),
        (encode(PLAIN), {"HTTP_ACCEPT": "text/html"}),
        (encode(PLAIN), {"CONTENT_TYPE": "application/json; charset=utf-8"}),
        (encode(PLAIN), {"CONTENT_LENGTH": "70000"}),
        (encode(PLAIN), {"QUERY_STRING": "format=api"}),
        (encode(PLAIN), {"REQUEST_METHOD": "PUT"}),
        (encode(PLAIN), {"HTTP_COOKIE": "sessionid=x"}),
        (encode(PLAIN), {"HTTP_ORIGIN": "https://elsewhere.example"}),
        (encode(PLAIN), {"HTTP_X_FORWARDED_PROTO": "gopher"}),
        (encode(PLAIN), {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}),
    ],
)
def test_every_other_call_is_left_to_the_view(site, body, changes):
    assert compare(site, AUTHORIZE, body, **changes).was_handed_over


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (EVALUATION, {**EVALUATED, "context": {}}),
        (EVALUATION, {**EVALUATED, "resource": {"type": "dataset"}}),
        (EVALUATION, {**EVALUATED, "resource": {"type": "dataset", "id": 1}}),
        (EVALUATION, {**EVALUATED, "action": {"name": "A", "properties": {"a": "b"}}}),
        (EVALUATION, {**EVALUATED, "action": {"name": ""}}),
        (EVALUATION, []),
        (EVALUATIONS, EVALUATED),
        (EVALUATIONS, {"evaluations": []}),
        (EVALUATIONS, {"evaluations": [EVALUATED, 1]}),
        (EVALUATIONS, {"evaluations": [EVALUATED], "options": {"evaluations_semantic": "deny_on_first_deny"}}),
    ],
)
def test_every_other_evaluation_is_left_to_the_view(site, path, body):
    assert compare(site, path, encode(body)).was_handed_over


def test_a_caller_who_may_not_ask_about_others_is_refused_by_the_view_and_logged_once(site):
    site = Site(read_token(make_client("lee")))
    site.call(site.gateway, site.environ(AUTHORIZE, encode(PLAIN)))
    answer = compare(site, AUTHORIZE, encode({**PLAIN, "actor": JO}))
    assert answer.status.startswith("403")
    assert answer.was_handed_over
    assert len(answer.rows) == 1
    assert not compare(site, AUTHORIZE, encode(PLAIN)).was_handed_over


TEXTS = st.one_of(
    st.sampled_from(
        ["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE", "READ", "stream.get", JO, KIM, ORDERS, 'a"b', "\\", "\x7f"]
    ),
    st.text(max_size=8),
)
ODD = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(-1, 2**70), st.floats(), st.lists(TEXTS, max_size=2))
QUESTIONS = st.fixed_dictionaries(
    {},
    optional={
        "privilege": st.one_of(TEXTS, ODD),
        "operation": TEXTS,
        "actor": st.one_of(st.sampled_from([JO, KIM]), ODD),
        "resource": st.one_of(st.fixed_dictionaries({"urn": st.one_of(st.just(ORDERS), TEXTS)}), ODD),
        "explain": st.booleans(),
        "odd": ODD,
    },
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "HTTP_ACCEPT": st.sampled_from(["*/*", "application/json", "text/html", ""]),
        "HTTP_USER_AGENT": st.just("a test"),
        "HTTP_X_REQUEST_ID": st.sampled_from(["other", "not allowed", ""]),
        "HTTP_X_FORWARDED_FOR": st.sampled_from(["10.1.1.1", "nonsense"]),
        "HTTP_X_FORWARDED_PROTO": st.sampled_from(["https", "http", "ftp"]),
        "CONTENT_TYPE": st.sampled_from(["application/json", "text/plain", "APPLICATION/JSON"]),
        "QUERY_STRING": st.sampled_from(["", "x=1"]),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(
    question=QUESTIONS,
    headers=HEADERS,
    is_batch=st.booleans(),
    edit=st.sampled_from([lambda body: body, lambda body: body[:-1], lambda body: body + b" ", lambda body: body * 2]),
)
def test_both_ways_give_the_same_whatever_is_sent(site, question, headers, is_batch, edit):
    if headers.get("HTTP_X_REQUEST_ID") in {"not allowed", ""}:
        headers["HTTP_X_REQUEST_ID"] = "once-more"
    body = edit(
        json.dumps({"questions": [question]} if is_batch else question, ensure_ascii=False).encode(errors="replace")
    )
    compare(site, BATCH if is_batch else AUTHORIZE, body, **headers)


def test_what_is_too_much_is_refused_and_counted_once(site, settings):
    settings.CALLS_PER_TOKEN = 3
    limited = Site(site.token)
    limited.call(limited.gateway, limited.environ(AUTHORIZE, encode(PLAIN)))
    answers = [limited.call(limited.gateway, limited.environ(AUTHORIZE, encode(PLAIN))) for _ in range(4)]
    assert [answer.status[:3] for answer in answers] == ["200", "200", "429", "429"]
    assert [answer.was_handed_over for answer in answers] == [False, False, True, True]


def test_a_call_without_a_usable_id_gets_one(site):
    for sent in ("not allowed", None):
        answer = site.call(site.gateway, site.environ(AUTHORIZE, encode(PLAIN), HTTP_X_REQUEST_ID=sent))
        assert not answer.was_handed_over
        assert re.fullmatch(r"[0-9a-f-]{36}", dict(answer.headers)["X-Request-ID"])


def test_a_decision_that_fails_is_left_to_the_view(site, monkeypatch):
    """The version that a question demands is waited for once, by the view."""
    monkeypatch.setattr(snapshot_store, "VERSION_WAIT_SECONDS", 0.0)
    answer = compare(site, AUTHORIZE, encode({**PLAIN, "at_least_version": 10**6}))
    assert answer.status.startswith("503")


def test_a_fault_of_the_gateway_is_logged_and_the_view_answers(site, monkeypatch, caplog):
    def fail(*_arguments):
        raise RuntimeError("a fault")

    monkeypatch.setattr("policies.http.api.plain_json.has_all_texts", fail)
    answer = site.call(site.gateway, site.environ(AUTHORIZE, encode(PLAIN)))
    assert (answer.status[:3], answer.was_handed_over) == ("200", True)
    assert any("plain_call_failed" in str(record.msg) for record in caplog.records)


def test_while_the_database_is_away_the_view_answers_within_the_same_budget(site, monkeypatch):
    asked: list[float | None] = []

    def fail(**_arguments):
        asked.append(deadlines.find_seconds_left())
        with deadlines.spend():
            sleep(0.2)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr("policies.identity.services.access_tokens.find_valid_token", fail)
    answer = site.call(site.gateway, site.environ(AUTHORIZE, encode(PLAIN)))
    assert (answer.status[:3], answer.was_handed_over) == ("503", True)
    assert dict(answer.headers)["Retry-After"]
    first, second = asked
    assert first is not None
    assert second is not None
    assert second < first - 0.19
