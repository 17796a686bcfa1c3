"""Rules that no policies, roles and memberships could satisfy: by themselves, or beside another rule."""

from collections.abc import Callable, Iterable, Mapping

from policies.engine.guardrails.rules import Rule, RuleKind, RuleScope
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion

#: The rules that promise privileges to people.
PROMISES = frozenset({RuleKind.ALWAYS, RuleKind.AT_LEAST})

#: The rules that keep privileges from people.
RESTRICTIONS = frozenset({RuleKind.NEVER, RuleKind.NOT_BOTH})


def find_overlap(rule: Rule) -> str:
    """Return a privilege by which whoever may use it on one side of *not both* breaks it alone; '' if there is none."""
    if rule.kind is not RuleKind.NOT_BOTH:
        return ""
    first, second = rule.scopes
    shared_privileges = first.privileges & second.privileges
    is_one_within = _covers(first, second) or _covers(second, first)
    return min(shared_privileges) if shared_privileges and is_one_within else ""


def is_contradicted(promise: Rule, restriction: Rule, load_people: Callable[[], Mapping[str, Actor]]) -> bool:
    """Whether what one rule promises is what another one keeps from the same people.

    `load_people` returns, by URN, those whom *always* names, or of *at least* all whom it counts.
    """
    (scope,) = promise.scopes
    if not _is_forbidden(restriction, scope):
        return False
    people = load_people()
    if promise.kind is RuleKind.AT_LEAST:
        return promise.number > sum(not restriction.people.includes(actor) for actor in people.values())
    return any(restriction.people.includes(actor) for actor in _select(promise, people))


def _select(promise: Rule, people: Mapping[str, Actor]) -> Iterable[Actor]:
    return (people[urn] for urn in promise.people.match.tokens if urn in people)


def _is_forbidden(restriction: Rule, scope: RuleScope) -> bool:
    """Whether all that the scope is about is, for its people, what the restriction forbids."""
    return all(
        not kept_scope.privileges.isdisjoint(scope.privileges) and _covers(kept_scope, scope)
        for kept_scope in restriction.scopes
    )


def _covers(wide_scope: RuleScope, scope: RuleScope) -> bool:
    """Whether one scope is surely about everything that another one is about."""
    return all(_is_surely_met(scope.resources.criteria, criterion) for criterion in wide_scope.resources.criteria)


def _is_surely_met(criteria: Iterable[Criterion], other: Criterion) -> bool:
    """Whether whatever meets all criteria surely meets the other one; false where that is not seen."""
    return any(criterion.field == other.field and _is_stronger(criterion, other) for criterion in criteria)


def _is_stronger(criterion: Criterion, other: Criterion) -> bool:
    if criterion.condition is Condition.STARTS_WITH:
        return other.condition is Condition.STARTS_WITH and all(
            value.startswith(tuple(other.values)) for value in criterion.values
        )
    if criterion.condition is Condition.EQUALS and other.condition is Condition.STARTS_WITH:
        return all(value.startswith(tuple(other.values)) for value in criterion.values)
    if criterion.condition is not other.condition:
        return False
    is_equality = criterion.condition is Condition.EQUALS
    return criterion.values <= other.values if is_equality else other.values <= criterion.values
