"""Deletes: an entity, one of its aspects, or the references to it in other documents.

A soft delete is a write of `status` and comes as a proposal.
"""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import naming_permissions
from catalog.ingest import apply, deletes
from catalog.ingest.apply import ChangeType, Proposal
from catalog.protocols.datahub_rest import reads, request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import CHANNEL, is_open
from policies.engine.model import Actor
from policies.errors import Invalid

#: Most references that are listed; all that the caller may view are counted.
MAX_RELATED_ASPECTS = 100

#: Aspect → the relationship that it makes, as clients name it.
_RELATIONSHIPS: Mapping[str, str] = {
    "access": "AssociatedWith",
    "actors": "Has",
    "container": "IsPartOf",
    "dataPlatformInstance": "IsPartOf",
    "domainProperties": "IsPartOf",
    "domains": "AssociatedWith",
    "globalTags": "TaggedWith",
    "glossaryNodeInfo": "IsPartOf",
    "glossaryTermInfo": "IsPartOf",
    "glossaryTerms": "TermedWith",
    "groupMembership": "IsMemberOfGroup",
    "nativeGroupMembership": "IsMemberOfNativeGroup",
    "ownership": "OwnedBy",
    "roleMembership": "IsMemberOfRole",
}


def delete(request: HttpRequest, by: Actor) -> HttpResponse:
    """Delete an entity, or only its aspect `aspectName`; deleting an unknown entity succeeds."""
    body = request_bodies.read(request)
    urn = request_bodies.read_urn(body)
    if body.get("aspectName") is not None:
        return _delete_aspect(urn, body, by)
    deletion = deletes.delete(urn=urn.text, by=by, channel=CHANNEL, is_open=is_open(urn.type))
    return _render_result(urn, deletion.document_count)


def delete_references(request: HttpRequest, by: Actor) -> HttpResponse:
    """Remove the references to a URN from other documents; with `dryRun` only list them.

    Only documents that may be named to the caller are listed and counted; with `dryRun`, none for a hidden entity.
    """
    body = request_bodies.read(request)
    urn = reads.parse_readable_urn(request_bodies.read_text(body, "urn"), by)
    dry_run = request_bodies.read_boolean(body, "dryRun")
    references = deletes.remove_references(
        urn=urn.text, by=by, channel=CHANNEL, dry_run=dry_run, is_open=is_open(urn.type)
    )
    nameable_urns = naming_permissions.list_nameable(urns={reference.urn for reference in references}, by=by)
    visible_references = (
        []
        if dry_run and reads.is_hidden(urn, by=by)
        else [reference for reference in references if reference.urn in nameable_urns]
    )
    related_aspects = [
        {"entity": reference.urn, "relationship": _RELATIONSHIPS.get(reference.aspect, ""), "aspect": reference.aspect}
        for reference in visible_references[:MAX_RELATED_ASPECTS]
    ]
    return responses.action_response({"total": len(visible_references), "relatedAspects": related_aspects})


def _delete_aspect(urn: urns.Urn, body: dict[str, object], by: Actor) -> HttpResponse:
    """Delete one aspect. Raises Invalid for a time range: deleting the whole aspect instead would delete too much."""
    for member in ("startTimeMillis", "endTimeMillis"):
        if body.get(member) is not None:
            detail = "Aspects are kept without a span of time."
            raise Invalid.from_problem(code="unsupported", pointer=f"/{member}", detail=detail)
    name = request_bodies.read_text(body, "aspectName")
    if name == urn.key_aspect:
        raise Invalid.from_problem(code="aspect.key", pointer="/aspectName", detail="The key goes with its entity.")
    proposal = Proposal(urn=urn.text, aspect=name, change=ChangeType.DELETE, pointer="")
    apply.apply(proposals=[proposal], by=by, channel=CHANNEL, is_open=is_open(urn.type), is_ingestion=True)
    return _render_result(urn, 0)


def _render_result(urn: urns.Urn, rows: int) -> HttpResponse:
    response = responses.action_response({"urn": urn.text, "rows": rows, "timeseriesRows": 0})
    return responses.with_policy_version(response, [urn.text])
