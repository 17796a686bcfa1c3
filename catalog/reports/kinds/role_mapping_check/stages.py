"""Intermediate tables of jobs about exports: each is computed once, so that the plans of joins stay small."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from catalog.reports.spark.frames import MAX_ROWS_IN_MEMORY, collect_small_table, make_frame
from catalog.reports.spark.job import Job
from catalog.reports.spark.job_threads import JobTask, JobThreads
from catalog.reports.storage import StorageFolder, parse_address

#: Folder of intermediate tables inside the folder for results, deleted when the job ends.
STAGES_FOLDER = "_stages"
#: Columns of nearly as many values as rows: Parquet would look for each among those that it has seen.
_DISTINCT_COLUMNS = ("object", "object_key", "line", "number", "urn", "name", "key")
_FILE_OPTIONS = {f"parquet.enable.dictionary#{name}": "false" for name in _DISTINCT_COLUMNS}


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of an intermediate table, in memory or in the files at an address for Spark."""

    schema: StructType
    table: pa.Table | None = None
    url: str = ""


class Stages:
    """Stores intermediate tables of a job, and reads them.

    Short jobs keep small tables in memory: files of a few rows cost them a third of their time.
    """

    def __init__(self, job: Job, threads: JobThreads, folder: StorageFolder) -> None:
        self._job = job
        self._threads = threads
        self._folder = folder
        self._numbers = count()

    def store(self, name: str, frame: DataFrame) -> DataFrame:
        """Compute the rows of a frame and return a frame that reads them. Raises JobEnded."""
        return self._read(name, [self._compute(name, frame)])

    def start(self, name: str, build: Callable[[], DataFrame]) -> JobTask[StoredRows]:
        """Compute some rows of an intermediate table in a thread, which also plans them."""
        return self._threads.start(lambda: self._compute(name, build()))

    def read_union(self, name: str, parts: Sequence[JobTask[StoredRows]]) -> DataFrame:
        """Return a frame of the rows of all parts, which have the same columns. Raises what the parts raise."""
        return self._read(name, [part.get_result() for part in parts])

    def _compute(self, name: str, frame: DataFrame) -> StoredRows:
        self._threads.check_not_ended()
        if self._job.is_short and (table := collect_small_table(frame, MAX_ROWS_IN_MEMORY)) is not None:
            return StoredRows(frame.schema, table=table)
        return StoredRows(frame.schema, url=self._write(name, frame))

    def _write(self, name: str, frame: DataFrame) -> str:
        url = (self._folder / f"{next(self._numbers)}-{name}").spark_url
        frame.write.options(**_FILE_OPTIONS).parquet(url)
        return url

    def _read(self, name: str, parts: Sequence[StoredRows]) -> DataFrame:
        """Return the rows of one source: all in memory, or all in files."""
        spark, schema = self._job.spark, parts[0].schema
        tables, urls = (
            [part.table for part in parts if part.table is not None],
            [part.url for part in parts if part.url],
        )
        if not urls:
            return self._job.merge_partitions(make_frame(spark, tables, schema))
        if tables:
            urls.append(self._write(name, make_frame(spark, tables, schema)))
        return self._job.merge_partitions(spark.read.schema(schema).parquet(*urls))


@contextmanager
def open_stages_folder(job: Job) -> Iterator[StorageFolder]:
    """Yield a folder for intermediate tables, which is deleted at the end."""
    folder = job.readable_folders.find_written_folder(parse_address(job.target) / STAGES_FOLDER)
    try:
        yield folder
    finally:
        folder.delete()
        job.readable_folders.delete_copies()
