"""Writes a snapshot: every table as Parquet, a manifest and the settings of grants, in one consistent transaction.

A table is one file, or for the rows of entities a folder of files, each sorted by the number of the entity and named by
the first number of its range. They are read and written at once, by as many threads as the database has connections
for it; memory does not grow with the number of rows.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings

from catalog.access.grant_rows import instance_administrators
from catalog.reports.snapshot.database_reader import DatabaseReader, NumberRange, open_database_reader
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE
from catalog.reports.snapshot.reader import SCHEMA_VERSION, name_part
from catalog.reports.snapshot.schema import FACETS_TABLE, TABLES, SnapshotTable
from catalog.reports.storage import UNFINISHED, StorageFolder, parse_address
from policies.engine.families.cdap_entity_ids import INSTANCE_URN

MANIFEST_FILE = "manifest.json"

#: Rows of a row group, the smallest piece of a file that is read.
_GROUP_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a snapshot: schema version, policy version, change number, ISO 8601 time, row counts."""

    schema: int
    policy_version: int
    change_seq: int
    as_of: str
    rows: Mapping[str, int]


def write(*, folder: StorageFolder | Path, as_of: datetime, excluded_fields: Collection[str] = ()) -> Manifest:
    """Write a snapshot into a new folder and return its manifest.

    The folder appears when the snapshot is complete; where it cannot be renamed, the manifest does. The snapshot
    contains committed data, read on a connection of its own, without the facets of `excluded_fields`. Raises
    FileExistsError when the folder exists or is being written, and errors of the file system and the database.
    """
    target = folder if isinstance(folder, StorageFolder) else parse_address(folder)
    partial_folder = replace(target, path=f"{target.path}{UNFINISHED}") if target.is_renamable else target
    if target.is_there() or partial_folder.is_there():
        raise FileExistsError(f"There is a snapshot at {target} already.")
    partial_folder.create()
    try:
        with open_database_reader() as database:
            version, change_seq = database.read_counters()
            rows = _write_tables(
                database, [_exclude_fields(table, excluded_fields) for table in TABLES], partial_folder
            )
        manifest = Manifest(SCHEMA_VERSION, version, change_seq, as_of.isoformat(), rows)
        partial_folder.write_text(GRANT_SETTINGS_FILE, json.dumps(_grant_settings()))
        partial_folder.write_text(MANIFEST_FILE, json.dumps(asdict(manifest), indent=2))
        if target.is_renamable:
            partial_folder.rename(target)
    except BaseException:
        partial_folder.delete()
        raise
    return manifest


def _grant_settings() -> dict[str, Any]:
    return {
        "administrators": sorted(instance_administrators()),
        "instance": INSTANCE_URN,
        "is_inherited": settings.INHERIT_PRIVILEGES,
    }


def _exclude_fields(table: SnapshotTable, excluded_fields: Collection[str]) -> SnapshotTable:
    if table.name != FACETS_TABLE or not excluded_fields:
        return table
    return replace(table, rows=lambda: table.rows().exclude(field__in=sorted(excluded_fields)))


@dataclass(frozen=True, slots=True)
class _File:
    """One file of a snapshot: the rows of a table whose entities have a number of the range."""

    table: SnapshotTable
    folder: StorageFolder
    name: str
    numbers: NumberRange


def _write_tables(
    database: DatabaseReader, tables: Sequence[SnapshotTable], folder: StorageFolder
) -> Mapping[str, int]:
    """Write every table and return its number of rows."""
    files = list(_plan_files(database, tables, folder))
    counts = Counter({table.name: 0 for table in tables})
    with ThreadPoolExecutor(database.max_readers) as executor:
        try:
            for file, count in zip(files, executor.map(lambda file: _write_file(database, file), files), strict=True):
                counts[file.table.name] += count
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
    return dict(counts)


def _plan_files(database: DatabaseReader, tables: Sequence[SnapshotTable], folder: StorageFolder) -> Iterator[_File]:
    """Yield the files of a snapshot and create their folders."""
    ranges = database.list_ranges()
    for table in tables:
        name = f"{table.name}.parquet"
        if table.number_column is None:
            yield _File(table, folder, name, NumberRange())
        else:
            (folder / name).create()
            yield from (_File(table, folder / name, name_part(numbers.first), numbers) for numbers in ranges)


def _write_file(database: DatabaseReader, file: _File) -> int:
    """Write one file and return its number of rows."""
    count = 0
    with (
        file.folder.open_output(file.name) as stream,
        pq.ParquetWriter(stream, file.table.schema, compression="zstd") as writer,
    ):
        for batch in database.iterate_batches(file.table, file.numbers):
            writer.write_batch(batch, row_group_size=_GROUP_ROWS)
            count += batch.num_rows
    return count
