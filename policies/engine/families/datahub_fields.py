"""The fields of a dataHubPolicyInfo document that are evaluated here, and those of a document that are not.

A field that nobody evaluates may be one that narrows the policy (a deny, an exclusion, an end). A document that holds
one therefore grants nothing: own clients are refused, and what DataHub's protocols deliver is stored as INACTIVE.
"""

from collections.abc import Collection, Iterator, Mapping, Set
from itertools import islice
from typing import Any

from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems, quote
from policies.engine.families.document_reader import Json, escape

#: The older spelling of the constraints on sub-resources is read; the first one is written.
CONSTRAINTS, OLDER_CONSTRAINTS = "privilegeConstraints", "policyConstraints"

#: Source 001, with the constraints of source 000.
POLICY_FIELDS = frozenset(
    {
        "displayName",
        "description",
        "type",
        "state",
        "resources",
        "privileges",
        "actors",
        "editable",
        "lastUpdatedTimestamp",
    }
)
ACTOR_FIELDS = frozenset({"users", "groups", "roles", "resourceOwners", "resourceOwnersTypes", "allUsers", "allGroups"})
RESOURCE_FIELDS = frozenset({"type", "resources", "allResources", "filter", CONSTRAINTS, OLDER_CONSTRAINTS})
FILTER_FIELDS = frozenset({"criteria"})
CRITERION_FIELDS = frozenset({"field", "condition", "values"})

#: In the published schema and not evaluated here; without a value it says nothing.
_EMPTY_ONLY = "structuredPropertyValues"

CODE = "field.unknown"


def list_unknown(document: Mapping[str, Json]) -> tuple[Problem, ...]:
    """Return a problem for each field that is not evaluated, with its JSON pointer; of very many the first."""
    found = islice(_walk(document), MAX_PROBLEMS + 1)
    return limit_problems(
        [Problem(CODE, f"{place}/{escape(key)}", f"There is no field {quote(key)} here.") for place, key in found]
    )


def has_unknown(document: Mapping[str, Json]) -> bool:
    """Whether a document holds a field that is not evaluated."""
    return next(_walk(document), None) is not None


def without_unknown(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the part of a document that is evaluated; the document itself when that is all of it."""
    if not has_unknown(document):
        return document
    found = _only(document, POLICY_FIELDS)
    if isinstance(actors := found.get("actors"), dict):
        found["actors"] = _only(actors, ACTOR_FIELDS)
    if isinstance(block := found.get("resources"), dict):
        found["resources"] = kept = _only(block, RESOURCE_FIELDS)
        for name in _FILTERS & kept.keys():
            if isinstance(kept[name], dict):
                kept[name] = _filter_only(kept[name])
    return found


_FILTERS = frozenset({"filter", CONSTRAINTS, OLDER_CONSTRAINTS})


def _walk(document: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of every unknown field; parts of another shape than an object are passed over."""
    yield from _strangers(document, POLICY_FIELDS, "")
    yield from _strangers(document.get("actors"), ACTOR_FIELDS, "/actors")
    block = document.get("resources")
    if not isinstance(block, dict):
        return
    yield from _strangers(block, RESOURCE_FIELDS, "/resources")
    for name in ("filter", CONSTRAINTS, OLDER_CONSTRAINTS):
        match = block.get(name)
        if not isinstance(match, dict):
            continue
        place = f"/resources/{name}"
        yield from _strangers(match, FILTER_FIELDS, place)
        criteria = match.get("criteria")
        for index, criterion in enumerate(criteria if isinstance(criteria, list) else ()):
            for found in _strangers(criterion, CRITERION_FIELDS, f"{place}/criteria/{index}"):
                if found[1] != _EMPTY_ONLY or criterion[_EMPTY_ONLY]:
                    yield found


def _strangers(value: Json, known: Set[str], place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and not value.keys() <= known:
        yield from ((place, key) for key in value if key not in known)


def _only(value: Mapping[str, Json], known: Collection[str]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if key in known}


def _filter_only(match: Mapping[str, Json]) -> dict[str, Any]:
    found = _only(match, FILTER_FIELDS)
    if isinstance(criteria := found.get("criteria"), list):
        found["criteria"] = [_only(one, CRITERION_FIELDS) if isinstance(one, dict) else one for one in criteria]
    return found
