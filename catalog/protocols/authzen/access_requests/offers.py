"""Offers: which denials can be requested, and by which rule they would be decided. No ways are worked out for it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.conf import settings

from policies.engine.errors import InvalidPolicy
from policies.engine.model import Actor, Decision, DecisionCode
from policies.errors import Unavailable
from policies.models import User
from policies.pdp import fact_cache
from policies.pdp.access_requests import ResourceRef
from policies.propagation.invalidating_cache import CacheRegion, process_cache
from policies.requests.items import RequestedItem, load_item
from policies.requests.plan import find_blind
from policies.requests.rules.choice import ChosenRule, choose_rules
from policies.requests.rules.terms import find_platform_privileges

#: Denials that a request could change. Suspended and removed people, unknown privileges, and parts of an entity could
#: not be given anything.
_CHANGEABLE_CODES = frozenset({DecisionCode.IMPLICIT_DENY, DecisionCode.EXPLICIT_DENY})

#: User URN → whether there is such a user; a write about the user drops it.
_known_users: CacheRegion[bool] = process_cache.add_region(settings.ACTORS_KEPT, lambda _: ())


class DeniedAccess(NamedTuple):
    """One denial: of whom, of which privilege on what, and the decision."""

    actor: Actor
    privilege: str
    resource: ResourceRef | None
    decision: Decision


class RequestOffer(NamedTuple):
    """That access can be requested: the item, and the rule that would decide; an empty one where none is told of."""

    item: RequestedItem
    rule: ChosenRule


def find_offers(denials: Sequence[DeniedAccess]) -> list[RequestOffer | None]:
    """Return an offer for each denial, None where access cannot be requested; a fixed number of queries.

    Entities that the viewer may not view, and those that do not exist, are offered alike, with no rule.
    """
    known_urns, platform = _find_known({denial.actor.urn for denial in denials}), find_platform_privileges()
    items = {
        index: item
        for index, denial in enumerate(denials)
        if denial.actor.urn in known_urns and (item := _build_item(denial, platform)) is not None
    }
    try:
        rules = dict(zip(items, choose_rules(list(items.values())), strict=True))
    except Unavailable:
        # Which rule decides would be a guess: nothing is offered until the rules can be read again.
        return [None] * len(denials)
    items_with_rule = [items[index] for index, rule in rules.items() if rule.urn]
    blind_urns = find_blind(items_with_rule) if items_with_rule else frozenset[str]()
    return [
        _build_offer(items[index], rules[index], blind_urns) if index in items else None
        for index in range(len(denials))
    ]


def build_item(privilege: str, urn: str, platform: frozenset[str]) -> RequestedItem | None:
    """Return what has to be asked for to have a privilege on an entity; None where nobody could ask for it.

    `platform` are the privileges of the platform. Such a one is held whatever entity a question names, so that only
    those who may give it on the platform can decide.
    """
    is_platform = privilege in platform
    if not urn and not is_platform:
        return None
    try:
        return load_item({"privilege": privilege, "resource": None if is_platform else {"urn": urn}})
    except InvalidPolicy:
        return None


def _build_item(denial: DeniedAccess, platform: frozenset[str]) -> RequestedItem | None:
    if denial.decision.code not in _CHANGEABLE_CODES or not denial.actor.is_active:
        return None
    return build_item(denial.privilege, denial.resource.urn if denial.resource is not None else "", platform)


def _build_offer(item: RequestedItem, rule: ChosenRule, blind_urns: frozenset[str]) -> RequestOffer | None:
    if item.owned in blind_urns:
        return RequestOffer(item, ChosenRule())
    return RequestOffer(item, rule) if rule.terms.is_requestable else None


def _find_known(urns: set[str]) -> frozenset[str]:
    answers = fact_cache.get_or_load(_known_users, sorted(urns), _load_known)
    return frozenset(urn for urn, is_known in answers.items() if is_known)


def _load_known(urns: Iterable[str]) -> dict[str, bool]:
    stored_urns = set(
        User.objects.filter(urn__in=list(urns), is_removed=False).order_by().values_list("urn", flat=True)
    )
    return {urn: urn in stored_urns for urn in urns}
