"""The rule that decides a request: the first active one, in order, that fits any of its items."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from policies.engine.errors import InvalidPolicy
from policies.engine.proofs.entity_terms import find_entity
from policies.engine.proofs.verdicts import ProofUnavailable
from policies.engine.selectors import EVERYTHING, Resource
from policies.errors import Unavailable
from policies.models import ApprovalRule
from policies.pdp import fact_cache
from policies.pdp.ports import facet_source
from policies.propagation.invalidating_cache import CacheRegion, process_cache
from policies.requests.items import ItemKind, RequestedItem, list_entities
from policies.requests.rules.terms import RuleReach, RuleTerms, read_terms

#: Most rules: each active one is compared with every request.
MAX_RULES = 200

_ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class ChosenRule:
    """The rule that decides a request: its URN and terms; no URN and the usual terms where no rule fits."""

    urn: str = ""
    name: str = ""
    terms: RuleTerms = field(default_factory=RuleTerms)
    order: int = 0


#: The active rules in their order, for what is only told (`choose_rules`); any write drops them.
_active_rules: CacheRegion[Sequence[ChosenRule]] = process_cache.add_region(1, None)


def choose_rule(items: Sequence[RequestedItem], *, is_permanent: bool) -> ChosenRule:
    """Return the first active rule that fits any of these items.

    Raises Unavailable if a stored rule cannot be read any more: which one decides would be a guess. Two queries.
    """
    rules = load_active_rules()
    return choose_among(rules, items, load_tested_facts(rules, list_entities(items)), is_permanent=is_permanent)


def choose_rules(items: Sequence[RequestedItem]) -> list[ChosenRule]:
    """Return for each item the rule that would decide a request for it alone, with an end. Raises as `choose_rule`.

    The rules are those that this process has in memory, as far as it decides by what it has there.
    """
    rules = fact_cache.get_or_load(_active_rules, [_ACTIVE], lambda _: {_ACTIVE: load_active_rules()})[_ACTIVE]
    resources = load_tested_facts(rules, list_entities(items))
    return [choose_among(rules, [item], resources, is_permanent=False) for item in items]


def load_active_rules() -> list[ChosenRule]:
    """Return the active rules in their order; raises Unavailable if one of them cannot be read any more."""
    rows = ApprovalRule.objects.filter(state=ApprovalRule.State.ACTIVE)
    return [ChosenRule(rule.urn, rule.name, load_terms(rule), rule.order) for rule in rows]


def load_tested_facts(rules: Iterable[ChosenRule], entities: Collection[str]) -> Mapping[str, Resource]:
    """Return the facts about entities that rules test, by URN; nothing where no rule tests any.

    A filter by URN or type tests no field, and needs the resource all the same.
    """
    filters = [rule.terms.scope.resources for rule in rules if rule.terms.scope.resources != EVERYTHING]
    fields = frozenset[str]().union(*(selector.fields for selector in filters))
    return facet_source().load(urns=entities, fields=fields) if filters and entities else {}


def choose_among(
    rules: Iterable[ChosenRule],
    items: Sequence[RequestedItem],
    resources: Mapping[str, Resource],
    *,
    is_permanent: bool,
) -> ChosenRule:
    """Return the first of these rules that fits any of the items; the usual terms where none does."""
    for rule in rules:
        if any(is_for_item(rule.terms.scope, item, resources, is_permanent=is_permanent) for item in items):
            return rule
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
