"""Impact of a policy change: the people and entities that a policy reaches as stored and as drafted.

The people are those its actors name and the owners of what it covers; the entities are those that at least one of these
people may use its privileges on. Other policies are not considered: people may have, or keep, the same access through
another one.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from policies.authoring.services.policies import PolicyInput
from policies.engine import families
from policies.engine.model import Actor, Cover, Coverage, Effect, Statement, StatementOrigin
from policies.engine.selectors import OWNER_OF_ANY_TYPE, ActorMatch, Selector
from policies.models import Policy
from policies.pdp import authorizer
from policies.pdp.reach_comparison import Impact, PolicySide, compare_reach, selector_cover

#: Most owners that are looked up for a policy about owners.
_MAX_OWNERS = 10_000

_OWNER_TYPE_PREFIX = f"{OWNER_OF_ANY_TYPE}:"

#: Function from a selector and owner types (None: any type) to the owners of the entities it covers.
_OwnerFinder = Callable[[Selector, frozenset[str] | None], frozenset[str]]


def measure_impact(*, before: PolicyInput | None, after: PolicyInput | None) -> Impact:
    """Return the impact of replacing one validated draft by another; None, like an inactive one, reaches nobody."""
    find_owners = cache(_find_owners)
    return compare_reach(_build_side(before, find_owners), _build_side(after, find_owners))


def _build_side(draft: PolicyInput | None, find_owners: _OwnerFinder) -> PolicySide:
    statements = _compile_statements(draft) if draft is not None else ()
    allows = [statement for statement in statements if statement.effect is Effect.ALLOW]
    # A policy that only denies reaches those whom it denies something.
    reaching_statements = allows or statements
    if draft is None or not reaching_statements:
        return PolicySide()
    tokens = frozenset[str]().union(*(statement.actors.tokens for statement in reaching_statements))
    # Statements of one policy have the same actors.
    excluded_tokens = frozenset[str]().union(*(statement.actors.excluded_tokens for statement in statements))
    family = families.get(draft.family)
    if family.column_values(draft.document)["type"] == Policy.Type.PLATFORM:
        return PolicySide(tokens, statements=statements, excluded_tokens=excluded_tokens)
    covers, owner_tokens = _build_covers(reaching_statements, find_owners)
    denies = tuple(selector_cover(statement) for statement in statements if statement.effect is Effect.DENY and allows)
    coverage = Coverage(Actor("", owner_tokens), covers, denies)
    return PolicySide(tokens | owner_tokens, coverage, statements, excluded_tokens)


def _compile_statements(draft: PolicyInput) -> tuple[Statement, ...]:
    family = families.get(draft.family)
    state = family.column_values(draft.document).get("state") or draft.state or Policy.State.ACTIVE
    return family.compile(draft.document, StatementOrigin("", "")) if state == Policy.State.ACTIVE else ()


def _build_covers(
    statements: Iterable[Statement], find_owners: _OwnerFinder
) -> tuple[tuple[Cover, ...], frozenset[str]]:
    """Return the covers of the statements and the owners they reach; covers for owners only need owned entities."""
    covers: list[Cover] = []
    owner_tokens: frozenset[str] = frozenset()
    for statement in statements:
        ownership_tokens = {token for token in statement.actors.tokens if token.startswith(OWNER_OF_ANY_TYPE)}
        types = (
            None
            if OWNER_OF_ANY_TYPE in ownership_tokens
            else frozenset(ownership_token.removeprefix(_OWNER_TYPE_PREFIX) for ownership_token in ownership_tokens)
        )
        cover = selector_cover(statement)
        if ownership_tokens:
            owner_tokens |= find_owners(statement.resources, types)
        if ownership_tokens == statement.actors.tokens:
            cover = replace(cover, is_unconditional=False, is_owned=bool(ownership_tokens), owner_types=types)
        covers.append(cover)
    return tuple(covers), owner_tokens


def _find_owners(selector: Selector, types: frozenset[str] | None) -> frozenset[str]:
    statement = Statement(StatementOrigin("", ""), Effect.ALLOW, ActorMatch(), frozenset(), selector)
    coverage = Coverage(Actor(""), (selector_cover(statement),))
    return authorizer.directory().list_covered_owners(coverage=coverage, types=types, limit=_MAX_OWNERS)
