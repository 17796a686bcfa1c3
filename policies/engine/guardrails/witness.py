"""Witnesses: an entity that meets criteria and avoids denies, if any catalog could hold one.

What an entity carries is free: any tags, owners and domains, which nothing forbids. Its type and its URN have one value
each, and its URN names its type; an entity that is itself a value of a hierarchy has itself there.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from policies.engine.families import vocabulary
from policies.engine.selectors import OWN_FIELDS, OWNER, TYPE, URN, Condition, Criterion, Owner, Resource

#: Most entities that are tried while denies are avoided; then it stays undecided.
_MAX_TRIES = 2_000

#: The type that an example has where nothing says another.
_USUAL_TYPE = "dataset"

_FRESH_NAMES = ("example", "another-example", "~example")


class Undecided(Exception):
    """The denies are too many or of a kind that is not decided here."""


@dataclass(slots=True)
class _FieldDemand:
    """What the values of one field must be: one of each list, one with a beginning of each, and none of some."""

    choices: list[frozenset[str]] = field(default_factory=list)
    beginnings: list[tuple[str, ...]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)
    forbidden_beginnings: tuple[str, ...] = ()

    def add(self, criterion: Criterion, *, is_negated: bool) -> None:
        """Add a criterion, or that it fails."""
        condition, values = criterion.condition, criterion.values
        if condition is Condition.STARTS_WITH:
            if is_negated:
                self.forbidden_beginnings += tuple(values)
            else:
                self.beginnings.append(tuple(sorted(values)))
        elif (condition is Condition.EQUALS) != is_negated:
            self.choices.append(values)
        else:
            self.forbidden |= values

    def accepts(self, value: str) -> bool:
        """Whether nothing forbids a value."""
        return value not in self.forbidden and not value.startswith(self.forbidden_beginnings or ("\0",))

    def find_values(self) -> frozenset[str] | None:
        """Return values for a field that may have many; None if there are none that fit."""
        found_values = set()
        for choice in self.choices:
            value = next((value for value in sorted(choice) if self.accepts(value)), None)
            if value is None:
                return None
            found_values.add(value)
        for beginnings in self.beginnings:
            candidates = (f"{start}{name}" for start in beginnings for name in ("", *_FRESH_NAMES))
            value = next((value for value in candidates if value and self.accepts(value)), None)
            if value is None:
                return None
            found_values.add(value)
        return frozenset(found_values)

    def list_single_values(self) -> Iterator[str] | None:
        """Return the values that a field with one value can have; None if any can that is not forbidden."""
        if self.choices:
            values = frozenset.intersection(*self.choices)
            return (value for value in sorted(values) if self.accepts(value) and self._has_beginnings(value))
        return None

    def _has_beginnings(self, value: str) -> bool:
        return all(value.startswith(beginnings) for beginnings in self.beginnings)

    def is_fitting(self, value: str) -> bool:
        """Whether a field with this one value meets all demands."""
        return self.accepts(value) and self._has_beginnings(value) and all(value in choice for choice in self.choices)


def find_resource(
    criteria: Iterable[Criterion],
    *,
    failing: Iterable[Criterion] = (),
    fields: Collection[str] = (),
    owner: Owner | None = None,
) -> Resource | None:
    """Return an entity that meets all criteria and fails those of `failing`; None if no catalog could hold one.

    It has a facet for each of `fields`, too, empty if nothing demands a value. `owner` owns it.
    """
    demands = _collect_demands(criteria, failing, owner)
    facets: dict[str, frozenset[str]] = dict.fromkeys(fields, frozenset())
    for name, demand in demands.items():
        if name not in (TYPE, URN):
            values = demand.find_values()
            if values is None:
                return None
            facets[name] = values
    type_demand, urn_demand = demands.get(TYPE, _FieldDemand()), demands.get(URN, _FieldDemand())
    owners = frozenset(Owner(urn, "") for urn in facets.get(OWNER, ()) if owner is None or urn != owner.actor)
    owners |= frozenset() if owner is None else {owner}
    for type_name, urn in _list_identities(type_demand, urn_demand):
        own_field = OWN_FIELDS.get(type_name)
        own_facets = {} if own_field is None else {own_field: facets.get(own_field, frozenset()) | {urn}}
        if own_field is None or demands.get(own_field, _FieldDemand()).accepts(urn):
            return Resource(urn, type_name, facets | own_facets, owners)
    return None


def find_undenied(
    criteria: Sequence[Criterion],
    denies: Sequence[Sequence[Criterion]],
    *,
    fields: Collection[str] = (),
    owner: Owner | None = None,
) -> Resource | None:
    """Return an entity that meets all criteria and that none of the denies covers; None if there can be none.

    A deny covers what meets all its criteria. Raises Undecided after too many tries.
    """
    pending: list[tuple[Criterion, ...]] = [()]
    tries = 0
    while pending:
        failing = pending.pop()
        tries += 1
        if tries > _MAX_TRIES:
            raise Undecided
        resource = find_resource(criteria, failing=failing, fields=fields, owner=owner)
        if resource is None:
            continue
        deny = next((deny for deny in denies if _is_covered(deny, resource)), None)
        if deny is None:
            return resource
        pending.extend((*failing, criterion) for criterion in deny)
    return None


def _collect_demands(
    criteria: Iterable[Criterion], failing: Iterable[Criterion], owner: Owner | None
) -> dict[str, _FieldDemand]:
    demands: dict[str, _FieldDemand] = {}
    for is_negated, items in ((False, criteria), (True, failing)):
        for criterion in items:
            demands.setdefault(criterion.field, _FieldDemand()).add(criterion, is_negated=is_negated)
    if owner is not None:
        demands.setdefault(OWNER, _FieldDemand()).choices.append(frozenset({owner.actor}))
    return demands


def is_surely_met(criteria: Iterable[Criterion], other: Criterion) -> bool:
    """Whether whatever meets all criteria surely meets the other one; false where that is not seen."""
    return any(criterion.field == other.field and _is_stronger(criterion, other) for criterion in criteria)


def _is_stronger(criterion: Criterion, other: Criterion) -> bool:
    if criterion.condition is Condition.STARTS_WITH:
        return other.condition is Condition.STARTS_WITH and all(
            value.startswith(tuple(other.values)) for value in criterion.values
        )
    if criterion.condition is Condition.EQUALS and other.condition is Condition.STARTS_WITH:
        return all(value.startswith(tuple(other.values)) for value in criterion.values)
    if criterion.condition is not other.condition:
        return False
    is_equality = criterion.condition is Condition.EQUALS
    return criterion.values <= other.values if is_equality else other.values <= criterion.values


def _is_covered(deny: Sequence[Criterion], resource: Resource) -> bool:
    return all(criterion.holds(_values(resource, criterion.field)) for criterion in deny)


def _values(resource: Resource, name: str) -> frozenset[str]:
    return resource.values(name) if name in (TYPE, URN) else resource.facets.get(name, frozenset())


def _list_identities(type_demand: _FieldDemand, urn_demand: _FieldDemand) -> Iterator[tuple[str, str]]:
    """Yield pairs of a type and a URN that names it, as far as they have to be tried."""
    urns = urn_demand.list_single_values()
    if urns is not None:
        yield from ((name, urn) for urn in urns if (name := _type_of(urn)) and type_demand.is_fitting(name))
        return
    types = type_demand.list_single_values()
    type_names = _list_types(type_demand) if types is None else types
    for name in type_names:
        for urn in islice(_invent_urns(name, urn_demand), 1):
            yield name, urn


def _list_types(demand: _FieldDemand) -> Iterator[str]:
    names = (_USUAL_TYPE, *sorted(vocabulary.load_datahub().resource_types))
    yield from (name for name in names if demand.is_fitting(name))


def _invent_urns(type_name: str, demand: _FieldDemand) -> Iterator[str]:
    start = f"urn:li:{type_name}:"
    stems = {start}
    for beginnings in demand.beginnings:
        stems = {
            max(stem, beginning, key=len)
            for stem in stems
            for beginning in beginnings
            if stem.startswith(beginning) or beginning.startswith(stem)
        }
    for stem in sorted(stems):
        for name in _FRESH_NAMES:
            urn = _complete_urn(stem, type_name, name)
            if urn.startswith(stem) and demand.is_fitting(urn):
                yield urn


def _complete_urn(stem: str, type_name: str, name: str) -> str:
    if type_name != _USUAL_TYPE or stem.endswith(")"):
        return f"{stem}{name}"
    if stem == f"urn:li:{_USUAL_TYPE}:":
        return f"{stem}(urn:li:dataPlatform:example,{name},PROD)"
    return f"{stem}{name},PROD)"


def _type_of(urn: str) -> str:
    parts = urn.split(":", 3)
    return parts[2] if len(parts) == 4 and urn.startswith("urn:li:") else ""
