"""Filter of a search: alternatives (`or`), each a list of criteria that must all hold (`and`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from catalog.access import entity_lists, view_permissions
from catalog.aspects.base import PLATFORM
from policies.engine import selectors
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models.fields import filter_storable

_REMOVED_FIELD = "removed"
_COMPARISONS = ("EQUAL", "IN")

#: Field of a search → facet field.
_FACETS: Mapping[str, str] = {
    "container": selectors.CONTAINER,
    "dataPlatformInstance": selectors.DATA_PLATFORM_INSTANCE,
    "domains": selectors.DOMAIN,
    "glossaryTerms": selectors.GLOSSARY,
    "owners": selectors.OWNER,
    "platform": PLATFORM,
    "tags": selectors.TAG,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as a condition on entities; `includes_removed` if it tests `removed`, so that they are searched."""

    condition: Q
    includes_removed: bool


def match_all(*, with_removed: bool) -> Filter:
    """Return the filter that matches every entity."""
    return Filter(Q(), with_removed)


def parse(value: Any, pointer: str, *, by: Actor) -> Filter | None:
    """Return the filter, None if there is none; a facet value that the caller may not view matches no entity.

    No alternatives, or one without criteria, match everything.
    Raises Invalid for unknown fields and conditions.
    """
    if value is None:
        return None
    alternatives = _check_list(_read_member(value, "or", pointer), f"{pointer}/or")
    fields: set[str] = set()
    conditions: list[Q] = []
    for index, alternative in enumerate(alternatives):
        alternative_pointer = f"{pointer}/or/{index}"
        conjunction = Q()
        for criterion_index, criterion in enumerate(
            _check_list(_read_member(alternative, "and", alternative_pointer), f"{alternative_pointer}/and")
        ):
            field, clause = _parse_criterion(criterion, f"{alternative_pointer}/and/{criterion_index}", by)
            fields.add(field)
            conjunction &= clause
        conditions.append(conjunction)
    condition = reduce(or_, conditions) if all(conditions) and conditions else Q()
    return Filter(condition, _REMOVED_FIELD in fields)


def _parse_criterion(criterion: Any, pointer: str, by: Actor) -> tuple[str, Q]:
    field = str(_read_member(criterion, "field", pointer)).removesuffix(".keyword")
    if _read_member(criterion, "condition", pointer) not in (None, *_COMPARISONS):
        raise _build_error(f"{pointer}/condition", f"This is one of {', '.join(_COMPARISONS)}.")
    values = criterion.get("values")
    texts = _check_list([criterion.get("value")] if values is None else values, f"{pointer}/values")
    if not all(isinstance(value, str) for value in texts):
        raise _build_error(f"{pointer}/values", "This must be a list of texts.")
    clause = _build_condition(field, filter_storable(texts), by)
    if clause is None:
        known_fields = ", ".join(sorted({_REMOVED_FIELD, *_COLUMNS, *_FACETS}))
        raise _build_error(f"{pointer}/field", f"This is one of {known_fields}.")
    return field, ~clause if criterion.get("negated") is True else clause


def _build_condition(field: str, values: list[str], by: Actor) -> Q | None:
    if field in _COLUMNS:
        return _COLUMNS[field](values)
    if field not in _FACETS:
        return None
    condition, hidden_urns = Q(pk__in=[]), view_permissions.find_hidden(urns=values, by=by)
    for value in (candidate for candidate in values if candidate not in hidden_urns):
        condition |= Q(
            pk__in=entity_lists.list_entities_with_value(field=_FACETS[field], value=value).order_by().values("pk")
        )
    return condition


_COLUMNS: Mapping[str, Callable[[list[str]], Q]] = {
    "name": lambda values: Q(name__among=values),
    "urn": lambda values: Q(urn__among=values),
    _REMOVED_FIELD: lambda values: Q(is_removed__in=[value.lower() == "true" for value in values]),
}


def _read_member(value: Any, name: str, pointer: str) -> Any:
    if not isinstance(value, dict):
        raise _build_error(pointer, "This must be a JSON object.")
    return value.get(name)


def _check_list(value: Any, pointer: str) -> list[Any]:
    if not isinstance(value, list):
        raise _build_error(pointer, "This must be a list.")
    return value


def _build_error(pointer: str, detail: str) -> Invalid:
    return Invalid.from_problem(code="filter.invalid", pointer=pointer, detail=detail)
