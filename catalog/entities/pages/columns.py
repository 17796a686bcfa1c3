"""The columns of a dataset: what the source says of each, and what people added."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Newer sources write a path as [version=2.0].[type=struct].address.[type=string].city; people read address.city.
_MARKS = re.compile(r"\[[^\]]*\]\.?")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its path as stored and as people read it, and what is attached to it (URNs, each once)."""

    path: str
    name: str
    type: str
    description: str
    tags: tuple[str, ...]
    terms: tuple[str, ...]
    is_key: bool
    is_nullable: bool


def columns_of(schema: Mapping[str, Any], edited: Mapping[str, Any]) -> list[Column]:
    """Return the columns in the order of the source, then those that only people mention."""
    added = {entry["fieldPath"]: entry for entry in edited.get("editableSchemaFieldInfo") or ()}
    fields = {entry["fieldPath"]: entry for entry in schema.get("fields") or ()}
    keys = set(schema.get("primaryKeys") or ())
    return [
        _column(path, fields.get(path, {}), added.get(path, {}), is_key=path in keys)
        for path in dict.fromkeys([*fields, *added])
    ]


def _column(path: str, said: Mapping[str, Any], added: Mapping[str, Any], *, is_key: bool) -> Column:
    return Column(
        path=path,
        name=_MARKS.sub("", path).strip(".") or path,
        type=str(said.get("nativeDataType") or ""),
        description=str(added.get("description") or said.get("description") or ""),
        tags=_named((said, added), "globalTags", "tags", "tag"),
        terms=_named((said, added), "glossaryTerms", "terms", "urn"),
        is_key=is_key or bool(said.get("isPartOfKey")),
        is_nullable=bool(said.get("nullable", True)),
    )


def _named(parts: tuple[Mapping[str, Any], ...], aspect: str, outer: str, inner: str) -> tuple[str, ...]:
    entries = (entry for part in parts for entry in (part.get(aspect) or {}).get(outer) or ())
    return tuple(dict.fromkeys(entry[inner] for entry in entries))
