"""How many people and how many entities a policy reaches now, and would reach as it is being written.

The people are those its actors name and those who own what it covers; the entities are those that at least one of these
people may use its privileges on. Other policies are not considered: what this one gives or takes, somebody may have, or
keep, through another one.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from policies.authoring.services.policies import Draft
from policies.engine import families
from policies.engine.model import Actor, Cover, Coverage, Effect, Origin, Statement
from policies.engine.selectors import OWNER_OF_ANY_TYPE, ActorMatch, Selector
from policies.models import Policy
from policies.pdp import authorizer
from policies.pdp.reach_comparison import Impact, Side, compared, cover_of

#: How many owners are looked up to tell who is behind a policy about owners.
_OWNERS = 10_000

_TYPED = f"{OWNER_OF_ANY_TYPE}:"

#: What a selector covers has these owners, of one of these types (None: of any).
_FindOwners = Callable[[Selector, frozenset[str] | None], frozenset[str]]


def measured(*, before: Draft | None, after: Draft | None) -> Impact:
    """Compare two checked drafts; None, like one that is not active, reaches nobody and nothing."""
    owners = cache(_owners)
    return compared(_side(before, owners), _side(after, owners))


def draft_of(policy: Policy) -> Draft:
    """Return a stored policy as the draft it was."""
    return Draft(policy.family, policy.document, state=policy.state, description=policy.description)


def _side(draft: Draft | None, owners: _FindOwners) -> Side:
    statements = _statements(draft) if draft is not None else ()
    allows = [one for one in statements if one.effect is Effect.ALLOW]
    if draft is None or not allows:
        return Side(statements=statements)
    tokens = frozenset[str]().union(*(one.actors.tokens for one in allows))
    family = families.get(draft.family)
    if family.columns(draft.document)["type"] == Policy.Type.PLATFORM:
        return Side(tokens, statements=statements)
    covers, owning = _covers(allows, owners)
    denies = tuple(cover_of(one) for one in statements if one.effect is Effect.DENY)
    return Side(tokens | owning, Coverage(Actor("", owning), covers, denies), statements)


def _statements(draft: Draft) -> tuple[Statement, ...]:
    family = families.get(draft.family)
    state = family.columns(draft.document).get("state") or draft.state or Policy.State.ACTIVE
    return family.compile(draft.document, Origin("", "")) if state == Policy.State.ACTIVE else ()


def _covers(allows: Iterable[Statement], owners: _FindOwners) -> tuple[tuple[Cover, ...], frozenset[str]]:
    """Return what the statements cover, those for owners only where somebody owns it, and these owners."""
    covers: list[Cover] = []
    owning: frozenset[str] = frozenset()
    for statement in allows:
        towards = {token for token in statement.actors.tokens if token.startswith(OWNER_OF_ANY_TYPE)}
        types = None if OWNER_OF_ANY_TYPE in towards else frozenset(one.removeprefix(_TYPED) for one in towards)
        cover = cover_of(statement)
        if towards:
            owning |= owners(statement.resources, types)
        if towards == statement.actors.tokens:
            cover = replace(cover, is_unconditional=False, is_owned=bool(towards), owner_types=types)
        covers.append(cover)
    return tuple(covers), owning


def _owners(selector: Selector, types: frozenset[str] | None) -> frozenset[str]:
    statement = Statement(Origin("", ""), Effect.ALLOW, ActorMatch(), frozenset(), selector)
    coverage = Coverage(Actor(""), (cover_of(statement),))
    return authorizer.directory().owners_covered(coverage=coverage, types=types, limit=_OWNERS)
