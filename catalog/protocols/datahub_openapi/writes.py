"""Writes, patches and deletes. One call is one transaction; it is done when it is answered, asynchronous or not."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog import errors, urns
from catalog.access import people_records
from catalog.ingest import apply, deletes
from catalog.ingest.apply import ChangeType, Proposal
from catalog.protocols.datahub_openapi import entity_json, paths, write_trace
from catalog.protocols.datahub_rest import request_bodies, responses, writes
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import Urn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import PolicyVersion

#: What the record of changes calls this door.
DOOR = "openapi"

#: Most entities of one call; clients send up to 200.
MOST = 10_000

_POLICY = "dataHubPolicy"

#: Conditions on a write that are not kept, so a write that depends on one is refused.
_CONDITIONS = frozenset({"if-version-match", "if-modified-since", "if-unmodified-since", "if-match"})

#: What is wrong with a part of a proposal, and where that part stands here.
_PARTS = re.compile(r"(/\d+)/([^/]*)/(entityUrn|aspectName|entityType|changeType)")


def write(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Write the aspects of entities, all or none; POST writes them, PATCH changes what is there."""
    entries = request_bodies.read_list(request, most=MOST)
    return _write(request, by, type_, entries)


def write_aspect(request: HttpRequest, by: Actor, urn: Urn, name: str) -> HttpResponse:
    """Write or patch one aspect. The body is what stands under its name in a write of entities, or the patch alone."""
    body = request_bodies.read(request)
    content = {"value": body} if request.method == "PATCH" and "value" not in body else body
    return _write(request, by, urn.type, [{"urn": urn.text, name: content}], is_single=True)


def delete(request: HttpRequest, by: Actor, urn: Urn) -> HttpResponse:
    """Delete an entity for good, or only those of its aspects that are listed; what nobody knows is deleted already."""
    if paths.flag(request, "clear", default=False):
        detail = "Aspects are deleted one by one, or with their entity."
        raise Invalid.one(code="unsupported", pointer="/clear", detail=detail)
    names = sorted(paths.listed(request, "aspects"))
    if names:
        return delete_aspects(request, by, urn, names)
    deletes.delete(urn=urn.text, by=by, door=DOOR, is_open=is_open(urn.type))
    return _moved(responses.text("{}"), [urn.text])


def delete_aspects(_request: HttpRequest, by: Actor, urn: Urn, names: Sequence[str]) -> HttpResponse:
    """Delete aspects, all or none; the key goes with its entity."""
    if urn.key_aspect in names:
        raise Invalid.one(code="aspect.key", pointer="/aspects", detail="The key goes with its entity.")
    found = [Proposal(urn=urn.text, aspect=name, change=ChangeType.DELETE, place="") for name in names]
    apply.apply(proposals=found, by=by, door=DOOR, is_open=not settings.REST_API_AUTHORIZATION)
    return _moved(responses.text("{}"), [urn.text])


def _write(
    request: HttpRequest, by: Actor, type_: str, entries: Sequence[Any], *, is_single: bool = False
) -> HttpResponse:
    is_async = paths.flag(request, "async", default=True)
    change = _change(request)
    found: list[Proposal] = []
    problems: list[Problem] = []
    for place, entry in enumerate(entries):
        for one in _proposals(entry, type_, change, f"/{place}"):
            if isinstance(one, Problem):
                problems.append(one)
            else:
                found.append(one)
    if problems:
        raise Invalid(problems)
    try:
        written = apply.apply(proposals=found, by=by, door=DOOR, is_open=not settings.REST_API_AUTHORIZATION)
    except Invalid as error:
        raise Invalid([_placed(problem) for problem in error.problems]) from error
    shown = _shown(found, entries, by, written.lints)
    response = responses.text(shown[0] if is_single else entity_json.listed(shown))
    response.status_code = 202 if is_async else 200
    response.headers["traceparent"] = write_trace.parent()
    return _moved(response, [one.urn for one in found])


def _change(request: HttpRequest) -> ChangeType:
    if request.method == "PATCH":
        return ChangeType.PATCH
    if paths.flag(request, "createEntityIfNotExists", default=False):
        return ChangeType.CREATE_ENTITY
    if paths.flag(request, "createIfNotExists", default=False):
        return ChangeType.CREATE
    return ChangeType.UPSERT


def _proposals(entry: Any, type_: str, change: ChangeType, place: str) -> Iterator[Proposal | Problem]:
    if not isinstance(entry, dict):
        yield Problem("entity.shape", place, "An entity is a JSON object with its urn and aspects.")
        return
    urn: Any = entry.get("urn")
    wrong = urns.problem(urn, f"{place}/urn")
    if wrong is not None:
        yield wrong
        return
    if not paths.fits(type_, urn):
        yield Problem(errors.TYPE_MISMATCH, f"{place}/urn", paths.mismatch(urn))
        return
    named = [name for name in entry if name != "urn"]
    if not named:
        yield Problem("required", place, "Name at least one aspect.")
    for name in named:
        yield _proposal(urn, name, entry[name], change, place + errors.pointer([name]))


def _proposal(urn: str, name: str, content: Any, change: ChangeType, place: str) -> Proposal | Problem:
    is_patch = change is ChangeType.PATCH
    if not isinstance(content, dict) or not isinstance(content.get("value"), dict | list if is_patch else dict):
        return Problem("aspect.shape", f"{place}/value", "An aspect is a JSON object under `value`.")
    headers, metadata = content.get("headers"), content.get("systemMetadata")
    is_optional = writes.is_optional(headers)
    if headers is not None and not isinstance(headers, dict):
        return Problem("type", f"{place}/headers", "Headers are a JSON object.")
    if _CONDITIONS & {str(header).casefold() for header in headers or ()}:
        return Problem("unsupported", f"{place}/headers", "A write cannot depend on versions or times.")
    return Proposal(
        urn=urn,
        aspect=name,
        document=responses.encoded(content["value"]),
        change=ChangeType.CREATE if is_optional and change is ChangeType.UPSERT else change,
        is_optional=is_optional,
        system_metadata=metadata if metadata is None or isinstance(metadata, str) else responses.encoded(metadata),
        place=place,
        document_place=f"{place}/value",
    )


def _placed(problem: Problem) -> Problem:
    """Return a problem of a proposal where the wrong part stands in what was sent."""
    match = _PARTS.fullmatch(problem.pointer)
    if match is None:
        return problem
    place = f"{match[1]}/urn" if match[3] == "entityUrn" else f"{match[1]}/{match[2]}"
    return Problem(problem.code, place, problem.detail)


def _shown(
    found: Sequence[Proposal], entries: Sequence[Mapping[str, Any]], by: Actor, lints: Sequence[Problem]
) -> list[str]:
    """Return the entities as they are now, with the aspects that were sent; without documents that may not be read.

    Lints stand inside the aspect they are about: clients take every other member of an entity for an aspect.
    """
    named: dict[str, list[str]] = defaultdict(list)
    for one in found:
        named[one.urn].append(one.aspect)
    noted: dict[int, list[Problem]] = defaultdict(list)
    for lint in lints:
        noted[int(lint.pointer.split("/")[1])].append(lint)
    readable = entity_json.readable(list(named), by)
    stored = people_records.documents_for(urns=readable, by=by)
    return [
        entity_json.entity(entry["urn"], stored[entry["urn"]], names=named[entry["urn"]], lints=noted[place])
        if entry["urn"] in stored
        else entity_json.unread(entry["urn"], names=named[entry["urn"]], lints=noted[place])
        for place, entry in enumerate(entries)
    ]


def _moved(response: HttpResponse, touched: Sequence[str]) -> HttpResponse:
    """Name the version of the policies after a write of policies, so that the client can ask for at least that one."""
    if any(urns.type_of(urn) == _POLICY for urn in touched):
        response.headers["Policy-Version"] = str(PolicyVersion.current())
    return response
