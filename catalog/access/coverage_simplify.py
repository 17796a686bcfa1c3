"""Covers brought together: the same entities said with fewer conditions, so that a WHERE stays short.

Somebody in ten groups is easily spoken to by hundreds of policies, most of which differ in one value alone, or give
what a wider one gives already.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from policies.engine import selectors
from policies.engine.model import Cover
from policies.engine.selectors import Condition, Criterion

#: The field whose wanted values are united when all else of two covers is the same: the one that names most exactly.
_EXACT = {selectors.URN: 3, selectors.ID: 2, selectors.PROJECT: 1}

#: How many criteria a cover may have that is looked for as the wider one of another; few wider ones have more.
_FEW = 2

#: Stands for entities of any type.
_ANY = ""

_Criteria = frozenset[Criterion]


@dataclass(frozen=True, slots=True)
class Reach:
    """On which condition about the actor a statement reaches what it covers."""

    is_unconditional: bool = False
    is_owned: bool = False
    owner_types: frozenset[str] | None = None
    is_self: bool = False

    @classmethod
    def of(cls, cover: Cover) -> "Reach":
        """Return the condition of a cover; what is unconditional has no other."""
        if cover.is_unconditional:
            return ALWAYS
        return cls(is_owned=cover.is_owned, owner_types=cover.owner_types, is_self=cover.is_self)


ALWAYS = Reach(is_unconditional=True)


@dataclass(frozen=True, slots=True)
class Condensed:
    """Entities of one of these types (none: of any) that meet all criteria of at least one of the alternatives."""

    types: frozenset[str]
    alternatives: tuple[tuple[Criterion, ...], ...]


def condensed(covers: Iterable[Cover]) -> Mapping[Reach, tuple[Condensed, ...]]:
    """Return what covers reach, by the condition about the actor; an entity is reached when any part reaches it."""
    by_types: defaultdict[tuple[Reach, frozenset[str]], list[tuple[Criterion, ...]]] = defaultdict(list)
    for reach, types, criteria in _united(_widest(covers)):
        by_types[reach, types].append(criteria)
    found: defaultdict[Reach, list[Condensed]] = defaultdict(list)
    for (reach, types), alternatives in by_types.items():
        found[reach].append(Condensed(types, tuple(alternatives)))
    return {reach: tuple(parts) for reach, parts in found.items()}


def _widest(covers: Iterable[Cover]) -> list[tuple[Reach, _Criteria]]:
    """Leave out what a wider cover reaches anyway: one with some of the criteria alone, for the same people or more."""
    known = dict.fromkeys((Reach.of(cover), frozenset(cover.selector.criteria)) for cover in covers)
    return [(reach, criteria) for reach, criteria in known if not _is_within(reach, criteria, known)]


def _is_within(reach: Reach, criteria: _Criteria, known: Mapping[tuple[Reach, _Criteria], None]) -> bool:
    wider = [one for one in _wider(reach) if one != reach]
    if any((one, criteria) in known for one in wider):
        return True
    fewer = (frozenset(some) for size in range(min(len(criteria), _FEW + 1)) for some in combinations(criteria, size))
    return any((one, some) in known for some in fewer for one in (reach, *wider))


def _wider(reach: Reach) -> tuple[Reach, ...]:
    if reach.is_owned and reach.owner_types is not None:
        return (ALWAYS, Reach(is_owned=True, is_self=reach.is_self))
    return (ALWAYS,)


def _united(
    pairs: Iterable[tuple[Reach, _Criteria]],
) -> Iterable[tuple[Reach, frozenset[str], tuple[Criterion, ...]]]:
    """Unite covers of one type that differ in the wanted values of one criterion, then types with the same criteria:
    thousands of policies that each name one entity become one list of entities.
    """
    values: defaultdict[tuple[Reach, str, _Criteria, Criterion | None], set[str]] = defaultdict(set)
    for reach, criteria in pairs:
        types, rest = _typed(criteria)
        pivot = max((one for one in rest if one.condition is not Condition.NOT_EQUALS), key=_exactness, default=None)
        for type_ in types:
            if pivot is None:
                values[reach, type_, rest, None].clear()
            else:
                values[reach, type_, rest - {pivot}, replace(pivot, values=frozenset())].update(pivot.values)
    types_of: defaultdict[tuple[Reach, tuple[Criterion, ...]], set[str]] = defaultdict(set)
    for (reach, type_, rest, emptied), wanted in values.items():
        united = () if emptied is None else (replace(emptied, values=frozenset(wanted)),)
        types_of[reach, (*united, *sorted(rest, key=_in_order))].add(type_)
    for (reach, alternative), named in types_of.items():
        yield reach, frozenset() if _ANY in named else frozenset(named), alternative


def _typed(criteria: _Criteria) -> tuple[Iterable[str], _Criteria]:
    """Return the types that criteria name, and the others; a second list of types is one of the others."""
    naming = [one for one in criteria if one.field == selectors.TYPE and one.condition is Condition.EQUALS]
    if len(naming) != 1:
        return (_ANY,), criteria
    return naming[0].values - {_ANY}, criteria - {naming[0]}


def _exactness(criterion: Criterion) -> tuple[bool, int, str, list[str]]:
    is_exact = criterion.condition is Condition.EQUALS
    return is_exact, _EXACT.get(criterion.field, 0), criterion.field, sorted(criterion.values)


def _in_order(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
