"""Arrays during a patch: entries are found by the values of their keys, and keep their order."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

#: Path of an array: the names of the fields that lead to it, without entries of outer arrays.
ArrayPath = tuple[str, ...]

#: The keys of an array, each as a path inside an entry; without keys it is a list of texts, each its own key.
ArrayKeys = tuple[tuple[str, ...], ...]


class PatchError(ValueError):
    """An operation that cannot be applied to a document; the message is a sentence with the reason."""


class EntryChange(Protocol):
    """A change of an entry."""

    @property
    def name(self) -> str:
        """One of add, replace and remove."""

    @property
    def value(self) -> Any:
        """The new value."""


class KeyedArray:
    """An array as a tree of its keys; a leaf holds all entries with equal keys, with their positions in the order."""

    def __init__(self, entries: Sequence[Any], keys: ArrayKeys) -> None:
        self._keys = keys
        self._depth = max(len(keys), 1)
        self._last_number = 0
        self._tree: dict[str, Any] = {}
        for entry in entries:
            self._ensure_leaf(self._entry_path(entry)).append((self._take_number(), entry))

    def entries(self) -> Iterator[Any]:
        """Yield the entries in order: existing ones, then added ones."""
        leaves = sorted(self._list_leaves(), key=lambda leaf: leaf[0])
        return (entry for _, _, entry in leaves)

    def walk(self, steps: list[str], change: EntryChange) -> Any:
        """Apply a change to the entries named by the leading steps; return the entry when steps remain, else None.

        Used steps are removed from `steps`. Raises PatchError for a path that ends among the keys unless it removes.
        """
        path, rest = steps[: self._depth], steps[self._depth :]
        if change.name == "remove" and not rest:
            self._remove(path)
            return None
        if len(path) < self._depth:
            raise PatchError("The path ends among the keys of a list.")
        leaf = self._ensure_leaf(path) if change.name == "add" else self._find_leaf(path)
        if rest:
            del steps[: self._depth]
            return self._copy_entry(leaf, path, change)
        if change.name == "replace" and not leaf:
            raise PatchError("There is no such entry to replace.")
        number = leaf[0][0] if leaf else self._take_number()
        leaf[:] = [(number, change.value if self._keys else path[0])]
        return None

    def _copy_entry(self, leaf: list[tuple[int, Any]], path: Sequence[str], change: EntryChange) -> Any:
        """Return the entry, copied for modification; an add creates one with its keys."""
        if not leaf:
            if change.name == "remove":
                return None
            if change.name == "replace" or not self._keys:
                raise PatchError("There is no such entry.")
            leaf.append((self._take_number(), self._build_entry(path)))
        number, entry = leaf[0]
        if not isinstance(entry, dict):
            raise PatchError("The entry is no object.")
        leaf[0] = (number, dict(entry))
        return leaf[0][1]

    def _build_entry(self, path: Sequence[str]) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        for key, value in zip(self._keys, path, strict=True):
            node = entry
            if value:
                for step in key[:-1]:
                    node = node.setdefault(step, {})
                node[key[-1]] = value
        return entry

    def _entry_path(self, entry: Any) -> list[str]:
        return [_key_text(entry, key) for key in self._keys] if self._keys else [_key_text(entry, ())]

    def _ensure_leaf(self, path: Sequence[str]) -> list[tuple[int, Any]]:
        node = self._tree
        for step in path[:-1]:
            node = node.setdefault(step, {})
        leaf: list[tuple[int, Any]] = node.setdefault(path[-1], [])
        return leaf

    def _find_leaf(self, path: Sequence[str]) -> list[tuple[int, Any]]:
        node: Any = self._tree
        for step in path:
            node = node.get(step)
            if node is None:
                return []
        leaf: list[tuple[int, Any]] = node
        return leaf

    def _remove(self, path: Sequence[str]) -> None:
        node: Any = self._tree
        for step in path[:-1]:
            node = node.get(step)
            if node is None:
                return
        node.pop(path[-1], None)

    def _list_leaves(self) -> Iterator[tuple[int, tuple[str, ...], Any]]:
        """Yield each entry with its position and the values of its keys."""
        return self._walk_leaves(self._tree, ())

    def _walk_leaves(self, node: Any, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], Any]]:
        if len(path) == self._depth:
            yield from ((number, path, entry) for number, entry in node)
            return
        for step, inner in node.items():
            yield from self._walk_leaves(inner, (*path, step))

    def _take_number(self) -> int:
        self._last_number += 1
        return self._last_number


def _key_text(entry: Any, key: Sequence[str]) -> str:
    """Return the value of a key as a path step, '' when it is missing."""
    for step in key:
        if not isinstance(entry, dict):
            return ""
        entry = entry.get(step)
    match entry:
        case str():
            return entry
        case bool():
            return "true" if entry else "false"
        case int() | float():
            return str(entry)
        case _:
            return ""
