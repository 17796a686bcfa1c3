"""Ways to what names its way itself: a role, a group, privileges on a scope, or an existing policy.

No question stands behind these: a way is enough because it does what was asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.engine import families
from policies.engine.model import Actor, Decision, DecisionCode
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.engine.requirements import any_of_requirement
from policies.models import GroupProfile, Policy
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest
from policies.pdp.account_turns import hold_turn
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.ways.asked_items import AskedItem
from policies.requests.ways.candidates import MAX_NAME_LENGTH, Candidate, WayKind, end_of, put_policy
from policies.requests.ways.effects import stage_way
from policies.requests.ways.finding import AccessWay, FoundWays, limit_to_reader

#: The system that a membership of a directory, and one of a warehouse, is asked of.
_IDENTITY, _WAREHOUSE = "identity", "warehouse"


def find_named_ways(*, item: RequestedItem, actor: Actor, by: Actor, until: datetime | None) -> FoundWays:
    """Return the ways to an item that names its way; raises Busy while the reader has another preview."""
    with hold_turn(by.urn):
        asked = _build_question(actor)
        proposed = list(_propose(item, actor, until))
        ways = [way for one in proposed if (way := _work_out(asked, one, by)) is not None]
        return limit_to_reader(ways, asked, by, known_urns=[item.target])


def _propose(item: RequestedItem, actor: Actor, until: datetime | None) -> Iterator[Candidate]:
    match item.kind:
        case ItemKind.ROLE:
            yield _assign_role(item.target, actor, until)
        case ItemKind.GROUP:
            yield _join_group(item.target, actor, until)
        case ItemKind.EXTERNAL_ROLE:
            yield Candidate(WayKind.EXTERNAL_ROLE, (), _WAREHOUSE)
        case ItemKind.SCOPE:
            yield Candidate(WayKind.POLICY, (put_policy(None, _build_document(item, actor), until),))
        case ItemKind.POLICY:
            yield from _reach_policy(item.target, actor, until)
        case ItemKind.PRIVILEGE | ItemKind.ANY_OF:
            raise LookupError("A question has its ways elsewhere.")


def _assign_role(role: str, actor: Actor, until: datetime | None) -> Candidate:
    return Candidate(WayKind.ROLE, ({"assign_roles": {"role": role, "actors": [actor.urn]} | end_of(until)},))


def _join_group(urn: str, actor: Actor, until: datetime | None) -> Candidate:
    is_external = GroupProfile.objects.filter(urn=urn, origin=GroupProfile.Origin.EXTERNAL).exists()
    value = {"group": urn, "members": [actor.urn]} | end_of(until)
    return Candidate(WayKind.MEMBERSHIP, ({"add_members": value},), _IDENTITY if is_external else None)


def _build_document(item: RequestedItem, actor: Actor) -> dict[str, Any]:
    names = authorizer.load_names(urns=[actor.urn])
    (privileges,) = item.alternatives
    words = ", ".join(families.display_privilege(privilege) for privilege in privileges)
    name = f"{words} for {names.get(actor.urn, actor.urn)}"
    scope = item.document["scope"]
    return {
        "displayName": name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…",
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
        if token.startswith(GROUP_PREFIX):
            yield _join_group(token, actor, until)
        elif token.startswith(ROLE_PREFIX):
            yield _assign_role(token, actor, until)
    # A policy has one end for all whom it names, so that being named by it is no way for a time.
    if until is None and policy.family == Policy.Family.DATAHUB and policy.is_editable and not policy.is_managed:
        actors: Mapping[str, Any] = policy.document["actors"]
        users: Sequence[str] = actors.get("users") or ()
        document = policy.document | {"actors": {**actors, "users": [*users, actor.urn]}}
        yield Candidate(WayKind.POLICY, (put_policy(policy, document, None),))


def _build_question(actor: Actor) -> AskedItem:
    """Return the question that stands for none: it lacks nothing."""
    decision = Decision(is_allowed=False, code=DecisionCode.IMPLICIT_DENY)
    return AskedItem(actor, AccessRequest(any_of_requirement([])), decision)


def _work_out(item: AskedItem, candidate: Candidate, by: Actor) -> AccessWay | None:
    """Return a candidate with all that is said of it; None if it cannot be written."""
    staged = stage_way(item, candidate)
    if staged is None:
        return None
    gains, losses, is_exact = staged.compare()
    return AccessWay(
        candidate.id,
        candidate.kind,
        candidate.changes,
        gains,
        losses,
        is_exact,
        Proof(Verdict.UNKNOWN),
        staged.list_broken(by),
        candidate.source,
    )
