"""The outlook of a request that is not sent yet: its ways with their cost, what it needs, and who would decide."""

from collections.abc import Mapping
from typing import Any

from policies.models import RequestItem
from policies.pdp import authorizer
from policies.requests import approvers, chosen_ways
from policies.requests.pages import wording
from policies.requests.plan import RequestPlan
from policies.requests.rules.terms import read_approvers
from policies.requests.services import granting
from policies.requests.steps import PlannedStep

#: Most people that a step names.
_MAX_NAMED = 5


def present_outlook(plan: RequestPlan, chosen: str) -> dict[str, Any]:
    """Return what the panel shows of a plan; `chosen` is the id of a way, or empty for the best one."""
    urns = {plan.actor.urn, *wording.list_item_urns(item.document for item in plan.asked_body.items)}
    for item_ways in plan.ways:
        urns.update(wording.list_way_urns(item_ways))
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
        "steps": [] if rule is None else _present_steps(plan, chosen_id),
    }


def _present_item(plan: RequestPlan, position: int, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one of several items with its best way: each has its own."""
    best = chosen_ways.find_best(plan.ways[position])
    title = wording.word_item(plan.asked_body.items[position], names)
    return {"title": title, "way": best and wording.word_way(best, names)}


def _present_steps(plan: RequestPlan, chosen: str) -> list[dict[str, Any]]:
    """Return who would decide; the first step is agreed where the asker gives what the asker owns."""
    is_given = plan.by.urn != plan.actor.urn and _is_given(plan, chosen)
    urns_by_step = [_list_named(plan, step) for step in plan.steps]
    names = authorizer.load_names(urns=frozenset[str]().union(*urns_by_step))
    return [
        {
            "name": step.name,
            "people": [names.get(urn, urn) for urn in urns[:_MAX_NAMED]],
            "has_more": len(urns) > _MAX_NAMED,
            "needs": step.needs,
            "is_agreed": is_given and not index and step.needs == 1,
        }
        for index, (step, urns) in enumerate(zip(plan.steps, urns_by_step, strict=True))
    ]


def _list_named(plan: RequestPlan, step: PlannedStep) -> list[str]:
    """Return the approvers of a step; where it names none, the first people who could decide, but for hidden ones."""
    if step.urns:
        return list(step.urns)
    facts = plan.facts.items[step.positions[0]]
    people = approvers.find_deciders(read_approvers(step.approvers), facts, plan.facts, limit=_MAX_NAMED + 1)
    hidden = authorizer.directory().find_hidden_urns(urns=people)
    return [urn for urn in people if urn not in hidden]


def _is_given(plan: RequestPlan, chosen: str) -> bool:
    """Return whether the asker agrees, by asking, to everything that the first step decides."""
    step = plan.steps[0]
    terms = read_approvers(step.approvers)
    for position in step.positions:
        ways = plan.ways[position]
        way = next((way for way in ways if way["id"] == chosen), chosen_ways.find_best(ways))
        item = RequestItem(way=None if way is None else dict(way))
        if not granting.is_given_by(plan.by, item, plan.facts.items[position], terms):
            return False
    return True
