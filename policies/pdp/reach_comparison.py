"""How many people and entities something reaches now and then, and which privileges it gives: two sides compared.

Counted in SQL up to a limit. A side is a policy, or the roles of somebody, as it is or as it would be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from policies.engine.model import Cover, Coverage, Effect, Origin, Statement
from policies.engine.selectors import ActorMatch
from policies.pdp import authorizer, users_by_actor_clause

#: Beyond this nobody counts here; an access report gives the exact figure.
MOST = 10_000

#: How many of those who gain or lose are named.
SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Count:
    """A number now and then (MOST + 1 stands for any larger one), and the first few who come and go, as URN → name."""

    now: int
    then: int
    gained: Mapping[str, str]
    lost: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PrivilegeChange:
    """How many privileges are named now and then, which come and go, and which stay but under other terms.

    The terms of a privilege are everything else in the statements that name it: actors, resources, conditions, columns.
    """

    now: int
    then: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change means; `entities` is None when neither side is about entities.

    `allowed` and `denied` are the privileges, with those that they imply, that statements allow and deny.
    """

    people: Count
    entities: Count | None
    allowed: PrivilegeChange
    denied: PrivilegeChange

    @property
    def has_same_reach(self) -> bool:
        """Whether the same people and the same entities are reached, as far as is counted here."""
        counts = [one for one in (self.people, self.entities) if one is not None]
        return not any(one.gained or one.lost or one.now != one.then for one in counts)


@dataclass(frozen=True, slots=True)
class Side:
    """Something as it is or would be: whom it reaches, by their tokens, on what (None: on no entities), and how."""

    tokens: frozenset[str] = frozenset()
    coverage: Coverage | None = None
    statements: tuple[Statement, ...] = ()


def compared(now: Side, then: Side) -> Impact:
    """Count what it is and what it would be."""
    allowed, denied = (_privileges(now.statements, then.statements, effect) for effect in (Effect.ALLOW, Effect.DENY))
    return Impact(_people(now.tokens, then.tokens), _entities(now.coverage, then.coverage), allowed, denied)


def cover_of(statement: Statement) -> Cover:
    """Return what a statement covers, the same for all that differ in whom they speak to and what they give alone."""
    what = replace(statement, origin=Origin("", ""), actors=ActorMatch(), privileges=frozenset())
    return Cover(what, is_unconditional=True)


def _privileges(now: Iterable[Statement], then: Iterable[Statement], effect: Effect) -> PrivilegeChange:
    before, after = _terms_by_privilege(now, effect), _terms_by_privilege(then, effect)
    return PrivilegeChange(
        now=len(before),
        then=len(after),
        gained=tuple(sorted(after.keys() - before.keys())),
        lost=tuple(sorted(before.keys() - after.keys())),
        moved=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )


def _terms_by_privilege(statements: Iterable[Statement], effect: Effect) -> dict[str, set[Statement]]:
    found: dict[str, set[Statement]] = {}
    for statement in statements:
        if statement.effect is effect:
            terms = replace(statement, origin=Origin("", ""), privileges=frozenset())
            for name in statement.privileges:
                found.setdefault(name, set()).add(terms)
    return found


def _people(now: frozenset[str], then: frozenset[str]) -> Count:
    number = _number(now)
    return Count(number, number if now == then else _number(then), _beyond(then, now), _beyond(now, then))


def _number(tokens: frozenset[str]) -> int:
    return users_by_actor_clause.reached(tokens=tokens).order_by()[: MOST + 1].count()


def _beyond(tokens: frozenset[str], others: frozenset[str]) -> dict[str, str]:
    rows = users_by_actor_clause.reached(tokens=tokens, without=others)[:SAMPLES]
    return {user.urn: user.name for user in rows}


def _entities(now: Coverage | None, then: Coverage | None) -> Count | None:
    if now is None and then is None:
        return None
    number = _reach(now)
    return Count(number, number if now == then else _reach(then), _differing(then, now), _differing(now, then))


def _reach(coverage: Coverage | None) -> int:
    return authorizer.directory().count_covered(coverage=coverage, limit=MOST + 1) if coverage is not None else 0


def _differing(coverage: Coverage | None, others: Coverage | None) -> dict[str, str]:
    rest = _without_shared(coverage, others)
    if rest is None or not rest.allows:
        return {}
    found = authorizer.directory().sample_covered(coverage=rest, without=others, limit=SAMPLES)
    return {one.urn: one.name for one in found}


def _without_shared(coverage: Coverage | None, others: Coverage | None) -> Coverage | None:
    """Leave out the covers that both have: what they reach, the other reaches too, when both do nothing but allow."""
    if coverage is None or others is None or not (_only_allows(coverage) and _only_allows(others)):
        return None if coverage == others else coverage
    have_same_owners = coverage.actor == others.actor
    shared = {cover for cover in others.allows if have_same_owners or not cover.is_owned}
    return replace(coverage, allows=tuple(cover for cover in coverage.allows if cover not in shared))


def _only_allows(coverage: Coverage) -> bool:
    return not coverage.denies and all(cover.statement.restriction is None for cover in coverage.allows)
