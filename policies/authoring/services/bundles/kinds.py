"""Kinds of entries of a bundle, each a folder of it: the registry `bundle_kinds`, in the order of their writes."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from policies import registries
from policies.authoring.services.bundles.files import BundleFile
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.writes import required_privileges


class ChangeKind(StrEnum):
    """The action on an entry. ADOPT and RELEASE change nothing but whether it is managed."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    ADOPT = "adopt"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as it is stored: what its file says, in order, and whether it is managed and by whom."""

    key: str
    name: str
    value: Mapping[str, Any]
    is_managed: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """An entry as a file says it: `value` as it would be stored, and what its kind needs to write it."""

    file: BundleFile
    key: str
    name: str
    value: Mapping[str, Any]
    draft: Any = None


@dataclass(frozen=True, slots=True)
class BundleChange:
    """A change of one entry: from the stored one, if there is one, to that of a file, unless it is deleted."""

    action: ChangeKind
    stored_entry: StoredEntry | None
    entry: FileEntry | None

    @property
    def key(self) -> str:
        """The key of the entry: a URN, or a name."""
        return self._side.key

    @property
    def name(self) -> str:
        """The entry's name for people."""
        return self._side.name

    @property
    def _side(self) -> FileEntry | StoredEntry:
        side = self.entry or self.stored_entry
        if side is None:
            raise LookupError("A change has an entry before or after it.")
        return side


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The context for reading entries: the URNs that files of the bundle create, and who applies it."""

    coming_urns: Collection[str]
    by: Actor


class BundleKind(Protocol):
    """One kind of entries: `folder` names it, `key_field` is the field of a file that identifies an entry.

    `requirement` is what its writes need, and so planning and exporting it.
    """

    folder: str
    noun: str
    key_field: str
    requirement: Requirement

    def list_stored(self) -> Sequence[StoredEntry]:
        """Return the stored entries by key, without those that nobody can change."""

    def read_entries(self, files: Sequence[BundleFile], context: ReadContext, /) -> list[FileEntry]:
        """Return the entries of files. Raises Invalid with every problem, each with file and line."""

    def write(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Write what is created and changed, and what is deleted unless other kinds may name it. Raises as services."""

    def write_last(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Delete what other kinds may name, after all of them are written."""

    def mark(self, keys: Collection[str], *, source: str | None) -> None:
        """Mark entries as managed, from a source unless it is None."""

    def release(self, keys: Collection[str]) -> None:
        """Mark entries as not managed."""

    def locate_object(self, key: str) -> str:
        """Return the URN under which the change log has an entry."""

    def finish(self, changes: Sequence[BundleChange]) -> None:
        """Do what has to wait until everything is committed."""


class EntryDefaults:
    """The behaviour of a kind unless other kinds may name its entries, or part of it has to wait."""

    def write_last(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Nothing: what is deleted was deleted by `write`."""

    def finish(self, changes: Sequence[BundleChange]) -> None:
        """Nothing has to wait."""


def load_kinds() -> dict[str, BundleKind]:
    """Return folder → kind, in the order in which they are written."""
    kinds = (make_kind() for make_kind in registries.load_entries("bundle_kinds").values())
    return {kind.folder: kind for kind in kinds}


def require_kinds(folders: Collection[str], *, by: Actor) -> None:
    """Raise Forbidden unless `by` may write all kinds of these folders; without any of them, some kind."""
    bundle_kinds = load_kinds()
    if named_kinds := [kind for folder, kind in bundle_kinds.items() if folder in folders]:
        for kind in named_kinds:
            required_privileges.require(by=by, requirement=kind.requirement)
        return
    alternatives = tuple(needs for kind in bundle_kinds.values() for needs in kind.requirement.any_of)
    required_privileges.require(by=by, requirement=Requirement(alternatives))


def is_same(stored_entry: StoredEntry, entry: FileEntry) -> bool:
    """Whether a file says what is stored; the order of its keys does not count."""
    return json.dumps(stored_entry.value, sort_keys=True) == json.dumps(entry.value, sort_keys=True)


def choose_changes(changes: Sequence[BundleChange], *actions: ChangeKind) -> list[BundleChange]:
    """Return the changes with one of these actions."""
    return [change for change in changes if change.action in actions]
