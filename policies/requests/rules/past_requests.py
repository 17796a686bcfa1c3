"""Requests of the last 30 days that a rule would decide, found by the code that chooses the rule of a new one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from policies.engine.errors import InvalidPolicy
from policies.models import SubmittedRequest
from policies.models.fields import json_text
from policies.requests.items import RequestedItem, list_entities, load_item
from policies.requests.rules.choice import ChosenRule, choose_among, load_active_rules, load_tested_facts
from policies.requests.rules.terms import RuleTerms

PERIOD = timedelta(days=30)
#: Most requests that are compared, the newest ones.
MAX_REQUESTS = 1_000

#: Stands for the URN of a rule that has none yet: it comes after all others of its order.
_NEW_URN = "~"


@dataclass(frozen=True, slots=True)
class DecidedRequests:
    """How many of the requests that were compared a rule would decide; unless `is_all`, only the newest were."""

    count: int
    total: int
    is_all: bool


def count_decided(*, terms: RuleTerms, order: int, urn: str | None, now: datetime) -> DecidedRequests:
    """Return how many requests of the last 30 days an active rule with these terms, in this order, would decide.

    `urn` is the rule that it replaces, None for a new one. Facts about entities are those of today. A request that
    cannot be read any more is not compared. Four queries. Raises Unavailable as `choice.choose_rule`.
    """
    draft = ChosenRule(urn or _NEW_URN, "", terms, order)
    others = [rule for rule in load_active_rules() if rule.urn != draft.urn]
    rules = sorted([*others, draft], key=lambda rule: (rule.order, rule.urn))
    rows = SubmittedRequest.objects.filter(created_at__gte=now - PERIOD).prefetch_related("items")
    requests = list(rows[: MAX_REQUESTS + 1])
    compared_requests = [(items, row.until is None) for row in requests[:MAX_REQUESTS] if (items := _load_items(row))]
    # Equal requests have the same rule: each kind is compared once.
    kinds = Counter(_build_key(items, is_permanent=is_permanent) for items, is_permanent in compared_requests)
    samples = {
        _build_key(items, is_permanent=is_permanent): (items, is_permanent) for items, is_permanent in compared_requests
    }
    resources = load_tested_facts(rules, _list_entities(items for items, _ in samples.values()))
    count = sum(
        kinds[key]
        for key, (items, is_permanent) in samples.items()
        if choose_among(rules, items, resources, is_permanent=is_permanent) is draft
    )
    return DecidedRequests(count, len(compared_requests), len(requests) <= MAX_REQUESTS)


def _load_items(request: SubmittedRequest) -> list[RequestedItem]:
    """Return the items of a request; none where one of them cannot be read any more."""
    try:
        return [load_item(item.document) for item in request.items.all()]
    except InvalidPolicy:
        return []


def _build_key(items: Sequence[RequestedItem], *, is_permanent: bool) -> tuple[str, bool]:
    return json_text([item.document for item in items]), is_permanent


def _list_entities(samples: Iterable[Sequence[RequestedItem]]) -> list[str]:
    return list(dict.fromkeys(urn for items in samples for urn in list_entities(items)))
