"""Writes of approval rules. Each needs MANAGE_POLICIES; requests that are open keep the steps they have."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, Stale
from policies.models import ApprovalRule, ChangeEvent, Gate, Verb, open_write
from policies.models.approval_rule import APPROVAL_RULE_PREFIX
from policies.models.people import MAX_NAME_LENGTH
from policies.requests.queries import approval_rules
from policies.requests.rules.choice import MAX_RULES
from policies.requests.rules.terms import RuleTerms, read_terms
from policies.writes import managed_rows, required_privileges
from policies.writes.validation import Checks

_MAX_ORDER = 1_000_000
_URN = re.compile(re.escape(APPROVAL_RULE_PREFIX) + r"[A-Za-z0-9_.-]{1,200}")
#: Distance between the orders of rules that nobody placed.
_ORDER_STEP = 10


def create(
    *,
    name: str,
    terms: Mapping[str, Any],
    by: Actor,
    channel: str,
    order: int | None = None,
    state: str = ApprovalRule.State.ACTIVE,
    urn: str | None = None,
) -> ApprovalRule:
    """Store a new rule, under `urn` or a generated one, in its order or after all others.

    Raises Forbidden, Invalid with every problem, or Conflict when the URN is taken or there are too many.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    urn = f"{APPROVAL_RULE_PREFIX}{uuid.uuid4()}" if urn is None else validate_urn(urn)
    with open_write(Gate.PEOPLE) as write:
        if ApprovalRule.objects.filter(urn=urn).exists():
            raise Conflict(f"There is an approval rule {urn} already.")
        if ApprovalRule.objects.count() >= MAX_RULES:
            raise Conflict(f"There are {MAX_RULES} approval rules already.")
        values = {"name": name, "order": find_next_order() if order is None else order, "state": state, "terms": terms}
        validate_values(values)
        rule = ApprovalRule.objects.create(urn=urn, created_by=by.urn, updated_by=by.urn, **values)
        write.record([_build_event(rule, Verb.CREATED, before=None, by=by, channel=channel)])
    return rule


def update(*, urn: str, by: Actor, channel: str, if_version: int | None = None, **changes: Any) -> ApprovalRule:
    """Change the given ones of `name`, `order`, `state` and `terms`.

    Raises NotFound, Forbidden, Conflict if it is managed as code, Stale when `if_version` is given and is not the
    version, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with open_write(Gate.PEOPLE) as write:
        rule = _get_current(urn, by=by, if_version=if_version)
        before = facts(rule)
        values = {"name": rule.name, "order": rule.order, "state": rule.state, "terms": rule.terms, **changes}
        validate_values(values)
        for column, value in values.items():
            setattr(rule, column, value)
        rule.version += 1
        rule.updated_at, rule.updated_by = timezone.now(), by.urn
        rule.save()
        write.record([_build_event(rule, Verb.UPDATED, before=before, by=by, channel=channel)])
    return rule


def move(
    *,
    urn: str,
    by: Actor,
    channel: str,
    before: str | None = None,
    after: str | None = None,
    if_version: int | None = None,
) -> ApprovalRule:
    """Move a rule directly before or after another one; where no number is free in between, all are numbered anew.

    Raises NotFound for either rule, Forbidden, Stale, and Conflict if one that gets another number is managed as code.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with open_write(Gate.PEOPLE) as write:
        rule = _get_current(urn, by=by, if_version=if_version)
        neighbour = approval_rules.get_rule(urn=before or after or "")
        others = [other for other in ApprovalRule.objects.all() if other.urn != urn]
        if neighbour.urn == urn:
            return rule
        position = [other.urn for other in others].index(neighbour.urn) + (0 if before else 1)
        orders = _find_orders(rule, others, position)
        events = []
        for row in (rule, *others):
            if row.urn in orders:
                managed_rows.refuse_managed(row, by=by)
                events.append(_store_order(row, orders[row.urn], by=by, channel=channel))
        write.record(events)
    return rule


def _find_orders(rule: ApprovalRule, others: list[ApprovalRule], position: int) -> dict[str, int]:
    """Return the new orders, by URN, that bring a rule to a position among the others: as few as there can be."""
    lower = others[position - 1].order if position else -1
    upper = others[position].order if position < len(others) else min(lower + 2 * _ORDER_STEP, _MAX_ORDER + 1)
    if lower < rule.order < upper:
        return {}
    if upper - lower > 1:
        return {rule.urn: (lower + upper) // 2}
    sequence = [*others[:position], rule, *others[position:]]
    numbers = {row.urn: number * _ORDER_STEP for number, row in enumerate(sequence, 1)}
    return {row.urn: numbers[row.urn] for row in sequence if row.order != numbers[row.urn]}


def _store_order(rule: ApprovalRule, order: int, *, by: Actor, channel: str) -> ChangeEvent:
    """Store a rule under another order, and return the event of it."""
    before = facts(rule)
    rule.order = order
    rule.version += 1
    rule.updated_at, rule.updated_by = timezone.now(), by.urn
    rule.save()
    return _build_event(rule, Verb.UPDATED, before=before, by=by, channel=channel)


def delete(*, urn: str, by: Actor, channel: str, if_version: int | None = None) -> None:
    """Delete a rule. Raises NotFound, Forbidden, Conflict if it is managed as code, Stale."""
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with open_write(Gate.PEOPLE) as write:
        rule = _get_current(urn, by=by, if_version=if_version)
        event = _build_event(rule, Verb.DELETED, before=facts(rule), by=by, channel=channel)
        rule.delete()
        write.record([event])


def facts(rule: ApprovalRule) -> dict[str, Any]:
    """Return the state of a rule as the change log stores it."""
    return {"name": rule.name, "order": rule.order, "state": rule.state, "terms": rule.terms, "version": rule.version}


def validate_urn(urn: str) -> str:
    """Return `urn` if a rule can have it; raises Invalid."""
    if not _URN.fullmatch(urn):
        detail = (
            f"The URN of a rule is {APPROVAL_RULE_PREFIX} and up to 200 letters, digits, dots, hyphens, underscores."
        )
        raise Invalid.from_problem(code="urn.invalid", pointer="/urn", detail=detail)
    return urn


def validate_values(values: Mapping[str, Any]) -> RuleTerms:
    """Return the terms of a rule with these values; raises Invalid with every problem."""
    checks = Checks()
    checks.validate_text(values["name"], "/name", limit=MAX_NAME_LENGTH, is_required=True)
    checks.validate_choice(values["state"], "/state", ApprovalRule.State.values)
    order = values["order"]
    if not isinstance(order, int) or isinstance(order, bool) or not 0 <= order <= _MAX_ORDER:
        checks.add("number", "/order", f"This must be a whole number from 0 to {_MAX_ORDER}.")
    problems: list[Problem] = list(checks.problems)
    try:
        terms = read_terms(values["terms"])
    except InvalidPolicy as error:
        raise Invalid([*problems, *error.problems]) from None
    if problems:
        raise Invalid(problems)
    return terms


def find_next_order() -> int:
    """Return the order of a rule that comes after all others."""
    last_order = ApprovalRule.objects.order_by("-order").values_list("order", flat=True).first()
    return _ORDER_STEP if last_order is None else min(last_order + _ORDER_STEP, _MAX_ORDER)


def _get_current(urn: str, *, by: Actor, if_version: int | None) -> ApprovalRule:
    rule = approval_rules.get_rule(urn=urn)
    managed_rows.refuse_managed(rule, by=by)
    if if_version is not None and rule.version != if_version:
        raise Stale(f"{rule.name} is at version {rule.version} now, not {if_version}.")
    return rule


def _build_event(
    rule: ApprovalRule, verb: Verb, *, before: dict[str, Any] | None, by: Actor, channel: str
) -> ChangeEvent:
    return ChangeEvent(
        object_urn=rule.urn,
        name=rule.name,
        verb=verb,
        by=by.urn,
        door=channel,
        before=before,
        after=None if verb is Verb.DELETED else facts(rule),
    )
