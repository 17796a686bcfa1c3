"""The plan of a bundle: what applying it would change, compared with what is stored."""

import difflib
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from policies.authoring.services.bundles import files, kinds
from policies.authoring.services.bundles.files import BundleFile
from policies.authoring.services.bundles.kinds import (
    BundleChange,
    BundleKind,
    ChangeKind,
    FileEntry,
    ReadContext,
    StoredEntry,
)
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import PolicyVersion
from policies.models.managed import MAX_SOURCE_LENGTH
from policies.writes import strict_yaml

_SOURCE_PREFIXES = ("https://", "http://")


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """How a bundle is applied.

    `is_pruning` deletes what is managed, from this source if one is given, and no longer in the bundle. `source` is the
    address of the files; None keeps those that are stored. With `is_releasing` nothing in the bundle stays managed.
    `is_empty_confirmed` lets a bundle without files delete everything, and `is_taking_over` lets it have what is
    managed from another source.
    """

    is_pruning: bool = False
    source: str | None = None
    is_releasing: bool = False
    is_empty_confirmed: bool = False
    is_taking_over: bool = False


@dataclass(frozen=True, slots=True)
class Takeover:
    """An entry of the bundle that is managed from another source."""

    name: str
    key: str
    source: str


@dataclass(frozen=True, slots=True)
class BundlePlan:
    """The changes by folder of their kind, in the order of writing, and the version of all policies they start from."""

    changes: Mapping[str, tuple[BundleChange, ...]]
    policy_version: int
    takeovers: tuple[Takeover, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether applying changes nothing."""
        return not any(self.changes.values())

    def count_actions(self) -> dict[str, int]:
        """Return action → number of changes, of all actions."""
        counts = Counter(change.action for changes in self.changes.values() for change in changes)
        return {action.value: counts[action] for action in ChangeKind}

    @property
    def fingerprint(self) -> str:
        """A hash of what changes; it differs once the files, or what is stored of them, differ."""
        digest = hashlib.sha256()
        for folder, changes in self.changes.items():
            for change in changes:
                digest.update("\0".join((folder, change.action, change.key, *diff_change(change))).encode())
        return digest.hexdigest()[:32]


def plan_bundle(*, texts: Mapping[str, str], options: BundleOptions, by: Actor) -> BundlePlan:
    """Return the plan of applying these files (path → text). Stores nothing.

    Raises Forbidden, or Invalid with every problem, each with its file and line.
    """
    if options.source is not None:
        _check_source(options.source)
    bundle_kinds = kinds.load_kinds()
    kinds.require_kinds({path.partition("/")[0] for path in texts}, by=by)
    bundle_files, file_problems = files.parse_readable_files(texts, folders=bundle_kinds)
    coming_urns = {file.value["urn"] for file in bundle_files if _has_urn(file)}
    coming_urns |= files.list_unread_urns(texts, bundle_files)
    # Before what is compared is read: who gives this version back finds out that it changed since.
    policy_version = PolicyVersion.load_version()
    refusals = [Invalid(file_problems)] if file_problems else []
    changes: dict[str, tuple[BundleChange, ...]] = {}
    stored_by_kind = {folder: kind.list_stored() for folder, kind in bundle_kinds.items()}
    if options.is_pruning:
        _check_pruning(options, stored_by_kind)
    for folder, kind in bundle_kinds.items():
        kind_files = [file for file in bundle_files if file.folder == folder]
        try:
            entries = _read_entries(kind, kind_files, ReadContext(coming_urns, by))
        except Invalid as error:
            refusals.append(error)
            continue
        changes[folder] = tuple(_compare(entries, stored_by_kind[folder], options))
    if refusals:
        raise Invalid([problem for refusal in refusals for problem in refusal.problems])
    kinds.require_kinds({folder for folder, kind_changes in changes.items() if kind_changes}, by=by)
    takeovers = tuple(_list_takeovers(changes.values(), options))
    return BundlePlan(changes, policy_version, takeovers, tuple(_list_warnings(changes, stored_by_kind, takeovers)))


def diff_change(change: BundleChange) -> list[str]:
    """Return the lines of the unified diff of a change, from what is stored to what the file says."""
    before = strict_yaml.dump(change.stored_entry.value) if change.stored_entry is not None else ""
    after = "" if change.action is ChangeKind.DELETE or change.entry is None else strict_yaml.dump(change.entry.value)
    if change.action in (ChangeKind.ADOPT, ChangeKind.RELEASE):
        return []
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "stored", "file", lineterm="")
    # Without the two lines that name the sides.
    return list(lines)[2:]


def _read_entries(kind: BundleKind, kind_files: Sequence[BundleFile], context: ReadContext) -> list[FileEntry]:
    keys = [
        (file.value[kind.key_field], file)
        for file in kind_files
        if isinstance(file.value, dict) and isinstance(file.value.get(kind.key_field), str)
    ]
    if duplicates := files.find_duplicates(keys, noun=kind.noun):
        raise Invalid(duplicates)
    # Without files nothing is asked that reading may need.
    return kind.read_entries(kind_files, context) if kind_files else []


def _compare(
    entries: Sequence[FileEntry], stored_entries: Sequence[StoredEntry], options: BundleOptions
) -> Iterator[BundleChange]:
    stored_by_key = {stored_entry.key: stored_entry for stored_entry in stored_entries}
    for entry in sorted(entries, key=lambda entry: entry.key):
        stored_entry = stored_by_key.pop(entry.key, None)
        if (action := _choose_action(entry, stored_entry, options)) is not None:
            yield BundleChange(action, stored_entry, entry)
    if options.is_pruning:
        for stored_entry in stored_by_key.values():
            if stored_entry.is_managed and options.source in (None, stored_entry.source):
                yield BundleChange(ChangeKind.DELETE, stored_entry, None)


def _choose_action(entry: FileEntry, stored_entry: StoredEntry | None, options: BundleOptions) -> ChangeKind | None:
    if stored_entry is None:
        return ChangeKind.CREATE
    if not kinds.is_same(stored_entry, entry):
        return ChangeKind.CHANGE
    if options.is_releasing:
        return ChangeKind.RELEASE if stored_entry.is_managed else None
    if not stored_entry.is_managed or options.source not in (None, stored_entry.source):
        return ChangeKind.ADOPT
    return None


def _list_takeovers(changes: Iterable[Sequence[BundleChange]], options: BundleOptions) -> Iterator[Takeover]:
    for change in chain.from_iterable(changes):
        stored_entry = change.stored_entry
        is_managed = stored_entry is not None and stored_entry.is_managed and bool(stored_entry.source)
        if stored_entry is None or not is_managed or change.action is ChangeKind.DELETE:
            continue
        if options.source not in (None, stored_entry.source):
            yield Takeover(change.name, change.key, stored_entry.source)


def _list_warnings(
    changes: Mapping[str, Sequence[BundleChange]],
    stored_by_kind: Mapping[str, Sequence[StoredEntry]],
    takeovers: Iterable[Takeover],
) -> Iterator[str]:
    """Yield what is said before anything else of a plan."""
    managed_counts = Counter(
        entry.source for entries in stored_by_kind.values() for entry in entries if entry.is_managed
    )
    deleted_entries = [
        change.stored_entry
        for change in chain.from_iterable(changes.values())
        if change.action is ChangeKind.DELETE and change.stored_entry is not None
    ]
    for source, count in Counter(entry.source for entry in deleted_entries).items():
        if count * 2 > managed_counts[source]:
            origin = f" from {source}" if source else ""
            yield f"This deletes {count} of the {managed_counts[source]} entries that are managed{origin}."
    for takeover in takeovers:
        yield f"{takeover.name} ({takeover.key}) is managed from {takeover.source}, and taken over."
    yield from _list_shared_names(changes.get("policies", ()), stored_by_kind.get("policies", ()))


def _list_shared_names(changes: Iterable[BundleChange], stored_entries: Iterable[StoredEntry]) -> Iterator[str]:
    """Yield a sentence for each policy that takes the name of another one: they are told apart by their URNs."""
    names = {entry.key: entry.name for entry in stored_entries}
    written_changes = [change for change in changes if change.action in (ChangeKind.CREATE, ChangeKind.CHANGE)]
    before = dict(names)
    names |= {change.key: change.name for change in written_changes}
    keys_by_name = defaultdict(list)
    for key, name in names.items():
        keys_by_name[name].append(key)
    for change in written_changes:
        others = [key for key in keys_by_name[change.name] if key != change.key]
        if others and before.get(change.key) != change.name:
            yield f"{change.name} ({change.key}) has the name of {', '.join(others[:3])}."


def _check_pruning(options: BundleOptions, stored_by_kind: Mapping[str, Sequence[StoredEntry]]) -> None:
    """Refuse to delete what may belong to another folder."""
    sources = {
        stored_entry.source
        for entries in stored_by_kind.values()
        for stored_entry in entries
        if stored_entry.is_managed
    }
    if options.source is None and len(sources) > 1:
        detail = f"Policies are managed from {len(sources)} sources; to delete what is gone from one, name that source."
        raise Invalid.from_problem(code="source.missing", pointer="/source", detail=detail)


def _check_source(source: str) -> None:
    if source and (
        not source.startswith(_SOURCE_PREFIXES) or len(source) > MAX_SOURCE_LENGTH or not source.isprintable()
    ):
        detail = f"A source is an address that begins with https://, of up to {MAX_SOURCE_LENGTH} characters."
        raise Invalid.from_problem(code="source.invalid", pointer="/source", detail=detail)


def _has_urn(file: BundleFile) -> bool:
    return isinstance(file.value, dict) and isinstance(file.value.get("urn"), str)


def describe_plan(plan: BundlePlan) -> dict[str, Any]:
    """Return a plan as JSON: what the API answers and `manage.py policies plan --json` prints.

    The keys are `warnings` (sentences to read first), `policy_version`, `fingerprint`, `counts` (action → number) and
    `changes`, each of these with `action`, `kind` (its folder), `file` (None for what is deleted), `key`, `name` and
    `diff`.
    """
    return {
        "warnings": list(plan.warnings),
        "policy_version": plan.policy_version,
        "fingerprint": plan.fingerprint,
        "counts": plan.count_actions(),
        "changes": [
            {
                "action": change.action.value,
                "kind": folder,
                "file": change.entry.file.path if change.entry is not None else None,
                "key": change.key,
                "name": change.name,
                "diff": "\n".join(diff_change(change)),
            }
            for folder, changes in plan.changes.items()
            for change in changes
        ],
    }
