"""The actors that statements name for one resource, owners included; groups and roles are not expanded."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from policies.engine.model import Effect, Statement
from policies.engine.restrictions import RoleAllow, combine_allows
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    Resource,
    is_relational,
    owner_token,
)

_GROUP_PREFIX = "urn:li:corpGroup:"


@dataclass(frozen=True, slots=True)
class NamedActors:
    """URNs of users, groups and roles, EVERYONE and IN_ANY_GROUP.

    `is_conditional`: further users may, who meet the actor conditions of an allow.
    """

    names: frozenset[str]
    is_conditional: bool


def find_named_actors(statements: Iterable[Statement], resource: Resource | None) -> NamedActors:
    """Return the actors that the allows name, of statements on one privilege that cover the resource (datahub.md a.8).

    A deny removes exactly the names it lists: everyone removes all, any group removes every group, a group only itself.
    Nothing is expanded, so its members stay under other names: `decide` is exact for one actor. An allow with actor
    conditions adds no names, a deny with actor conditions removes all names it may deny. Roles whose combined
    restrictions leave no visible column are removed (rules/datazone.md DZ-57).
    """
    allowed_names: set[str] = set()
    denied_names: set[str] = set()
    allows_by_token: dict[str, list[RoleAllow]] = defaultdict(list)
    is_conditional = False
    for statement in statements:
        names = list_audience(statement, resource)
        if statement.effect is Effect.DENY:
            denied_names |= names
            continue
        for token in statement.actors.tokens:
            allows_by_token[token].append(RoleAllow(token, statement.restriction))
        if statement.actor_conditions:
            is_conditional = True
        else:
            allowed_names |= names
    if EVERYONE in denied_names:
        allowed_names.clear()
    if IN_ANY_GROUP in denied_names:
        allowed_names = {name for name in allowed_names if not name.startswith(_GROUP_PREFIX)}
    hidden_tokens = {token for token, allows in allows_by_token.items() if combine_allows(allows) == ()}
    return NamedActors(frozenset(allowed_names - denied_names - hidden_tokens), is_conditional)


def list_audience(statement: Statement, resource: Resource | None) -> set[str]:
    """Return the names in an actor clause, with the resource itself and its owners where the clause means them."""
    tokens = statement.actors.tokens
    names = {token for token in tokens if not is_relational(token)}
    if resource is not None:
        if ONESELF in tokens and resource.urn:
            names.add(resource.urn)
        names.update(
            owner.actor
            for owner in resource.owners
            if OWNER_OF_ANY_TYPE in tokens or (owner.type and owner_token(owner.type) in tokens)
        )
    return names
