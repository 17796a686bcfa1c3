"""JSON patches in the format of DataHub's clients: a list of operations, or an object that also names array keys.

Entries of keyed arrays are addressed by key values, never by index: `/owners/urn:li:corpuser:jo/DATAOWNER`. A key that
an entry lacks is an empty step, and a path that ends among the keys means every entry below it. Only add, replace and
remove are supported; removing something missing is no error, since clients repeat themselves.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from catalog import errors
from catalog.aspects import register
from catalog.ingest.json_patch.keyed_arrays import ArrayKeys, ArrayPath, KeyedArray, PatchError
from catalog.ingest.json_patch.lineage import LINEAGE_KEYS, FineGrainedLineage
from policies.engine.errors import MAX_PROBLEMS, Problem

#: Separator of the steps of a nested path in key names.
SEPARATOR = "\u241f"

#: Maximum number of steps of a path: the maximum depth of a document.
_MAX_PATH_STEPS = 100

#: Maximum number of operations of one patch: each walks down the document.
MAX_OPERATIONS = 20_000

_OPERATIONS = ("add", "replace", "remove")

DocumentTree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One change: the steps of its path are unescaped; `value` is used by add and replace."""

    name: str
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations in order, and the keys of arrays by array path (field names only)."""

    operations: tuple[PatchOperation, ...]
    keys: Mapping[ArrayPath, ArrayKeys]

    @property
    def removed_paths(self) -> frozenset[tuple[str, ...]]:
        """The paths that an operation removes by name."""
        return frozenset(operation.path for operation in self.operations if operation.name == "remove")

    def apply_to(self, document: DocumentTree, stamp: Mapping[str, Any]) -> DocumentTree:
        """Return the document after all operations; `stamp` is the audit stamp of the patch.

        Raises PatchError, naming the operation that failed.
        """
        tree: DocumentTree = dict(document)
        blanks = {path: blank_document(aspect, stamp) for path, aspect in _EMBEDDED_ASPECTS.items()}
        for position, operation in enumerate(self.operations):
            try:
                _apply(tree, operation, self.keys, blanks)
            except PatchError as error:
                raise PatchError(f"Operation {position}: {error}") from None
        return dict(_to_plain(tree))


def read(aspect: str, text: object) -> tuple[Patch | None, list[Problem]]:
    """Return (patch, no problems) for the text of an aspect's patch, or (None, all problems of its form)."""
    body, problems = register.parse(text)
    if problems:
        return None, problems
    if isinstance(body, list):
        body = {"patch": body}
    if not isinstance(body, dict) or not isinstance(body.get("patch"), list):
        detail = "A patch is a list of operations, or an object with one under `patch`."
        return None, [Problem(errors.PATCH_INVALID, "", detail)]
    if len(body["patch"]) > MAX_OPERATIONS:
        detail = f"A patch has up to {MAX_OPERATIONS} operations, not {len(body['patch'])}."
        return None, [Problem("list.too_long", "/patch", detail)]
    array_keys, problems = _read_keys(body.get("arrayPrimaryKeys"))
    operations, operation_problems = _read_operations(body["patch"])
    problems += operation_problems
    if problems:
        return None, problems
    return Patch(tuple(operations), {**DEFAULT_KEYS.get(aspect, {}), **array_keys}), []


def blank_document(aspect: str, stamp: Mapping[str, Any]) -> DocumentTree:
    """Return the document from which a patch of a missing aspect starts; `stamp` is the audit stamp of the patch."""
    document: DocumentTree = json.loads(_BLANK_DOCUMENTS.get(aspect, "{}"))
    if aspect in _STAMP_FIELDS:
        document[_STAMP_FIELDS[aspect]] = dict(stamp)
    return document


def _read_keys(names_by_array: Any) -> tuple[dict[ArrayPath, ArrayKeys], list[Problem]]:
    pointer = "/arrayPrimaryKeys"
    if names_by_array is None:
        return {}, []
    if not isinstance(names_by_array, dict):
        return {}, [Problem(errors.PATCH_INVALID, pointer, "This is an object: field, and the names of its keys.")]
    keys: dict[ArrayPath, ArrayKeys] = {}
    for name, key_names in names_by_array.items():
        if not isinstance(key_names, list) or not all(isinstance(key_name, str) for key_name in key_names):
            return {}, [
                Problem(errors.PATCH_INVALID, pointer + errors.json_pointer([name]), "This is a list of names of keys.")
            ]
        keys[tuple(name.split(SEPARATOR))] = tuple(tuple(key_name.split(SEPARATOR)) for key_name in key_names)
    return keys, []


def _read_operations(entries: list[Any]) -> tuple[list[PatchOperation], list[Problem]]:
    """Return the operations of a patch and their problems, ending after MAX_PROBLEMS + 1 of these."""
    operations: list[PatchOperation] = []
    problems: list[Problem] = []
    for position, entry in enumerate(entries):
        result = _read_operation(entry, f"/patch/{position}")
        if not isinstance(result, Problem):
            operations.append(result)
            continue
        problems.append(result)
        if len(problems) > MAX_PROBLEMS:
            break
    return operations, problems


def _read_operation(entry: Any, pointer: str) -> PatchOperation | Problem:
    if not isinstance(entry, dict):
        return Problem(errors.PATCH_INVALID, pointer, "An operation is a JSON object.")
    name, path = entry.get("op"), entry.get("path")
    if name not in _OPERATIONS:
        return Problem(errors.PATCH_INVALID, f"{pointer}/op", f"This is one of {', '.join(_OPERATIONS)}.")
    if not isinstance(path, str) or not path.startswith("/"):
        return Problem(errors.PATCH_INVALID, f"{pointer}/path", "A path is text that begins with a slash.")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))
    if len(steps) > _MAX_PATH_STEPS:
        return Problem(errors.PATCH_INVALID, f"{pointer}/path", f"A path has at most {_MAX_PATH_STEPS} steps.")
    if name != "remove" and "value" not in entry:
        return Problem(errors.PATCH_INVALID, f"{pointer}/value", "This field is required.")
    return PatchOperation(name, steps, entry.get("value"))


def _apply(
    tree: DocumentTree,
    operation: PatchOperation,
    keys: Mapping[ArrayPath, ArrayKeys],
    blanks: Mapping[ArrayPath, DocumentTree],
) -> None:
    """Walk down the path, creating objects and keyed arrays on the way for an add, and apply the change at its end.

    `blanks` are the initial contents of created objects, by array path.
    """
    node: Any = tree
    array_path: ArrayPath = ()
    steps = list(operation.path)
    is_adding = operation.name == "add"
    while True:
        if isinstance(node, KeyedArray):
            entry = node.walk(steps, operation)
            if entry is None:
                return
            node = entry
            continue
        step = steps.pop(0)
        if not steps:
            _change(node, step, operation)
            return
        inner = _open_child(node, step, array_path, keys, blanks if is_adding else None)
        if inner is None:
            if operation.name == "remove":
                return
            raise PatchError(f"There is nothing at {errors.json_pointer([step])} to go on from.")
        if isinstance(node, dict):
            array_path = (*array_path, step)
        node = inner


def _open_child(
    node: Any,
    step: str,
    array_path: ArrayPath,
    keys: Mapping[ArrayPath, ArrayKeys],
    blanks: Mapping[ArrayPath, DocumentTree] | None,
) -> Any:
    """Return the child at a step, copied for modification; None when it is missing and not created."""
    if isinstance(node, list):
        index = _parse_index(node, step)
        if index is None:
            return None
        node[index] = _copy_level(node[index])
        return node[index]
    child_path = (*array_path, step)
    child = node.get(step)
    if child is None and blanks is None:
        return None
    if child_path in keys and not isinstance(child, KeyedArray):
        if child is not None and not isinstance(child, list):
            raise PatchError(f"{errors.json_pointer(child_path)} is no list.")
        child = (
            FineGrainedLineage(child or [])
            if keys[child_path] == LINEAGE_KEYS
            else KeyedArray(child or [], keys[child_path])
        )
    elif child is None and blanks is not None:
        child = blanks.get(child_path, {})
    if not isinstance(child, dict | list | KeyedArray):
        raise PatchError(f"{errors.json_pointer(child_path)} holds nothing that a path leads into.")
    node[step] = _copy_level(child)
    return node[step]


def _copy_level(value: Any) -> Any:
    """Return a copy of one level, so that the original document stays unchanged."""
    return dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value


def _change(node: Any, step: str, operation: PatchOperation) -> None:
    if isinstance(node, list):
        _change_list(node, step, operation)
    elif operation.name == "remove":
        node.pop(step, None)
    elif operation.name == "replace" and step not in node:
        raise PatchError(f"There is no {errors.json_pointer([step])} to replace.")
    else:
        node[step] = operation.value


def _change_list(node: list[Any], step: str, operation: PatchOperation) -> None:
    if operation.name == "add":
        index = len(node) if step in ("-", str(len(node))) else _parse_index(node, step)
        if index is None:
            raise PatchError(f"There is no place {step!r} in a list of {len(node)}.")
        node.insert(index, operation.value)
        return
    index = _parse_index(node, step)
    if index is None:
        if operation.name == "replace":
            raise PatchError(f"There is no place {step!r} in a list of {len(node)}.")
        return
    if operation.name == "remove":
        del node[index]
    else:
        node[index] = operation.value


def _parse_index(node: Sequence[Any], step: str) -> int | None:
    """Return the list index of a step (no leading zeros, RFC 6901), None when it is invalid or out of range."""
    if not (step.isascii() and step.isdigit()) or len(step) > 9 or (step[0] == "0" and step != "0"):
        return None
    return int(step) if int(step) < len(node) else None


def _to_plain(value: Any) -> Any:
    """Return the tree with keyed arrays converted back to lists."""
    if isinstance(value, KeyedArray):
        return [_to_plain(entry) for entry in value.entries()]
    if isinstance(value, dict):
        return {key: _to_plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_to_plain(member) for member in value]
    return value


def _parse_default_keys() -> Iterator[tuple[str, dict[ArrayPath, ArrayKeys]]]:
    for line in _DEFAULT_KEYS_TEXT.strip().splitlines():
        aspect, *arrays = line.split()
        keys: dict[ArrayPath, ArrayKeys] = {}
        for array in arrays:
            field, _, names = array.partition("=")
            keys[tuple(field.split("."))] = tuple((name,) for name in names.split(",") if name)
        yield aspect, keys


#: Aspect, then each array with its keys; one without keys is a list of texts addressed by themselves. Clients older
#: than `arrayPrimaryKeys` assume these keys.
_DEFAULT_KEYS_TEXT = """
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

DEFAULT_KEYS: Mapping[str, Mapping[ArrayPath, ArrayKeys]] = MappingProxyType(dict(_parse_default_keys()))

#: Required content of aspects that a patch alone would not create.
_BLANK_DOCUMENTS: Mapping[str, str] = {
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
#: Aspects embedded in others: array path (field names only) -> aspect.
_EMBEDDED_ASPECTS: Mapping[ArrayPath, str] = {
    ("editableSchemaFieldInfo", "globalTags"): "globalTags",
    ("editableSchemaFieldInfo", "glossaryTerms"): "glossaryTerms",
}
_STAMP_FIELDS = {"glossaryTerms": "auditStamp", "ownership": "lastModified"}
