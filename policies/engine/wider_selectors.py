"""Few selectors in place of many: together they cover all that the many cover, and more.

Who compares two states over more entities than can differ finds the same differences, so the selectors that bound these
entities may be wider than they are, where a database would have to test thousands of criteria.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from policies.engine.selectors import (
    CONSTANT_FACETS,
    CONTAINER,
    DOMAIN,
    GLOSSARY,
    ID,
    OWNER,
    TAG,
    TYPE,
    URN,
    Condition,
    Criterion,
    Selector,
)

#: Fields of which one criterion bounds few entities, before those of which it bounds more; others come between.
_NARROW_FIELDS = (URN, ID, OWNER, TAG, GLOSSARY)
_WIDE_FIELDS = (CONTAINER, DOMAIN)

#: A type set (None: any type), field and condition of criteria -> their values together. No field: the types alone.
_Bounds = Mapping[tuple[frozenset[str] | None, str, Condition], set[str]]


def count_tests(selectors: Iterable[Selector]) -> int:
    """Return the number of selectors and criteria together, each of which a database tests."""
    return sum(1 + len(selector.criteria) for selector in selectors)


def widen_selectors(selectors: Sequence[Selector], limit: int) -> tuple[Selector, ...]:
    """Return selectors that cover together whatever stored entity one of these covers, with few tests.

    They are the same ones where these have at most `limit` tests. Of each of the others one criterion stays beside the
    types, or in place of them where that is still too much: no more than two for each field.
    """
    if count_tests(selectors) <= limit:
        return tuple(selectors)
    possible_selectors = [selector for selector in selectors if not _is_impossible(selector)]
    wider_selectors = _build_selectors(_collect_bounds(possible_selectors, has_types=True))
    if count_tests(wider_selectors) <= limit:
        return wider_selectors
    return _build_selectors(_collect_bounds(possible_selectors, has_types=False))


def _is_impossible(selector: Selector) -> bool:
    """Whether a selector covers no stored entity."""
    for criterion in selector.criteria:
        constant = CONSTANT_FACETS.get(criterion.field)
        if constant is not None and not criterion.holds(frozenset({constant})):
            return True
        if not criterion.values and criterion.condition is not Condition.NOT_EQUALS:
            return True
    return False


def _collect_bounds(selectors: Iterable[Selector], *, has_types: bool) -> _Bounds:
    bounds: dict[tuple[frozenset[str] | None, str, Condition], set[str]] = defaultdict(set)
    for selector in selectors:
        bounding_criteria = sorted(filter(_is_bounding, selector.criteria), key=_rank)
        types = [criterion.values for criterion in selector.criteria if _is_types(criterion)]
        common_types = frozenset.intersection(*types) if types else None
        if bounding_criteria:
            criterion = bounding_criteria[0]
            key = (common_types if has_types else None, criterion.field, criterion.condition)
            bounds[key] |= criterion.values
        elif common_types is not None:
            bounds[None, TYPE, Condition.EQUALS] |= common_types
        else:
            return {(None, "", Condition.EQUALS): set()}
    return bounds


def _build_selectors(bounds: _Bounds) -> tuple[Selector, ...]:
    """Return a selector for each bound, but for those whose types another one covers as a whole."""
    whole_types = bounds.get((None, TYPE, Condition.EQUALS), set())
    selectors = []
    for (types, field, condition), values in bounds.items():
        if types is not None and types <= whole_types:
            continue
        criteria = [Criterion(TYPE, Condition.EQUALS, types)] if types is not None else []
        if field:
            criteria.append(Criterion(field, condition, frozenset(values)))
        selectors.append(Selector(tuple(criteria), needs_resource=True))
    return tuple(selectors)


def _is_types(criterion: Criterion) -> bool:
    return criterion.field == TYPE and criterion.condition is Condition.EQUALS


def _is_bounding(criterion: Criterion) -> bool:
    """Whether a criterion other than one about types bounds what is covered by values that it has to have."""
    return (
        criterion.condition is not Condition.NOT_EQUALS
        and criterion.field != TYPE
        and criterion.field not in CONSTANT_FACETS
    )


def _rank(criterion: Criterion) -> tuple[bool, int, str]:
    """Return the rank of a criterion: the one that is expected to bound the fewest entities is first."""
    if criterion.field in _NARROW_FIELDS:
        position = _NARROW_FIELDS.index(criterion.field)
    elif criterion.field in _WIDE_FIELDS:
        position = len(_NARROW_FIELDS) + 1 + _WIDE_FIELDS.index(criterion.field)
    else:
        position = len(_NARROW_FIELDS)
    return criterion.condition is Condition.STARTS_WITH, position, criterion.field
