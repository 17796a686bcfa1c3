"""Files of the open tables that one attempt of a run writes, at its end, from the tables of its results. No Django.

The files are complete, and nobody reads them: that is what the entry of the run in the manifest is for.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.reports import storage
from catalog.reports.result_tables.feeds import Feed
from catalog.reports.result_tables.schemas import ACCESS_EDGES, SCHEMA_VERSION, OpenTable
from catalog.reports.storage import StorageFolder

#: In the folder that a job reads: what to write, and where to; in the folder of its results: what it wrote.
PLAN_FILE, WRITTEN_FILE = "result_tables.json", "result_tables.json"

#: In the metadata of a table of results: how many rows are not in it.
LEFT_OUT = b"left_out"

_BATCH_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class FilePlan:
    """Which attempt of which run writes files, and where: what a job gets to know.

    `max_edges` is the bound of the rows of ACCESS_EDGES, 0 for none.
    """

    folder: str
    run: str
    attempt: int
    kind: str
    as_of: str
    policy_version: int
    max_edges: int

    @property
    def moment(self) -> datetime:
        """The moment that the rows describe, in UTC."""
        return datetime.fromisoformat(self.as_of).astimezone(UTC)

    @property
    def partition(self) -> str:
        """The folder of the files within that of a table."""
        return f"report={self.kind}/day={self.moment:%Y-%m-%d}"

    @property
    def file_prefix(self) -> str:
        """The beginning of the names of all files of this attempt."""
        return f"{self.run}-{self.attempt}"

    @property
    def constants(self) -> dict[str, Any]:
        """The values that are the same in all rows."""
        return {
            "run": self.run,
            "attempt": self.attempt,
            "kind": self.kind,
            "as_of": self.moment,
            "policy_version": self.policy_version,
        }

    def serialize(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "FilePlan":
        """Return the plan of a JSON object."""
        return cls(**document)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of an open table; `path` is relative to the folder of all tables."""

    table: str
    path: str
    rows: int
    bytes: int


@dataclass(slots=True)
class WrittenTables:
    """What an attempt wrote: its files, and by table the rows that were left out."""

    files: list[WrittenFile]
    left_out: dict[str, int]

    def serialize(self) -> bytes:
        """Return it as JSON."""
        tables = [
            {
                "table": name,
                "rows": sum(file.rows for file in self.files if file.table == name),
                "left_out": left_out,
                "is_complete": not left_out,
            }
            for name, left_out in self.left_out.items()
        ]
        document = {
            "schema_version": SCHEMA_VERSION,
            "tables": tables,
            "files": [asdict(file) for file in self.files],
        }
        return json.dumps(document).encode()


def write_files(plan: FilePlan, feeds: Sequence[Feed], results: StorageFolder) -> None:
    """Write the rows of every open table that is fed, and into the results which files these are. Raises OSError."""
    written_tables = WrittenTables([], {})
    feeds_by_table: dict[str, list[Feed]] = {}
    for feed in feeds:
        # A run without edges does not say that there are none.
        if feed.table is ACCESS_EDGES and not plan.max_edges:
            continue
        feeds_by_table.setdefault(feed.table.name, []).append(feed)
    for name, table_feeds in feeds_by_table.items():
        written_tables.left_out[name] = sum(_count_left_out(results / feed.source) for feed in table_feeds)
        batches = (batch for feed in table_feeds for batch in _build_batches(feed, results))
        file = _write_file(plan, table_feeds[0].table, batches)
        if file is not None:
            written_tables.files.append(file)
    results.write_bytes(WRITTEN_FILE, written_tables.serialize())


def _write_file(plan: FilePlan, table: OpenTable, batches: Iterator[pa.Table]) -> WrittenFile | None:
    """Write a file of these rows, and none without rows."""
    schema = table.build_arrow_schema()
    folder = storage.parse_address(plan.folder) / table.name / plan.partition
    name = f"{plan.file_prefix}.parquet"
    row_count = 0
    writer: pq.ParquetWriter | None = None
    try:
        for batch in batches:
            if batch.num_rows:
                if writer is None:
                    folder.create()
                    file_system, path = folder.open()
                    writer = pq.ParquetWriter(f"{path}/{name}", schema, filesystem=file_system, compression="zstd")
                writer.write_table(_complete_batch(batch, plan, schema))
                row_count += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        return None
    file_system, path = folder.open()
    size = file_system.get_file_info(f"{path}/{name}").size
    return WrittenFile(table.name, f"{table.name}/{plan.partition}/{name}", row_count, size)


def _complete_batch(batch: pa.Table, plan: FilePlan, schema: pa.Schema) -> pa.Table:
    """Return rows with all columns of the schema, in its order; those that the rows lack are null."""
    constants = plan.constants
    columns = []
    for field in schema:
        if field.name in constants:
            columns.append(pa.repeat(pa.scalar(constants[field.name], field.type), batch.num_rows))
        elif field.name in batch.column_names:
            columns.append(_cast_column(batch.column(field.name), field.type))
        else:
            columns.append(pa.nulls(batch.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _cast_column(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(type_) and pa.types.is_string(column.type):
        times = [None if text is None else _parse_time(text) for text in column.to_pylist()]
        return pa.chunked_array([pa.array(times, type_)])
    return column.cast(type_)


def _parse_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _build_batches(feed: Feed, results: StorageFolder) -> Iterator[pa.Table]:
    """Yield the rows of a feed in batches, with the columns that it has."""
    for batch in _read_batches(results / feed.source):
        columns = {
            column.name: batch.column(source)
            for column in feed.table.own_columns
            if (source := feed.columns.get(column.name, column.name)) in batch.column_names
        }
        columns["table"] = pa.repeat(pa.scalar(feed.source), batch.num_rows)
        for measure in feed.measures:
            names = pa.repeat(pa.scalar(measure), batch.num_rows)
            yield pa.table({**columns, "measure": names, "value": batch.column(measure)})
        if not feed.measures:
            yield pa.table(columns)


def _read_batches(folder: StorageFolder) -> Iterator[pa.Table]:
    for name in folder.list_names():
        with folder.open_input(name) as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS):
                yield pa.Table.from_batches([batch])


def _count_left_out(folder: StorageFolder) -> int:
    counts = []
    for name in folder.list_names():
        with folder.open_input(name) as file:
            metadata = pq.read_schema(file).metadata or {}
            counts.append(int(metadata.get(LEFT_OUT, 0)))
    return sum(counts)
