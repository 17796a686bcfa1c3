"""Who may decide: approvers of a step, judged by the facts of the moment, and nobody for themselves.

Lists find requests by stored names (`RequestSeat`); each decision is judged here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from policies.engine import families
from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.engine.selectors import DOMAIN, EVERYONE, OWNER, Owner, Resource
from policies.models import RoleAssignment, User
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.models.request import PRIVILEGE_SEAT
from policies.pdp import actor_resolution, authorizer, inverse_queries, snapshot_store, users_by_actor_clause
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.ports import facet_source
from policies.requests.items import ItemKind, RequestedItem, list_entities
from policies.requests.rules.terms import Approvers, find_platform_privileges
from policies.writes import delegation

MANAGE_POLICIES, MANAGE_GUARDRAILS = "MANAGE_POLICIES", "MANAGE_GUARDRAILS"
ROOT_URN = f"{USER_PREFIX}{ROOT_USERNAME}"

_CDAP_ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """The facts by which approvers of one item are found: owners, owners of its domains, and platform privileges."""

    item: RequestedItem
    owners: frozenset[Owner] = frozenset()
    domain_owners: frozenset[Owner] = frozenset()
    platform_privileges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DecidingFacts:
    """The facts about all items of a request, and who never decides it.

    These are asker and actor, and the owners of those of them that are service accounts. `owner_asker` asks for
    somebody else, and so counts as approver where it is an owner; None for who asks for itself.
    """

    items: tuple[ItemFacts, ...]
    excluded_urns: frozenset[str]
    service_owners: frozenset[str] = frozenset()
    owner_asker: Actor | None = None


def load_facts(*, items: Sequence[RequestedItem], actor: str, by: str) -> DecidingFacts:
    """Return the facts about items that `by` asks for `actor`; a constant number of queries."""
    entities = list_entities(items)
    people = {actor, by}
    resources = facet_source().load(urns=[*entities, *people], fields={OWNER, DOMAIN})
    domains = frozenset[str]().union(*(resources[urn].facets[DOMAIN] for urn in entities))
    domain_resources = facet_source().load(urns=domains, fields={OWNER}) if domains else {}
    administrators = _load_administrators(items)
    services = User.objects.filter(urn__in=people, kind=User.Kind.SERVICE).values_list("urn", flat=True)
    return DecidingFacts(
        tuple(_collect_facts(item, resources, domain_resources, administrators) for item in items),
        frozenset(people),
        frozenset(owner.actor for urn in services for owner in resources[urn].owners),
        None if by == actor else actor_resolution.load_actor(urn=by),
    )


def _collect_facts(
    item: RequestedItem,
    resources: Mapping[str, Resource],
    domains: Mapping[str, Resource],
    administrators: Mapping[str, frozenset[Owner]],
) -> ItemFacts:
    resource = resources.get(item.owned)
    if resource is None:
        return ItemFacts(item, platform_privileges=_find_platform_privileges(item))
    return ItemFacts(
        item,
        resource.owners | administrators.get(item.owned, frozenset()),
        frozenset(owner for urn in resource.facets[DOMAIN] for owner in domains[urn].owners),
        _find_platform_privileges(item),
    )


def _load_administrators(items: Iterable[RequestedItem]) -> dict[str, frozenset[Owner]]:
    """Return the holders of ADMIN on CDAP's entities, who are their owners, by URN."""
    urns = [item.entity for item in items if item.entity and families.is_granted(item.privileges)]
    if not urns:
        return {}
    return {
        urn: frozenset(
            Owner(holder, "")
            for holder, statements in grants.items()
            if any(_CDAP_ADMIN in statement.privileges for statement in statements)
        )
        for urn, grants in authorizer.load_grants(urns=urns).items()
    }


def _find_platform_privileges(item: RequestedItem) -> frozenset[str]:
    """Return the privileges of the platform that an item gives."""
    match item.kind:
        case ItemKind.ROLE:
            return delegation.find_given_privileges(roles=[item.target])
        case ItemKind.GROUP:
            rows = RoleAssignment.objects.order_by().filter(group__profile__urn=item.target)
            roles = list(rows.values_list("role__urn", flat=True))
            return delegation.find_given_privileges(groups=[item.target], roles=roles)
        case ItemKind.POLICY:
            statements = snapshot_store.get_current().list_statements_of({item.target})
            named_privileges = frozenset[str]().union(*(statement.privileges for statement in statements))
            return named_privileges & find_platform_privileges()
        case _:
            return frozenset() if item.entity else item.privileges & find_platform_privileges()


def is_approver(person: Actor, approvers: Approvers, facts: ItemFacts) -> bool:
    """Return whether the approvers of a step include this person for an item, whoever asked for it."""
    if not approvers.names.isdisjoint(person.tokens):
        return True
    if approvers.is_owners and _is_owner(person, facts.owners, approvers.owner_types):
        return True
    if approvers.is_domain_owners and _is_owner(person, facts.domain_owners, approvers.owner_types):
        return True
    if approvers.privilege and _holds(person, approvers.privilege, facts.item):
        return True
    if approvers.manages and _holds(person, MANAGE_POLICIES, None):
        return not _needs_guardrails(facts) or _holds(person, MANAGE_GUARDRAILS, None)
    return approvers.is_holders and _holds_platform_privileges(person, facts)


def _is_owner(person: Actor, owners: frozenset[Owner], types: frozenset[str]) -> bool:
    return any(owner.actor in person.holders and (not types or owner.type in types) for owner in owners)


def _holds(person: Actor, privilege: str, item: RequestedItem | None) -> bool:
    request = AccessRequest(privilege_requirement(privilege), _refer(privilege, item))
    return authorizer.answer(actor=person, request=request).is_allowed


def _refer(privilege: str, item: RequestedItem | None) -> ResourceRef | None:
    """Return the resource on which a privilege of approvers counts; None for the platform."""
    is_platform = privilege in find_platform_privileges()
    return None if is_platform or item is None or not item.owned else ResourceRef(item.owned)


def _holds_platform_privileges(person: Actor, facts: ItemFacts) -> bool:
    if not facts.platform_privileges:
        return False
    if _needs_guardrails(facts) and not _holds(person, MANAGE_GUARDRAILS, None):
        return False
    return _holds(person, MANAGE_POLICIES, None) or all(
        _holds(person, privilege, None) for privilege in sorted(facts.platform_privileges)
    )


def _needs_guardrails(facts: ItemFacts) -> bool:
    return MANAGE_GUARDRAILS in facts.platform_privileges


def list_names(approvers: Approvers, facts: ItemFacts) -> frozenset[str]:
    """Return the URNs of approvers of an item as they are named, not expanded."""
    names = set(approvers.names)
    for is_meant, owners in ((approvers.is_owners, facts.owners), (approvers.is_domain_owners, facts.domain_owners)):
        if is_meant:
            types = approvers.owner_types
            names.update(owner.actor for owner in owners if not types or owner.type in types)
    return frozenset(names)


def list_seats(approvers: Approvers, facts: ItemFacts) -> frozenset[str]:
    """Return the names by which lists find a step for its approvers."""
    seats = set(list_names(approvers, facts))
    seats.update(f"{PRIVILEGE_SEAT}{name}" for name in _list_seat_privileges(approvers, facts))
    if approvers.privilege and approvers.privilege not in find_platform_privileges():
        seats.update(_list_allowed(approvers.privilege, facts.item))
    return frozenset(seats)


def _list_seat_privileges(approvers: Approvers, facts: ItemFacts) -> set[str]:
    privileges = {MANAGE_POLICIES} if approvers.manages or approvers.is_holders else set()
    if approvers.is_holders:
        privileges |= facts.platform_privileges
    return privileges | ({approvers.privilege} & find_platform_privileges())


def _list_allowed(privilege: str, item: RequestedItem | None) -> frozenset[str]:
    allowed = inverse_queries.find_allowed_actors(privilege=privilege, resource=_refer(privilege, item))
    everybody = {EVERYONE} if allowed.is_all_users else set()
    return frozenset({*allowed.users, *allowed.groups, *allowed.roles, *everybody})


def find_deciders(
    approvers: Approvers, facts: ItemFacts, request: DecidingFacts, *, given_away: Collection[str] = (), limit: int
) -> list[str]:
    """Return the first people, by URN, who may decide an item at a step; never asker, actor or an account of theirs."""
    tokens = set(list_names(approvers, facts))
    for privilege in _list_seat_privileges(approvers, facts):
        tokens |= _list_allowed(privilege, None)
    if approvers.privilege:
        tokens |= _list_allowed(approvers.privilege, facts.item)
    people = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).exclude(
        urn__in=[*request.excluded_urns, *given_away]
    )
    asker = request.owner_asker
    decider_urns = [asker.urn] if asker is not None and is_asking_owner(asker, approvers, facts) else []
    for urns in _split(people.values_list("urn", flat=True)):
        actors = actor_resolution.load_actors(urns=urns)
        decider_urns += [
            urn
            for urn in urns
            if not is_same_person(actors[urn], request) and is_approver(actors[urn], approvers, facts)
        ]
        if len(decider_urns) >= limit:
            break
    return decider_urns[:limit]


def is_asking_owner(asker: Actor, approvers: Approvers, facts: ItemFacts) -> bool:
    """Return whether somebody who asks for another one is an owner whom a step means."""
    is_for_owners = approvers.is_owners or approvers.is_domain_owners
    return is_for_owners and asker.is_active and is_approver(asker, approvers, facts)


def _split(urns: Iterable[str], size: int = 200) -> Iterable[list[str]]:
    batch: list[str] = []
    for urn in urns:
        batch.append(urn)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def is_same_person(person: Actor, request: DecidingFacts) -> bool:
    """Return whether a person is asker or actor, or a service account and its owner stand on the two sides."""
    if person.urn in request.excluded_urns or not person.holders.isdisjoint(request.service_owners):
        return True
    if not User.objects.filter(urn=person.urn, kind=User.Kind.SERVICE).exists():
        return False
    owners = facet_source().load(urns=[person.urn], fields={OWNER})[person.urn].owners
    return any(owner.actor in request.excluded_urns for owner in owners)


def is_alone(person: Actor, request: DecidingFacts) -> bool:
    """Return whether root decides because nobody else could: it alone holds MANAGE_POLICIES in the house."""
    if person.urn != ROOT_URN or not person.is_active:
        return False
    holders = users_by_actor_clause.list_users_by_actor_tokens(tokens=_list_allowed(MANAGE_POLICIES, None))
    others = holders.exclude(urn=ROOT_URN).values_list("urn", flat=True)
    for urns in _split(others):
        if any(_holds(actor, MANAGE_POLICIES, None) for actor in actor_resolution.load_actors(urns=urns).values()):
            return False
    return ROOT_URN in request.excluded_urns
