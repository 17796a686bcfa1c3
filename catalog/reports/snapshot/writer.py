"""Writes a snapshot: every table as Parquet, a manifest and the settings of grants, in one consistent transaction.

A table is one file, or for the rows of entities a folder of files, each sorted by the number of the entity and named by
the first number of its range. They are read and written at once, by as many threads as the database has connections
for it; memory does not grow with the number of rows. A snapshot that continues another one reads only what changed.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings

from catalog.access.grant_rows import instance_administrators
from catalog.reports.snapshot.database_reader import DatabaseReader, NumberRange, open_database_reader
from catalog.reports.snapshot.manifest import EntityRange, Manifest
from catalog.reports.snapshot.overlay import SnapshotFolder, find_unchanged_tables, plan_overlay
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE
from catalog.reports.snapshot.reader import SCHEMA_VERSION, name_part
from catalog.reports.snapshot.schema import FACETS_TABLE, TABLES, SnapshotTable
from catalog.reports.storage import StorageFolder, parse_address
from policies.engine.families.cdap_entity_ids import INSTANCE_URN

#: Rows of a row group, the smallest piece of a file that is read.
_GROUP_ROWS = 65_536

#: Writes some files, and returns the number of rows of each table in them.
_WriteStep = Callable[[], Mapping[str, int]]

#: Receives how many of how many files are done, in the thread that called.
ProgressCallback = Callable[[int, int], object]


def write(
    *,
    folder: StorageFolder | Path,
    as_of: datetime,
    excluded_fields: Collection[str] = (),
    base: SnapshotFolder | None = None,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Manifest:
    """Write a snapshot into a new folder and return its manifest.

    The manifest is written last: with it the snapshot is complete. The snapshot contains committed data, read on a
    connection of its own, without the facets of `excluded_fields`. It continues `base`, which was taken without the
    same facets, where that is possible and less work. Raises FileExistsError when the folder exists, errors of the file
    system, the database and pyarrow, and what `on_progress` raises, which ends the snapshot.
    """
    target = folder if isinstance(folder, StorageFolder) else parse_address(folder)
    if target.is_there():
        raise FileExistsError(f"There is a snapshot at {target} already.")
    target.create()
    try:
        with open_database_reader() as database:
            version, change_seq = database.read_counters()
            manifest = Manifest(SCHEMA_VERSION, version, change_seq, as_of.isoformat())
            manifest = replace(manifest, horizon=database.read_horizon(change_seq))
            tables = [_exclude_fields(table, excluded_fields) for table in TABLES]
            manifest = _write_tables(database, tables, target, manifest, base, on_progress)
        target.write_text(GRANT_SETTINGS_FILE, json.dumps(_grant_settings()))
        manifest.store(target)
    except BaseException:
        target.delete()
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


def _write_tables(
    database: DatabaseReader,
    tables: Sequence[SnapshotTable],
    folder: StorageFolder,
    manifest: Manifest,
    base: SnapshotFolder | None,
    on_progress: ProgressCallback,
) -> Manifest:
    """Write every table, and return the manifest with what has been written."""
    entity_tables = [table for table in tables if table.number_column is not None]
    other_tables = [table for table in tables if table.number_column is None]
    steps: list[_WriteStep] = []
    overlay = None if base is None else plan_overlay(database, base, manifest.horizon)
    if base is not None and overlay is not None:
        manifest = replace(
            manifest,
            ranges=tuple(EntityRange(item.first, len(item.numbers)) for item in overlay),
            base=base.folder.name,
            generation=base.manifest.generation + 1,
            changed=sum(len(item.numbers) for item in overlay),
        )
        steps += [partial(item.write, database, entity_tables, folder) for item in overlay]
        linked_names = find_unchanged_tables(database, other_tables, base)
        steps += [partial(_link_file, base, name, folder) for name in linked_names]
        other_tables = [table for table in other_tables if table.name not in linked_names]
    else:
        ranges = database.list_ranges()
        manifest = replace(manifest, ranges=tuple(EntityRange(item.first or 0, 0) for item in ranges))
        for table in entity_tables:
            table_folder = folder / f"{table.name}.parquet"
            table_folder.create()
            steps += [
                partial(_write_file, database, table, table_folder, name_part(item.first), item) for item in ranges
            ]
    steps += [
        partial(_write_file, database, table, folder, f"{table.name}.parquet", NumberRange()) for table in other_tables
    ]
    return replace(manifest, rows=_run_steps(steps, on_progress, max_readers=database.max_readers))


def _run_steps(steps: Sequence[_WriteStep], on_progress: ProgressCallback, *, max_readers: int) -> Mapping[str, int]:
    """Run the steps, so many at once, and return the number of rows of each table."""
    counts: Counter[str] = Counter({table.name: 0 for table in TABLES})
    with ThreadPoolExecutor(max_readers) as executor:
        try:
            for done, step_counts in enumerate(executor.map(lambda step: step(), steps), start=1):
                counts.update(step_counts)
                on_progress(done, len(steps))
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
    return dict(counts)


def _link_file(base: SnapshotFolder, name: str, folder: StorageFolder) -> Mapping[str, int]:
    """Link the file of a table that has not changed, and return its number of rows."""
    base.folder.link_file(f"{name}.parquet", folder)
    return {name: base.manifest.rows[name]}


def _write_file(
    database: DatabaseReader, table: SnapshotTable, folder: StorageFolder, name: str, numbers: NumberRange
) -> Mapping[str, int]:
    """Write one file, with the rows of a table whose entities have a number of the range."""
    count = 0
    with folder.open_output(name) as stream, pq.ParquetWriter(stream, table.schema, compression="zstd") as writer:
        for batch in database.iterate_batches(table, numbers):
            writer.write_batch(batch, row_group_size=_GROUP_ROWS)
            count += batch.num_rows
    return {table.name: count}
