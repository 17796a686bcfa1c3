"""Filters of lists: alternatives (`orFilters`), each a list of criteria that all hold (clients.md 2.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from policies.errors import Invalid
from policies.models.fields import storable

#: Most criteria of one filter; each is a condition of one statement.
MOST = 200

#: How a criterion compares, and what it compares with.
Reading = Callable[[str, list[str]], Q | None]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of text or, where `words` are given, one whose values clients know by other words."""

    name: str
    words: Mapping[str, Any] | None = None

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None where the column knows none of this name."""
        known = storable(values)
        if condition in ("EQUAL", "IN"):
            return self._among(known)
        if self.words is not None:
            return None
        if condition in _TEXTS:
            found = Q(pk__in=[])
            for value in known:
                found |= Q(**{f"{self.name}__{_TEXTS[condition]}": value})
            return found
        return ~Q(**{self.name: ""}) if condition == "EXISTS" else None

    def _among(self, values: Sequence[str]) -> Q:
        if self.words is None:
            return Q(**{f"{self.name}__in": values})
        return Q(**{f"{self.name}__in": [self.words[value] for value in map(str.lower, values) if value in self.words]})


#: Comparisons of text, as Django calls them.
_TEXTS = {"CONTAIN": "icontains", "START_WITH": "startswith", "END_WITH": "endswith", "IEQUAL": "iexact"}

FLAG: Mapping[str, bool] = {"true": True, "false": False}


def fields_of(asked: Sequence[Any] | None) -> frozenset[str]:
    """Return the fields that a filter speaks of."""
    return frozenset(_field(one) for group in asked or () for one in group["and"] or ())


def condition(asked: Sequence[Any] | None, known: Mapping[str, Reading], *, at: str = "/orFilters") -> Q:
    """Return a filter as one condition; no alternatives, like an alternative without criteria, hold of everything.

    Raises Invalid for fields and comparisons that nobody knows.
    """
    if sum(len(group["and"] or ()) for group in asked or ()) > MOST:
        raise Invalid.one(code="filter.large", pointer=at, detail=f"A filter has at most {MOST} criteria.")
    found = Q()
    for number, group in enumerate(asked or ()):
        criteria = group["and"] or ()
        if not criteria:
            return Q()
        both = Q()
        for place, one in enumerate(criteria):
            both &= _criterion(one, known, f"{at}/{number}/and/{place}")
        found |= both
    return found


def _criterion(one: Mapping[str, Any], known: Mapping[str, Reading], at: str) -> Q:
    field = _field(one)
    if field not in known:
        names = ", ".join(sorted(known))
        raise Invalid.one(code="filter.field", pointer=f"{at}/field", detail=f"{field!r} is none of {names}.")
    values = one.get("values")
    if values is None:
        values = [one["value"]] if one.get("value") is not None else []
    compared = one.get("condition") or "EQUAL"
    found = known[field](compared, values)
    if found is None:
        raise Invalid.one(
            code="filter.condition", pointer=f"{at}/condition", detail=f"{field} is not compared by {compared}."
        )
    return ~found if one.get("negated") else found


def _field(one: Mapping[str, Any]) -> str:
    return str(one["field"]).removesuffix(".keyword")
