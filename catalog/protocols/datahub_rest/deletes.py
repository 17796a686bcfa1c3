"""Deletes: an entity for good, one of its aspects, or what others say about it.

A soft delete is a write of `status` and comes with the proposals.
"""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import naming_permissions
from catalog.ingest import apply, deletes
from catalog.ingest.apply import ChangeType, Proposal
from catalog.protocols.datahub_rest import reads, request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import DOOR, is_open
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import PolicyVersion

#: How many mentions are named; all that the caller may view are counted.
SHOWN = 100

#: What a client calls the link that an aspect makes.
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
    """Delete an entity, or only the aspect that `aspectName` gives; what nobody knows is deleted already."""
    body = request_bodies.read(request)
    urn = request_bodies.urn(body)
    if body.get("aspectName") is not None:
        return _delete_aspect(urn, body, by)
    removed = deletes.delete(urn=urn.text, by=by, door=DOOR, is_open=is_open(urn.type))
    response = responses.value({"urn": urn.text, "rows": removed.rows, "timeseriesRows": 0})
    if urn.type == "dataHubPolicy":
        response.headers["Policy-Version"] = str(PolicyVersion.current())
    return response


def delete_references(request: HttpRequest, by: Actor) -> HttpResponse:
    """Take the mention of a URN out of the documents of others; `dryRun` only says which they are.

    Named and counted are those that the caller may view.
    """
    body = request_bodies.read(request)
    urn = reads.readable(request_bodies.text(body, "urn"), by)
    dry_run = request_bodies.flag(body, "dryRun")
    found = deletes.references(urn=urn.text, by=by, door=DOOR, dry_run=dry_run, is_open=is_open(urn.type))
    seen = naming_permissions.nameable_among(urns={one.urn for one in found}, by=by)
    shown = [] if dry_run and reads.is_hidden(urn, by=by) else [one for one in found if one.urn in seen]
    related = [
        {"entity": one.urn, "relationship": _RELATIONSHIPS.get(one.aspect, ""), "aspect": one.aspect}
        for one in shown[:SHOWN]
    ]
    return responses.value({"total": len(shown), "relatedAspects": related})


def _delete_aspect(urn: urns.Urn, body: dict[str, object], by: Actor) -> HttpResponse:
    """Delete one aspect. A span of time is refused, since taking it for the whole would delete too much."""
    for bound in ("startTimeMillis", "endTimeMillis"):
        if body.get(bound) is not None:
            detail = "Aspects are kept without a span of time."
            raise Invalid.one(code="unsupported", pointer=f"/{bound}", detail=detail)
    name = request_bodies.text(body, "aspectName")
    if name == urn.key_aspect:
        raise Invalid.one(code="aspect.key", pointer="/aspectName", detail="The key goes with its entity.")
    one = Proposal(urn=urn.text, aspect=name, change=ChangeType.DELETE, place="")
    apply.apply(proposals=[one], by=by, door=DOOR, is_open=is_open(urn.type))
    return responses.value({"urn": urn.text, "rows": 0, "timeseriesRows": 0})
