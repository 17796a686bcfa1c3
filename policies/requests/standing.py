"""Access that the actor of a request has already, and its peers who have the same, as far as the approver may know."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from policies.engine.families import vocabulary
from policies.engine.model import Actor, Decision
from policies.engine.requirements import any_of_requirement, privilege_requirement
from policies.engine.way_ends import find_last_end
from policies.models.policy import POLICY_PREFIX
from policies.pdp import actor_resolution, authorizer, users_by_actor_clause
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.items import ItemKind, RequestedItem
from policies.writes.preview_disclosure import PreviewDisclosure

#: Most people of the same groups who are looked at, and most of them who are named.
MAX_PEERS = 200
MAX_NAMED_PEERS = 5

_CONCEALED_POLICY = "a policy that you may not see"
_ASKED_KINDS = frozenset({ItemKind.PRIVILEGE, ItemKind.ANY_OF})


@dataclass(frozen=True, slots=True)
class SharedHolding:
    """Privileges that one has through the same policies (their names) until the same end; None: it does not end."""

    privileges: tuple[str, ...]
    through: tuple[str, ...]
    until: datetime | None


@dataclass(frozen=True, slots=True)
class EntityHoldings:
    """Access of one actor to an entity, or to the platform where `entity` is empty."""

    entity: str
    holdings: tuple[SharedHolding, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Access of an actor by entity, with the groups and roles (URN and end) that the approver may see."""

    entities: tuple[EntityHoldings, ...]
    groups: tuple[tuple[str, datetime | None], ...]
    roles: tuple[tuple[str, datetime | None], ...]


@dataclass(frozen=True, slots=True)
class Peers:
    """How many of the people in the same groups have an item, and the first URNs; `is_all`: none was left out."""

    count: int
    total: int
    urns: tuple[str, ...]
    is_all: bool


def find_standing(*, items: Sequence[RequestedItem], actor: Actor, by: Actor) -> Standing:
    """Return what an actor has on the entities of items, each policy by a name that `by` may know.

    Nothing is said of entities, groups and roles that `by` may not see.
    """
    disclosure = PreviewDisclosure.load(by)
    entities = list(dict.fromkeys(item.entity for item in items if item.kind in _ASKED_KINDS))
    concealed = disclosure.find_concealed({*filter(None, entities), *actor.groups, *actor.roles})
    told_entities = [urn for urn in entities if urn not in concealed]
    return Standing(
        _find_holdings(told_entities, items, actor, disclosure),
        _list_ends(actor.groups - concealed, actor),
        _list_ends(actor.roles - concealed, actor),
    )


def _find_holdings(
    entities: Sequence[str], items: Sequence[RequestedItem], actor: Actor, disclosure: PreviewDisclosure
) -> tuple[EntityHoldings, ...]:
    questions = [(entity, name) for entity in entities for name in _list_privileges(entity, items)]
    requests = [
        (actor, AccessRequest(privilege_requirement(name), ResourceRef(entity) if entity else None))
        for entity, name in questions
    ]
    decisions = authorizer.answer_many(requests=requests) if requests else []
    allowed = [
        (*question, decision) for question, decision in zip(questions, decisions, strict=True) if decision.is_allowed
    ]
    names = _load_policy_names((decision for *_, decision in allowed), disclosure)
    return tuple(
        EntityHoldings(entity, _group([(name, decision) for urn, name, decision in allowed if urn == entity], names))
        for entity in entities
    )


def _list_privileges(entity: str, items: Iterable[RequestedItem]) -> list[str]:
    """Return the privileges that are looked at: those that are asked for, and DataHub's of entities or the platform."""
    registry = vocabulary.load_datahub()
    infos = registry.metadata_privileges() if entity else registry.platform_privileges()
    asked_names = [name for item in items if item.entity == entity for name in sorted(item.privileges)]
    return list(dict.fromkeys([*asked_names, *(info.name for info in infos)]))


def _load_policy_names(decisions: Iterable[Decision], disclosure: PreviewDisclosure) -> dict[str, str]:
    names = {
        statement.origin.policy: statement.origin.name for decision in decisions for statement in decision.statements
    }
    stored_urns = {urn for urn in names if urn.startswith(POLICY_PREFIX)}
    return names | dict.fromkeys(disclosure.find_concealed(stored_urns), _CONCEALED_POLICY)


def _group(allowed: Sequence[tuple[str, Decision]], names: Mapping[str, str]) -> tuple[SharedHolding, ...]:
    """Return privileges with the same policies and end together, those that end first before the others."""
    grouped: dict[tuple[tuple[str, ...], datetime | None], list[str]] = {}
    for name, decision in allowed:
        policies = tuple(sorted({names[statement.origin.policy] for statement in decision.statements}))
        grouped.setdefault((policies, find_last_end(decision)), []).append(name)
    holdings = [SharedHolding(tuple(privileges), *key) for key, privileges in grouped.items()]
    return tuple(sorted(holdings, key=_build_sort_key))


def _build_sort_key(holding: SharedHolding) -> tuple[bool, float, tuple[str, ...]]:
    until = holding.until
    return until is None, 0 if until is None else until.timestamp(), holding.through


def _list_ends(urns: Iterable[str], actor: Actor) -> tuple[tuple[str, datetime | None], ...]:
    ends = dict(actor.ends)
    return tuple((urn, ends.get(urn)) for urn in sorted(urns))


def find_peers(*, items: Sequence[RequestedItem], actor: Actor, by: Actor) -> list[Peers | None]:
    """Return for each item how many people of the actor's groups have it; None where that says nothing.

    The groups are those that `by` may see, and people whom it may not see are counted, not named.
    """
    disclosure = PreviewDisclosure.load(by)
    entities = {item.entity for item in items if item.entity}
    concealed = disclosure.find_concealed(actor.groups | entities)
    groups = actor.groups - concealed
    if not groups:
        return [None] * len(items)
    rows = users_by_actor_clause.list_users_by_actor_tokens(tokens=groups).exclude(urn=actor.urn)
    urns = list(rows.values_list("urn", flat=True)[: MAX_PEERS + 1])
    people = list(actor_resolution.load_actors(urns=urns[:MAX_PEERS]).values()) if urns else []
    is_all = len(urns) <= MAX_PEERS
    return [
        None
        if item.entity in concealed or not people
        else _count_peers(item, people, disclosure, actor=actor, is_all=is_all)
        for item in items
    ]


def _count_peers(
    item: RequestedItem, people: Sequence[Actor], disclosure: PreviewDisclosure, *, actor: Actor, is_all: bool
) -> Peers | None:
    holders = _list_holders(item, people)
    if holders is None or item.target in actor.groups:
        return None
    urns = sorted(person.urn for person in holders)
    concealed = disclosure.find_concealed(urns) if urns else frozenset[str]()
    shown_urns = [urn for urn in urns if urn not in concealed][:MAX_NAMED_PEERS]
    return Peers(len(urns), len(people), tuple(shown_urns), is_all)


def _list_holders(item: RequestedItem, people: Sequence[Actor]) -> list[Actor] | None:
    """Return those of the people who have an item; None for a kind of which nobody can tell."""
    if item.kind in (ItemKind.ROLE, ItemKind.GROUP):
        return [person for person in people if item.target in person.roles | person.groups]
    if item.kind not in _ASKED_KINDS:
        return None
    request = AccessRequest(any_of_requirement(item.alternatives), ResourceRef(item.entity) if item.entity else None)
    decisions = authorizer.answer_many(requests=[(person, request) for person in people])
    return [person for person, decision in zip(people, decisions, strict=True) if decision.is_allowed]
