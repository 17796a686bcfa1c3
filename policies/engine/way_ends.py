"""The ends on the way from a statement to an actor: until when an answer that relies on it can last."""

from dataclasses import replace
from datetime import datetime

from policies.engine.model import Actor, Decision, Question, Statement
from policies.engine.selectors import IN_ANY_GROUP, Resource, resource_tokens


def add_ends(decision: Decision, question: Question) -> Decision:
    """Return the decision with `find_end` as the end of each deciding statement.

    `reasons[].ends` of the API are these (api-next.md section 1).
    """
    actor, resource = question.actor, question.resource
    statements = tuple(
        statement if (end := find_end(statement, actor, resource)) is None else replace(statement, ends=end)
        for statement in decision.statements
    )
    return decision._replace(source=None, bits=0, grants=statements)


def find_last_end(decision: Decision) -> datetime | None:
    """Return the latest end of the deciding statements; None if one of them does not end, or there are none.

    The statements are those of `add_ends`.
    """
    ends = [statement.ends for statement in decision.statements]
    known_ends = [end for end in ends if end is not None]
    return max(known_ends) if known_ends and len(known_ends) == len(ends) else None


def without_ending(actor: Actor) -> Actor:
    """Return the actor without the groups and roles that it has for a time."""
    ending_urns = {urn for urn, _ in actor.ends}
    return replace(actor, groups=actor.groups - ending_urns, roles=actor.roles - ending_urns, ends=())


def find_end(statement: Statement, actor: Actor, resource: Resource | None) -> datetime | None:
    """Return the earliest end on the way to a statement that matches; None if nothing on it ends.

    A statement that reaches the actor in several ways is reached as long as by the longest of them.
    """
    ends = dict(actor.ends)
    if actor.groups and actor.groups <= ends.keys():
        ends[IN_ANY_GROUP] = max(ends[group] for group in actor.groups)
    tokens = statement.actors.tokens
    way_ends = [ends.get(token) for token in tokens & actor.tokens]
    if not tokens.isdisjoint(resource_tokens(actor.urn, frozenset((actor.urn,)), resource)):
        way_ends.append(None)
    way_ends += [
        ends.get(group)
        for group in actor.groups
        if not tokens.isdisjoint(resource_tokens("", frozenset((group,)), resource))
    ]
    known_ends = [end for end in way_ends if end is not None]
    way_end = max(known_ends) if known_ends and len(known_ends) == len(way_ends) else None
    both_ends = [end for end in (statement.ends, way_end) if end is not None]
    return min(both_ends) if both_ends else None
