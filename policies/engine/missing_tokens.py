"""The facts that would let an actor be allowed: member of a group, holder of a role, or owner.

A statement is looked at if it lacks nothing but the actor. Of several groups, and of several roles, those that policies
give least come first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

from policies.engine import families
from policies.engine.actor_conditions import is_excluded
from policies.engine.model import Question, Statement
from policies.engine.selectors import OWNER_OF_ANY_TYPE, URN, Condition, owner_type
from policies.engine.snapshot import Snapshot

_GROUP_PREFIX, _ROLE_PREFIX = "urn:li:corpGroup:", "urn:li:dataHubRole:"


@dataclass(frozen=True, slots=True)
class MissingTokens:
    """The groups and roles (URNs) of which each would be enough, and the ownership types ('' for none needed)."""

    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    owner_types: tuple[str, ...] = ()


def find_missing_tokens(snapshot: Snapshot, question: Question, limit: int) -> MissingTokens:
    """Return what the actor could become, at most `limit` groups, roles and ownership types each.

    Raises MissingFact if a facet was not loaded.
    """
    levels = snapshot.group_by_shortfall(question)
    nearest = levels[1] if len(levels) > 1 else ()
    tokens = {
        token for statement in nearest if _is_actor_missing(statement, question) for token in _list_new(statement)
    }
    owner_types = {
        owner_type(token) or "" for token in tokens if question.resource is not None and _is_owner_token(token)
    }
    return MissingTokens(
        _select_smallest(snapshot, (token for token in tokens if token.startswith(_GROUP_PREFIX)), limit),
        _select_smallest(snapshot, (token for token in tokens if token.startswith(_ROLE_PREFIX)), limit),
        tuple(sorted(owner_types))[:limit],
    )


def _list_new(statement: Statement) -> Iterable[str]:
    return (token for token in statement.actors.tokens if token not in statement.actors.excluded_tokens)


def _is_owner_token(token: str) -> bool:
    # An ownership type without a name counts for nobody.
    return token.startswith(OWNER_OF_ANY_TYPE) and owner_type(token) != ""


def _is_actor_missing(statement: Statement, question: Question) -> bool:
    """Whether nothing but the actor keeps a statement that lacks one condition from the question."""
    actor, resource = question.actor, question.resource
    return (
        statement.actors.tokens.isdisjoint(actor.tokens)
        and statement.resources.covers(resource)
        and not is_excluded(statement, actor, resource)
    )


def _select_smallest(snapshot: Snapshot, tokens: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return those of the tokens that policies give least."""
    return tuple(nsmallest(limit, tokens, key=lambda token: (*_measure_gift(snapshot, token), token)))


def _measure_gift(snapshot: Snapshot, token: str) -> tuple[int, int, int]:
    """Return a key that sorts tokens by what they give: on the platform, on everything, and statements in all."""
    statements = snapshot.list_naming_statements((token,))
    platform = (
        frozenset[str]().union(*(statement.privileges for statement in statements)) & families.platform_privileges()
    )
    wide = [statement for statement in statements if not _names_entities(statement)]
    return (
        len(platform),
        sum(len(statement.privileges) for statement in wide if not statement.resources.criteria),
        len(wide),
    )


def _names_entities(statement: Statement) -> bool:
    return any(
        criterion.field == URN and criterion.condition is Condition.EQUALS for criterion in statement.resources.criteria
    )
