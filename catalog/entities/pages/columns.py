"""The columns of a dataset, from its source and from edits by people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.access.readable_columns import column_name


@dataclass(frozen=True, slots=True)
class DatasetColumn:
    """One column: its path as stored and as shown, and its annotations (distinct URNs)."""

    path: str
    name: str
    type: str
    description: str
    tags: tuple[str, ...]
    terms: tuple[str, ...]
    is_key: bool
    is_nullable: bool


def build_dataset_columns(schema: Mapping[str, Any], editable_schema: Mapping[str, Any]) -> list[DatasetColumn]:
    """Return the columns in the order of the source, then those that appear only in edits."""
    edited_fields = {entry["fieldPath"]: entry for entry in editable_schema.get("editableSchemaFieldInfo") or ()}
    source_fields = {entry["fieldPath"]: entry for entry in schema.get("fields") or ()}
    keys = set(schema.get("primaryKeys") or ())
    return [
        _build_column(path, source_fields.get(path, {}), edited_fields.get(path, {}), is_key=path in keys)
        for path in dict.fromkeys([*source_fields, *edited_fields])
    ]


def _build_column(
    path: str, source_field: Mapping[str, Any], edited_field: Mapping[str, Any], *, is_key: bool
) -> DatasetColumn:
    return DatasetColumn(
        path=path,
        name=column_name(path) or path,
        type=str(source_field.get("nativeDataType") or ""),
        description=str(edited_field.get("description") or source_field.get("description") or ""),
        tags=_attached_urns((source_field, edited_field), "globalTags", "tags", "tag"),
        terms=_attached_urns((source_field, edited_field), "glossaryTerms", "terms", "urn"),
        is_key=is_key or bool(source_field.get("isPartOfKey")),
        is_nullable=bool(source_field.get("nullable", True)),
    )


def _attached_urns(parts: tuple[Mapping[str, Any], ...], aspect: str, outer: str, inner: str) -> tuple[str, ...]:
    entries = (entry for part in parts for entry in (part.get(aspect) or {}).get(outer) or ())
    return tuple(dict.fromkeys(entry[inner] for entry in entries))
