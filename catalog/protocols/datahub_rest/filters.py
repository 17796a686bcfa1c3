"""Filter of a search: alternatives (`or`), each a list of criteria that must all hold (`and`)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Q
from pydantic import BaseModel, Field

from catalog.aspects.facet_fields import PLATFORM
from catalog.protocols import search_filters
from catalog.protocols.datahub_rest import request_bodies
from catalog.protocols.policy_filters import POLICY_FIELDS
from catalog.protocols.search_filters import MAX_CRITERIA, ColumnFilter, FacetFilter, FieldFilter
from policies.aspects.schemas import POLICY
from policies.engine import selectors
from policies.engine.model import Actor

_REMOVED_FIELD = "removed"

_FIELDS: Mapping[str, FieldFilter] = {
    "container": FacetFilter(selectors.CONTAINER),
    "dataPlatformInstance": FacetFilter(selectors.DATA_PLATFORM_INSTANCE),
    "domains": FacetFilter(selectors.DOMAIN),
    "glossaryTerms": FacetFilter(selectors.GLOSSARY),
    "name": ColumnFilter("name"),
    "owners": FacetFilter(selectors.OWNER),
    "platform": FacetFilter(PLATFORM),
    _REMOVED_FIELD: ColumnFilter("is_removed", search_filters.BOOLEAN_WORDS),
    "tags": FacetFilter(selectors.TAG),
    "urn": ColumnFilter("urn"),
}


class _Criterion(BaseModel):
    field: str
    condition: str | None = None
    values: list[str] | None = None
    value: str | None = None
    negated: bool | None = None


class _Alternative(BaseModel):
    criteria: Annotated[list[_Criterion], Field(alias="and", max_length=MAX_CRITERIA)]


class _FilterBody(BaseModel):
    alternatives: Annotated[list[_Alternative], Field(alias="or", max_length=MAX_CRITERIA)]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as a condition on entities; `includes_removed` if it tests `removed`, so that they are searched."""

    condition: Q
    includes_removed: bool


def match_all(*, with_removed: bool) -> Filter:
    """Return the filter that matches every entity."""
    return Filter(Q(), with_removed)


def parse(value: Any, pointer: str, *, by: Actor, types: Collection[str] = ()) -> Filter | None:
    """Return the filter, None if there is none; a facet value that the caller may not view matches no entity.

    A search of policies alone has their fields, every other one those of entities.
    No alternatives, or one without criteria, match everything. Raises Invalid for unknown fields and conditions.
    """
    if value is None:
        return None
    alternatives = request_bodies.parse_model(_FilterBody, value, pointer).model_dump(by_alias=True)["or"]
    filters_by_field = POLICY_FIELDS if set(types) == {POLICY} else search_filters.bind_filters(_FIELDS, by)
    condition = search_filters.build_condition(alternatives, filters_by_field, pointer=f"{pointer}/or")
    return Filter(condition, _REMOVED_FIELD in search_filters.field_names(alternatives))
