"""Tables of Spark as tables of Arrow, in any version."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from catalog.reports.storage import parse_address
from catalog.sql_text import quote_name

#: The types of columns of jobs: Spark's name -> Arrow's type.
_ARROW_TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}

_BATCH_ROWS = 50_000

#: Rows up to which short jobs keep a table in memory; every plan that reads it contains them.
MAX_ROWS_IN_MEMORY = 20_000


def describe_columns(schema: pa.Schema) -> str:
    """Return the columns of files for Spark, so that it need not read them for that. Raises KeyError."""
    type_names = {arrow_type: name for name, arrow_type in _ARROW_TYPES.items()}
    return ", ".join(f"{quote_name(column.name)} {type_names[column.type]}" for column in schema)


def iterate_stored(frame: DataFrame) -> Iterator[pa.Table]:
    """Yield the rows of a frame of Parquet files, or of one in memory, in batches, in no order."""
    urls = sorted(frame.inputFiles())
    if not urls and (table := collect_table(frame)).num_rows:
        yield table
    for url in urls:
        folder, _, name = url.rpartition("/")
        with parse_address(folder).open_input(name) as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS):
                yield pa.Table.from_batches([batch])


def has_arrow_frames() -> bool:
    """Whether PySpark makes tables of Arrow of frames, and frames of tables, as all but 3.5 do."""
    return hasattr(DataFrame, "toArrow")


def collect_small_table(frame: DataFrame, max_rows: int) -> pa.Table | None:
    """Return the rows of a frame; None if there are more than `max_rows`, or PySpark makes no frame of them again."""
    # PySpark 4 fails on a struct that is null and has parts that never are.
    if not has_arrow_frames() or any("struct<" in data_type for _, data_type in frame.dtypes):
        return None
    table = frame.limit(max_rows + 1).toArrow()
    return None if table.num_rows > max_rows else table


def make_frame(session: SparkSession, tables: Sequence[pa.Table], schema: StructType) -> DataFrame:
    """Return a frame of the rows of tables, which have the columns of `schema` and, if several, any nulls.

    Spark knows the rows when it plans: it computes at once what depends on them alone, and drops joins with nothing.
    """
    if len(tables) == 1:
        return session.createDataFrame(join_chunks(tables[0]), schema)
    # Some tables have nulls where others never have any.
    arrow_schema = pa.schema([field.with_nullable(nullable=True) for field in tables[0].schema])
    nullable_schema = StructType([StructField(field.name, field.dataType) for field in schema.fields])
    united_table = pa.concat_tables([table.cast(arrow_schema) for table in tables])
    return session.createDataFrame(join_chunks(united_table), nullable_schema)


def join_chunks(table: pa.Table) -> pa.Table:
    """Return a table that Spark reads to its end: it takes a part without rows for the end of what it is given."""
    return table.combine_chunks()


def run_query(session: SparkSession, path: Path, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the query in a file of SQL, in which {name} stands for a frame."""
    return session.sql(path.read_text(encoding="utf-8"), args=None, **frames)


def collect_table(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame, in its order."""
    if has_arrow_frames():
        return frame.toArrow()
    schema = pa.schema([(field.name, _ARROW_TYPES[field.dataType.simpleString()]) for field in frame.schema.fields])
    return pa.Table.from_pylist([row.asDict() for row in frame.collect()], schema=schema)
