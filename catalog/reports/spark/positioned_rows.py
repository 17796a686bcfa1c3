"""Tables of results as files, whose rows have their order as `position`."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.reports.storage import StorageFolder

#: Rows of a table of results that are read, or passed over, together: pages show the first ones of a table.
ROW_GROUP_ROWS = 100_000


def write_positioned_rows(folder: StorageFolder, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write the rows of these tables, one after the other, as the only file of a folder. Raises OSError.

    Less than ROW_GROUP_ROWS rows wait for those of the next table.
    """
    folder.create()
    positioned_schema = schema.append(pa.field("position", pa.int64()))
    row_count = 0
    with (
        folder.open_output("part-0.parquet") as stream,
        pq.ParquetWriter(stream, positioned_schema, compression="zstd") as writer,
    ):
        for rows in _iterate_row_groups(tables):
            positions = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows), start=row_count - 1)
            writer.write_table(rows.append_column("position", positions), row_group_size=ROW_GROUP_ROWS)
            row_count += rows.num_rows


def _iterate_row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows in tables of ROW_GROUP_ROWS rows; the last one may have fewer."""
    waiting_tables: list[pa.Table] = []
    waiting_count = 0
    for table in tables:
        waiting_tables.append(table)
        waiting_count += table.num_rows
        if waiting_count >= ROW_GROUP_ROWS:
            rows = pa.concat_tables(waiting_tables)
            end = waiting_count - waiting_count % ROW_GROUP_ROWS
            for start in range(0, end, ROW_GROUP_ROWS):
                yield rows.slice(start, ROW_GROUP_ROWS)
            waiting_tables, waiting_count = [rows.slice(end)], waiting_count - end
    if waiting_count:
        yield pa.concat_tables(waiting_tables)
