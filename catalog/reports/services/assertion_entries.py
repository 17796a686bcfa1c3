"""Assertions in a bundle, one in each file: together they are the text of the assertions, which keeps its notes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.conf import settings

from catalog.assertions.parser import read_assertion
from catalog.assertions.yaml_nodes import load_texts
from catalog.models import ManagedAssertion
from catalog.reports.queries import assertions as queries
from catalog.reports.services import assertions
from policies.authoring.services.bundles import round_trip
from policies.authoring.services.bundles.files import BundleFile, find_duplicates
from policies.authoring.services.bundles.kinds import (
    BundleChange,
    ChangeKind,
    EntryDefaults,
    FileEntry,
    ReadContext,
    StoredEntry,
    choose_changes,
)
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.models.people import MAX_NAME_LENGTH
from policies.writes import required_privileges, strict_yaml

#: Prefix of the URN under which the change log has an assertion.
OBJECT_PREFIX = "urn:li:accessAssertion:"

#: Longest text that is edited in place, in characters; a longer one is written anew, without its notes.
_MAX_EDITED_LENGTH = 65_536


class AssertionEntries(EntryDefaults):
    """The kind of assertions."""

    folder, noun, key_field = "assertions", "assertion", "name"
    requirement = required_privileges.MANAGE_POLICIES

    def list_stored(self) -> list[StoredEntry]:
        """Return the assertions in force by name; none where a file of the installation holds them."""
        if settings.ASSERTIONS_FILE:
            return []
        rows = {row.name: row for row in ManagedAssertion.objects.filter(is_managed=True)}
        return [
            StoredEntry(
                name,
                name,
                value,
                is_managed=name in rows,
                source=rows[name].source if name in rows else "",
            )
            for name, value in sorted(assertions.list_values(_load_text()).items())
        ]

    def read_entries(self, files: Sequence[BundleFile], _context: ReadContext, /) -> list[FileEntry]:
        """Return the assertions of files. Raises Invalid with every problem."""
        if settings.ASSERTIONS_FILE:
            detail = "ASSERTIONS_FILE names the file that holds the assertions; change them there."
            raise Invalid([file.make_problem("assertions.file", 1, detail) for file in files])
        entries: list[FileEntry] = []
        refusals: list[Invalid] = []
        for file in files:
            try:
                name = _check_name(file, read_assertion(file.path, file.text).name)
            except Invalid as error:
                refusals.append(error)
                continue
            entries.append(FileEntry(file, name, name, load_texts(file.text)))
        if refusals:
            raise Invalid([problem for refusal in refusals for problem in refusal.problems])
        # A name without quotes may look like a number, which is no text to others.
        if duplicates := find_duplicates([(entry.key, entry.file) for entry in entries], noun=self.noun):
            raise Invalid(duplicates)
        return entries

    def write(
        self,
        changes: Sequence[BundleChange],
        *,
        by: Actor,
        channel: str,  # noqa: ARG002 - a version of the text names its author alone
    ) -> None:
        """Store the text with these assertions as one new version; the others stay where they are."""
        written_changes = choose_changes(changes, ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)
        if not written_changes:
            return
        if settings.ASSERTIONS_FILE:
            raise Conflict("ASSERTIONS_FILE names the file that holds the assertions; change them there.")
        text = _load_text()
        values: dict[str, Any] = dict(assertions.list_values(text))
        for change in written_changes:
            if change.entry is None:
                del values[change.key]
            else:
                values[change.key] = change.entry.value
        latest = queries.find_latest()
        assertions.save(
            text=_write_text(text, list(values.values())),
            expected_version=latest.number if latest is not None else 0,
            by=by,
        )

    def mark(self, keys: Collection[str], *, source: str | None) -> None:
        """Mark assertions as managed."""
        columns: Mapping[str, Any] = {"is_managed": True} | ({} if source is None else {"source": source})
        for name in keys:
            ManagedAssertion.objects.update_or_create(name=name, defaults=columns)

    def release(self, keys: Collection[str]) -> None:
        """Mark assertions as not managed."""
        ManagedAssertion.objects.filter(name__in=keys).update(is_managed=False)

    def locate_object(self, key: str) -> str:
        """Return the URN under which the change log has an assertion."""
        return f"{OBJECT_PREFIX}{key}"


def _check_name(file: BundleFile, name: str) -> str:
    if len(name) > MAX_NAME_LENGTH:
        detail = f"A name has up to {MAX_NAME_LENGTH} characters."
        raise Invalid([file.make_problem("name.long", file.document.find_line("/name"), detail)])
    return name


def _load_text() -> str:
    latest = queries.find_latest()
    return latest.text if latest is not None else ""


def _write_text(text: str, values: list[Any]) -> str:
    """Return the text of these assertions, with the notes of the old text where it is short enough to be edited."""
    if not values:
        return ""
    root = load_texts(text)
    if not root or len(text) > _MAX_EDITED_LENGTH:
        return strict_yaml.dump(values)
    return round_trip.update_text(text, {"assertions": values} if isinstance(root, dict) else values)
