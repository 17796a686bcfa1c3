"""The exports of connections: the last good snapshot of each is an export like those that people bring.

Its files stand in `connections/NAME` beside theirs. An entry of exports.json that names these files says how its names
are mapped; without one the connection has an entry of its own.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings

from catalog.models import WarehouseSnapshot
from catalog.reports import storage
from catalog.reports.storage import StorageFolder
from catalog.warehouses.connectors import CONNECTORS
from policies.engine.errors import Problem
from policies.errors import Invalid

CONNECTIONS_FOLDER, EXPORTS_FILE = "connections", "exports.json"


def find_folder(snapshot: WarehouseSnapshot) -> StorageFolder:
    """Return the folder with the files of a snapshot."""
    folder: StorageFolder = storage.parse_address(settings.REPORTS_DIR) / CONNECTIONS_FOLDER
    return folder / str(snapshot.connection) / str(snapshot.pk)


def list_connected() -> list[WarehouseSnapshot]:
    """Return the last good snapshot of each connection that has one, by name."""
    ready = WarehouseSnapshot.objects.filter(status=WarehouseSnapshot.Status.READY)
    newest = (ready.filter(connection=name).first() for name in sorted(settings.WAREHOUSE_CONNECTIONS))
    return [snapshot for snapshot in newest if snapshot is not None]


def add_connected(snapshots: Iterable[WarehouseSnapshot], folder: StorageFolder) -> None:
    """Add snapshots to a folder of exports, and entries to its exports.json. Raises Invalid, and OSError."""
    document = _read_document(folder)
    for snapshot in snapshots:
        files_path = f"{CONNECTIONS_FOLDER}/{snapshot.connection}"
        (folder / CONNECTIONS_FOLDER).create()
        find_folder(snapshot).copy_to(folder / files_path)
        entries = [entry for entry in document["exports"] if _is_of(entry, f"{files_path}/")]
        for entry in entries:
            _check_entry(entry, snapshot)
        if not entries:
            document["exports"].append(_build_entry(snapshot, files_path))
    folder.write_text(EXPORTS_FILE, json.dumps(document))


def list_times(snapshots: Iterable[WarehouseSnapshot], folder: StorageFolder) -> dict[str, int]:
    """Return the time of each file of snapshots in a folder of exports, by its path, in seconds since 1970.

    The snapshots that were read are not older than that.
    """
    taken_at = {f"{CONNECTIONS_FOLDER}/{snapshot.connection}": snapshot.taken_at for snapshot in snapshots}
    return {
        f"{path}/{name}": int(time.timestamp())
        for path, time in taken_at.items()
        if time is not None
        for name in (folder / path).list_names()
    }


def _read_document(folder: StorageFolder) -> dict[str, Any]:
    """Return exports.json, empty where there is none. Raises Invalid where nothing can be added to it."""
    if not folder.has_file(EXPORTS_FILE):
        return {"exports": []}
    try:
        document = json.loads(folder.read_bytes(EXPORTS_FILE))
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("exports"), list):
        detail = f'{EXPORTS_FILE} has to hold {{"exports": […]}}, to which the connections are added.'
        raise Invalid([Problem("grants.document", "", detail)])
    return document


def _is_of(entry: Any, prefix: str) -> bool:
    patterns = entry.get("grants") if isinstance(entry, dict) else None
    return isinstance(patterns, list) and any(isinstance(text, str) and text.startswith(prefix) for text in patterns)


def _check_entry(entry: Mapping[str, Any], snapshot: WarehouseSnapshot) -> None:
    """Raise Invalid where an entry is of another database, or has another name, by which repairs would not find it."""
    name, database = snapshot.connection, snapshot.reading["database"]
    problems = []
    if entry.get("name") != name:
        detail = f"The entry in {EXPORTS_FILE} with the files of the connection {name} has to have its name."
        problems.append(Problem("grants.name", "", detail))
    if entry.get("database", database) != database:
        detail = (
            f"The connection {name} leads to the database {database}, and its entry in {EXPORTS_FILE} says "
            f"{entry['database']}."
        )
        problems.append(Problem("grants.database", "", detail))
    if problems:
        raise Invalid(problems)


def _build_entry(snapshot: WarehouseSnapshot, files_path: str) -> dict[str, Any]:
    system = settings.WAREHOUSE_CONNECTIONS[snapshot.connection]["system"]
    return {
        "name": snapshot.connection,
        "platform": system,
        "form": system,
        "database": snapshot.reading["database"],
        **{key: [f"{files_path}/{name}" for name in names] for key, names in CONNECTORS[system].list_files().items()},
    }
