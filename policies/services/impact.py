"""How many people and how many entities a policy reaches now, and would reach as it is being written.

Counted in SQL up to a limit. The people are those its actors name and those who own what it covers; the entities are
those that at least one of these people may use its privileges on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from policies import authority, queries
from policies.engine import families
from policies.engine.matching import OWNER_OF_ANY_TYPE
from policies.engine.model import Actor, Cover, Coverage, Effect, Origin, Statement
from policies.models import Policy, User
from policies.services.policies import Draft

#: Beyond this nobody counts here; an access report gives the exact figure.
MOST = 10_000

#: How many of those who gain or lose are named.
SAMPLES = 5

#: How many owners are looked up to tell who is behind a policy about owners.
_OWNERS = 10_000

_TYPED = f"{OWNER_OF_ANY_TYPE}:"


@dataclass(frozen=True, slots=True)
class Count:
    """A number now and then (MOST + 1 stands for any larger one), and the first few who come and go, as URN → name."""

    now: int
    then: int
    gained: Mapping[str, str]
    lost: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change means; `entities` is None when neither side is about entities."""

    people: Count
    entities: Count | None


@dataclass(frozen=True, slots=True)
class Side:
    """Something as it is or would be: whom it reaches, and on what (None: on no entities)."""

    people: QuerySet[User]
    coverage: Coverage | None


def measured(*, before: Draft | None, after: Draft | None) -> Impact:
    """Compare two checked drafts; None, like one that is not active, reaches nobody and nothing."""
    return compared(_side(before), _side(after))


def compared(now: Side, then: Side) -> Impact:
    """Count what it is and what it would be."""
    return Impact(_people(now.people, then.people), _entities(now.coverage, then.coverage))


def draft_of(policy: Policy) -> Draft:
    """Return a stored policy as the draft it was."""
    return Draft(policy.family, policy.document, state=policy.state, description=policy.description)


def _side(draft: Draft | None) -> Side:
    statements = _statements(draft) if draft is not None else ()
    allows = [one for one in statements if one.effect is Effect.ALLOW]
    if draft is None or not allows:
        return Side(queries.reached(tokens=()), None)
    tokens = frozenset[str]().union(*(one.actors.tokens for one in allows))
    family = families.get(draft.family)
    if family.columns(draft.document)["type"] == Policy.Type.PLATFORM:
        return Side(queries.reached(tokens=tokens), None)
    covers, owners = _covers(allows)
    denies = tuple(Cover(one, is_unconditional=True) for one in statements if one.effect is Effect.DENY)
    holders = Actor("", frozenset(owners))
    return Side(queries.reached(tokens=tokens | owners), Coverage(holders, covers, denies))


def _statements(draft: Draft) -> tuple[Statement, ...]:
    family = families.get(draft.family)
    state = family.columns(draft.document).get("state") or draft.state or Policy.State.ACTIVE
    return family.compile(draft.document, Origin("", "")) if state == Policy.State.ACTIVE else ()


def _covers(allows: Iterable[Statement]) -> tuple[tuple[Cover, ...], frozenset[str]]:
    """Return what the statements cover, those for owners only where somebody owns it, and these owners."""
    covers: list[Cover] = []
    owners: frozenset[str] = frozenset()
    for statement in allows:
        towards = {token for token in statement.actors.tokens if token.startswith(OWNER_OF_ANY_TYPE)}
        types = None if OWNER_OF_ANY_TYPE in towards else frozenset(one.removeprefix(_TYPED) for one in towards)
        cover = Cover(statement, is_unconditional=True)
        if towards:
            coverage = Coverage(Actor(""), (cover,))
            owners |= authority.directory().owners_covered(coverage=coverage, types=types, limit=_OWNERS)
        if towards == statement.actors.tokens:
            cover = replace(cover, is_unconditional=False, is_owned=bool(towards), owner_types=types)
        covers.append(cover)
    return tuple(covers), owners


def _people(now: QuerySet[User], then: QuerySet[User]) -> Count:
    return Count(_number(now), _number(then), _beyond(then, now), _beyond(now, then))


def _number(people: QuerySet[User]) -> int:
    return people.order_by()[: MOST + 1].count()


def _beyond(people: QuerySet[User], others: QuerySet[User]) -> dict[str, str]:
    rows = people.exclude(pk__in=others.order_by().values("pk"))[:SAMPLES]
    return {user.urn: user.name for user in rows}


def _entities(now: Coverage | None, then: Coverage | None) -> Count | None:
    if now is None and then is None:
        return None
    return Count(_reach(now), _reach(then), _differing(then, now), _differing(now, then))


def _reach(coverage: Coverage | None) -> int:
    return authority.directory().count_covered(coverage=coverage, limit=MOST + 1) if coverage is not None else 0


def _differing(coverage: Coverage | None, others: Coverage | None) -> dict[str, str]:
    if coverage is None:
        return {}
    found = authority.directory().sample_covered(coverage=coverage, without=others, limit=SAMPLES)
    return {one.urn: one.name for one in found}
