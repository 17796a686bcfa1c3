"""Write traces: what became of an asynchronous write. Writes are done when they are answered, so nothing is pending."""

import re
import secrets
import time
from typing import Any

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import people_records, view_permissions
from catalog.protocols.datahub_openapi import entity_json, paths
from catalog.protocols.datahub_rest import request_bodies, responses
from policies.engine.model import Actor, Missing
from policies.errors import Forbidden, Invalid, NotFound

#: Most entities that one call may ask about.
MOST = 1000

_ID = re.compile(r"[0-9a-fA-F]{32}")
_STORED = {"success": True, "primaryStorage": {"writeStatus": "ACTIVE_STATE"}} | {
    "searchStorage": {"writeStatus": "ACTIVE_STATE"}
}
_ABSENT = {"success": False, "primaryStorage": {"writeStatus": "UNKNOWN"}, "searchStorage": {"writeStatus": "UNKNOWN"}}


def parent() -> str:
    """Return a fresh `traceparent`; clients read the time, in microseconds, from the first half of its trace id."""
    return f"00-{time.time_ns() // 1000:016x}{secrets.token_hex(8)}-{secrets.token_hex(8)}-01"


def write(request: HttpRequest, by: Actor, trace: str) -> HttpResponse:
    """Answer, for aspects by URN, whether they are stored."""
    if _ID.fullmatch(trace) is None:
        raise NotFound("A trace id is 32 hexadecimal digits.")
    body = request_bodies.read(request)
    _check(body)
    only_errors = paths.flag(request, "onlyIncludeErrors", default=True)
    readable = entity_json.readable(list(body), by)
    refused = {urn for urn in body.keys() - readable if not view_permissions.is_concealed_type(urns.type_of(urn))}
    if refused:
        raise Forbidden([Missing("VIEW_ENTITY_PAGE", urn) for urn in sorted(refused)])
    found = people_records.documents_for(urns=list(readable), by=by)
    states = {
        urn: {name: _STORED if name in found.get(urn, {}) else _ABSENT for name in names} for urn, names in body.items()
    }
    if only_errors:
        states = {urn: {n: s for n, s in one.items() if not s["success"]} for urn, one in states.items()}
        states = {urn: one for urn, one in states.items() if one}
    return responses.text(responses.encoded(states))


def _check(body: dict[str, Any]) -> None:
    if len(body) > MOST:
        raise Invalid.one(code="list.long", pointer="", detail=f"At most {MOST} entities may be asked about at once.")
    for urn, names in body.items():
        request_bodies.checked(urn, "")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Invalid.one(code="type", pointer=f"/{urn}", detail="This is a list of names of aspects.")
