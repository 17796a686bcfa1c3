"""Arrays while they are patched: entries are found by the values of their keys, and keep their order."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

#: Where an array stands: the names of the fields that lead to it, without the entries of outer arrays.
Place = tuple[str, ...]

#: The keys of an array, each as the path to it inside an entry; without any it is a list of texts, each its own key.
ArrayKeys = tuple[tuple[str, ...], ...]


class Impossible(ValueError):
    """An operation that cannot be done to a document; the message is a sentence saying why."""


class Change(Protocol):
    """What is done to an entry."""

    @property
    def name(self) -> str:
        """One of add, replace and remove."""

    @property
    def value(self) -> Any:
        """What is put there."""


class Keyed:
    """An array as a tree of its keys; a leaf holds all entries that agree in them, with their places in the order."""

    def __init__(self, entries: Sequence[Any], keys: ArrayKeys) -> None:
        self._keys = keys
        self._depth = max(len(keys), 1)
        self._next = 0
        self._tree: dict[str, Any] = {}
        for entry in entries:
            self._leaf(self._path_of(entry)).append((self._number(), entry))

    def entries(self) -> Iterator[Any]:
        """Yield the entries in order: those that were there, then what was added."""
        found = sorted(self._leaves(), key=lambda leaf: leaf[0])
        return (entry for _, _, entry in found)

    def walk(self, steps: list[str], change: Change) -> Any:
        """Take the keys from the front of the steps; change what they name, or return the entry that the rest is about.

        Raises Impossible for a path that ends among the keys and does not remove.
        """
        path, rest = steps[: self._depth], steps[self._depth :]
        if change.name == "remove" and not rest:
            self._remove(path)
            return None
        if len(path) < self._depth:
            raise Impossible("The path ends among the keys of a list.")
        leaf = self._leaf(path) if change.name == "add" else self._known(path)
        if rest:
            del steps[: self._depth]
            return self._entered(leaf, path, change)
        if change.name == "replace" and not leaf:
            raise Impossible("There is no such entry to replace.")
        number = leaf[0][0] if leaf else self._number()
        leaf[:] = [(number, change.value if self._keys else path[0])]
        return None

    def _entered(self, leaf: list[tuple[int, Any]], path: Sequence[str], change: Change) -> Any:
        """Return the entry, copied so that it can be changed; an add makes one that has its keys."""
        if not leaf:
            if change.name == "remove":
                return None
            if change.name == "replace" or not self._keys:
                raise Impossible("There is no such entry.")
            leaf.append((self._number(), self._made(path)))
        number, entry = leaf[0]
        if not isinstance(entry, dict):
            raise Impossible("The entry is no object.")
        leaf[0] = (number, dict(entry))
        return leaf[0][1]

    def _made(self, path: Sequence[str]) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        for key, value in zip(self._keys, path, strict=True):
            node = entry
            if value:
                for step in key[:-1]:
                    node = node.setdefault(step, {})
                node[key[-1]] = value
        return entry

    def _path_of(self, entry: Any) -> list[str]:
        return [_text(entry, key) for key in self._keys] if self._keys else [_text(entry, ())]

    def _leaf(self, path: Sequence[str]) -> list[tuple[int, Any]]:
        node = self._tree
        for step in path[:-1]:
            node = node.setdefault(step, {})
        found: list[tuple[int, Any]] = node.setdefault(path[-1], [])
        return found

    def _known(self, path: Sequence[str]) -> list[tuple[int, Any]]:
        node: Any = self._tree
        for step in path:
            node = node.get(step)
            if node is None:
                return []
        found: list[tuple[int, Any]] = node
        return found

    def _remove(self, path: Sequence[str]) -> None:
        node: Any = self._tree
        for step in path[:-1]:
            node = node.get(step)
            if node is None:
                return
        node.pop(path[-1], None)

    def _leaves(self) -> Iterator[tuple[int, tuple[str, ...], Any]]:
        """Yield each entry with its place in the order and the values of its keys."""
        return self._below(self._tree, ())

    def _below(self, node: Any, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], Any]]:
        if len(path) == self._depth:
            yield from ((number, path, entry) for number, entry in node)
            return
        for step, inner in node.items():
            yield from self._below(inner, (*path, step))

    def _number(self) -> int:
        self._next += 1
        return self._next


def _text(entry: Any, key: Sequence[str]) -> str:
    """Return the value of a key as it stands in a path, '' for one that is not there."""
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
