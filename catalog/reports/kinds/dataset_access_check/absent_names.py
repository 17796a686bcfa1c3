"""Names in assertions that nothing has: a misspelt group or domain would make a claim that nothing can break.

A name that may be absent says so (`may_be_absent: true`); any other is a failure of its claim.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from catalog.reports.snapshot.partition_facts import PartitionFacts
from policies.engine import selectors
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion, Selector

#: Facets whose values are no names of entities, or are entities themselves.
_TYPE_FIELDS, _ENTITY_FIELDS = frozenset({selectors.TYPE}), frozenset({selectors.URN})

#: What every installation has: the two accounts and the three roles that are there from the start.
_BUILT_IN = frozenset(
    {
        *("urn:li:corpuser:datahub", "urn:li:corpuser:__datahub_system"),
        *("urn:li:dataHubRole:Admin", "urn:li:dataHubRole:Editor", "urn:li:dataHubRole:Reader"),
    }
)


class SoughtName(NamedTuple):
    """A name of a claim; `field` is the facet that it is a value of, "" for people and entities."""

    claim_index: int
    field: str
    value: str


def list_sought(
    assertions: Sequence[Mapping[str, Any]], actors: Iterable[Actor], roles: Mapping[str, frozenset[str]]
) -> list[SoughtName]:
    """Return the names of assertions.json that are neither a person nor a group or role of one, each once."""
    held_names = _BUILT_IN.union(roles, *roles.values(), *(actor.tokens for actor in actors))
    names = (
        name
        for index, assertion in enumerate(assertions)
        if not assertion.get("may_be_absent")
        for name in _iterate_names(index, assertion)
    )
    return list(dict.fromkeys(name for name in names if name.value not in held_names))


def find_present(facts: PartitionFacts, sought_names: Iterable[SoughtName]) -> Iterator[SoughtName]:
    """Yield the names that an entity of a partition has, or that one of its facets has as a value."""
    for name in sought_names:
        is_entity = facts.postings.number(name.value) is not None
        if is_entity or (name.field and facts.postings.find_extent(_select(name))):
            yield name


def describe_absence(name: SoughtName) -> str:
    """Return the sentence about a name that nothing has."""
    is_held = name.value.startswith(("urn:li:corpGroup:", "urn:li:dataHubRole:"))
    reason = "nobody is in it or holds it" if is_held else "nothing has this name"
    return f"There is no {name.value}: {reason}. If that is meant, say `may_be_absent: true`."


def _iterate_names(index: int, assertion: Mapping[str, Any]) -> Iterator[SoughtName]:
    yield from (SoughtName(index, "", holder) for holder in assertion["holders"])
    for criterion in assertion["on"]:
        if criterion["field"] in _TYPE_FIELDS or criterion["condition"] == Condition.STARTS_WITH:
            continue
        field = "" if criterion["field"] in _ENTITY_FIELDS else criterion["field"]
        yield from (SoughtName(index, field, value) for value in criterion["values"])
    for answer in assertion["expected"]:
        if not answer.get("may_be_absent"):
            names = (answer["actor"], answer["entity"])
            yield from (SoughtName(index, "", name) for name in names if name)


def _select(name: SoughtName) -> Selector:
    return Selector((Criterion(name.field, Condition.EQUALS, frozenset((name.value,))),))
