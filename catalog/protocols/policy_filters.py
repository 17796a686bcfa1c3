"""Filters of searches for policies: every field that source 001 marks as searchable, in every protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from catalog.protocols.search_filters import BOOLEAN_WORDS, ColumnFilter, FieldFilter
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.models import PolicyFacet
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX

_TIME_LOOKUPS = {
    "GREATER_THAN": "gt",
    "GREATER_THAN_OR_EQUAL_TO": "gte",
    "LESS_THAN": "lt",
    "LESS_THAN_OR_EQUAL_TO": "lte",
}
#: The last year of Python's calendar, in milliseconds since 1970.
_MAX_MILLISECONDS = 253_370_764_800_000


@dataclass(frozen=True, slots=True)
class TermFilter:
    """A filter on what a policy names: one of these values, EXISTS any; all of them begin with `prefix`."""

    field: PolicyFacet.Field
    prefix: str = ""

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that terms do not support."""
        if condition == "EXISTS":
            return _build_clause(self.field, Q(value__startswith=self.prefix))
        if condition not in ("EQUAL", "IN"):
            return None
        terms = [value for value in filter_storable(values) if value.startswith(self.prefix)]
        return _build_clause(self.field, Q(value__in=terms))


@dataclass(frozen=True, slots=True)
class FlagFilter:
    """A filter on whether a policy speaks to everybody, or to everybody in a group."""

    token: str

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that flags do not support."""
        if condition not in ("EQUAL", "IN"):
            return None
        clause, is_set = Q(pk__in=[]), _build_clause(PolicyFacet.Field.ACTOR, Q(value=self.token))
        for is_wanted in {BOOLEAN_WORDS[value] for value in map(str.lower, values) if value in BOOLEAN_WORDS}:
            clause |= is_set if is_wanted else ~is_set
        return clause


@dataclass(frozen=True, slots=True)
class TimeFilter:
    """A filter on a time; clients send milliseconds since 1970."""

    name: str

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that times do not support."""
        if condition not in (*_TIME_LOOKUPS, "EQUAL", "IN", "EXISTS"):
            return None
        if condition == "EXISTS":
            return Q(**{f"{self.name}__isnull": False})
        clause = Q(pk__in=[])
        for moment in filter(None, map(_parse_milliseconds, values)):
            if condition in _TIME_LOOKUPS:
                clause |= Q(**{f"{self.name}__{_TIME_LOOKUPS[condition]}": moment})
            else:
                # Clients know no part of a millisecond.
                end = moment + timedelta(milliseconds=1)
                clause |= Q(**{f"{self.name}__gte": moment, f"{self.name}__lt": end})
        return clause


#: Field of `dataHubPolicyInfo` → its filter.
POLICY_FIELDS: Mapping[str, FieldFilter] = {
    "urn": ColumnFilter("urn"),
    "name": ColumnFilter("name"),
    "displayName": ColumnFilter("name"),
    "description": ColumnFilter("description"),
    "type": ColumnFilter("type"),
    "state": ColumnFilter("state"),
    "privileges": TermFilter(PolicyFacet.Field.PRIVILEGE),
    "users": TermFilter(PolicyFacet.Field.ACTOR, USER_PREFIX),
    "groups": TermFilter(PolicyFacet.Field.ACTOR, GROUP_PREFIX),
    "roles": TermFilter(PolicyFacet.Field.ACTOR, ROLE_PREFIX),
    "allUsers": FlagFilter(EVERYONE),
    "allGroups": FlagFilter(IN_ANY_GROUP),
    "editable": ColumnFilter("is_editable", BOOLEAN_WORDS),
    "lastUpdatedTimestamp": TimeFilter("updated_at"),
}


def _build_clause(field: PolicyFacet.Field, condition: Q) -> Q:
    return Q(Exists(PolicyFacet.objects.filter(condition, policy=OuterRef("pk"), field=field)))


def _parse_milliseconds(text: str) -> datetime | None:
    milliseconds = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    if milliseconds is None or milliseconds > _MAX_MILLISECONDS:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
