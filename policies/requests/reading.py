"""One request for those who may read it, also for whoever may decide it only since it was asked."""

from policies.engine.model import Actor
from policies.errors import NotFound
from policies.models import RequestStep, SubmittedRequest
from policies.models.request import RequestState
from policies.requests.approvers import is_approver, load_facts
from policies.requests.items import load_item
from policies.requests.queries import requests
from policies.requests.seats import read_seats


def get_request(*, urn: str, by: Actor) -> SubmittedRequest:
    """Return a request with its parts; raises NotFound for a stranger, as for one that does not exist.

    Lists find approvers by the names that a step was stored with. An owner who came later is found here.
    """
    try:
        return requests.get_request(urn=urn, by=by)
    except NotFound:
        open_requests = SubmittedRequest.objects.select_related("renews").filter(urn=urn, state=RequestState.OPEN)
        request = open_requests.prefetch_related(*requests.PARTS).first()
        if request is None or not _is_seated(request, by):
            raise
        return request


def _is_seated(request: SubmittedRequest, by: Actor) -> bool:
    """Return whether a person is an approver of the step that waits, by the facts of this moment."""
    step = next((step for step in request.steps.all() if step.state == RequestStep.State.WAITING), None)
    if step is None:
        return False
    items = [load_item(item.document) for item in request.items.all()]
    facts = load_facts(items=items, actor=request.actor, by=request.by)
    return any(is_approver(by, read_seats(step, position), facts.items[position]) for position in step.items)
