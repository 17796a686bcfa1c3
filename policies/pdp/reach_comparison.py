"""Comparison of two sides of a change: the numbers of people and entities reached, and the privileges named.

Counted in SQL up to MAX_COUNT. A side is a policy, or the roles of an actor, as it is or as it would be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, QuerySet

from policies.engine.model import Cover, Coverage, Effect, Statement, StatementOrigin
from policies.engine.selectors import ActorMatch
from policies.models import User
from policies.pdp import authorizer, users_by_actor_clause

#: Highest exact count; an access report gives exact figures beyond.
MAX_COUNT = 10_000

#: Most gained or lost people or entities that are named.
MAX_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class CountChange:
    """A number before and after (MAX_COUNT + 1: any larger), and the first few gained and lost, as URN → name."""

    before: int
    after: int
    gained_names: Mapping[str, str]
    lost_names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PrivilegeChange:
    """The numbers of privileges named before and after, and the names of those gained, lost and altered.

    A privilege is altered if its terms differ: everything else in the statements that name it, that is actors,
    resources, conditions and columns.
    """

    before: int
    after: int
    gained_names: tuple[str, ...]
    lost_names: tuple[str, ...]
    altered_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of a change; `entities` is None if neither side is about entities.

    `allowed_privileges` and `denied_privileges` are the privileges that statements allow and deny, implied ones
    included.
    """

    people: CountChange
    entities: CountChange | None
    allowed_privileges: PrivilegeChange
    denied_privileges: PrivilegeChange

    @property
    def has_same_reach(self) -> bool:
        """Whether people and entities are the same before and after, as far as they were counted."""
        counts = [count for count in (self.people, self.entities) if count is not None]
        return not any(count.gained_names or count.lost_names or count.before != count.after for count in counts)


@dataclass(frozen=True, slots=True)
class PolicySide:
    """One side: the actor tokens it reaches and never reaches, its coverage (None: no entities) and its statements."""

    tokens: frozenset[str] = frozenset()
    coverage: Coverage | None = None
    statements: tuple[Statement, ...] = ()
    excluded_tokens: frozenset[str] = frozenset()


def compare_reach(before: PolicySide, after: PolicySide) -> Impact:
    """Return the impact of the change from one side to the other."""
    allowed_privileges, denied_privileges = (
        _compare_privileges(before.statements, after.statements, effect) for effect in (Effect.ALLOW, Effect.DENY)
    )
    return Impact(
        _compare_people(before, after),
        _compare_entities(before.coverage, after.coverage),
        allowed_privileges,
        denied_privileges,
    )


def selector_cover(statement: Statement) -> Cover:
    """Return the cover of a statement's resources, equal for statements that differ only in actors and privileges."""
    bare_statement = replace(statement, origin=StatementOrigin("", ""), actors=ActorMatch(), privileges=frozenset())
    return Cover(bare_statement, is_unconditional=True)


def _compare_privileges(
    old_statements: Iterable[Statement], new_statements: Iterable[Statement], effect: Effect
) -> PrivilegeChange:
    before, after = _terms_by_privilege(old_statements, effect), _terms_by_privilege(new_statements, effect)
    return PrivilegeChange(
        before=len(before),
        after=len(after),
        gained_names=tuple(sorted(after.keys() - before.keys())),
        lost_names=tuple(sorted(before.keys() - after.keys())),
        altered_names=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )


def _terms_by_privilege(statements: Iterable[Statement], effect: Effect) -> dict[str, set[Statement]]:
    terms_by_name: dict[str, set[Statement]] = {}
    for statement in statements:
        if statement.effect is effect:
            terms = replace(statement, origin=StatementOrigin("", ""), privileges=frozenset())
            for name in statement.privileges:
                terms_by_name.setdefault(name, set()).add(terms)
    return terms_by_name


def _compare_people(before: PolicySide, after: PolicySide) -> CountChange:
    number = _count_people(before)
    has_same_people = (before.tokens, before.excluded_tokens) == (after.tokens, after.excluded_tokens)
    return CountChange(
        number,
        number if has_same_people else _count_people(after),
        _sample_people(after, before),
        _sample_people(before, after),
    )


def _count_people(side: PolicySide) -> int:
    return _list_people(side).order_by()[: MAX_COUNT + 1].count()


def _list_people(side: PolicySide) -> QuerySet[User]:
    return users_by_actor_clause.list_users_by_actor_tokens(tokens=side.tokens, excluded_tokens=side.excluded_tokens)


def _sample_people(side: PolicySide, other_side: PolicySide) -> dict[str, str]:
    """Return the first people whom one side reaches and the other does not."""
    if side.excluded_tokens or other_side.excluded_tokens:
        people = _list_people(side).filter(~Exists(_list_people(other_side).filter(pk=OuterRef("pk"))))
    else:
        people = users_by_actor_clause.list_users_by_actor_tokens(tokens=side.tokens, excluded_tokens=other_side.tokens)
    return {user.urn: user.name for user in people[:MAX_SAMPLES]}


def _compare_entities(before: Coverage | None, after: Coverage | None) -> CountChange | None:
    if before is None and after is None:
        return None
    number = _count_entities(before)
    return CountChange(
        number,
        number if before == after else _count_entities(after),
        _sample_entities(after, before),
        _sample_entities(before, after),
    )


def _count_entities(coverage: Coverage | None) -> int:
    return authorizer.directory().count_covered(coverage=coverage, limit=MAX_COUNT + 1) if coverage is not None else 0


def _sample_entities(coverage: Coverage | None, others: Coverage | None) -> dict[str, str]:
    difference = _without_shared_covers(coverage, others)
    if difference is None or not difference.allows:
        return {}
    entities = authorizer.directory().sample_covered(coverage=difference, excluded=others, limit=MAX_SAMPLES)
    return {entity.urn: entity.name for entity in entities}


def _without_shared_covers(coverage: Coverage | None, others: Coverage | None) -> Coverage | None:
    """Return the coverage without covers that both sides have; unchanged if one of them denies or restricts."""
    if coverage is None or others is None or not (_has_only_allows(coverage) and _has_only_allows(others)):
        return None if coverage == others else coverage
    have_same_owners = coverage.actor == others.actor
    shared_covers = {cover for cover in others.allows if have_same_owners or not cover.is_owned}
    return replace(coverage, allows=tuple(cover for cover in coverage.allows if cover not in shared_covers))


def _has_only_allows(coverage: Coverage) -> bool:
    return not coverage.denies and all(cover.statement.restriction is None for cover in coverage.allows)
