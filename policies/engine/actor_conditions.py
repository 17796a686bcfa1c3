"""Statements with provisos: what they say to one actor, once it is known who asks and what for."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from policies.engine.model import Actor, Cover, Statement
from policies.engine.property_conditions import Proviso
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, Criterion, Resource, Selector

_OWNER_OF_TYPE = f"{OWNER_OF_ANY_TYPE}:"


def circumstances(facts: Mapping[str, Iterable[str]]) -> frozenset[tuple[str, str]]:
    """Return facts about an actor or an action as actors carry them."""
    return frozenset((field, value) for field, values in facts.items() for value in values)


def overridden(actor: Actor, said: Mapping[str, frozenset[str]]) -> Actor:
    """Return the actor with these facts in place of those that are known of it, for one question."""
    if not said:
        return actor
    kept = frozenset(pair for pair in actor.circumstances if pair[0] not in said)
    return replace(actor, circumstances=kept | circumstances(said))


def known_of(actor: Actor) -> dict[str, frozenset[str]]:
    """Return field → values of what is known of an actor and its action."""
    found: dict[str, frozenset[str]] = {}
    for field, value in actor.circumstances:
        found[field] = found.get(field, frozenset()) | {value}
    return found


def settled(statement: Statement, actor: Actor) -> Statement | None:
    """Return the statement as it speaks to one actor, without provisos; None when they keep it from speaking."""
    if not statement.provisos:
        return statement
    known = known_of(actor)
    criteria = list(statement.resources.criteria)
    for proviso in statement.provisos:
        found = proviso.settled(known)
        if found is False:
            return None
        if isinstance(found, Criterion):
            criteria.append(found)
    selector = Selector(tuple(criteria), statement.resources.needs_resource)
    return replace(statement, resources=selector, provisos=())


def hold(statement: Statement, actor: Actor, resource: Resource | None) -> bool:
    """Whether every proviso of a statement holds. Raises MissingFact for a facet that was not loaded."""
    return not (statement.provisos and failing(statement, actor, resource))


def failing(statement: Statement, actor: Actor, resource: Resource | None) -> list[Proviso]:
    """Return the provisos of a statement that do not hold. Raises MissingFact for a facet that was not loaded."""
    known = known_of(actor)
    return [proviso for proviso in statement.provisos if not proviso.holds(known, resource)]


def relevant(actor: Actor, mentioned: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return what is known of an actor in these fields; actors alike in it are alike to the statements with them."""
    return frozenset(pair for pair in actor.circumstances if pair[0] in mentioned)


def mentioned(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the fields of actor and action that these statements look at."""
    return frozenset(field for one in statements for proviso in one.provisos for field in proviso.mentions)


def cover_of(statement: Statement, named: frozenset[str]) -> Cover:
    """Return a settled statement as an actor who has these tokens sees it."""
    tokens = statement.actors.tokens
    types = frozenset(token.removeprefix(_OWNER_OF_TYPE) for token in tokens if token.startswith(_OWNER_OF_TYPE))
    return Cover(
        statement=statement,
        is_unconditional=not tokens.isdisjoint(named),
        is_owned=OWNER_OF_ANY_TYPE in tokens or bool(types),
        owner_types=None if OWNER_OF_ANY_TYPE in tokens else types,
        is_self=ONESELF in tokens,
    )
