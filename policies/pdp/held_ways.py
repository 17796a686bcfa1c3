"""The ways by which an actor has access: each policy that allows it something, and what connects the two.

The statements and their ends are those of the current snapshot, by which `authorizer` decides.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from policies.engine import families
from policies.engine.actor_conditions import bind_actor
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Statement
from policies.engine.selectors import Owner, Resource, resource_tokens
from policies.engine.way_ends import find_end
from policies.pdp import snapshot_store


@dataclass(frozen=True, slots=True)
class HeldWay:
    """A policy that allows an actor something: its statements for that actor, and the tokens that connect them.

    `through` are the actor's URN, URNs of its groups and roles, EVERYONE, IN_ANY_GROUP, and tokens of owners, sorted.
    `ends` is the earliest end on the way, None if nothing on it ends. `denied` are those of its privileges that a
    statement which denies reaches, too: `authorizer` decides on which entities.
    """

    policy: str
    name: str
    statements: tuple[Statement, ...]
    through: tuple[str, ...]
    ends: datetime | None
    denied: frozenset[str]

    @property
    def privileges(self) -> frozenset[str]:
        """The privileges of its statements."""
        return frozenset[str]().union(*(statement.privileges for statement in self.statements))

    @property
    def is_platform(self) -> bool:
        """Whether it gives privileges on the platform alone."""
        return all(statement.resources.covers(None) for statement in self.statements) and (
            self.privileges <= families.platform_privileges()
        )


def list_held_ways(*, actor: Actor, owned_as: Collection[Owner]) -> list[HeldWay]:
    """Return the ways of an actor by name of the policy; none of an actor who is not active, or is the system.

    `owned_as` are the owners, each with a type, as which the actor or a group of it owns something. Implicit policies
    are left out: they are about the actor's own account. No query.
    """
    if actor.urn == SYSTEM_ACTOR or not actor.is_active:
        return []
    # A resource that is owned as everything that the actor owns: what owners are allowed connects by its tokens.
    owned = Resource("", "", {}, frozenset(owned_as))
    tokens = actor.tokens | resource_tokens(actor.urn, actor.holders, owned)
    allows, denied = _split_statements(actor, tokens)
    statements_by_way: dict[tuple[str, tuple[str, ...], datetime | None], list[Statement]] = defaultdict(list)
    for statement in allows:
        through = tuple(sorted(statement.actors.tokens & tokens))
        statements_by_way[statement.origin.policy, through, find_end(statement, actor, owned)].append(statement)
    ways = [
        HeldWay(
            policy,
            statements[0].origin.name,
            tuple(statements),
            through,
            ends,
            denied & frozenset[str]().union(*(statement.privileges for statement in statements)),
        )
        for (policy, through, ends), statements in statements_by_way.items()
    ]
    return sorted(ways, key=lambda way: (way.name.casefold(), way.policy, way.through))


def _split_statements(actor: Actor, tokens: frozenset[str]) -> tuple[list[Statement], frozenset[str]]:
    """Return the statements that allow the actor something, and the privileges of those that deny it something."""
    snapshot = snapshot_store.get_current()
    implicit_urns = {policy for policy, _ in families.implicit_policies()}
    allows: list[Statement] = []
    denied: set[str] = set()
    for statement in snapshot.select(snapshot.find_reaching(actor.tokens)):
        if statement.origin.policy in implicit_urns or statement.actors.tokens.isdisjoint(tokens):
            continue
        bound = bind_actor(statement, actor)
        if bound is None:
            continue
        if bound.effect is Effect.ALLOW:
            allows.append(bound)
        else:
            denied |= bound.privileges
    return allows, frozenset(denied)
