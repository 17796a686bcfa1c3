"""JSON patches as DataHub's clients write them: a list of operations, or an object that also says how arrays are keyed.

Arrays that have keys are addressed by the values of the keys, never by index: `/owners/urn:li:corpuser:jo/DATAOWNER`.
A key that an entry does not have is an empty step, and a path that ends among the keys means every entry below it. Only
add, replace and remove are known; what is not there is removed already, since clients repeat themselves.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from catalog import errors
from catalog.aspects import register
from catalog.ingest.json_patch.keyed_arrays import ArrayKeys, Impossible, Keyed, Place
from catalog.ingest.json_patch.lineage import KEYS as LINEAGE_KEYS
from catalog.ingest.json_patch.lineage import Lineages
from policies.engine.errors import MAX_PROBLEMS, Problem

#: What joins the steps of a nested path in the names of keys.
SEPARATOR = "\u241f"

#: Most steps of a path: as deep as a document may be.
_LONGEST_PATH = 100

#: Most operations of one patch: each walks down the document.
MAX_OPERATIONS = 20_000

_OPERATIONS = ("add", "replace", "remove")

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One change: the steps of its path are undone of their escapes, `value` counts for add and replace."""

    name: str
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations in order, and the keys of arrays by their place (the names of the fields that lead there)."""

    operations: tuple[Operation, ...]
    keys: Mapping[Place, ArrayKeys]

    def applied_to(self, document: Document, stamp: Mapping[str, Any]) -> Document:
        """Return the document as it is after all operations; `stamp` says who patches and when.

        Raises Impossible, naming the operation that is.
        """
        tree: Document = dict(document)
        made = {place: blank(aspect, stamp) for place, aspect in _EMBEDDED.items()}
        for position, operation in enumerate(self.operations):
            try:
                _apply(tree, operation, self.keys, made)
            except Impossible as error:
                raise Impossible(f"Operation {position}: {error}") from None
        return dict(_plain(tree))


def read(aspect: str, text: object) -> tuple[Patch | None, list[Problem]]:
    """Return the patch of an aspect that a text holds and no problem, or None and every problem of its form."""
    body, problems = register.parse(text)
    if problems:
        return None, problems
    if isinstance(body, list):
        body = {"patch": body}
    if not isinstance(body, dict) or not isinstance(body.get("patch"), list):
        detail = "A patch is a list of operations, or an object with one under `patch`."
        return None, [Problem(errors.PATCH, "", detail)]
    if len(body["patch"]) > MAX_OPERATIONS:
        detail = f"A patch has up to {MAX_OPERATIONS} operations, not {len(body['patch'])}."
        return None, [Problem("list.too_long", "/patch", detail)]
    given, problems = _read_keys(body.get("arrayPrimaryKeys"))
    operations, wrong = _read_operations(body["patch"])
    problems += wrong
    if problems:
        return None, problems
    return Patch(tuple(operations), {**DEFAULT_KEYS.get(aspect, {}), **given}), []


def blank(aspect: str, stamp: Mapping[str, Any]) -> Document:
    """Return what the patch of an aspect that is not there begins with; `stamp` says who patches and when."""
    found: Document = json.loads(_BLANKS.get(aspect, "{}"))
    if aspect in _STAMPED:
        found[_STAMPED[aspect]] = dict(stamp)
    return found


def _read_keys(found: Any) -> tuple[dict[Place, ArrayKeys], list[Problem]]:
    place = "/arrayPrimaryKeys"
    if found is None:
        return {}, []
    if not isinstance(found, dict):
        return {}, [Problem(errors.PATCH, place, "This is an object: field, and the names of its keys.")]
    keys: dict[Place, ArrayKeys] = {}
    for name, listed in found.items():
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            return {}, [Problem(errors.PATCH, place + errors.pointer([name]), "This is a list of names of keys.")]
        keys[tuple(name.split(SEPARATOR))] = tuple(tuple(one.split(SEPARATOR)) for one in listed)
    return keys, []


def _read_operations(entries: list[Any]) -> tuple[list[Operation], list[Problem]]:
    """Return the operations of a patch, and what is wrong with them up to MAX_PROBLEMS problems."""
    operations: list[Operation] = []
    problems: list[Problem] = []
    for position, entry in enumerate(entries):
        found = _read_operation(entry, f"/patch/{position}")
        if not isinstance(found, Problem):
            operations.append(found)
            continue
        problems.append(found)
        if len(problems) > MAX_PROBLEMS:
            break
    return operations, problems


def _read_operation(entry: Any, place: str) -> Operation | Problem:
    if not isinstance(entry, dict):
        return Problem(errors.PATCH, place, "An operation is a JSON object.")
    name, path = entry.get("op"), entry.get("path")
    if name not in _OPERATIONS:
        return Problem(errors.PATCH, f"{place}/op", f"This is one of {', '.join(_OPERATIONS)}.")
    if not isinstance(path, str) or not path.startswith("/"):
        return Problem(errors.PATCH, f"{place}/path", "A path is text that begins with a slash.")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))
    if len(steps) > _LONGEST_PATH:
        return Problem(errors.PATCH, f"{place}/path", f"A path has at most {_LONGEST_PATH} steps.")
    if name != "remove" and "value" not in entry:
        return Problem(errors.PATCH, f"{place}/value", "This field is required.")
    return Operation(name, steps, entry.get("value"))


def _apply(
    tree: Document, operation: Operation, keys: Mapping[Place, ArrayKeys], made: Mapping[Place, Document]
) -> None:
    """Walk down to what the path names, making objects and keyed arrays on the way for an add, and change it there.

    `made` are the objects that begin with something, by their places.
    """
    node: Any = tree
    place: Place = ()
    steps = list(operation.path)
    is_adding = operation.name == "add"
    while True:
        if isinstance(node, Keyed):
            found = node.walk(steps, operation)
            if found is None:
                return
            node = found
            continue
        step = steps.pop(0)
        if not steps:
            _change(node, step, operation)
            return
        inner = _child(node, step, place, keys, made if is_adding else None)
        if inner is None:
            if operation.name == "remove":
                return
            raise Impossible(f"There is nothing at {errors.pointer([step])} to go on from.")
        if isinstance(node, dict):
            place = (*place, step)
        node = inner


def _child(
    node: Any, step: str, place: Place, keys: Mapping[Place, ArrayKeys], made: Mapping[Place, Document] | None
) -> Any:
    """Return what is below a step, copied so that it can be changed; None where nothing is and nothing is made."""
    if isinstance(node, list):
        at = _index(node, step)
        if at is None:
            return None
        node[at] = _own(node[at])
        return node[at]
    here = (*place, step)
    found = node.get(step)
    if found is None and made is None:
        return None
    if here in keys and not isinstance(found, Keyed):
        if found is not None and not isinstance(found, list):
            raise Impossible(f"{errors.pointer(here)} is no list.")
        found = Lineages(found or []) if keys[here] == LINEAGE_KEYS else Keyed(found or [], keys[here])
    elif found is None and made is not None:
        found = made.get(here, {})
    if not isinstance(found, dict | list | Keyed):
        raise Impossible(f"{errors.pointer(here)} holds nothing that a path leads into.")
    node[step] = _own(found)
    return node[step]


def _own(value: Any) -> Any:
    """Return a copy of one level, so that the document a patch came from stays what it was."""
    return dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value


def _change(node: Any, step: str, operation: Operation) -> None:
    if isinstance(node, list):
        _change_list(node, step, operation)
    elif operation.name == "remove":
        node.pop(step, None)
    elif operation.name == "replace" and step not in node:
        raise Impossible(f"There is no {errors.pointer([step])} to replace.")
    else:
        node[step] = operation.value


def _change_list(node: list[Any], step: str, operation: Operation) -> None:
    if operation.name == "add":
        at = len(node) if step in ("-", str(len(node))) else _index(node, step)
        if at is None:
            raise Impossible(f"There is no place {step!r} in a list of {len(node)}.")
        node.insert(at, operation.value)
        return
    at = _index(node, step)
    if at is None:
        if operation.name == "replace":
            raise Impossible(f"There is no place {step!r} in a list of {len(node)}.")
        return
    if operation.name == "remove":
        del node[at]
    else:
        node[at] = operation.value


def _index(node: Sequence[Any], step: str) -> int | None:
    """Return the place in a list that a step names (no leading zeros, RFC 6901), None when there is none."""
    if not (step.isascii() and step.isdigit()) or len(step) > 9 or (step[0] == "0" and step != "0"):
        return None
    return int(step) if int(step) < len(node) else None


def _plain(value: Any) -> Any:
    """Return a tree with its keyed arrays as lists again."""
    if isinstance(value, Keyed):
        return [_plain(entry) for entry in value.entries()]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def _defaults() -> Iterator[tuple[str, dict[Place, ArrayKeys]]]:
    for line in _DEFAULTS.strip().splitlines():
        aspect, *arrays = line.split()
        keys: dict[Place, ArrayKeys] = {}
        for array in arrays:
            field, _, names = array.partition("=")
            keys[tuple(field.split("."))] = tuple((name,) for name in names.split(",") if name)
        yield aspect, keys


#: Aspect, then each array with its keys; one without keys is a list of texts that are addressed by themselves. These
#: are the keys that clients of before `arrayPrimaryKeys` take for granted.
_DEFAULTS = """
access roles=urn
actors users=user groups=group
chartInfo inputEdges=destinationUrn
dashboardInfo chartEdges=destinationUrn datasetEdges=destinationUrn dashboards=destinationUrn charts= datasets=
dataJobInputOutput inputDatajobEdges=destinationUrn inputDatasetEdges=destinationUrn \
outputDatasetEdges=destinationUrn inputDatasetFields= outputDatasetFields= \
fineGrainedLineages=transformOperation,downstreams,query,upstreams
dataProductProperties assets=destinationUrn
editableSchemaMetadata editableSchemaFieldInfo=fieldPath editableSchemaFieldInfo.globalTags.tags=tag \
editableSchemaFieldInfo.glossaryTerms.terms=urn
formInfo prompts=id actors.users= actors.groups= actors.ownershipTypes=
globalTags tags=tag
glossaryTerms terms=urn
institutionalMemory elements=url
ownership owners=owner,type
propertyDefinition entityTypes= allowedValues=value
siblings siblings=
structuredProperties properties=propertyUrn
upstreamLineage upstreams=dataset fineGrainedLineages=transformOperation,downstreams,query,upstreams
"""

DEFAULT_KEYS: Mapping[str, Mapping[Place, ArrayKeys]] = MappingProxyType(dict(_defaults()))

#: What an aspect must have for clients to read it, where a patch alone would not bring it.
_BLANKS: Mapping[str, str] = {
    "dataJobInputOutput": '{"inputDatasets": [], "outputDatasets": []}',
    "domains": '{"domains": []}',
    "editableSchemaMetadata": '{"editableSchemaFieldInfo": []}',
    "globalTags": '{"tags": []}',
    "glossaryTerms": '{"terms": []}',
    "institutionalMemory": '{"elements": []}',
    "ownership": '{"owners": []}',
    "siblings": '{"siblings": [], "primary": false}',
    "structuredProperties": '{"properties": []}',
    "upstreamLineage": '{"upstreams": []}',
}
#: Aspects that stand inside another: the place without the entries of arrays, and the aspect.
_EMBEDDED: Mapping[Place, str] = {
    ("editableSchemaFieldInfo", "globalTags"): "globalTags",
    ("editableSchemaFieldInfo", "glossaryTerms"): "glossaryTerms",
}
_STAMPED = {"glossaryTerms": "auditStamp", "ownership": "lastModified"}
