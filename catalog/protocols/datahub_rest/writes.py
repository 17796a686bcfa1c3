"""Writes: one proposal, a batch or a snapshot, all or nothing.

`async` is ignored: a write is complete when it is answered. Of the headers of a proposal only `If-None-Match: *` has an
effect: a CREATE of an existing aspect is skipped.
"""

import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog.ingest import apply
from catalog.ingest.apply import ApplyResult, ChangeType, Proposal
from catalog.ingest.validate import to_json_text
from catalog.protocols.datahub_rest import request_bodies, responses, snapshot_ingest
from catalog.protocols.datahub_rest.view_frame import CHANNEL
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

#: Most proposals of one batch; clients send up to 200.
MAX_PROPOSALS = 10_000

_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def ingest_proposal(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write one proposal and return its URN."""
    entry = request_bodies.read(request).get("proposal")
    if isinstance(entry, dict) and isinstance(entry.get("entityUrn"), str):
        entry["entityUrn"] = unescape(entry["entityUrn"])
    result = _apply_entries([(entry, "/proposal")], by)
    return responses.with_policy_version(responses.action_response(result.urns[0], result.lints), result.urns)


def ingest_batch(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write a list of proposals and return their URNs in order."""
    entries = request_bodies.read(request, max_signs=request_bodies.MAX_BATCH_SIGNS).get("proposals")
    if not isinstance(entries, list):
        raise Invalid.from_problem(code="required", pointer="/proposals", detail="This must be a list of proposals.")
    if len(entries) > MAX_PROPOSALS:
        raise Invalid.from_problem(
            code="list.long", pointer="/proposals", detail=f"A batch has at most {MAX_PROPOSALS} proposals."
        )
    result = _apply_entries([(entry, f"/proposals/{index}") for index, entry in enumerate(entries)], by)
    return responses.with_policy_version(responses.action_response(list(result.urns), result.lints), result.urns)


def unescape(text: str) -> str:
    r"""Undo the escaping of the URN in a single proposal, in which clients send é as the six characters \u00e9."""
    if "\\u" not in text:
        return text
    units = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    # Characters beyond 16 bits arrive as two escapes, which form a character only together.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def ingest_snapshot(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write the aspects of a snapshot (see `snapshot_ingest`), all or none."""
    body = request_bodies.read(request, max_signs=request_bodies.MAX_BATCH_SIGNS)
    result = apply_proposals(list(snapshot_ingest.read_proposals(body)), by, CHANNEL)
    return responses.with_policy_version(responses.action_response(None, result.lints), result.urns)


def is_optional(headers: Any) -> bool:
    """Whether the headers of a write ask to skip it if the aspect exists."""
    return isinstance(headers, dict) and any(
        str(name).casefold() == "if-none-match" and value == "*" for name, value in headers.items()
    )


def _apply_entries(entries: Sequence[tuple[Any, str]], by: Actor) -> ApplyResult:
    parsed_proposals = [_build_proposal(entry, pointer) for entry, pointer in entries if isinstance(entry, dict)]
    problems = [
        Problem("proposal.shape", pointer, "A proposal is a JSON object.")
        for entry, pointer in entries
        if not isinstance(entry, dict)
    ]
    if problems:
        raise Invalid(problems)
    return apply_proposals(parsed_proposals, by, CHANNEL)


def apply_proposals(proposals: Sequence[Proposal], by: Actor, channel: str) -> ApplyResult:
    """Write proposals, all or none; with REST_API_AUTHORIZATION off those of ordinary entities by every caller."""
    return apply.apply(
        proposals=proposals,
        by=by,
        channel=channel,
        is_open=not settings.REST_API_AUTHORIZATION,
        is_ingestion=True,
    )


def _build_proposal(entry: dict[str, Any], pointer: str) -> Proposal:
    aspect = entry.get("aspect")
    return Proposal(
        urn=_replace_none(entry.get("entityUrn"), ""),
        aspect=_replace_none(entry.get("aspectName"), ""),
        document=aspect.get("value") if isinstance(aspect, dict) else None,
        change=_replace_none(entry.get("changeType"), ChangeType.UPSERT),
        type=_replace_none(entry.get("entityType"), ""),
        system_metadata=to_json_text(entry.get("systemMetadata")),
        is_optional=is_optional(entry.get("headers")),
        pointer=pointer,
        document_pointer=f"{pointer}/aspect/value",
    )


def _replace_none(value: Any, default: str) -> Any:
    """Return the value, or the default if it is null or absent; its type is checked with the proposal."""
    return default if value is None else value
