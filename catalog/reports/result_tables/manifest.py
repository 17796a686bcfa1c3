"""The manifest of the open tables: a file for each run whose rows count. No Django.

An entry is one small file that is there as a whole or not at all and has the name of its run. So runs that end at once
need not wait for each other, and a repeated write changes nothing. What no entry names is not part of the tables.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from catalog.reports.result_tables.run_files import FilePlan
from catalog.reports.storage import StorageFolder

MANIFEST_FOLDER = "manifest"

#: An entry: keys as in docs/result-tables.md.
ManifestEntry = Mapping[str, Any]


def build_entry(plan: FilePlan, written_tables: Mapping[str, Any], *, published_at: str) -> ManifestEntry:
    """Return the entry of a run whose attempt wrote this."""
    return {
        "run": plan.run,
        "attempt": plan.attempt,
        "kind": plan.kind,
        "as_of": plan.moment.isoformat(),
        "day": f"{plan.moment:%Y-%m-%d}",
        "policy_version": plan.policy_version,
        "published_at": published_at,
        **written_tables,
    }


def write_entry(folder: StorageFolder, entry: ManifestEntry) -> None:
    """Write the entry of a run into the manifest of these tables. Raises OSError."""
    manifest_folder = folder / MANIFEST_FOLDER
    manifest_folder.create()
    manifest_folder.write_text(_entry_name(entry["run"]), json.dumps(entry))


def iterate_entries(folder: StorageFolder) -> Iterator[ManifestEntry]:
    """Yield the entries of the manifest of these tables. Raises OSError."""
    manifest_folder = folder / MANIFEST_FOLDER
    for name in manifest_folder.list_names():
        if name.endswith(".json"):
            yield json.loads(manifest_folder.read_bytes(name))


def delete_entry(folder: StorageFolder, entry: ManifestEntry) -> None:
    """Delete the entry of a run, then its files. Raises OSError."""
    (folder / MANIFEST_FOLDER).delete_file(_entry_name(entry["run"]))
    for file in entry["files"]:
        folder.delete_file(file["path"])


def _entry_name(run: str) -> str:
    return f"{run}.json"
