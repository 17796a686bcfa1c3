"""Entries of a bundle that are rows with a URN, which are marked and released in one way."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from policies.authoring.services.bundles.files import BundleFile
from policies.authoring.services.bundles.kinds import EntryDefaults, FileEntry, StoredEntry
from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.models import ApprovalRule, Guardrail, Policy, Role
from policies.models.managed import ManagedRow
from policies.writes import managed_rows


class RowEntries(EntryDefaults):
    """The common part of the kinds of `model`, whose key is the URN."""

    model: type[ManagedRow]
    key_field = "urn"

    def mark(self, keys: Collection[str], *, source: str | None) -> None:
        """Mark rows as managed, from a source unless it is None."""
        managed_rows.mark_rows(self.model, keys, source=source)

    def release(self, keys: Collection[str]) -> None:
        """Mark rows as not managed."""
        managed_rows.release_rows(self.model, keys)

    def locate_object(self, key: str) -> str:
        """Return the URN."""
        return key


def build_stored_entry(row: ApprovalRule | Guardrail | Policy | Role, value: Mapping[str, Any]) -> StoredEntry:
    """Return the entry of a stored row, whose file says `value`."""
    return StoredEntry(row.urn, row.name, value, is_managed=row.is_managed, source=row.source)


def read_each(
    files: Sequence[BundleFile],
    *,
    find_problems: Callable[[object], Sequence[Problem]],
    build_value: Callable[[Any], dict[str, Any]],
) -> list[FileEntry]:
    """Return the entry of each file: `build_value` makes its value, with `urn` and `name`, of what the file says.

    Raises Invalid with what `find_problems` finds in any of the files, each with file and line.
    """
    entries: list[FileEntry] = []
    problems: list[Problem] = []
    for file in files:
        file_problems = find_problems(file.value)
        problems += map(file.locate, file_problems)
        if not file_problems:
            value = build_value(file.value)
            entries.append(FileEntry(file, value["urn"], value["name"], value))
    if problems:
        raise Invalid(problems)
    return entries
