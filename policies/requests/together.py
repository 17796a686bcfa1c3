"""Equal requests of several people, decided together: which are equal, and what all of them give in sum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.changes.comparison import EffectQuestion
from policies.changes.guardrail_verdicts import judge_guardrails
from policies.changes.net_change import find_net_change
from policies.changes.shapes import load_changes
from policies.changes.staging import stage_changes
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.models import RequestItem, SubmittedRequest
from policies.models.fields import json_text
from policies.models.request import RequestState
from policies.pdp import authorizer
from policies.pdp.account_turns import hold_turn
from policies.requests import chosen_ways, written_ways
from policies.requests.errors import RequestInvalid
from policies.requests.items import load_item
from policies.requests.queries import requests
from policies.requests.services import granting
from policies.requests.ways.effects import BrokenGuardrail, Gains, count_gains, list_added_breaches

#: Most requests that are decided together.
MAX_TOGETHER = 25

#: Most items without a chosen way whose best one is worked out for the sum.
_MAX_WORKED_OUT = 5

_MAX_PLATFORM = 1_000


@dataclass(frozen=True, slots=True)
class SummedEffect:
    """The sum of what the ways of several requests give and take, with the guardrails that they break together.

    `outside` is how many items another system has to give, `unknown` how many are not in the sum: those without a way,
    or with one that is worked out on approval.
    """

    gains: Gains
    losses: Gains
    is_exact: bool
    guardrails: tuple[BrokenGuardrail, ...] = ()
    outside: int = 0
    unknown: int = 0


def build_equality_key(request: SubmittedRequest) -> str:
    """Return what equal requests have in common: their items, in any order."""
    return json_text(sorted(json_text(item.document) for item in request.items.all()))


def load_equal(*, urns: Sequence[str], by: Actor) -> list[SubmittedRequest]:
    """Return the equal requests of these URNs that wait for `by`, in the order in which they are due.

    Those that wait for somebody else, or for nobody any more, are left out. Raises RequestInvalid for too many, and for
    requests that ask for different things.
    """
    if len(urns) > MAX_TOGETHER:
        detail = f"At most {MAX_TOGETHER} requests are decided together."
        raise RequestInvalid([Problem("requests.many", "/urn", detail)])
    rows = list(requests.list_requests(by=by, to_decide=True).filter(urn__in=urns))
    if len({build_equality_key(row) for row in rows}) > 1:
        detail = "These requests ask for different things. Only equal ones are decided together."
        raise RequestInvalid([Problem("requests.unequal", "/urn", detail)])
    return rows


def sum_effects(rows: Sequence[SubmittedRequest], *, by: Actor) -> SummedEffect:
    """Return what the chosen ways of requests, or the best where none is chosen, give and take together.

    Raises Busy while `by` has another preview.
    """
    open_items = [(row, item) for row in rows for item in _list_open(row)]
    unchosen = [item.pk for _, item in open_items if item.way is None]
    chosen = [
        (item, None if item.pk in unchosen[_MAX_WORKED_OUT:] else _find_way(row, item, by)) for row, item in open_items
    ]
    ways = [(item, way) for item, way in chosen if way is not None]
    documents = [
        change
        for item, way in ways
        if not way.get("source")
        for change in written_ways.set_end(way["changes"], granting.find_end(item))
    ]
    outside = sum(bool(way.get("source")) for _, way in ways)
    unknown = len(chosen) - len(ways)
    if not documents:
        return SummedEffect(Gains(), Gains(), is_exact=True, outside=outside, unknown=unknown)
    with hold_turn(by.urn):
        staged = stage_changes(changes=load_changes(documents), by=authorizer.SYSTEM)
        change = find_net_change(staged, EffectQuestion(_MAX_PLATFORM))
        return SummedEffect(
            count_gains(change.gained, change.platform_gained),
            count_gains(change.lost, change.platform_lost),
            change.is_exact,
            list_added_breaches(judge_guardrails(replace(staged, by=by))),
            outside,
            unknown,
        )


def _list_open(row: SubmittedRequest) -> list[RequestItem]:
    return [item for item in row.items.all() if item.state == RequestState.OPEN]


def _find_way(row: SubmittedRequest, item: RequestItem, by: Actor) -> Mapping[str, Any] | None:
    """Return the way that approving takes: the chosen one, else the best for this approver."""
    if item.way is not None:
        way: Mapping[str, Any] = item.way
        return way
    ways = chosen_ways.list_ways(load_item(item.document), actor=row.actor, until=row.until, by=by)
    return chosen_ways.find_best(ways)
