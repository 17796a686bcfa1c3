"""Other engines as granian serves them: `POST /peers/NAME` with the body of authorize, without anything around them.

The facts of the questions that will be asked are in memory, ready for the engine; an answer is JSON read, an engine
asked and JSON written. No token, no limit, no log: what the product does besides is on nobody else's bill.
"""

import importlib.util
import os
from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any

import orjson

from bench.engines import Ask, Engine, cedar, fast_casbin
from bench.questions import body_of, list_questions
from bench.worlds import Asked, Company

#: Name → the package that it needs.
PEERS = {"cedarpy": "cedarpy", "casbin": "casbin", "cel": "common-expression-language"}
_MODULES = {"cedarpy": "cedarpy", "casbin": "casbin", "cel": "cel"}

#: The variable that says policies, users, entities and questions of the company.
QUESTIONS_VARIABLE = "BENCH_PEERS"

_Key = tuple[str, str, str]

#: casbin's FastEnforcer keeps the rows of a question in itself; on one core nobody loses anything by waiting.
_one_at_a_time = Lock()


def is_there(name: str) -> bool:
    """Return whether the package of a peer is installed."""
    return importlib.util.find_spec(_MODULES[name]) is not None


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer one question with the engine that the path names."""
    ready, ask = _load_peer(environ["PATH_INFO"].removeprefix("/peers/"))
    question = orjson.loads(environ["wsgi.input"].read())
    key = question["actor"], question["privilege"], question["resource"]["urn"]
    with _one_at_a_time:
        is_allowed = ask(ready[key])
    body = orjson.dumps({"decision": "ALLOW" if is_allowed else "DENY"})
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


@cache
def _load_peer(name: str) -> tuple[dict[_Key, Any], Ask]:
    """Return the facts of every question as an engine takes them, and the engine."""
    company, questions = _load_company()
    ready, ask = _make(name, company)
    return {_key(one): ready(one) for one in questions}, ask


def _make(name: str, company: Company) -> Engine:
    if name == "cel":
        from bench.cel_engine import cel

        return cel(company)
    return {"cedarpy": cedar, "casbin": fast_casbin}[name](company)


@cache
def _load_company() -> tuple[Company, list[Asked]]:
    policies, users, entities, count = (int(number) for number in os.environ[QUESTIONS_VARIABLE].split())
    company = Company(policies, users=users, entities=entities)
    return company, list(list_questions(company, count))


def _key(asked: Asked) -> _Key:
    body = body_of(asked)
    return body["actor"], body["privilege"], body["resource"]["urn"]
