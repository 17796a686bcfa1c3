"""Accessed objects: the name of each with the level of the access. All arguments and results are expressions of SQL."""

from collections.abc import Iterable

from catalog.warehouses.history import OBJECTS_TYPE


def build_object(path: str, level: int | str, *, is_direct: str = "true") -> str:
    """Return one accessed object."""
    return f"named_struct('path', {path}, 'level', {level}, 'is_direct', {is_direct})"


def unite_objects(arrays: Iterable[str]) -> str:
    """Return the objects of several arrays, of which each may be null."""
    empty = f"CAST(array() AS {OBJECTS_TYPE})"
    return f"concat({', '.join(f'coalesce(CAST({array} AS {OBJECTS_TYPE}), {empty})' for array in arrays)})"


def list_object(path: str, level: int | str) -> str:
    """Return an array of one object, null where the path is null or empty."""
    return f"CASE WHEN {path} <> '' THEN array({build_object(path, level)}) END"
