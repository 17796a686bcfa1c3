"""`exports.json`: the exports of grants, their formats and the mapping of their names."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from catalog.warehouses.files.file_patterns import find_pattern_problem
from catalog.warehouses.levels import LEVELS
from catalog.warehouses.registry import list_dialects, list_warehouses
from catalog.warehouses.warehouse import ADDED_FILES, FILE_KEYS, BadExports, Export

EXPORTS_FILE = "exports.json"

#: Maximum number of privileges of a form: one bit each of a 64 bit number.
_MAX_PRIVILEGES = 62
_SPELLINGS = ("upper", "lower", "exact")


def parse_exports(text: str) -> tuple[Export, ...]:
    """Return the exports of the text of `exports.json`. Raises BadExports."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadExports(f"{EXPORTS_FILE} is no JSON: {error}.") from error
    entries = document.get("exports") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise BadExports(f'{EXPORTS_FILE} has to hold {{"exports": […]}} with one export or more.')
    problems: list[str] = []
    exports = [
        export for index, entry in enumerate(entries) if (export := _parse_export(entry, f"exports/{index}", problems))
    ]
    problems += _find_clashes(exports)
    if problems:
        raise BadExports(f"{EXPORTS_FILE}: {' '.join(problems)}")
    return tuple(exports)


def _parse_export(entry: Any, pointer: str, problems: list[str]) -> Export | None:
    if not isinstance(entry, dict):
        problems.append(f"{pointer} is no object.")
        return None
    entry = {**entry, **{key: [entry[key]] for key in ADDED_FILES if isinstance(entry.get(key), str)}}
    problem_count = len(problems)
    problems += [f"{pointer} has an unknown key {key!r}." for key in entry if key not in _TYPES]
    for key, value_type in _TYPES.items():
        type_label, is_valid = _SHAPES[value_type]
        if key in entry and not is_valid(entry[key]):
            problems.append(f"{pointer}/{key} has to be {type_label}.")
    problems += [f"{pointer}/{key} is missing." for key in ("name", "platform", "form", "grants") if not entry.get(key)]
    if len(problems) > problem_count:
        return None
    problems += [*_find_unknown_values(entry, pointer), *_find_bad_patterns(entry, pointer)]
    return _build_export(entry) if len(problems) == problem_count else None


def _find_unknown_values(entry: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Yield a sentence for each value that nothing can have, and for too many privileges."""
    warehouses = list_warehouses()
    choices_by_key = (("form", tuple(warehouses)), ("dialect", (*list_dialects(), "")), ("spelling", _SPELLINGS))
    for key, choices in choices_by_key:
        if key in entry and entry[key] not in choices:
            yield f"{pointer}/{key} has to be one of {', '.join(choice or 'nothing' for choice in choices)}."
    for key in ("platform", "env"):
        if "," in entry.get(key, ""):
            yield f"{pointer}/{key} has a comma, as in no URN of a dataset."
    for name, level in entry.get("levels", {}).items():
        if level.upper() not in LEVELS:
            yield f"{pointer}/levels/{name} has to be one of {', '.join(LEVELS)}."
    most_privileges = max(len(warehouse.privileges) for warehouse in warehouses.values())
    if len(entry.get("levels", {})) + most_privileges > _MAX_PRIVILEGES:
        yield f"{pointer}/levels names too many privileges; there can be {_MAX_PRIVILEGES} in all."


def _find_bad_patterns(entry: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Yield a sentence for each pattern of files that may lead out of the folder."""
    for key in FILE_KEYS:
        for index, pattern in enumerate(entry.get(key, ())):
            if problem := find_pattern_problem(pattern):
                yield f"{pointer}/{key}/{index} {problem}"


def _build_export(entry: Mapping[str, Any]) -> Export:
    warehouse, dialects = list_warehouses()[entry["form"]], list_dialects()
    usual_dialect = warehouse.dialect.name if warehouse.dialect else entry["platform"]
    dialect = dialects.get(entry.get("dialect", usual_dialect))
    defaults: dict[str, Any] = {
        "spelling": warehouse.spelling,
        "has_groups": warehouse.has_groups,
        "owner": dialect.owner if dialect else "",
    }
    arguments = {**defaults, **{key: value for key, value in entry.items() if key != "form"}}
    arguments |= {key: tuple(value) for key, value in arguments.items() if isinstance(value, list)}
    arguments["levels"] = {name: LEVELS[level.upper()] for name, level in arguments.get("levels", {}).items()}
    return Export(warehouse=warehouse, **arguments | {"dialect": dialect})


def _find_clashes(exports: Iterable[Export]) -> Iterable[str]:
    """Yield a sentence for each pair of exports with one name or with datasets in common."""
    earlier_exports: list[Export] = []
    for export in exports:
        for other_export in earlier_exports:
            if export.name == other_export.name:
                yield f"Two exports are called {export.name}."
            is_same_platform = (export.platform, export.env) == (other_export.platform, other_export.env)
            if is_same_platform and (
                export.instance == other_export.instance or not export.instance or not other_export.instance
            ):
                names = f"{other_export.name} and {export.name}"
                yield f"{names} are both of {export.platform}, {export.env}: give each its own instance."
        earlier_exports.append(export)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(item, str) for item in values)


#: How each type of an attribute is written in JSON: a phrase, and the check.
_SHAPES: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    tuple[str, ...]: ("a list of texts", lambda value: isinstance(value, list) and _are_texts(value)),
    **dict.fromkeys(
        (Mapping[str, str], Mapping[str, int]),
        ("an object of texts", lambda value: isinstance(value, dict) and _are_texts(value.values())),
    ),
}
#: The keys of an export, with the types of their values: a warehouse and a dialect are said by their names.
_TYPES: Mapping[str, Any] = {
    "form" if attribute.name == "warehouse" else attribute.name: attribute.type if attribute.type in _SHAPES else str
    for attribute in fields(Export)
}
