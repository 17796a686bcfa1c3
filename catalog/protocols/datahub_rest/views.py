"""Views of DataHub's REST protocol, and the actions that they dispatch to."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_rest import counts, deletes, reads, search, writes
from catalog.protocols.datahub_rest import ingestion_runs as ingestions
from catalog.protocols.datahub_rest.view_frame import authenticated_view
from policies.engine.model import Actor
from policies.errors import Invalid

ActionHandler = Callable[[HttpRequest, Actor], HttpResponse]

_ASPECT_ACTIONS: Mapping[str, ActionHandler] = {
    "ingestProposal": writes.ingest_proposal,
    "ingestProposalBatch": writes.ingest_batch,
    "getCount": counts.count_entities,
    "getTimeseriesAspectValues": counts.list_timeseries_values,
}
_ENTITY_ACTIONS: Mapping[str, ActionHandler] = {
    "delete": deletes.delete,
    "deleteReferences": deletes.delete_references,
    "ingest": writes.ingest_snapshot,
    "listUrns": search.list_urns,
    "search": search.search_entities,
}


_RUN_ACTIONS: Mapping[str, ActionHandler] = {
    "describe": ingestions.describe_run,
    "list": ingestions.list_runs,
    "rollback": ingestions.roll_back_run,
}


@authenticated_view("POST")
def dispatch_aspect_action(request: HttpRequest, by: Actor) -> HttpResponse:
    """Write aspects, count entities by aspect, or list timeseries values."""
    return _dispatch_action(_ASPECT_ACTIONS, request, by)


@authenticated_view("POST")
def dispatch_entity_action(request: HttpRequest, by: Actor) -> HttpResponse:
    """Search, list, ingest and delete entities."""
    return _dispatch_action(_ENTITY_ACTIONS, request, by)


@authenticated_view("POST")
def dispatch_run_action(request: HttpRequest, by: Actor) -> HttpResponse:
    """List, describe or roll back ingestion runs, which are not recorded."""
    return _dispatch_action(_RUN_ACTIONS, request, by)


def _dispatch_action(actions: Mapping[str, ActionHandler], request: HttpRequest, by: Actor) -> HttpResponse:
    action = actions.get(request.GET.get("action", ""))
    if action is None:
        raise Invalid.from_problem(
            code="action", pointer="/action", detail=f"The action is one of {', '.join(actions)}."
        )
    return action(request, by)


get_aspect = authenticated_view("GET", "HEAD")(reads.get_aspect)
get_entity = authenticated_view("GET", "HEAD")(reads.get_entity)
get_entity_v2 = authenticated_view("GET", "HEAD")(reads.get_entity_v2)
