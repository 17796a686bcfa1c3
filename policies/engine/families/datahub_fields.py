"""The fields of a dataHubPolicyInfo document that are evaluated here, and the unknown fields of a document.

An unknown field may narrow the policy (a deny, an exclusion, an end). A document that has one therefore grants nothing:
it is refused from our own clients, and stored as INACTIVE when it arrives through DataHub's protocols.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems, quote
from policies.engine.families.document_reader import JsonValue, escape

#: Both spellings of the constraints on sub-resources are read; the first one is written.
CONSTRAINTS, OLDER_CONSTRAINTS = "privilegeConstraints", "policyConstraints"

#: What our documents say beyond source 001 (api-next.md section 1): the effect of a policy, the time in which it
#: counts, and whom it never reaches. The lists of actors have the prefix of their URNs.
EFFECT, VALID_FROM, VALID_UNTIL = "effect", "validFrom", "validUntil"
EXCLUDED_ACTOR_LISTS = {
    "excludedUsers": "urn:li:corpuser:",
    "excludedGroups": "urn:li:corpGroup:",
    "excludedRoles": "urn:li:dataHubRole:",
}
EXCLUDED_OWNER_TYPES = "excludedResourceOwnersTypes"

#: Our own fields at the top and in `actors`. A program that does not know them leaves them out of what it writes.
OWN_FIELDS = (EFFECT, "validFrom", "validUntil")
OWN_ACTOR_FIELDS = (*EXCLUDED_ACTOR_LISTS, EXCLUDED_OWNER_TYPES)

#: Source 001, with the constraints of source 000 and our own fields.
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
        EFFECT,
        VALID_FROM,
        VALID_UNTIL,
    }
)
ACTOR_FIELDS = frozenset(
    {
        "users",
        "groups",
        "roles",
        "resourceOwners",
        "resourceOwnersTypes",
        "allUsers",
        "allGroups",
        *EXCLUDED_ACTOR_LISTS,
        EXCLUDED_OWNER_TYPES,
    }
)
RESOURCE_FIELDS = frozenset({"type", "resources", "allResources", "filter", CONSTRAINTS, OLDER_CONSTRAINTS})
FILTER_FIELDS = frozenset({"criteria"})
CRITERION_FIELDS = frozenset({"field", "condition", "values"})

#: In the published schema and not evaluated here; an empty value does not narrow the criterion.
_EMPTY_ONLY_FIELD = "structuredPropertyValues"

UNKNOWN_FIELD_CODE = "field.unknown"


def list_unknown_fields(document: Mapping[str, JsonValue]) -> tuple[Problem, ...]:
    """Return a problem for each unknown field, with its JSON pointer, up to MAX_PROBLEMS."""
    unknown_fields = islice(_iterate_unknown_fields(document), MAX_PROBLEMS + 1)
    return limit_problems(
        [
            Problem(UNKNOWN_FIELD_CODE, f"{pointer}/{escape(key)}", f"There is no field {quote(key)} here.")
            for pointer, key in unknown_fields
        ]
    )


def has_unknown_fields(document: Mapping[str, JsonValue]) -> bool:
    """Whether a document has an unknown field."""
    return next(_iterate_unknown_fields(document), None) is not None


def without_unknown_fields(document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the evaluated part of a document; the document itself if it has no unknown field."""
    if not has_unknown_fields(document):
        return document
    evaluated_document = _select_keys(document, POLICY_FIELDS)
    if isinstance(actors := evaluated_document.get("actors"), dict):
        evaluated_document["actors"] = _select_keys(actors, ACTOR_FIELDS)
    if isinstance(block := evaluated_document.get("resources"), dict):
        evaluated_document["resources"] = evaluated_block = _select_keys(block, RESOURCE_FIELDS)
        for name in _FILTER_NAMES & evaluated_block.keys():
            if isinstance(evaluated_block[name], dict):
                evaluated_block[name] = _select_filter_keys(evaluated_block[name])
    return evaluated_document


def keep_own_fields(
    document: Mapping[str, Any], stored_document: Mapping[str, Any], *, removed_paths: Collection[tuple[str, ...]] = ()
) -> dict[str, Any]:
    """Return a document with those of our own fields that it leaves out as they are stored: it must not widen access.

    A field that is null is not left out, and one of `removed_paths` was removed by name.
    """
    removed_names = {path[0] for path in removed_paths if len(path) == 1}
    kept_document = _keep_keys(document, stored_document, set(OWN_FIELDS) - removed_names)
    actors, stored_actors = document.get("actors"), stored_document.get("actors")
    if isinstance(actors, dict) and isinstance(stored_actors, dict):
        removed_names = {path[1] for path in removed_paths if path[0] == "actors" and len(path) == 2}
        kept_document["actors"] = _keep_keys(actors, stored_actors, set(OWN_ACTOR_FIELDS) - removed_names)
    return kept_document


_FILTER_NAMES = frozenset({"filter", CONSTRAINTS, OLDER_CONSTRAINTS})


def _iterate_unknown_fields(document: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    """Yield the parent's pointer and the name of every unknown field; parts that are not objects are skipped."""
    yield from _iterate_unknown_keys(document, POLICY_FIELDS, "")
    yield from _iterate_unknown_keys(document.get("actors"), ACTOR_FIELDS, "/actors")
    block = document.get("resources")
    if not isinstance(block, dict):
        return
    yield from _iterate_unknown_keys(block, RESOURCE_FIELDS, "/resources")
    for name in ("filter", CONSTRAINTS, OLDER_CONSTRAINTS):
        filter_block = block.get(name)
        if not isinstance(filter_block, dict):
            continue
        pointer = f"/resources/{name}"
        yield from _iterate_unknown_keys(filter_block, FILTER_FIELDS, pointer)
        criteria = filter_block.get("criteria")
        for index, criterion in enumerate(criteria if isinstance(criteria, list) else ()):
            for unknown_key in _iterate_unknown_keys(criterion, CRITERION_FIELDS, f"{pointer}/criteria/{index}"):
                if unknown_key[1] != _EMPTY_ONLY_FIELD or criterion[_EMPTY_ONLY_FIELD]:
                    yield unknown_key


def _iterate_unknown_keys(value: JsonValue, known_keys: frozenset[str], pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and not known_keys.issuperset(value):
        yield from ((pointer, key) for key in value if key not in known_keys)


def _select_keys(value: Mapping[str, JsonValue], known_keys: Collection[str]) -> dict[str, Any]:
    return {key: member for key, member in value.items() if key in known_keys}


def _keep_keys(value: Mapping[str, Any], stored_value: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    kept_keys = {key: member for key, member in stored_value.items() if key in keys and key not in value}
    return {**value, **kept_keys}


def _select_filter_keys(filter_block: Mapping[str, JsonValue]) -> dict[str, Any]:
    evaluated_filter = _select_keys(filter_block, FILTER_FIELDS)
    if isinstance(criteria := evaluated_filter.get("criteria"), list):
        evaluated_filter["criteria"] = [
            _select_keys(criterion, CRITERION_FIELDS) if isinstance(criterion, dict) else criterion
            for criterion in criteria
        ]
    return evaluated_filter
