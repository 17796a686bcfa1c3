"""Ways to what names its way itself: an external role, privileges on a scope, or an existing policy.

No question stands behind these: a way is enough because it does what was asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policies.engine.model import Actor
from policies.engine.snapshot import Snapshot
from policies.models import Policy
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import snapshot_store
from policies.pdp.account_turns import hold_turn
from policies.pdp.request_facts import FactStaging
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.request_sources import WAREHOUSE
from policies.requests.ways.asked_items import AskedHolding
from policies.requests.ways.candidates import Candidate, WayKind, list_others, put_policy
from policies.requests.ways.finding import FoundWays, limit_to_reader, measure_all
from policies.requests.ways.own_names import name_own


@dataclass(frozen=True, slots=True)
class AskedByName:
    """An item that names its way; nothing is known of what it gives before the way is worked out.

    `policy` is the URN of the policy that is to reach the actor, if that is what is asked for.
    """

    actor: Actor
    policy: str = ""

    @property
    def places(self) -> Mapping[str | None, tuple[str, ...]]:
        """Nothing: privileges follow from it, and are none of it."""
        return {}

    @property
    def is_changeable(self) -> bool:
        """Whether the actor is active."""
        return self.actor.is_active

    def list_entities(self) -> frozenset[str]:
        """Return nothing: whether the reader may know of the target was asked before."""
        return frozenset()

    def is_given(self, actor: Actor, snapshot: Snapshot, stage_facts: FactStaging) -> bool:  # noqa: ARG002
        """Whether a change gives it, as each does that is proposed: a policy in force, unless it excepts the actor."""
        if not self.policy:
            return True
        clauses = [statement.actors for statement in snapshot.list_statements_of({self.policy})]
        return any(
            not clause.tokens.isdisjoint(actor.tokens) and clause.excluded_tokens.isdisjoint(actor.tokens)
            for clause in clauses
        )

    def count_new(self) -> int:
        """Return 0."""
        return 0


def find_named_ways(*, item: RequestedItem, actor: Actor, by: Actor, until: datetime | None) -> FoundWays:
    """Return the ways to an item that names its way; raises Busy while the reader has another preview."""
    asked_item = AskedByName(actor, item.target if item.kind is ItemKind.POLICY else "")
    with hold_turn(by.urn):
        ways = measure_all(asked_item, list(_propose(item, actor, until)), by)
        return limit_to_reader(ways, asked_item, by, known_urns=[item.target])


def _propose(item: RequestedItem, actor: Actor, until: datetime | None) -> Iterator[Candidate]:
    match item.kind:
        case ItemKind.EXTERNAL_ROLE:
            change = {"assign_external_role": {"role": item.target, "actors": [actor.urn]}}
            yield Candidate(WayKind.EXTERNAL_ROLE, (change,), WAREHOUSE)
        case ItemKind.SCOPE:
            yield Candidate(WayKind.POLICY, (put_policy(None, _build_document(item, actor), until),))
        case ItemKind.POLICY:
            yield from _reach_policy(item.target, actor, until)
        case _:
            yield from list_others(AskedHolding(actor, item.target), until)


def _build_document(item: RequestedItem, actor: Actor) -> dict[str, Any]:
    (privileges,) = item.alternatives
    scope = item.document["scope"]
    return {
        "displayName": name_own(actor, privileges),
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "editable": True,
        "privileges": list(privileges),
        "actors": {"users": [actor.urn]},
        "resources": {"filter": scope} if "criteria" in scope else scope,
    }


def _reach_policy(urn: str, actor: Actor, until: datetime | None) -> Iterator[Candidate]:
    """Yield the ways to be reached by a stored policy: its groups, its roles, and being named by it."""
    policy = Policy.objects.filter(urn=urn).first()
    if policy is None:
        return
    statements = snapshot_store.get_current().list_statements_of({urn})
    for token in sorted(frozenset[str]().union(*(statement.actors.tokens for statement in statements))):
        if token.startswith((GROUP_PREFIX, ROLE_PREFIX)):
            yield from list_others(AskedHolding(actor, token), until)
    # A policy has one end for all whom it names, so that being named by it is no way for a time.
    if until is None and policy.family == Policy.Family.DATAHUB and policy.is_editable and not policy.is_managed:
        actors: Mapping[str, Any] = policy.document["actors"]
        users: Sequence[str] = actors.get("users") or ()
        document = policy.document | {"actors": {**actors, "users": [*users, actor.urn]}}
        yield Candidate(WayKind.POLICY, (put_policy(policy, document, None),))
