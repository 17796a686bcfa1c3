"""Requests as lists and by URN, for those who may read them: asker, actor, approvers and holders of MANAGE_POLICIES."""

from collections.abc import Collection

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.errors import NotFound
from policies.models import RequestItem, RequestSeat, RequestStep, RequestTrail, SubmittedRequest
from policies.models.request import PRIVILEGE_SEAT, RequestState
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest as Question

#: Most requests to decide that are counted.
MAX_COUNTED = 99

#: What a page of requests reads beside its rows, in one query each.
_PARTS = ("items", "steps__decisions", "trail")


def list_requests(
    *,
    by: Actor,
    mine: bool = False,
    to_decide: bool = False,
    state: str = "",
    actor: str = "",
    entity: str = "",
    rule: str = "",
) -> QuerySet[SubmittedRequest]:
    """Return the requests that `by` may read, the newest first; those to decide by the time they are due."""
    # One's own requests, and those that wait for somebody, may be read by that person: nothing else is asked.
    all_requests = SubmittedRequest.objects.select_related("renews")
    requests = all_requests if mine or to_decide else list_readable(by=by)
    if mine:
        requests = requests.filter(Q(actor=by.urn) | Q(by=by.urn))
    if to_decide:
        requests = filter_to_decide(requests, by=by)
    if entity:
        requests = requests.filter(Exists(RequestItem.objects.filter(request=OuterRef("pk"), entity=entity)))
    filters = {"state": state, "actor": actor, "rule": rule}
    requests = requests.filter(**{name: value for name, value in filters.items() if value})
    return requests.prefetch_related(*_PARTS)


def is_administrator(by: Actor) -> bool:
    """Return whether somebody holds MANAGE_POLICIES, to whom decisions fall that nobody else can make."""
    return _holds(by, "MANAGE_POLICIES")


def list_readable(*, by: Actor) -> QuerySet[SubmittedRequest]:
    """Return the requests that somebody may read."""
    requests = SubmittedRequest.objects.select_related("renews")
    if is_administrator(by):
        return requests
    seats = RequestSeat.objects.filter(step__request=OuterRef("pk"), token__in=_list_tokens(by))
    acted = RequestTrail.objects.filter(request=OuterRef("pk"), by=by.urn)
    return requests.filter(Q(actor=by.urn) | Q(by=by.urn) | Exists(seats) | Exists(acted))


def filter_to_decide(requests: QuerySet[SubmittedRequest], *, by: Actor) -> QuerySet[SubmittedRequest]:
    """Return those of the requests whose step waits for this person, by the time they are due.

    Its own are left out, and those that it has agreed to.
    """
    waiting = RequestStep.objects.filter(
        request=OuterRef("pk"), state=RequestStep.State.WAITING, seats__token__in=_list_tokens(by)
    ).exclude(decisions__by=by.urn)
    return (
        requests.filter(Exists(waiting), state=RequestState.OPEN)
        .exclude(Q(actor=by.urn) | Q(by=by.urn))
        .order_by(F("due_at").asc(nulls_last=True), "id")
    )


def count_to_decide(*, by: Actor) -> int:
    """Return how many requests wait for this person, MAX_COUNTED + 1 for more than MAX_COUNTED."""
    return filter_to_decide(SubmittedRequest.objects.all(), by=by).order_by()[: MAX_COUNTED + 1].count()


def get_request(*, urn: str, by: Actor) -> SubmittedRequest:
    """Return a request with its parts; raises NotFound for a stranger, as for one that does not exist."""
    request = list_readable(by=by).filter(urn=urn).prefetch_related(*_PARTS).first()
    if request is None:
        raise NotFound(f"There is no request {urn}.")
    return request


def _list_tokens(by: Actor) -> Collection[str]:
    """Return the names of seats that this person has: its own, its groups' and roles', and its privileges'."""
    seats = RequestSeat.objects.filter(token__startswith=PRIVILEGE_SEAT).order_by().values_list("token", flat=True)
    held_tokens = [token for token in seats.distinct() if _holds(by, token.removeprefix(PRIVILEGE_SEAT))]
    return [*by.tokens, *held_tokens]


def _holds(by: Actor, privilege: str) -> bool:
    return authorizer.answer(actor=by, request=Question(privilege_requirement(privilege))).is_allowed
