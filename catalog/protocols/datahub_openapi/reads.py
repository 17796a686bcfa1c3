"""Reads of one entity, of one of its aspects, and of several entities at once."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import guarded_documents, people_records
from catalog.errors import TYPE_MISMATCH
from catalog.protocols.datahub_openapi import entity_json, paths
from catalog.protocols.datahub_rest import request_bodies, responses
from catalog.protocols.datahub_rest.reads import (
    find_aspect,
    find_aspects,
    is_stored,
    parse_readable_urn,
    require_named_aspects,
)
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import Urn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid, NotFound

#: Most entities that one call may ask for.
MAX_ENTITIES = 1000


def get_entity(request: HttpRequest, by: Actor, urn: Urn) -> HttpResponse:
    """Return an entity with all its aspects, or those in `aspects`."""
    parse_readable_urn(urn.text, by)
    names = paths.read_list(request, "aspects") or None
    require_named_aspects(urn, names or (), by=by)
    aspects_by_name = find_aspects(urn, by=by)
    if aspects_by_name is None:
        raise NotFound(f"There is no entity {urn.text}.")
    with_metadata = paths.read_boolean(request, "systemMetadata", default=False)
    return responses.json_response(
        entity_json.render_entity(urn.text, aspects_by_name, names=names, with_metadata=with_metadata)
    )


def check_existence(_request: HttpRequest, by: Actor, urn: Urn) -> HttpResponse:
    """Answer whether an entity is stored, and nothing about it."""
    parse_readable_urn(urn.text, by, aspect=urn.key_aspect)
    if not is_stored(urn, by=by):
        raise NotFound(f"There is no entity {urn.text}.")
    return responses.json_response("{}")


def get_aspect(request: HttpRequest, by: Actor, urn: Urn, name: str) -> HttpResponse:
    """Return one version of an aspect; 0 is the newest."""
    parse_readable_urn(urn.text, by, aspect=name)
    version = paths.read_integer(request, "version", 0)
    aspect = find_aspect(urn, name, by=by, version=version)
    if aspect is None:
        raise NotFound(f"{urn.text} has no {name}" + (f" of version {version}." if version else "."))
    with_metadata = paths.read_boolean(request, "systemMetadata", default=False)
    return responses.json_response(entity_json.render_aspect(aspect, with_metadata=with_metadata))


def get_entities(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Return the listed entities that are stored and that the caller may read, in the order of the body."""
    entries = request_bodies.read_list(request, max_entries=MAX_ENTITIES)
    problems = [problem for index, entry in enumerate(entries) for problem in _find_problems(entry, type_, f"/{index}")]
    if problems:
        raise Invalid(problems)
    with_metadata = paths.read_boolean(request, "systemMetadata", default=False)
    readable_urns = entity_json.find_readable_urns([entry["urn"] for entry in entries], by)
    if not is_open(type_):
        names_by_urn = {entry["urn"]: entry.keys() - {"urn"} for entry in entries if entry["urn"] in readable_urns}
        guarded_documents.require_viewing(names_by_urn=names_by_urn, by=by)
    documents = people_records.load_visible_documents(urns=readable_urns, by=by, is_open=is_open(type_))
    return responses.json_response(
        entity_json.render_list(
            entity_json.render_entity(
                entry["urn"],
                documents[entry["urn"]],
                names=(entry.keys() - {"urn"}) or None,
                with_metadata=with_metadata,
            )
            for entry in entries
            if entry["urn"] in documents
        )
    )


def _find_problems(entry: Any, type_: str, pointer: str) -> list[Problem]:
    if not isinstance(entry, dict):
        return [Problem("entity.shape", pointer, "An entity is a JSON object with its urn.")]
    problem = urns.find_problem(entry.get("urn"), f"{pointer}/urn")
    if problem is not None:
        return [problem]
    if not paths.matches_type(type_, entry["urn"]):
        return [Problem(TYPE_MISMATCH, f"{pointer}/urn", paths.mismatch_message(entry["urn"]))]
    return []
