"""Differences between two versions of a policy: by field in words, and by line in the document."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.authoring.pages import datahub_presenter
from policies.authoring.pages.validity_fields import describe_time
from policies.engine.families import vocabulary
from policies.engine.wording import join_words
from policies.pdp import authorizer

#: Most gained or lost values that are named for one field.
_MAX_VISIBLE_VALUES = 12

#: A document with more lines than this is not compared line by line, and no more lines than this are shown.
_MAX_COMPARED_LINES = 20_000
_MAX_VISIBLE_LINES = 2_000

#: Most characters of a value that a sentence quotes.
_MAX_QUOTED_CHARACTERS = 80

#: Columns beside the document that policies of every family have → label.
_COLUMN_LABELS = {"state": "State", "description": "Description"}
_TIME_LABELS = {"valid_from": "Begins", "valid_until": "Ends"}


@dataclass(frozen=True, slots=True)
class DiffField:
    """One field of a policy for comparison: a single value, or a list of them."""

    values: tuple[str, ...]
    is_list: bool = True

    @classmethod
    def from_value(cls, value: str) -> "DiffField":
        """Return a field with a single value."""
        return cls((value,), is_list=False)


#: Label → field, in the order of a page.
DiffFields = Mapping[str, DiffField]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs: old and new value of a single one, gained and lost values of a list.

    A list without either is in another order (`is_reordered`), or names the same values more or less often.
    """

    label: str
    old_value: str = ""
    new_value: str = ""
    gained_values: tuple[str, ...] = ()
    lost_values: tuple[str, ...] = ()
    is_list: bool = False
    is_reordered: bool = False

    @property
    def visible_values(self) -> set[str]:
        """Every gained or lost value that a page shows."""
        return {*self.gained_values[:_MAX_VISIBLE_VALUES], *self.lost_values[:_MAX_VISIBLE_VALUES]}


def compare_fields(before: DiffFields, after: DiffFields) -> list[FieldChange]:
    """Return the fields that differ, in the order of the later version."""
    labels = list(dict.fromkeys((*after, *before)))
    empty_field = DiffField(())
    pairs = ((label, before.get(label, empty_field), after.get(label, empty_field)) for label in labels)
    return [
        _compare_field(label, old_field, new_field)
        for label, old_field, new_field in pairs
        if old_field.values != new_field.values
    ]


def snapshot_fields(snapshot: Mapping[str, Any]) -> dict[str, DiffField]:
    """Return the columns beside the document in a state of the change log, as fields by label."""
    columns = {label: DiffField.from_value(snapshot.get(name) or "") for name, label in _COLUMN_LABELS.items()}
    # Documents of DataHub policies have their times themselves.
    times = {label: snapshot[name] for name, label in _TIME_LABELS.items() if snapshot.get(name)}
    return columns | {label: DiffField.from_value(describe_time(value)) for label, value in times.items()}


def build_change_rows(changes: Iterable[Sequence[FieldChange]]) -> list[list[dict[str, Any]]]:
    """Return several lists of changes as template rows; all names are loaded in one batch."""
    groups = list(changes)
    urns = {
        value for group in groups for change in group for value in change.visible_values if value.startswith("urn:")
    }
    names = authorizer.load_names(urns=urns) if urns else {}
    return [[_change_row(change, names) for change in group] for group in groups]


def describe_changes(changes: Sequence[FieldChange]) -> list[str]:
    """Return one sentence for each change, with names in place of URNs."""
    (rows,) = build_change_rows([changes])
    return [_describe_change(row["change"], row) for row in rows]


def diff_documents(before: Any, after: Any) -> dict[str, Any]:
    """Return the differing lines of two documents as indented JSON, as a part of a page's context.

    `lines` are the first 2,000 of them, None where the documents are too long to compare; `more_lines` counts the rest.
    """
    old_lines, new_lines = (
        datahub_presenter.format_json(document).splitlines() if document is not None else []
        for document in (before, after)
    )
    if max(len(old_lines), len(new_lines)) > _MAX_COMPARED_LINES:
        return {"lines": None, "more_lines": 0}
    diff = list(difflib.unified_diff(old_lines, new_lines, lineterm="", n=3))[2:]
    lines = [
        {"kind": _LINE_KINDS[line[0]], "text": line[1:] if line[0] != "@" else line}
        for line in diff[:_MAX_VISIBLE_LINES]
    ]
    return {"lines": lines, "more_lines": len(diff) - len(lines)}


_LINE_KINDS = {"+": "gained", "-": "lost", " ": "same", "@": "place"}


def _compare_field(label: str, old_field: DiffField, new_field: DiffField) -> FieldChange:
    if not (old_field.is_list and old_field.values) and not (new_field.is_list and new_field.values):
        return FieldChange(label, old_value="".join(old_field.values), new_value="".join(new_field.values))
    old_values, new_values = frozenset(old_field.values), frozenset(new_field.values)
    gained_values = tuple(value for value in new_field.values if value not in old_values)
    lost_values = tuple(value for value in old_field.values if value not in new_values)
    is_reordered = sorted(old_field.values) == sorted(new_field.values)
    return FieldChange(
        label, gained_values=gained_values, lost_values=lost_values, is_list=True, is_reordered=is_reordered
    )


def _change_row(change: FieldChange, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "label": change.label,
        "change": change,
        "gained": [_value_item(value, names) for value in change.gained_values[:_MAX_VISIBLE_VALUES]],
        "more_gained": max(len(change.gained_values) - _MAX_VISIBLE_VALUES, 0),
        "lost": [_value_item(value, names) for value in change.lost_values[:_MAX_VISIBLE_VALUES]],
        "more_lost": max(len(change.lost_values) - _MAX_VISIBLE_VALUES, 0),
    }


def _value_item(value: str, names: Mapping[str, str]) -> dict[str, str]:
    privilege = vocabulary.load_datahub().get(value)
    return {"text": value, "name": privilege.display if privilege else names.get(value, "")}


def _describe_change(change: FieldChange, row: Mapping[str, Any]) -> str:
    label = _quote(change.label)
    if change.is_reordered:
        return f"{label} is put into another order."
    if change.is_list:
        parts = [
            f"{verb} {_join_values(row[side], row[f'more_{side}'])}"
            for side, verb in (("gained", "gains"), ("lost", "loses"))
            if row[side]
        ]
        return f"{label} {' and '.join(parts) or 'names the same, some of it more or less often'}."
    if change.old_value and change.new_value:
        return f"{label} changes from {_quote(change.old_value)} to {_quote(change.new_value)}."
    return (
        f"{label} becomes {_quote(change.new_value)}."
        if change.new_value
        else f"{label} is emptied; it is {_quote(change.old_value)}."
    )


def _join_values(values: Sequence[Mapping[str, str]], more_count: int) -> str:
    return join_words((_cut(value["name"] or value["text"]) for value in values), "and", more_count)


def _quote(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{_cut(text)}\N{RIGHT DOUBLE QUOTATION MARK}"


def _cut(text: str) -> str:
    return (
        text if len(text) <= _MAX_QUOTED_CHARACTERS else f"{text[: _MAX_QUOTED_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
