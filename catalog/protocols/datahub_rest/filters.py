"""The filter of a search: alternatives, each a list of criteria that all hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from catalog.access import entity_lists, view_permissions
from catalog.aspects.base import PLATFORM
from policies.engine import selectors
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models.fields import storable

_REMOVED = "removed"
_CONDITIONS = ("EQUAL", "IN")

#: Field of a search → field of the facts about an entity.
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
    """A filter as a condition on entities. `asks_removed`: removed entities are searched, since it speaks of them."""

    condition: Q
    asks_removed: bool


def everything(*, with_removed: bool) -> Filter:
    """Return the filter that keeps every entity."""
    return Filter(Q(), with_removed)


def read(found: Any, place: str, *, by: Actor) -> Filter | None:
    """Return a filter, None where there is none; what the caller may not view is met by nothing.

    Raises Invalid for fields and conditions that nobody knows.
    """
    if found is None:
        return None
    alternatives = _list(_member(found, "or", place), f"{place}/or")
    fields: set[str] = set()
    condition = Q()
    for position, one in enumerate(alternatives):
        here = f"{place}/or/{position}"
        both = Q()
        for number, criterion in enumerate(_list(_member(one, "and", here), f"{here}/and")):
            field, holds = _criterion(criterion, f"{here}/and/{number}", by)
            fields.add(field)
            both &= holds
        condition |= both
    return Filter(condition, _REMOVED in fields)


def _criterion(found: Any, place: str, by: Actor) -> tuple[str, Q]:
    field = str(_member(found, "field", place)).removesuffix(".keyword")
    if _member(found, "condition", place) not in (None, *_CONDITIONS):
        raise _wrong(f"{place}/condition", f"This is one of {', '.join(_CONDITIONS)}.")
    values = found.get("values")
    wanted = _list([found.get("value")] if values is None else values, f"{place}/values")
    if not all(isinstance(value, str) for value in wanted):
        raise _wrong(f"{place}/values", "This must be a list of texts.")
    holds = _condition(field, storable(wanted), by)
    if holds is None:
        known = ", ".join(sorted({_REMOVED, *_COLUMNS, *_FACETS}))
        raise _wrong(f"{place}/field", f"This is one of {known}.")
    return field, ~holds if found.get("negated") is True else holds


def _condition(field: str, values: list[str], by: Actor) -> Q | None:
    if field in _COLUMNS:
        return _COLUMNS[field](values)
    if field not in _FACETS:
        return None
    found, hidden = Q(pk__in=[]), view_permissions.hidden(urns=values, by=by)
    for value in (one for one in values if one not in hidden):
        found |= Q(pk__in=entity_lists.members(field=_FACETS[field], value=value).order_by().values("pk"))
    return found


_COLUMNS: Mapping[str, Callable[[list[str]], Q]] = {
    "name": lambda values: Q(name__among=values),
    "urn": lambda values: Q(urn__among=values),
    _REMOVED: lambda values: Q(is_removed__in=[value.lower() == "true" for value in values]),
}


def _member(found: Any, name: str, place: str) -> Any:
    if not isinstance(found, dict):
        raise _wrong(place, "This must be a JSON object.")
    return found.get(name)


def _list(found: Any, place: str) -> list[Any]:
    if not isinstance(found, list):
        raise _wrong(place, "This must be a list.")
    return found


def _wrong(pointer: str, detail: str) -> Invalid:
    return Invalid.one(code="filter.invalid", pointer=pointer, detail=detail)
