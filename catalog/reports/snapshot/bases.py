"""The newest complete snapshot of each kind, kept for the next one to continue, whatever becomes of its run.

There is one for each set of excluded fields, in `bases` of REPORTS_DIR. Where the storage has links, its files are
second names of those of the run, which need room only once; they remain when the run is deleted. The database knows its
token.
"""

import logging
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from uuid import uuid4

import pyarrow as pa
from django.conf import settings
from django.db import transaction
from django.db.models import Min

from catalog.models import SnapshotBase, TableMarker
from catalog.reports.snapshot import writer
from catalog.reports.snapshot.manifest import Manifest
from catalog.reports.snapshot.overlay import SnapshotFolder
from catalog.reports.snapshot.reader import CHANGED_FOLDER, CHANGED_NUMBERS, NUMBER_COLUMNS, name_part
from catalog.reports.snapshot.schema import TABLES
from catalog.reports.snapshot.writer import ProgressCallback
from catalog.reports.storage import StorageFolder, parse_address

log = logging.getLogger(__name__)


def take_snapshot(
    *,
    folder: StorageFolder,
    as_of: datetime,
    excluded_fields: Collection[str],
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Manifest:
    """Write a snapshot that continues the last one without these fields, keep it for the next, return its manifest.

    A full one if there is none to continue, if that would be more work, or with REPORTS_INCREMENTAL off. Raises what
    `writer.write` raises.
    """
    if not settings.REPORTS_INCREMENTAL:
        return writer.write(folder=folder, as_of=as_of, excluded_fields=excluded_fields, on_progress=on_progress)
    manifest = _write_from_base(folder, as_of, excluded_fields, on_progress)
    if manifest is None:
        manifest = writer.write(folder=folder, as_of=as_of, excluded_fields=excluded_fields, on_progress=on_progress)
    if manifest.horizon is not None:
        _keep_base(folder, manifest, excluded_fields)
    return manifest


def forget_base(excluded_fields: Collection[str]) -> None:
    """Have the next snapshot without these fields be a full one, since a file of the last one may be damaged.

    Its files are deleted: the disk may be full.
    """
    key = _build_key(excluded_fields)
    SnapshotBase.objects.filter(key=key).delete()
    _delete_folder(_find_bases_folder(key))


def _delete_folder(folder: StorageFolder) -> None:
    try:
        if folder.is_there():
            folder.delete()
    except OSError as error:
        log.warning("snapshot_base_not_deleted", extra={"base": str(folder), "problem": str(error)})


def _write_from_base(
    folder: StorageFolder, as_of: datetime, excluded_fields: Collection[str], on_progress: ProgressCallback
) -> Manifest | None:
    """Write a snapshot that continues the base, and return its manifest; None without a base that can be read."""
    base = _find_base(_build_key(excluded_fields))
    if base is None:
        return None
    try:
        return writer.write(
            folder=folder, as_of=as_of, excluded_fields=excluded_fields, base=base, on_progress=on_progress
        )
    except (OSError, pa.ArrowException) as error:
        # Another worker has replaced it meanwhile, or somebody has deleted or damaged files. What is wrong with the
        # storage itself is said by the full snapshot.
        log.warning("snapshot_base_unusable", extra={"base": str(base.folder), "problem": str(error)})
        return None


def _find_base(key: str) -> SnapshotFolder | None:
    token = SnapshotBase.objects.filter(key=key).values_list("token", flat=True).first()
    if token is None:
        return None
    folder = _find_bases_folder(key) / str(token)
    try:
        return SnapshotFolder(folder, Manifest.load(folder))
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("snapshot_base_unusable", extra={"base": str(folder), "problem": str(error)})
        return None


def _keep_base(folder: StorageFolder, manifest: Manifest, excluded_fields: Collection[str]) -> None:
    """Make this snapshot the base of the next one, in place of the one before.

    The token is stored last: what fails before leaves the older base, or none. No run fails because of that.
    """
    key, token = _build_key(excluded_fields), uuid4()
    bases_folder = _find_bases_folder(key)
    try:
        (bases_folder / str(token)).create()
        _link_files(folder, bases_folder / str(token), manifest)
        manifest.store(bases_folder / str(token))
        oldest_marker = 0 if manifest.horizon is None else manifest.horizon.oldest_marker
        SnapshotBase.objects.update_or_create(key=key, defaults={"token": token, "oldest_marker": oldest_marker})
        _delete_old_markers()
        for name in bases_folder.list_names():
            if name != str(token):
                (bases_folder / name).delete()
    except OSError as error:
        log.warning("snapshot_base_not_kept", extra={"base": str(bases_folder), "problem": str(error)})
        _delete_folder(bases_folder / str(token))


def _delete_old_markers() -> None:
    """Delete the markers of tables that every base has seen, and note that: a base kept later may be older."""
    with transaction.atomic():
        oldest_marker = SnapshotBase.objects.aggregate(oldest=Min("oldest_marker"))["oldest"]
        # None where another worker has forgotten the last base meanwhile.
        if oldest_marker is not None:
            TableMarker.objects.get_or_create(name=TableMarker.DELETED, marker=oldest_marker)
            TableMarker.objects.filter(marker__lt=oldest_marker).delete()


def _link_files(folder: StorageFolder, target: StorageFolder, manifest: Manifest) -> None:
    """Link the files that a snapshot can take over from its base. Raises OSError."""
    for table in TABLES:
        if table.number_column is None:
            folder.link_file(f"{table.name}.parquet", target)
    changed_parts = [name_part(item.first) for item in manifest.ranges if item.changed]
    parts_by_table = {f"{name}.parquet": [name_part(item.first) for item in manifest.ranges] for name in NUMBER_COLUMNS}
    parts_by_table |= {f"{CHANGED_FOLDER}/{name}.parquet": changed_parts for name in (*NUMBER_COLUMNS, CHANGED_NUMBERS)}
    for name, parts in parts_by_table.items():
        if parts:
            (target / name).create()
        for part in parts:
            (folder / name).link_file(part, target / name)


def _build_key(excluded_fields: Collection[str]) -> str:
    return sha256("\n".join(sorted(excluded_fields)).encode()).hexdigest()


def _find_bases_folder(key: str) -> StorageFolder:
    return parse_address(settings.REPORTS_DIR) / "bases" / key
