"""Writes, patches and deletes. A call is one transaction, complete when it is answered, asynchronous or not."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog import errors, urns
from catalog.access import people_records
from catalog.ingest import deletes
from catalog.ingest.apply import ChangeType, Proposal
from catalog.ingest.validate import to_json_text
from catalog.protocols.datahub_openapi import entity_json, paths, write_trace
from catalog.protocols.datahub_rest import request_bodies, responses, writes
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import Urn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

#: Name of this channel in the change log.
CHANNEL = "openapi"

#: Most entities of one call; clients send up to 200.
MAX_ENTITIES = 10_000

#: Preconditions that are not supported, so that a write with one is refused.
_UNSUPPORTED_HEADERS = frozenset({"if-version-match", "if-modified-since", "if-unmodified-since", "if-match"})

#: Pointer to a part of a proposal: index, aspect, part.
_PROPOSAL_POINTER = re.compile(r"(/\d+)/([^/]*)/(entityUrn|aspectName|entityType|changeType)")


def write_entities(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Write (POST) or patch (PATCH) the aspects of entities, all or none."""
    entries = request_bodies.read_list(request, max_entries=MAX_ENTITIES)
    return _write_entries(request, by, type_, entries)


def write_aspect(request: HttpRequest, by: Actor, urn: Urn, name: str) -> HttpResponse:
    """Write or patch one aspect. The body is its entry as in `write_entities`; for PATCH also the patch alone."""
    body = request_bodies.read(request)
    content = {"value": body} if request.method == "PATCH" and "value" not in body else body
    return _write_entries(request, by, urn.type, [{"urn": urn.text, name: content}], is_single=True)


def delete_entity(request: HttpRequest, by: Actor, urn: Urn) -> HttpResponse:
    """Delete an entity, or only its aspects in `aspects`; deleting an unknown entity succeeds."""
    if paths.read_boolean(request, "clear", default=False):
        detail = "Aspects are deleted one by one, or with their entity."
        raise Invalid.from_problem(code="unsupported", pointer="/clear", detail=detail)
    names = sorted(paths.read_list(request, "aspects"))
    if names:
        return delete_aspects(request, by, urn, names)
    deletes.delete(urn=urn.text, by=by, channel=CHANNEL, is_open=is_open(urn.type))
    return responses.with_policy_version(responses.json_response("{}"), [urn.text])


def delete_aspects(_request: HttpRequest, by: Actor, urn: Urn, names: Sequence[str]) -> HttpResponse:
    """Delete aspects, all or none. Raises Invalid for the key aspect, which is deleted with its entity."""
    if urn.key_aspect in names:
        raise Invalid.from_problem(code="aspect.key", pointer="/aspects", detail="The key goes with its entity.")
    deletions = [Proposal(urn=urn.text, aspect=name, change=ChangeType.DELETE, pointer="") for name in names]
    writes.apply_proposals(deletions, by, CHANNEL)
    return responses.with_policy_version(responses.json_response("{}"), [urn.text])


def _write_entries(
    request: HttpRequest, by: Actor, type_: str, entries: Sequence[Any], *, is_single: bool = False
) -> HttpResponse:
    is_async = paths.read_boolean(request, "async", default=True)
    change = _read_change_type(request)
    parsed_proposals: list[Proposal] = []
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        for proposal in _parse_proposals(entry, type_, change, f"/{index}"):
            if isinstance(proposal, Problem):
                problems.append(proposal)
            else:
                parsed_proposals.append(proposal)
    if problems:
        raise Invalid(problems)
    try:
        result = writes.apply_proposals(parsed_proposals, by, CHANNEL)
    except Invalid as error:
        raise Invalid([_with_body_pointer(problem) for problem in error.problems]) from error
    entities = _render_entities(parsed_proposals, entries, by, result.lints)
    response = responses.json_response(entities[0] if is_single else entity_json.render_list(entities))
    response.status_code = 202 if is_async else 200
    response.headers["traceparent"] = write_trace.create_traceparent()
    return responses.with_policy_version(response, [proposal.urn for proposal in parsed_proposals])


def _read_change_type(request: HttpRequest) -> ChangeType:
    if request.method == "PATCH":
        return ChangeType.PATCH
    if paths.read_boolean(request, "createEntityIfNotExists", default=False):
        return ChangeType.CREATE_ENTITY
    if paths.read_boolean(request, "createIfNotExists", default=False):
        return ChangeType.CREATE
    return ChangeType.UPSERT


def _parse_proposals(entry: Any, type_: str, change: ChangeType, pointer: str) -> Iterator[Proposal | Problem]:
    if not isinstance(entry, dict):
        yield Problem("entity.shape", pointer, "An entity is a JSON object with its urn and aspects.")
        return
    urn: Any = entry.get("urn")
    problem = urns.find_problem(urn, f"{pointer}/urn")
    if problem is not None:
        yield problem
        return
    if not paths.matches_type(type_, urn):
        yield Problem(errors.TYPE_MISMATCH, f"{pointer}/urn", paths.mismatch_message(urn))
        return
    names = [name for name in entry if name != "urn"]
    if not names:
        yield Problem("required", pointer, "Name at least one aspect.")
    for name in names:
        yield _parse_proposal(urn, name, entry[name], change, pointer + errors.json_pointer([name]))


def _parse_proposal(urn: str, name: str, content: Any, change: ChangeType, pointer: str) -> Proposal | Problem:
    is_patch = change is ChangeType.PATCH
    if not isinstance(content, dict) or not isinstance(content.get("value"), dict | list if is_patch else dict):
        return Problem("aspect.shape", f"{pointer}/value", "An aspect is a JSON object under `value`.")
    headers = content.get("headers")
    is_optional = writes.is_optional(headers)
    if headers is not None and not isinstance(headers, dict):
        return Problem("type", f"{pointer}/headers", "Headers are a JSON object.")
    if _UNSUPPORTED_HEADERS & {str(header).casefold() for header in headers or ()}:
        return Problem("unsupported", f"{pointer}/headers", "A write cannot depend on versions or times.")
    return Proposal(
        urn=urn,
        aspect=name,
        document=responses.encode_json(content["value"]),
        change=ChangeType.CREATE if is_optional and change is ChangeType.UPSERT else change,
        is_optional=is_optional,
        system_metadata=to_json_text(content.get("systemMetadata")),
        pointer=pointer,
        document_pointer=f"{pointer}/value",
    )


def _with_body_pointer(problem: Problem) -> Problem:
    """Return the problem of a proposal with a pointer into the request body."""
    match = _PROPOSAL_POINTER.fullmatch(problem.pointer)
    if match is None:
        return problem
    pointer = f"{match[1]}/urn" if match[3] == "entityUrn" else f"{match[1]}/{match[2]}"
    return Problem(problem.code, pointer, problem.detail)


def _render_entities(
    parsed_proposals: Sequence[Proposal], entries: Sequence[Mapping[str, Any]], by: Actor, lints: Sequence[Problem]
) -> list[str]:
    """Return the entities as JSON as now stored, with the written aspects; without documents that may not be read.

    Lints are put inside the aspect they are about: clients take every other member of an entity for an aspect.
    """
    names_by_urn: dict[str, list[str]] = defaultdict(list)
    for proposal in parsed_proposals:
        names_by_urn[proposal.urn].append(proposal.aspect)
    lints_by_index: dict[int, list[Problem]] = defaultdict(list)
    for lint in lints:
        lints_by_index[int(lint.pointer.split("/")[1])].append(lint)
    readable_urns = entity_json.find_readable_urns(list(names_by_urn), by)
    documents = people_records.load_visible_documents(
        urns=readable_urns, by=by, is_open=not settings.REST_API_AUTHORIZATION
    )
    return [
        entity_json.render_entity(
            entry["urn"], documents[entry["urn"]], names=names_by_urn[entry["urn"]], lints=lints_by_index[index]
        )
        if entry["urn"] in documents
        else entity_json.render_unreadable_entity(
            entry["urn"], names=names_by_urn[entry["urn"]], lints=lints_by_index[index]
        )
        for index, entry in enumerate(entries)
    ]
