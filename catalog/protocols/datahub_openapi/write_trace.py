"""Write traces: the state of an asynchronous write. Writes are complete when answered, so none is pending."""

import re
import secrets
import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog import errors, urns
from catalog.access import people_records, view_permissions
from catalog.protocols.datahub_openapi import entity_json, paths
from catalog.protocols.datahub_rest import request_bodies, responses
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden, Invalid, NotFound

#: Most entities that one call may ask about.
MAX_ENTITIES = 1000

_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_STORED, _ABSENT = {"writeStatus": "ACTIVE_STATE"}, {"writeStatus": "UNKNOWN"}
_STORED_STATE = {"success": True, "primaryStorage": _STORED, "searchStorage": _STORED}
_ABSENT_STATE = {"success": False, "primaryStorage": _ABSENT, "searchStorage": _ABSENT}


def create_traceparent() -> str:
    """Return a new `traceparent`; clients read the time, in microseconds, from the first half of its trace id."""
    return f"00-{time.time_ns() // 1000:016x}{secrets.token_hex(8)}-{secrets.token_hex(8)}-01"


def get_write_status(request: HttpRequest, by: Actor, trace: str) -> HttpResponse:
    """Return by URN and aspect whether it is stored; with `onlyIncludeErrors` (default) only those that are not."""
    if _TRACE_ID.fullmatch(trace) is None:
        raise NotFound("A trace id is 32 hexadecimal digits.")
    body = request_bodies.read(request)
    _check_body(body)
    only_errors = paths.read_boolean(request, "onlyIncludeErrors", default=True)
    readable_urns = entity_json.find_readable_urns(list(body), by)
    refused_urns = {
        urn for urn in body.keys() - readable_urns if not view_permissions.is_concealed_type(urns.entity_type(urn))
    }
    if refused_urns:
        raise Forbidden([MissingPrivilege(urn, "VIEW_ENTITY_PAGE") for urn in sorted(refused_urns)])
    documents = people_records.load_visible_documents(
        urns=list(readable_urns), by=by, is_open=not settings.REST_API_AUTHORIZATION
    )
    states = {
        urn: {
            name: _STORED_STATE if name in documents.get(urn, {}) else _ABSENT_STATE
            for name in names
            if not (only_errors and name in documents.get(urn, {}))
        }
        for urn, names in body.items()
    }
    if only_errors:
        states = {urn: state_by_name for urn, state_by_name in states.items() if state_by_name}
    return responses.json_response(responses.encode_json(states))


def _check_body(body: dict[str, Any]) -> None:
    if len(body) > MAX_ENTITIES:
        raise Invalid.from_problem(
            code="list.long", pointer="", detail=f"At most {MAX_ENTITIES} entities may be asked about at once."
        )
    for urn, names in body.items():
        request_bodies.parse_urn(urn, "")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Invalid.from_problem(
                code="type", pointer=errors.json_pointer([urn]), detail="This is a list of names of aspects."
            )
