"""Parts of a document that a change makes different, so that each can be judged by a privilege of its own.

A part is a key of the document, or `list[id].key`: a key of the entries of a list whose entries are told apart by `id`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_LIST_PART = re.compile(r"(\w+)\[(\w+)\]\.(\w+)")


def diff_parts(
    old: Mapping[str, Any], new: Mapping[str, Any], *, parts: Collection[str], stamps: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the parts that differ between two documents, sorted; an absent key and null are the same.

    `parts` name the lists that are compared entry by entry. `stamps` are keys that say when a document was changed.
    """
    identifiers = {match[1]: match[2] for part in parts if (match := _LIST_PART.fullmatch(part))}
    changed_parts: set[str] = set()
    for key in (old.keys() | new.keys()) - frozenset(stamps):
        old_value, new_value = old.get(key), new.get(key)
        if old_value == new_value:
            continue
        identifier = identifiers.get(key)
        changed_parts |= {key} if identifier is None else _diff_entries(key, identifier, old_value, new_value)
    return tuple(sorted(changed_parts))


def _diff_entries(key: str, identifier: str, old_value: Any, new_value: Any) -> set[str]:
    """Return the parts of a list that differ; the list itself where entries cannot be told apart, or changed places."""
    old_entries, new_entries = _index_entries(old_value, identifier), _index_entries(new_value, identifier)
    if old_entries is None or new_entries is None:
        return {key}
    if [name for name in old_entries if name in new_entries] != [name for name in new_entries if name in old_entries]:
        return {key}
    changed_parts: set[str] = set()
    for name in old_entries.keys() | new_entries.keys():
        old_entry, new_entry = old_entries.get(name, {}), new_entries.get(name, {})
        changed_parts |= {
            f"{key}[{identifier}].{field}"
            for field in (old_entry.keys() | new_entry.keys()) - {identifier}
            if old_entry.get(field) != new_entry.get(field)
        }
    return changed_parts


def _index_entries(entries: Any, identifier: str) -> dict[str, Mapping[str, Any]] | None:
    """Return the entries of a list by their identifier; None where two have the same, or one has none."""
    if entries is None:
        return {}
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        return None
    entries_by_name = {entry[identifier]: entry for entry in entries if isinstance(entry.get(identifier), str)}
    return entries_by_name if len(entries_by_name) == len(entries) else None


def list_values(document: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """Return the texts at a path of keys: the value there, or those of a list."""
    value: Any = document
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in values if isinstance(text, str))
