"""What changed between two versions of a policy: field by field in words, and line by line in the document."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.authoring.pages import datahub_presenter
from policies.engine.families import vocabulary
from policies.pdp import authorizer

#: How many things that came or went are named for one field.
_SHOWN = 12

#: A document with more lines than this is not compared line by line, and no more lines than this are shown.
_LINES = 20_000
_LINES_SHOWN = 2_000

#: How much of a value a sentence quotes.
_QUOTED_CHARACTERS = 80

#: What every family has beside its document.
_BESIDE = {"state": "State", "description": "Description"}


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a policy in words: a single value, or a list of them."""

    values: tuple[str, ...]
    is_list: bool = True

    @classmethod
    def one(cls, value: str) -> "Part":
        """Return a field with a single value."""
        return cls((value,), is_list=False)


#: Label → field, in the order of a page.
Parts = Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs. A single value was and is; a list gained and lost, or only its order changed."""

    label: str
    was: str = ""
    now: str = ""
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    is_list: bool = False

    @property
    def is_reordered(self) -> bool:
        """Whether nothing came and nothing went."""
        return self.is_list and not self.gained and not self.lost

    @property
    def shown(self) -> set[str]:
        """Every value that a page names."""
        return {*self.gained[:_SHOWN], *self.lost[:_SHOWN]}


def compared(before: Parts, after: Parts) -> list[Change]:
    """Return the fields that differ, in the order of the later version."""
    labels = list(dict.fromkeys((*after, *before)))
    nothing = Part(())
    pairs = ((label, before.get(label, nothing), after.get(label, nothing)) for label in labels)
    return [_change(label, was, now) for label, was, now in pairs if was.values != now.values]


def beside(snapshot: Mapping[str, Any]) -> dict[str, Part]:
    """Return the fields that stand beside a document as the change log keeps it."""
    return {label: Part.one(snapshot.get(name) or "") for name, label in _BESIDE.items()}


def worded(changes: Iterable[Sequence[Change]]) -> list[list[dict[str, Any]]]:
    """Return several lists of changes as a page shows them, every name looked up in one go."""
    listed = list(changes)
    urns = {value for group in listed for change in group for value in change.shown if value.startswith("urn:")}
    names = authorizer.names(urns=urns) if urns else {}
    return [[_worded(change, names) for change in group] for group in listed]


def describe_changes(changes: Sequence[Change]) -> list[str]:
    """Return one sentence for each change, with names in place of URNs."""
    (listed,) = worded([changes])
    return [_describe(one["change"], one) for one in listed]


def lines(before: Any, after: Any) -> list[dict[str, str]] | None:
    """Return what differs between two documents as indented JSON; None when they are too long to compare."""
    was, now = (
        datahub_presenter.pretty(document).splitlines() if document is not None else [] for document in (before, after)
    )
    if max(len(was), len(now)) > _LINES:
        return None
    found = list(difflib.unified_diff(was, now, lineterm="", n=3))[2:]
    return [{"kind": _KINDS[line[0]], "text": line[1:] if line[0] != "@" else line} for line in found[:_LINES_SHOWN]]


_KINDS = {"+": "gained", "-": "lost", " ": "same", "@": "place"}


def _change(label: str, was: Part, now: Part) -> Change:
    if not (was.is_list and was.values) and not (now.is_list and now.values):
        return Change(label, was="".join(was.values), now="".join(now.values))
    before, after = frozenset(was.values), frozenset(now.values)
    gained = tuple(value for value in now.values if value not in before)
    lost = tuple(value for value in was.values if value not in after)
    return Change(label, gained=gained, lost=lost, is_list=True)


def _worded(change: Change, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "label": change.label,
        "change": change,
        "gained": [_value(value, names) for value in change.gained[:_SHOWN]],
        "more_gained": max(len(change.gained) - _SHOWN, 0),
        "lost": [_value(value, names) for value in change.lost[:_SHOWN]],
        "more_lost": max(len(change.lost) - _SHOWN, 0),
    }


def _value(value: str, names: Mapping[str, str]) -> dict[str, str]:
    known = vocabulary.datahub().get(value)
    return {"text": value, "name": known.display if known else names.get(value, "")}


def _describe(change: Change, words: Mapping[str, Any]) -> str:
    label = _quote(change.label)
    if change.is_reordered:
        return f"{label} is put into another order."
    if change.is_list:
        parts = [
            f"{verb} {_join_values(words[side], words[f'more_{side}'])}"
            for side, verb in (("gained", "gains"), ("lost", "loses"))
            if words[side]
        ]
        return f"{label} {' and '.join(parts)}."
    if change.was and change.now:
        return f"{label} changes from {_quote(change.was)} to {_quote(change.now)}."
    return (
        f"{label} becomes {_quote(change.now)}." if change.now else f"{label} is emptied; it is {_quote(change.was)}."
    )


def _join_values(values: Sequence[Mapping[str, str]], more: int) -> str:
    listed = [_cut(value["name"] or value["text"]) for value in values] + ([f"{more:,} more"] if more else [])
    return " and ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0]


def _quote(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{_cut(text)}\N{RIGHT DOUBLE QUOTATION MARK}"


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARACTERS else f"{text[: _QUOTED_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
