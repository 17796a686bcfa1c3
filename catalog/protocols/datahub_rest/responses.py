"""Responses in the format of DataHub's clients, errors included; documents are inserted as stored text."""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse

from policies.engine.errors import Problem
from policies.errors import Forbidden, PolicyAppError
from policies.models import PolicyVersion
from policies.models.policy import POLICY_PREFIX

_JSON_CONTENT_TYPE = "application/json"

#: Exception class that clients print with every error.
_EXCEPTION_CLASS = "com.linkedin.restli.server.RestLiServiceException"


def encode_object(members: Iterable[tuple[str, str]]) -> str:
    """Return a JSON object as text, from (name, JSON text) pairs.

    Documents are not parsed, since that would change their numbers (`1.0e3`, 400 digits) and whitespace.
    """
    return "{" + ", ".join(f"{encode_json(name)}: {text}" for name, text in members) + "}"


def encode_json(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def json_response(body: str) -> HttpResponse:
    """Return a response with JSON text as its body."""
    return HttpResponse(body, content_type=_JSON_CONTENT_TYPE)


def action_response(value: Any, lints: Iterable[Problem] = ()) -> HttpResponse:
    """Return the response of an action: its result under `value`, and beside it the lints of the written documents."""
    return json_response(encode_object([("value", encode_json(value)), *lint_members(lints)]))


def with_policy_version(response: HttpResponse, urns: Iterable[str]) -> HttpResponse:
    """Return the response with the policy version if a written URN is a policy's, so that clients can require it."""
    if any(urn.startswith(POLICY_PREFIX) for urn in urns):
        response.headers["Policy-Version"] = str(PolicyVersion.load_version())
    return response


def lint_members(lints: Iterable[Problem]) -> list[tuple[str, str]]:
    """Return lints as a member for `encode_object`; no member if there are none, as in DataHub's response."""
    entries = [{"code": lint.code, "pointer": lint.pointer, "detail": lint.detail} for lint in lints]
    return [("lints", encode_json(entries))] if entries else []


def render_refusal(error: PolicyAppError) -> HttpResponse:
    """Return the error response for a refusal, with the missing privileges as in our own API."""
    missing = error.missing if isinstance(error, Forbidden) else ()
    entries = [{"entity": item.entity, "privilege": item.privilege} for item in missing]
    return error_response(error.status, error.detail, **({"missing": entries} if entries else {}))


def error_response(status: int, message: str, **members: Any) -> HttpResponse:
    """Return an error response. Clients print `message`, and retry on 429 and on statuses from 500."""
    body = {"status": status, "message": message or HTTPStatus(status).phrase, "exceptionClass": _EXCEPTION_CLASS}
    body |= members
    # Escaped to ASCII, since a message may repeat input with half a surrogate pair.
    return HttpResponse(json.dumps(body), status=status, content_type=_JSON_CONTENT_TYPE)
