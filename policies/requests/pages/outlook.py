"""The outlook of a request that is not sent yet: its ways with their cost, what it needs, and who would decide."""

from collections.abc import Mapping
from typing import Any

from policies.models import RequestItem
from policies.pdp import authorizer
from policies.requests import chosen_ways
from policies.requests.pages import wording
from policies.requests.plan import RequestPlan
from policies.requests.rules.terms import read_approvers
from policies.requests.services import granting


def present_outlook(plan: RequestPlan, chosen: str) -> dict[str, Any]:
    """Return what the panel shows of a plan; `chosen` is the id of a way, or empty for the best one."""
    urns = {plan.actor.urn, *wording.list_item_urns(item.document for item in plan.asked_body.items)}
    for item_ways in plan.ways:
        urns.update(wording.list_way_urns(item_ways))
    for step in plan.steps:
        urns.update(step.urns)
    names = authorizer.load_names(urns=urns)
    is_single = len(plan.ways) == 1
    ways = [wording.word_way(way, names) for way in plan.ways[0]] if is_single else []
    selectable = [way["id"] for way in ways if way["is_selectable"]]
    chosen_id = chosen if chosen in selectable else next(iter(selectable), "")
    rule = None if plan.is_blind else plan.rule
    return {
        "is_blind": plan.is_blind,
        "is_single": is_single,
        "actor": names.get(plan.actor.urn, plan.actor.urn),
        "is_for_others": plan.actor.urn != plan.by.urn,
        "end": wording.word_end(plan.until),
        "ways": [{**way, "is_chosen": way["id"] == chosen_id} for way in ways],
        "items": [] if is_single else [_present_item(plan, position, names) for position in range(len(plan.ways))],
        "conditions": [] if rule is None else list(rule.terms.conditions.items()),
        "confirmed": plan.asked_body.confirmed,
        "needs_ticket": rule is not None and rule.terms.ticket == "required",
        "rule": "" if rule is None else rule.name,
        "steps": [] if rule is None else _present_steps(plan, names, chosen_id),
    }


def _present_item(plan: RequestPlan, position: int, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one of several items with its best way: each has its own."""
    best = chosen_ways.find_best(plan.ways[position])
    title = wording.word_item(plan.asked_body.items[position], names)
    return {"title": title, "way": best and wording.word_way(best, names)}


def _present_steps(plan: RequestPlan, names: Mapping[str, str], chosen: str) -> list[dict[str, Any]]:
    """Return who would decide; the first step is agreed where the asker gives what the asker owns."""
    given = plan.by.urn != plan.actor.urn and _is_given(plan, chosen)
    return [
        {
            "name": step.name,
            "people": [names.get(urn, urn) for urn in step.urns],
            "needs": step.needs,
            "is_agreed": given and not index and step.needs == 1,
        }
        for index, step in enumerate(plan.steps)
    ]


def _is_given(plan: RequestPlan, chosen: str) -> bool:
    """Return whether the asker agrees, by asking, to everything that the first step decides."""
    step = plan.steps[0]
    approvers = read_approvers(step.approvers)
    for position in step.positions:
        ways = plan.ways[position]
        way = next((way for way in ways if way["id"] == chosen), chosen_ways.find_best(ways))
        item = RequestItem(way=None if way is None else dict(way))
        if not granting.is_given_by(plan.by, item, plan.facts.items[position], approvers):
            return False
    return True
