"""Export of what is stored as the files of a bundle, with names and an order that every export repeats."""

from collections.abc import Collection, Mapping
from pathlib import Path

from policies.authoring.services.bundles import files, kinds, round_trip
from policies.authoring.services.bundles.kinds import BundleKind, StoredEntry
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.writes import required_privileges, strict_yaml


def export_bundle(
    *, by: Actor, folders: Collection[str] = (), texts: Mapping[str, str] | None = None, limit: int = files.MAX_FILES
) -> dict[str, str]:
    """Return path → text of every stored entry of these kinds (without any: of all that `by` may change), by path.

    `texts` are the files that there are: an entry stays in its file, whose comments stay. Raises Forbidden, and Invalid
    for an unknown kind, for files that cannot be read, and for more than `limit` entries.
    """
    bundle_kinds = kinds.load_kinds()
    if unknown_folders := sorted(set(folders) - bundle_kinds.keys()):
        detail = f"There is no kind {unknown_folders[0]!r}; known are {', '.join(bundle_kinds)}."
        raise Invalid.from_problem(code="kind.unknown", pointer="/only", detail=detail)
    kinds.require_kinds(folders, by=by)
    paths_by_key: dict[tuple[str, str], str] = {}
    for file in files.parse_files(texts or {}, folders=bundle_kinds):
        if isinstance(file.value, dict):
            paths_by_key[file.folder, str(file.value.get(bundle_kinds[file.folder].key_field))] = file.path
    exported: dict[str, str] = {}
    for folder, kind in bundle_kinds.items():
        is_chosen = folder in folders if folders else required_privileges.is_met(kind.requirement, by=by)
        if not is_chosen:
            continue
        entries = kind.list_stored()
        if len(exported) + len(entries) > limit:
            detail = f"These are more than {limit:,} entries; export one kind, or with `manage.py policies export`."
            raise Invalid.from_problem(code="export.long", pointer="/only", detail=detail)
        for stored_entry in entries:
            path = paths_by_key.get((folder, stored_entry.key)) or _name_file(kind, stored_entry)
            old_text = (texts or {}).get(path)
            exported[path] = (
                strict_yaml.dump(stored_entry.value)
                if old_text is None
                else round_trip.update_text(old_text, dict(stored_entry.value))
            )
    return dict(sorted(exported.items()))


def write_folder(folder: Path, texts: Mapping[str, str]) -> int:
    """Write these files (path → text) that are not so already; return their number."""
    count = 0
    for path, text in texts.items():
        file = folder / path
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        count += 1
    return count


def _name_file(kind: BundleKind, stored_entry: StoredEntry) -> str:
    is_urn = stored_entry.key.startswith("urn:li:")
    identifier = stored_entry.key.split(":", 3)[-1] if is_urn else stored_entry.key
    return files.name_file(kind.folder, identifier=identifier, name=stored_entry.name)
