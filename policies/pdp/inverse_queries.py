"""Inverse questions: the actors that may use a privilege on a resource, and the privileges of an actor on a resource.

Both use the snapshot and the facts of `authorizer`, so that their answers agree with its decisions.
"""

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement
from policies.engine.named_actors import NamedActors, find_named_actors, list_audience
from policies.engine.requirements import any_of_requirement, privilege_requirement
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.engine.snapshot import Snapshot
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, allowed_people, authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Asking about other actors needs one of these lists of privileges.
ASK_ABOUT_OTHERS_PRIVILEGES = (("CHECK_ACCESS",), ("MANAGE_POLICIES",))

#: Most users that an answer lists where groups and roles had to be expanded, and most exceptions.
MAX_LISTED_USERS = 10_000


class DisclosureScope(StrEnum):
    """The extent of a list of an actor's resources: all (ACTOR), or those its viewer may view (VIEWABLE)."""

    ACTOR = "actor"
    VIEWABLE = "viewable"


@dataclass(frozen=True, slots=True)
class ActorUrns:
    """URNs of users, groups and roles, each in order."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AllowedActors:
    """The actors that may use a privilege: all users, all members of any group, and URNs in order, not expanded.

    `exceptions` are those that a deny or an exclusion takes out of them. `is_conditional`: further users may, whose
    properties, or those of the action, satisfy an actor condition, or the answer depends on the owners of an entity.
    Unless `is_complete`, only the first users that may, or may not, are listed.
    """

    is_all_users: bool
    is_all_groups: bool
    version: int
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    exceptions: ActorUrns = ActorUrns()
    is_conditional: bool = False
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class AllowedPrivileges:
    """The names of the privileges of an actor, in order."""

    privileges: tuple[str, ...]
    version: int


def find_scope(viewer: Actor) -> DisclosureScope:
    """Return ACTOR for a viewer who may ask about others, else VIEWABLE."""
    decision = authorizer.answer(actor=viewer, request=AccessRequest(any_of_requirement(ASK_ABOUT_OTHERS_PRIVILEGES)))
    return DisclosureScope.ACTOR if decision.is_allowed else DisclosureScope.VIEWABLE


def find_allowed_actors(*, privilege: str, resource: ResourceRef | None, at_least: int = 0) -> AllowedActors:
    """Return the actors that may use a privilege on a resource, owners included (rules/datahub.md a.8).

    With a resource it agrees with `authorizer.answer` for every active user (`allowed_people`). Without one, names in a
    deny are removed as they stand, and users that a policy allows only under an actor condition are left out. Removed
    and deleted groups and roles are left out. With policies disabled everybody may. Raises what `authorizer.answer`
    raises.
    """
    snapshot = snapshot_store.get_current(at_least=at_least)
    if not settings.AUTH_POLICIES_ENABLED:
        return _allow_everybody(snapshot)
    (named_actors,) = _list_named_actors([(privilege, resource)], snapshot)
    is_about_part = resource is not None and (resource.columns is not None or resource.path is not None)
    if resource is None or not (named_actors.is_narrowed or is_about_part):
        return _build_answer(named_actors, _find_inactive_names([named_actors]), snapshot)
    request = AccessRequest(privilege_requirement(privilege), resource)
    people = allowed_people.judge_people(named_actors, request, snapshot)
    removed_names = actor_resolution.find_removed_holders(urns=sorted(people.allowed_names | people.refused_names))
    return AllowedActors(
        is_all_users=EVERYONE in named_actors.names,
        is_all_groups=IN_ANY_GROUP in named_actors.names,
        users=people.allowed_users[:MAX_LISTED_USERS],
        groups=_filter_by_prefix(people.allowed_names - removed_names, GROUP_PREFIX),
        roles=_filter_by_prefix(people.allowed_names - removed_names, ROLE_PREFIX),
        exceptions=ActorUrns(
            people.refused_users[:MAX_LISTED_USERS],
            _filter_by_prefix(people.refused_names - removed_names, GROUP_PREFIX),
            _filter_by_prefix(people.refused_names - removed_names, ROLE_PREFIX),
        ),
        version=snapshot.version,
        is_conditional=named_actors.needs_owners,
        is_complete=max(len(people.allowed_users), len(people.refused_users)) <= MAX_LISTED_USERS,
    )


def find_named_actors_many(
    *, questions: Sequence[tuple[str, ResourceRef | None]], at_least: int = 0
) -> list[AllowedActors]:
    """Return the actors that policies name for each privilege on its resource, groups and roles as they stand.

    For a sentence, which names a few of them: members of a group that a deny reaches under another name are not told
    apart. The number of queries does not grow with the questions.
    """
    snapshot = snapshot_store.get_current(at_least=at_least)
    if not settings.AUTH_POLICIES_ENABLED:
        return [_allow_everybody(snapshot) for _ in questions]
    named_actors = _list_named_actors(questions, snapshot)
    inactive_names = _find_inactive_names(named_actors)
    return [_build_answer(audience, inactive_names, snapshot) for audience in named_actors]


def _allow_everybody(snapshot: Snapshot) -> AllowedActors:
    return AllowedActors(is_all_users=True, is_all_groups=True, version=snapshot.version)


def _list_named_actors(questions: Sequence[tuple[str, ResourceRef | None]], snapshot: Snapshot) -> list[NamedActors]:
    """Return the actors that statements name on each privilege and resource; the facts of all are loaded together."""
    requests = [AccessRequest(privilege_requirement(privilege), resource) for privilege, resource in questions]
    find_facts = authorizer.load_request_facts(requests=requests, snapshot=snapshot)
    find_grants = _load_grants_many(questions)
    named_actors = []
    for (privilege, resource_ref), request in zip(questions, requests, strict=True):
        resource, _ = find_facts(request)
        statements = (*snapshot.list_covering_statements(privilege, resource), *find_grants(privilege, resource_ref))
        named_actors.append(find_named_actors(statements, resource))
    return named_actors


def _find_inactive_names(named_actors: Iterable[NamedActors]) -> Set[str]:
    """Return those of the named users who are suspended or removed, and the groups and roles that are removed."""
    all_names = frozenset[str]().union(*(audience.names | audience.exceptions for audience in named_actors))
    users = _filter_by_prefix(all_names, USER_PREFIX)
    actors_by_urn = actor_resolution.load_actors(urns=users) if users else {}
    inactive_names = {urn for urn, actor in actors_by_urn.items() if not actor.is_active}
    return inactive_names | actor_resolution.find_removed_holders(
        urns=[name for name in all_names if name.startswith((GROUP_PREFIX, ROLE_PREFIX))]
    )


def _build_answer(named_actors: NamedActors, inactive_names: Collection[str], snapshot: Snapshot) -> AllowedActors:
    allowed_urns = _group_by_kind(named_actors.names.difference(inactive_names))
    return AllowedActors(
        is_all_users=EVERYONE in named_actors.names,
        is_all_groups=IN_ANY_GROUP in named_actors.names,
        users=allowed_urns.users,
        groups=allowed_urns.groups,
        roles=allowed_urns.roles,
        exceptions=_group_by_kind(named_actors.exceptions.difference(inactive_names)),
        version=snapshot.version,
        is_conditional=named_actors.is_conditional,
    )


def find_candidate_actors(*, privilege: str, resource: ResourceRef | None) -> frozenset[str]:
    """Return the names in all policies and grants that allow the privilege on the resource, conditions ignored.

    Nobody else may use it; `authorizer.answer` decides for each of these. Raises what that raises.
    """
    snapshot = snapshot_store.get_current()
    if not settings.AUTH_POLICIES_ENABLED:
        return frozenset((EVERYONE,))
    resource_facts = None
    if resource is not None:
        resource_facts = authorizer.load_resource(resource=resource, snapshot=snapshot, privileges=[privilege])
    statements = (*snapshot.list_covering_statements(privilege, resource_facts), *_load_grants(privilege, resource))
    return frozenset(
        name
        for statement in statements
        if statement.effect is Effect.ALLOW
        for name in list_audience(statement, resource_facts)
    )


def find_allowed_privileges(*, actor: Actor, resource: ResourceRef | None, at_least: int = 0) -> AllowedPrivileges:
    """Return the privileges that stored policies give an actor on a resource (rules/datahub.md a.8).

    Sub-resources are not considered. Implicit policies (what every actor may do with its own entity) are not stored, so
    they do not count; AUTH_POLICIES_ENABLED is ignored. The system actor has every privilege.
    """
    snapshot = snapshot_store.get_current(at_least=at_least)
    privilege_names = sorted(families.get("datahub").load_vocabulary().names)
    if actor.urn == SYSTEM_ACTOR:
        return AllowedPrivileges(tuple(privilege_names), snapshot.version)
    resource_facts = None
    if resource is not None:
        resource_facts = authorizer.load_resource(resource=resource, snapshot=snapshot, privileges=privilege_names)
    implicit_urns = {policy for policy, _ in families.implicit_policies()}
    decisions = ((name, decide(snapshot, Question(actor, name, resource_facts))) for name in privilege_names)
    allowed_names = (
        name
        for name, decision in decisions
        if decision.is_allowed
        and any(statement.origin.policy not in implicit_urns for statement in decision.statements)
    )
    return AllowedPrivileges(tuple(allowed_names), snapshot.version)


def _group_by_kind(names: Collection[str]) -> ActorUrns:
    return ActorUrns(*(_filter_by_prefix(names, prefix) for prefix in (USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX)))


def _filter_by_prefix(names: Iterable[str], prefix: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name.startswith(prefix)))


def _load_grants(privilege: str, resource: ResourceRef | None) -> list[Statement]:
    """Return the grants of the privilege on the resource, of all holders."""
    return _load_grants_many([(privilege, resource)])(privilege, resource)


def _load_grants_many(
    questions: Sequence[tuple[str, ResourceRef | None]],
) -> Callable[[str, ResourceRef | None], list[Statement]]:
    """Load the grants on all these resources; return a function from (privilege, resource) to its grants."""
    urns = {
        resource.urn
        for name, resource in questions
        if resource is not None and resource.urn and families.is_granted([name])
    }
    grants_by_urn = authorizer.load_grants(urns=urns) if urns else {}

    def find_grants(privilege: str, resource: ResourceRef | None) -> list[Statement]:
        grants_by_holder = (
            grants_by_urn.get(resource.urn, {}) if resource is not None and families.is_granted([privilege]) else {}
        )
        return [
            grant for statements in grants_by_holder.values() for grant in statements if privilege in grant.privileges
        ]

    return find_grants
