"""Which rule decides a request: the first active one, in order, that fits any of its items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from policies.engine.errors import InvalidPolicy
from policies.engine.proofs.entity_terms import find_entity
from policies.engine.proofs.verdicts import ProofUnavailable
from policies.engine.selectors import EVERYTHING, Resource
from policies.errors import Unavailable
from policies.models import ApprovalRule
from policies.pdp.ports import facet_source
from policies.requests.items import ItemKind, RequestedItem, list_entities
from policies.requests.rules.terms import RuleReach, RuleTerms, read_terms

#: Most rules: each active one is compared with every request.
MAX_RULES = 200


@dataclass(frozen=True, slots=True)
class ChosenRule:
    """The rule that decides a request: its URN and terms; no URN and the usual terms where no rule fits."""

    urn: str = ""
    name: str = ""
    terms: RuleTerms = field(default_factory=RuleTerms)


def choose_rule(items: Sequence[RequestedItem], *, is_permanent: bool) -> ChosenRule:
    """Return the first active rule that fits any of these items.

    Raises Unavailable if a stored rule cannot be read any more: which one decides would be a guess. Two queries.
    """
    rules = [(rule, load_terms(rule)) for rule in ApprovalRule.objects.filter(state=ApprovalRule.State.ACTIVE)]
    fields = frozenset[str]().union(*(terms.scope.resources.fields for _, terms in rules))
    entities = list_entities(items)
    resources = facet_source().load(urns=entities, fields=fields) if fields and entities else {}
    for rule, terms in rules:
        if any(is_for_item(terms.scope, item, resources, is_permanent=is_permanent) for item in items):
            return ChosenRule(rule.urn, rule.name, terms)
    return ChosenRule()


def load_terms(rule: ApprovalRule) -> RuleTerms:
    """Return the terms of a stored rule; raises Unavailable if they cannot be read any more."""
    try:
        return read_terms(rule.terms)
    except InvalidPolicy as error:
        raise Unavailable(f"The approval rule {rule.name} ({rule.urn}) cannot be read: {error}") from error


def is_for_item(
    scope: RuleReach, item: RequestedItem, resources: Mapping[str, Resource], *, is_permanent: bool
) -> bool:
    """Return whether a rule with this scope is for the item; `resources` are the facts about entities, by URN."""
    if scope.permanent is not None and scope.permanent != is_permanent:
        return False
    names = scope.privileges | scope.roles | scope.groups | scope.external_roles
    if names and names.isdisjoint(item.privileges | {item.target}):
        return False
    return scope.resources == EVERYTHING or _covers(scope, item, resources)


def covers_wholly(
    scope: RuleReach, item: RequestedItem, resources: Mapping[str, Resource], *, is_permanent: bool
) -> bool:
    """Return whether a rule with this scope speaks of everything in the item, not only of a part of it."""
    if not is_for_item(scope, item, resources, is_permanent=is_permanent):
        return False
    targets = scope.roles | scope.groups | scope.external_roles
    names_all = not (scope.privileges or targets)
    if item.privileges and not (names_all or item.privileges <= scope.privileges):
        return False
    if item.kind is not ItemKind.SCOPE or scope.resources == EVERYTHING:
        return True
    # All criteria of a filter have to hold, so that one with more of them covers no more.
    return item.scope is not None and set(scope.resources.criteria) <= set(item.scope.criteria)


def _covers(scope: RuleReach, item: RequestedItem, resources: Mapping[str, Resource]) -> bool:
    """Return whether the entity of an item is meant; of a scope, whether there could be one that both cover."""
    if item.kind is ItemKind.SCOPE:
        if item.scope is None:
            return True
        joined = replace(item.scope, criteria=(*item.scope.criteria, *scope.resources.criteria))
        try:
            return find_entity((joined,)) is not None
        except ProofUnavailable:
            return True
    if not item.owned:
        return False
    resource = resources.get(item.owned)
    return resource is not None and scope.resources.covers(resource)
