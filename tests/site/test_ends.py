"""Two web processes with nothing but a database: what begins or ends does so in both, within a second.

Neither Redis nor a worker is there. One process is asked all the time, the other one only once everything is over.
"""

import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.clients import installations
from tests.faults.sites import Caller
from tests.site import carriers

#: No answer to what was asked so long after an end, or a beginning, relies on what was before.
BOUND_SECONDS = 1.0
#: How long before the beginning everything is written, and how long it then counts.
LEAD_SECONDS, LENGTH_SECONDS = 4, 3
#: Longer than it takes until every answer has changed.
PATIENCE_SECONDS = 30

JO, MAX = "urn:li:corpuser:jo", "urn:li:corpuser:max"
TEAM, STEWARD, ANALYST = "urn:li:corpGroup:team", "urn:li:dataHubRole:steward", "urn:li:dataHubRole:analyst"
NAMESPACE, STREAM = "urn:li:namespace:ns1", "urn:li:stream:ns1.clicks"
OBJECT = "a" * 24

#: What is asked about each kind of thing that has times.
QUESTIONS: dict[str, dict[str, Any]] = {
    "policy": {"privilege": "MANAGE_TAGS"},
    "membership": {"privilege": "MANAGE_DOMAINS"},
    "role assignment": {"privilege": "MANAGE_GLOSSARIES"},
    "grant": {"privilege": "READ", "resource": {"urn": STREAM}},
    "statement": {"privilege": "dataset:read", "resource": {"type": "dataset", "id": OBJECT}},
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: when it was asked for and when it was there, the code, and the end that its reason names."""

    asked_at: float
    answered_at: float
    code: str
    ends: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two web processes of one installation: one that writes, one that is asked."""

    writer: Caller
    asker: Caller


@pytest.fixture(params=["poll", "postgres"], scope="module")
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The processes, with the people and the entities that the questions are about."""
    folder = tmp_path_factory.mktemp("ends")
    with ExitStack() as stack:
        environment = installations.environment_of(folder, **stack.enter_context(carriers.starting(request.param)))
        token = installations.set_up(environment)
        writer, asker = (
            stack.enter_context(closing(Caller(address, token)))
            for address in [
                stack.enter_context(installations.serving(environment, log=folder / f"web-{number}.log"))
                for number in range(2)
            ]
        )
        _prepare(writer)
        yield Pair(writer, asker)


def _prepare(writer: Caller) -> None:
    for username in ("jo", "max"):
        post(writer, "users/", {"username": username})
    post(writer, "groups/", {"id": "team", "name": "Team"})
    for role in (STEWARD, ANALYST):
        post(writer, "roles/", {"id": role.rpartition(":")[2], "name": role})
    post(writer, f"roles/{ANALYST}/actors/", {"actors": [JO, MAX]})
    post(writer, "entities/", {"type": "namespace", "urn": NAMESPACE, "aspects": {}})
    post(writer, "entities/", {"type": "stream", "urn": STREAM, "aspects": {}})
    give(writer, "MANAGE_DOMAINS", {"groups": [TEAM]})
    give(writer, "MANAGE_GLOSSARIES", {"roles": [STEWARD]})


def post(caller: Caller, path: str, body: Any) -> Any:
    reply = caller.call("POST", f"/api/v1/{path}", body)
    assert reply.status in (200, 201), reply.text
    return reply.body


def give(writer: Caller, privilege: str, actors: dict[str, Any], **times: str) -> None:
    document = {
        "displayName": privilege,
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": [privilege],
        "actors": actors,
    }
    post(writer, "policies/", {"family": "datahub", "document": document | times})


def give_everything(writer: Caller, actor: str, **times: str) -> None:
    """Give one of each kind, with these times."""
    give(writer, "MANAGE_TAGS", {"users": [actor]}, **{f"valid{key[6:].title()}": at for key, at in times.items()})
    post(writer, f"groups/{TEAM}/members/", {"members": [{"urn": actor, **times}]})
    post(writer, f"roles/{STEWARD}/actors/", {"actors": [{"urn": actor, **times}]})
    post(writer, "grants/", {"principal": actor, "entity": STREAM, "privileges": ["READ"], **times})
    statement = {"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}
    document = {"name": f"For {actor}", "statements": [statement], "roles": [ANALYST]}
    post(writer, "policies/", {"family": "datazone", "document": document, **times})


def ask(caller: Caller, actor: str, kind: str) -> Seen:
    asked_at = time.time()
    reply = caller.call("POST", "/api/v1/authorize", {"actor": actor, **QUESTIONS[kind]})
    assert reply.status == 200, reply.text
    ends = [reason["ends"] for reason in reply.body["reasons"]]
    return Seen(asked_at, time.time(), reply.body["code"], ends[0] if ends else None)


def watch(caller: Caller, actor: str, codes: list[str]) -> dict[str, list[Seen]]:
    """Ask about every kind until each has gone through these codes."""
    seen: dict[str, list[Seen]] = {kind: [] for kind in QUESTIONS}
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while any(list_codes(answers) != codes for answers in seen.values()):
        assert time.monotonic() < give_up_at, {kind: list_codes(answers) for kind, answers in seen.items()}
        for kind, answers in seen.items():
            answers.append(ask(caller, actor, kind))
    return seen


def list_codes(answers: list[Seen]) -> list[str]:
    """Return the codes in the order in which they came, each once in a row."""
    return [
        answer.code
        for position, answer in enumerate(answers)
        if not position or answers[position - 1].code != answer.code
    ]


def write_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def test_everything_begins_and_ends_within_a_second_in_every_process(pair: Pair) -> None:
    begins = math.ceil(time.time()) + LEAD_SECONDS
    ends = begins + LENGTH_SECONDS
    give_everything(pair.writer, JO, valid_from=write_time(begins), valid_until=write_time(ends))
    assert time.time() < begins
    for kind, answers in watch(pair.asker, JO, ["implicit_deny", "allowed", "implicit_deny"]).items():
        allowed = [answer for answer in answers if answer.code == "allowed"]
        assert min(answer.answered_at for answer in allowed) >= begins, kind
        assert max(answer.asked_at for answer in allowed) < ends + BOUND_SECONDS, kind
        before = [answer for answer in answers if answer.code != "allowed" and answer.answered_at < ends]
        assert max(answer.asked_at for answer in before) < begins + BOUND_SECONDS, kind
        assert {answer.ends for answer in allowed} == {write_time(ends)}, kind
    assert [ask(pair.writer, JO, kind).code for kind in QUESTIONS] == ["implicit_deny"] * len(QUESTIONS)


def test_an_end_that_comes_before_the_next_comparison_holds_within_a_second(pair: Pair) -> None:
    post(pair.writer, f"groups/{TEAM}/members/", {"members": [MAX]})
    assert ask(pair.asker, MAX, "membership").code == "allowed"
    end = set_near_end(pair.writer)
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    answers = [ask(pair.asker, MAX, "membership")]
    while answers[-1].code == "allowed":
        assert time.monotonic() < give_up_at
        answers.append(ask(pair.asker, MAX, "membership"))
    assert max((answer.asked_at for answer in answers[:-1]), default=0.0) < end + BOUND_SECONDS
    assert ask(pair.writer, MAX, "membership").code == "implicit_deny"


def set_near_end(writer: Caller) -> float:
    """Have the membership of Max end in less time than lies between two comparisons; return the end."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert time.monotonic() < give_up_at
        end = time.time() + BOUND_SECONDS / 2
        members = [{"urn": MAX, "valid_until": write_time(end)}]
        reply = writer.call("POST", f"/api/v1/groups/{TEAM}/members/", {"members": members})
        if reply.status == 201:
            return end
        # A machine that was busy for as long: the end had passed when it was checked.
        assert "validity.ended" in reply.text, reply.text
