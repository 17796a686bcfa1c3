"""Writes: one proposal or a batch of them, all or nothing.

`async` is read by nobody: every write is there when its answer is. Of the headers of a proposal only `If-None-Match: *`
says something: a CREATE of what is there already is passed over.
"""

import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.ingest import apply
from catalog.ingest.apply import Applied, ChangeType, Proposal
from catalog.protocols.datahub_rest import request_bodies, responses, snapshot_ingest
from catalog.protocols.datahub_rest.view_frame import DOOR
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import PolicyVersion

#: Most proposals of one batch; clients send up to 200.
MOST = 10_000

_POLICY = "dataHubPolicy"
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def ingest_proposal(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write one proposal; answers its URN."""
    entry = request_bodies.read(request).get("proposal")
    if isinstance(entry, dict) and isinstance(entry.get("entityUrn"), str):
        entry["entityUrn"] = unescaped(entry["entityUrn"])
    written = _apply([(entry, "/proposal")], by)
    return _moved(responses.value(written.urns[0], written.lints), written)


def ingest_batch(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write a list of proposals; answers their URNs in order."""
    entries = request_bodies.read(request, signs=request_bodies.MAX_BATCH_SIGNS).get("proposals")
    if not isinstance(entries, list):
        raise Invalid.one(code="required", pointer="/proposals", detail="This must be a list of proposals.")
    if len(entries) > MOST:
        raise Invalid.one(code="list.long", pointer="/proposals", detail=f"A batch has at most {MOST} proposals.")
    written = _apply([(entry, f"/proposals/{index}") for index, entry in enumerate(entries)], by)
    return _moved(responses.value(list(written.urns), written.lints), written)


def unescaped(text: str) -> str:
    r"""Undo what clients do to the URN of a single proposal, where é arrives as the six characters \u00e9."""
    if "\\u" not in text:
        return text
    units = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    # Characters beyond the sixteenth bit arrive as two escapes, which are one character only together.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def ingest_snapshot(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write the aspects of a snapshot, as clients of before proposals send an entity; all or none."""
    body = request_bodies.read(request, signs=request_bodies.MAX_BATCH_SIGNS)
    written = _applied(list(snapshot_ingest.read(body)), by)
    return _moved(responses.value(None, written.lints), written)


def is_optional(headers: Any) -> bool:
    """Whether the headers of a write ask for it only where nothing is."""
    return isinstance(headers, dict) and any(
        str(name).casefold() == "if-none-match" and value == "*" for name, value in headers.items()
    )


def _apply(entries: Sequence[tuple[Any, str]], by: Actor) -> Applied:
    found = [_proposal(entry, place) for entry, place in entries if isinstance(entry, dict)]
    problems = [
        Problem("proposal.shape", place, "A proposal is a JSON object.")
        for entry, place in entries
        if not isinstance(entry, dict)
    ]
    problems += [problem for one in found for problem in _refused(one)]
    if problems:
        raise Invalid(problems)
    return _applied(found, by)


def _applied(found: Sequence[Proposal], by: Actor) -> Applied:
    return apply.apply(proposals=found, by=by, door=DOOR, is_open=not settings.REST_API_AUTHORIZATION)


def _proposal(entry: dict[str, Any], place: str) -> Proposal:
    aspect, metadata = entry.get("aspect"), entry.get("systemMetadata")
    return Proposal(
        urn=_or(entry.get("entityUrn"), ""),
        aspect=_or(entry.get("aspectName"), ""),
        document=aspect.get("value") if isinstance(aspect, dict) else None,
        change=_or(entry.get("changeType"), ChangeType.UPSERT),
        type=_or(entry.get("entityType"), ""),
        system_metadata=metadata if metadata is None or isinstance(metadata, str) else responses.encoded(metadata),
        is_optional=is_optional(entry.get("headers")),
        place=place,
        document_place=f"{place}/aspect/value",
    )


def _refused(one: Proposal) -> list[Problem]:
    """Return what this door does not take although it is well-formed: half a deletion of what has its own page."""
    if one.change != ChangeType.DELETE or urns.problem(one.urn, "") is not None:
        return []
    parsed = urns.parse(one.urn)
    if parsed.type not in urns.PEOPLE_TYPES or one.aspect != parsed.key_aspect:
        return []
    detail = f"A {parsed.type} is deleted by POST /entities?action=delete."
    return [Problem("change.elsewhere", f"{one.place}/changeType", detail)]


def _moved(response: HttpResponse, written: Applied) -> HttpResponse:
    """Name the version of the policies after a write of policies, so that the client can ask for at least that one."""
    if any(urns.type_of(urn) == _POLICY for urn in written.urns):
        response.headers["Policy-Version"] = str(PolicyVersion.current())
    return response


def _or(value: Any, default: str) -> Any:
    """Return a member, or the default where it is null or absent; what it has to be is checked with the rest."""
    return default if value is None else value
