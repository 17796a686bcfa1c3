"""Answers as these clients read them, refusals included; documents are put in as the text that was stored."""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse

from policies.engine.errors import Problem

_JSON_CONTENT_TYPE = "application/json"

#: What clients print as the kind of every refusal.
_EXCEPTION_CLASS = "com.linkedin.restli.server.RestLiServiceException"


def encode_object(members: Iterable[tuple[str, str]]) -> str:
    """Return the text of a JSON object whose values are JSON texts already.

    A document that goes through a parser comes out with other numbers (`1.0e3`, 400 digits) and other blanks.
    """
    return "{" + ", ".join(f"{encode_json(name)}: {text}" for name, text in members) + "}"


def encode_json(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def json_response(body: str) -> HttpResponse:
    """Answer with JSON that is text already."""
    return HttpResponse(body, content_type=_JSON_CONTENT_TYPE)


def action_response(value: Any, lints: Iterable[Problem] = ()) -> HttpResponse:
    """Answer an action: its result stands under `value`, and what is worth a look in what was written beside it."""
    return json_response(encode_object([("value", encode_json(value)), *lint_members(lints)]))


def lint_members(lints: Iterable[Problem]) -> list[tuple[str, str]]:
    """Return lints as a member for `encode_object`; without any there is none, as in DataHub's answer."""
    entries = [{"code": lint.code, "pointer": lint.pointer, "detail": lint.detail} for lint in lints]
    return [("lints", encode_json(entries))] if entries else []


def error_response(status: int, message: str) -> HttpResponse:
    """Refuse. Clients print `message`; statuses from 500 on, and 429, make them ask again and again."""
    body = {"status": status, "message": message or HTTPStatus(status).phrase, "exceptionClass": _EXCEPTION_CLASS}
    # Escaped, since a message may repeat what a client sent, half a surrogate pair included.
    return HttpResponse(json.dumps(body), status=status, content_type=_JSON_CONTENT_TYPE)
