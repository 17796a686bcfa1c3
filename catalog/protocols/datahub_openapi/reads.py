"""Reads of one entity, of one of its aspects, and of several entities at once."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import people_records
from catalog.errors import TYPE_MISMATCH
from catalog.protocols.datahub_openapi import entity_json, paths
from catalog.protocols.datahub_rest import request_bodies, responses
from catalog.protocols.datahub_rest.reads import find_aspect, find_aspects, readable
from catalog.urns import Urn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid, NotFound

#: Most entities that one call may ask for.
MOST = 1000


def entity(request: HttpRequest, by: Actor, urn: Urn) -> HttpResponse:
    """Answer an entity with its aspects, all or those of `aspects`."""
    readable(urn.text, by)
    found = find_aspects(urn, by=by)
    if found is None:
        raise NotFound(f"There is no entity {urn.text}.")
    names = paths.listed(request, "aspects") or None
    with_metadata = paths.flag(request, "systemMetadata", default=False)
    return responses.text(entity_json.entity(urn.text, found, names=names, with_metadata=with_metadata))


def aspect(request: HttpRequest, by: Actor, urn: Urn, name: str) -> HttpResponse:
    """Answer one version of an aspect, 0 being the newest."""
    readable(urn.text, by)
    version = paths.whole(request, "version", 0)
    found = find_aspect(urn, name, by=by, version=version)
    if found is None:
        raise NotFound(f"{urn.text} has no {name}" + (f" of version {version}." if version else "."))
    with_metadata = paths.flag(request, "systemMetadata", default=False)
    return responses.text(entity_json.aspect(found, with_metadata=with_metadata))


def batch_get(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Answer those of several entities that there are and that the caller may read, in the order of the body."""
    entries = request_bodies.read_list(request, most=MOST)
    problems = [problem for place, entry in enumerate(entries) for problem in _problems(entry, type_, f"/{place}")]
    if problems:
        raise Invalid(problems)
    with_metadata = paths.flag(request, "systemMetadata", default=False)
    wanted = entity_json.readable([entry["urn"] for entry in entries], by)
    found = people_records.documents_for(urns=wanted, by=by)
    return responses.text(
        entity_json.listed(
            entity_json.entity(
                entry["urn"], found[entry["urn"]], names=(entry.keys() - {"urn"}) or None, with_metadata=with_metadata
            )
            for entry in entries
            if entry["urn"] in found
        )
    )


def _problems(entry: Any, type_: str, place: str) -> list[Problem]:
    if not isinstance(entry, dict):
        return [Problem("entity.shape", place, "An entity is a JSON object with its urn.")]
    found = urns.problem(entry.get("urn"), f"{place}/urn")
    if found is not None:
        return [found]
    if not paths.fits(type_, entry["urn"]):
        return [Problem(TYPE_MISMATCH, f"{place}/urn", paths.mismatch(entry["urn"]))]
    return []
