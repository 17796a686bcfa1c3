"""Policies that speak to people, for *no policy*: single allows, whatever denies beside them say.

About all users those count that reach everybody whatever entities carry; about named users, groups and roles, and about
everybody but some, also those for owners, since one of these people may own such an entity.
"""

from collections.abc import Iterator
from dataclasses import replace

from policies.engine.families import datahub
from policies.engine.guardrails.judged_state import JudgedState
from policies.engine.guardrails.rules import Rule
from policies.engine.model import Actor, Effect, Statement
from policies.engine.proofs.population import Population
from policies.engine.proofs.uses import Side
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, ActorMatch
from policies.engine.snapshot import Snapshot

_USER, _GROUP, _ROLE = "urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"
#: Somebody of whom nothing is known but the group or role that the rule names.
_SOMEBODY = f"{_USER}another-person"


def build_spoken_side(rule: Rule, state: JudgedState, *, allows: Snapshot | None = None) -> Side:
    """Return a state of allows alone, with those to whom a policy may not speak as its people.

    `allows` are those of another state with the same policies.
    """
    snapshot = _build_allows(rule, state.snapshot) if allows is None else allows
    if rule.people.is_complement:
        people = state.people
        return Side(snapshot, people, people.everybody & ~people.find_named(rule.people.match))
    people = Population(_list_spoken_to(rule, state.people))
    return Side(snapshot, people, people.everybody)


def is_about_everybody(rule: Rule) -> bool:
    """Whether a rule is about all users, and not about people that it names."""
    return not rule.people.is_complement and EVERYONE in rule.people.match.tokens


def _list_spoken_to(rule: Rule, people: Population) -> Iterator[Actor]:
    """Yield those to whom a policy may not speak: as many in a state before a change as in the one after it."""
    if is_about_everybody(rule):
        yield Actor(_SOMEBODY)
        return
    for token in sorted(rule.people.match.tokens):
        if token.startswith(_USER):
            # In every state, and inactive, too: whoever is suspended or deleted is spoken to by nothing.
            yield from [actor for actor in people.actors if actor.urn == token] or [Actor(token)]
        elif token == IN_ANY_GROUP:
            yield Actor(_SOMEBODY, frozenset({f"{_GROUP}another-group"}))
        elif token.startswith(_GROUP):
            yield Actor(_SOMEBODY, frozenset({token}))
        elif token.startswith(_ROLE):
            yield Actor(_SOMEBODY, roles=frozenset({token}))


def _build_allows(rule: Rule, snapshot: Snapshot) -> Snapshot:
    statements: dict[str, dict[Statement, None]] = {}
    for privilege in sorted(rule.counted_privileges):
        for statement in snapshot.list_statements(privilege):
            if statement.effect is Effect.ALLOW and statement.origin.policy != datahub.VIEW_SELF.policy:
                spoken = _widen(statement) if is_about_everybody(rule) else statement
                if spoken is not None:
                    statements.setdefault(spoken.origin.policy, {})[spoken] = None
    return Snapshot.build(snapshot.version, [(policy, tuple(group)) for policy, group in statements.items()])


def _widen(statement: Statement) -> Statement | None:
    """Return the statement for all users, if it is for them whatever entities carry; those that it excludes, too."""
    if EVERYONE not in statement.actors.tokens:
        return None
    return replace(statement, actors=ActorMatch(frozenset({EVERYONE})))
