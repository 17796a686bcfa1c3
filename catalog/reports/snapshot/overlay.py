"""Continues a snapshot: files of entities are linked, and those that changed since are written beside them.

A range of entities with changes has three more files: the numbers that changed, whose rows in the linked files are no
longer valid, and the present rows of these in both tables. Readers put them together (`reader.read_table`). A
continued snapshot that is continued again gets one set of such files, not two.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.models import Entity
from catalog.models.change_triggers import NOTED_TABLES
from catalog.reports.snapshot.database_reader import DatabaseReader, NumberRange
from catalog.reports.snapshot.horizon import Horizon
from catalog.reports.snapshot.manifest import EntityRange, Manifest
from catalog.reports.snapshot.reader import CHANGED_FOLDER, CHANGED_NUMBERS, NUMBER_COLUMNS, SCHEMA_VERSION, name_part
from catalog.reports.snapshot.schema import SnapshotTable
from catalog.reports.storage import StorageFolder

#: Share of the entities up to which reading the changed ones and putting them together costs less than a full snapshot.
MAX_CHANGED_SHARE = 0.2

#: Changed entities of one file, whose rows have to fit into memory.
MAX_CHANGED_IN_FILE = 131_072

_NUMBERS_SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False)])


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """A complete snapshot that can be continued, with its manifest."""

    folder: StorageFolder
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class OverlayRange:
    """The part of an overlay for the entities of one file, from the number `first` on.

    `new_numbers` changed since the base was taken, `known_numbers` before; `numbers` are both, sorted: the linked files
    have no valid rows of them.
    """

    base: StorageFolder
    first: int
    new_numbers: pa.Array
    known_numbers: pa.Array
    numbers: pa.Array

    def write(self, database: DatabaseReader, tables: Sequence[SnapshotTable], folder: StorageFolder) -> dict[str, int]:
        """Write the files of the range into the folder of a snapshot, and return the number of rows of each table.

        Raises OSError and pa.ArrowException where the base is damaged, and errors of the database.
        """
        if len(self.numbers):
            _write_file(
                _find_changed_folder(folder, CHANGED_NUMBERS), self._part, pa.table([self.numbers], _NUMBERS_SCHEMA)
            )
        return {table.name: self._write_table(database, table, folder) for table in tables}

    @property
    def _part(self) -> str:
        return name_part(self.first)

    def _write_table(self, database: DatabaseReader, table: SnapshotTable, folder: StorageFolder) -> int:
        file_name = f"{table.name}.parquet"
        (folder / file_name).create()
        (self.base / file_name).link_file(self._part, folder / file_name)
        with (self.base / file_name).open_input(self._part) as stream:
            linked_count: int = pq.read_metadata(stream).num_rows
        if not len(self.numbers):
            return linked_count
        number_column = NUMBER_COLUMNS[table.name]
        linked_numbers = _read_file(self.base / file_name, self._part, [number_column]).column(number_column)
        invalid_count: int = pc.sum(pc.is_in(linked_numbers, value_set=self.numbers)).as_py() or 0
        rows = pa.concat_tables([*self._read_known_rows(table), self._read_new_rows(database, table)])
        _write_file(_find_changed_folder(folder, table.name), self._part, rows.sort_by(number_column))
        count: int = linked_count - invalid_count + rows.num_rows
        return count

    def _read_known_rows(self, table: SnapshotTable) -> Iterator[pa.Table]:
        """Yield the rows that the base has beside its linked files, of entities that have not changed again."""
        if len(self.known_numbers):
            rows = _read_file(_find_changed_folder(self.base, table.name), self._part)
            numbers = rows.column(NUMBER_COLUMNS[table.name])
            yield rows.filter(pc.invert(pc.is_in(numbers, value_set=self.new_numbers)))

    def _read_new_rows(self, database: DatabaseReader, table: SnapshotTable) -> pa.Table:
        numbers = self.new_numbers.to_pylist()
        # A query, not the numbers alone: PostgreSQL begins at these entities then, instead of joining all of the range.
        entities = Entity.objects.filter(pk__among=numbers).order_by().values("pk")
        changed_rows = replace(table, rows=lambda: table.rows().filter(**{f"{table.number_column}__in": entities}))
        batches = database.iterate_batches(changed_rows, NumberRange()) if numbers else ()
        return pa.Table.from_batches(batches, table.schema)


def plan_overlay(database: DatabaseReader, base: SnapshotFolder, horizon: Horizon | None) -> list[OverlayRange] | None:
    """Return the ranges of a snapshot that continues `base`, or None if it has to be a full one.

    Holds 8 bytes for each entity that changed. Raises OSError and pa.ArrowException where the base is damaged.
    """
    manifest = base.manifest
    if manifest.schema != SCHEMA_VERSION or manifest.horizon is None or horizon is None:
        return None
    if not manifest.horizon.is_before(horizon) or not database.is_base(base.folder.name):
        return None
    if not database.has_markers(manifest.horizon):
        return None
    limit = int(manifest.rows["entities"] * MAX_CHANGED_SHARE)
    numbers = _read_changed_numbers(database, manifest.horizon, limit)
    if numbers is None:
        return None
    bounds = [0, *(bisect_left(numbers, item.first) for item in manifest.ranges[1:]), len(numbers)]
    ranges = [
        _plan_range(base.folder, item, pa.array(numbers[start:end], pa.int64()))
        for item, start, end in zip(manifest.ranges, bounds[:-1], bounds[1:], strict=True)
    ]
    sizes = [len(item.numbers) for item in ranges]
    return ranges if sum(sizes) <= limit and max(sizes) <= MAX_CHANGED_IN_FILE else None


def find_unchanged_tables(
    database: DatabaseReader, tables: Sequence[SnapshotTable], base: SnapshotFolder
) -> frozenset[str]:
    """Return the names of the tables whose file in the base is still right: nothing that it is made of has changed."""
    if base.manifest.horizon is None:
        return frozenset()
    unchanged_tables = frozenset(NOTED_TABLES) - database.find_changed_tables(base.manifest.horizon)
    return frozenset(table.name for table in tables if database.list_sources(table) <= unchanged_tables)


def _plan_range(base: StorageFolder, entity_range: EntityRange, new_numbers: pa.Array) -> OverlayRange:
    known_numbers = pa.array([], pa.int64())
    if entity_range.changed:
        numbers_folder = _find_changed_folder(base, CHANGED_NUMBERS)
        known_numbers = _read_file(numbers_folder, name_part(entity_range.first)).column("number").combine_chunks()
    numbers = pc.unique(pa.concat_arrays([known_numbers, new_numbers])).sort()
    return OverlayRange(base, entity_range.first, new_numbers, known_numbers, numbers)


def _read_changed_numbers(database: DatabaseReader, horizon: Horizon, limit: int) -> "array[int] | None":
    """Return the numbers of the entities that changed, sorted; None if they are more than `limit`."""
    numbers = array("q")
    changes = SnapshotTable("changes", _NUMBERS_SCHEMA, horizon.select_changed)
    for batch in database.iterate_batches(changes, NumberRange()):
        numbers.extend(batch.column(0).to_pylist())
        if len(numbers) > limit:
            return None
    return numbers


def _find_changed_folder(folder: StorageFolder, name: str) -> StorageFolder:
    return folder / CHANGED_FOLDER / f"{name}.parquet"


def _read_file(folder: StorageFolder, part: str, columns: Sequence[str] | None = None) -> pa.Table:
    with folder.open_input(part) as stream:
        return pq.read_table(stream, columns=columns)


def _write_file(folder: StorageFolder, part: str, rows: pa.Table) -> None:
    folder.create()
    with folder.open_output(part) as stream:
        pq.write_table(rows, stream, compression="zstd")
