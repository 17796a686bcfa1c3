"""The paths of the door and the actions behind them."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_rest import counts, deletes, reads, search, writes
from catalog.protocols.datahub_rest import ingestion_runs as ingestions
from catalog.protocols.datahub_rest.view_frame import for_callers
from policies.engine.model import Actor
from policies.errors import Invalid

Action = Callable[[HttpRequest, Actor], HttpResponse]

_ASPECTS: Mapping[str, Action] = {
    "ingestProposal": writes.ingest_proposal,
    "ingestProposalBatch": writes.ingest_batch,
    "getCount": counts.count,
    "getTimeseriesAspectValues": counts.series,
}
_ENTITIES: Mapping[str, Action] = {
    "delete": deletes.delete,
    "deleteReferences": deletes.delete_references,
    "ingest": writes.ingest_snapshot,
    "listUrns": search.list_urns,
    "search": search.search,
}


_RUNS: Mapping[str, Action] = {
    "describe": ingestions.describe,
    "list": ingestions.listed,
    "rollback": ingestions.rollback,
}


@for_callers("POST")
def aspects(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write aspects, or count them."""
    return _act(_ASPECTS, request, by)


@for_callers("POST")
def entities(request: HttpRequest, by: Actor) -> HttpResponse:
    """Search, list and delete entities."""
    return _act(_ENTITIES, request, by)


@for_callers("POST")
def runs(request: HttpRequest, by: Actor) -> HttpResponse:
    """Say what is known of ingestion runs."""
    return _act(_RUNS, request, by)


def _act(actions: Mapping[str, Action], request: HttpRequest, by: Actor) -> HttpResponse:
    action = actions.get(request.GET.get("action", ""))
    if action is None:
        raise Invalid.one(code="action", pointer="/action", detail=f"The action is one of {', '.join(actions)}.")
    return action(request, by)


aspect = for_callers("GET", "HEAD")(reads.aspect)
entity = for_callers("GET", "HEAD")(reads.entity)
entity_v2 = for_callers("GET", "HEAD")(reads.entity_v2)
