"""The decision turned round: who may use a privilege on something, and which privileges somebody has on it.

Both ask the same snapshot and facts as `authority`, so that the three questions agree.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement
from policies.engine.requirements import alternatives, one
from policies.engine.restrictions import RoleAllow, combine
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, ONESELF, Resource, owner_token
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.authorizer import Ask, Asked

#: Who may ask about others holds one of these.
ABOUT_OTHERS = (("CHECK_ACCESS",), ("MANAGE_POLICIES",))


class Scope(StrEnum):
    """What a list of what somebody may use a privilege on leaves out: nothing, or what its reader may not view."""

    ACTOR = "actor"
    VIEWABLE = "viewable"


@dataclass(frozen=True, slots=True)
class Holders:
    """Who may: everybody, everybody in a group, and URNs in order; groups and roles are not expanded.

    `is_conditional`: further people may whose properties, or those of what they do, fit a policy.
    """

    is_all_users: bool
    is_all_groups: bool
    version: int
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    is_conditional: bool = False


@dataclass(frozen=True, slots=True)
class Granted:
    """The names of the privileges somebody has, in order."""

    privileges: tuple[str, ...]
    version: int


def scope_of(reader: Actor) -> Scope:
    """Return the scope of such a list for a reader: whoever may ask about others is told everything."""
    decision = authorizer.answer(actor=reader, ask=Ask(alternatives(ABOUT_OTHERS)))
    return Scope.ACTOR if decision.is_allowed else Scope.VIEWABLE


def who(*, privilege: str, asked: Asked | None, at_least: int = 0) -> Holders:
    """Return who may use a privilege on a resource (rules/datahub.md a.8); owners are among users and groups.

    A deny takes out whom it names, as it names them: the answer for one actor is that of `authority.answer`. Users who
    may not act at all are left out, and so is whom a policy speaks to only as far as their properties or those of the
    action fit: `candidates` has them. With policies off everybody may. Raises what `authority.answer` raises.
    """
    return who_many(asked=[(privilege, asked)], at_least=at_least)[0]


def who_many(*, asked: Sequence[tuple[str, Asked | None]], at_least: int = 0) -> list[Holders]:
    """Return who may use each privilege on its resource, in a number of queries that does not grow with them."""
    snapshot = snapshot_store.current(at_least=at_least)
    if not settings.AUTH_POLICIES_ENABLED:
        return [Holders(is_all_users=True, is_all_groups=True, version=snapshot.version) for _ in asked]
    asks = [Ask(one(privilege), resource) for privilege, resource in asked]
    resource_of = authorizer.facts_for(asks=asks, snapshot=snapshot)
    granting = _granting_many(asked)
    named = []
    for (privilege, about), ask in zip(asked, asks, strict=True):
        resource, _ = resource_of(ask)
        speaking = (*snapshot.about(privilege, resource), *granting(privilege, about))
        tokens = _tokens([each for each in speaking if each.effect is Effect.ALLOW and not each.provisos], resource)
        tokens -= _tokens([each for each in speaking if each.effect is Effect.DENY], resource) | _blind(speaking)
        is_conditional = any(each.provisos and each.effect is Effect.ALLOW for each in speaking)
        named.append((tokens, is_conditional))
    users = sorted({token for tokens, _ in named for token in tokens if token.startswith(USER_PREFIX)})
    acting = actor_resolution.actors(urns=users) if users else {}
    return [
        Holders(
            is_all_users=EVERYONE in tokens,
            is_all_groups=IN_ANY_GROUP in tokens,
            users=tuple(urn for urn in users if urn in tokens and acting[urn].is_active),
            groups=tuple(sorted(token for token in tokens if token.startswith(GROUP_PREFIX))),
            roles=tuple(sorted(token for token in tokens if token.startswith(ROLE_PREFIX))),
            version=snapshot.version,
            is_conditional=is_conditional,
        )
        for tokens, is_conditional in named
    ]


def candidates(*, privilege: str, asked: Asked | None) -> frozenset[str]:
    """Return the tokens of whom some policy or grant allows the privilege on a resource, if their properties fit.

    Nobody else may use it, and who of them may is what `authority.answer` says. Raises what that raises.
    """
    snapshot = snapshot_store.current()
    if not settings.AUTH_POLICIES_ENABLED:
        return frozenset((EVERYONE,))
    resource = None
    if asked is not None:
        resource = authorizer.resource_for(asked=asked, snapshot=snapshot, privileges=[privilege])
    about = (*snapshot.about(privilege, resource), *_granting(privilege, asked))
    return frozenset(_tokens([one for one in about if one.effect is Effect.ALLOW], resource))


def granted(*, actor: Actor, asked: Asked | None, at_least: int = 0) -> Granted:
    """Return what stored policies let an actor do with a resource, without sub-resources (rules/datahub.md a.8).

    What every actor may do with its own entity is not stored, so it is not among them; the switch that turns policies
    off does not count here. The system actor has every privilege.
    """
    snapshot = snapshot_store.current(at_least=at_least)
    known = sorted(families.get("datahub").vocabulary().names)
    if actor.urn == SYSTEM_ACTOR:
        return Granted(tuple(known), snapshot.version)
    resource = None
    if asked is not None:
        resource = authorizer.resource_for(asked=asked, snapshot=snapshot, privileges=known)
    unstored = {policy for policy, _ in families.implicit()}
    decisions = ((name, decide(snapshot, Question(actor, name, resource))) for name in known)
    names = (
        name
        for name, decision in decisions
        if decision.is_allowed and any(one.origin.policy not in unstored for one in decision.statements)
    )
    return Granted(tuple(names), snapshot.version)


def _blind(statements: Iterable[Statement]) -> set[str]:
    """Return the roles whose restrictions together leave no column to see (rules/datazone.md DZ-57)."""
    by_role: dict[str, list[RoleAllow]] = defaultdict(list)
    for statement in statements:
        if statement.effect is Effect.ALLOW:
            for token in statement.actors.tokens:
                by_role[token].append(RoleAllow(token, statement.restriction))
    return {role for role, allows in by_role.items() if combine(allows) == ()}


def _granting(privilege: str, asked: Asked | None) -> list[Statement]:
    """Return the grants of the privilege on the resource, whoever holds them."""
    return _granting_many([(privilege, asked)])(privilege, asked)


def _granting_many(
    asked: Sequence[tuple[str, Asked | None]],
) -> Callable[[str, Asked | None], list[Statement]]:
    """Load the grants on all these resources at once; return what gives those of one privilege on one of them."""
    urns = {about.urn for name, about in asked if about is not None and about.urn and families.is_granted([name])}
    held = authorizer.granted_on(urns=urns) if urns else {}

    def find(privilege: str, about: Asked | None) -> list[Statement]:
        here = held.get(about.urn, {}) if about is not None and families.is_granted([privilege]) else {}
        return [each for statements in here.values() for each in statements if privilege in each.privileges]

    return find


def _tokens(statements: Iterable[Statement], resource: Resource | None) -> set[str]:
    """Return whom the statements name, owners and the resource itself put in place of the tokens for them."""
    tokens: set[str] = set()
    for statement in statements:
        tokens |= statement.actors.tokens
    if resource is None:
        return tokens
    if ONESELF in tokens:
        tokens.add(resource.urn)
    for owner in resource.owners:
        as_typed = {owner_token(owner.type)} if owner.type else set()
        if not tokens.isdisjoint({owner_token(None)} | as_typed):
            tokens.add(owner.actor)
    return tokens
