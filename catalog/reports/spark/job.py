"""Shared parts of every job: its program, progress and exit codes.

The module of a job has it as PROGRAM, which `job_server` runs in a session with others. Alone it is started with
`--input URL --output URL`: the folder of a snapshot (with `manifest.json` and `parameters.json`) and the folder for
results, `file:` or any scheme that the cluster reads. It prints progress as JSON lines on standard output. Its code is
0 when done, 10 for invalid input and 11 on failure; the reason is then a line {"problem"} on standard output. It is in
the log on standard error, too, where lines of Java may follow it.
"""

import argparse
import errno
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from catalog.reports import storage_problems
from catalog.reports.job_protocol import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED
from catalog.reports.snapshot import partitions, reader
from catalog.reports.snapshot.partitions import SnapshotState
from catalog.reports.snapshot.reader import SCHEMA_VERSION, CorruptSnapshot
from catalog.reports.spark import error_sentences
from catalog.reports.spark.frames import MAX_ROWS_IN_MEMORY, describe_columns, has_arrow_frames, join_chunks
from catalog.reports.spark.readable_folders import ReadableFolders
from catalog.reports.spark.session import (
    SparkUnavailable,
    add_tags,
    clear_tags,
    find_local_folder,
    has_ended,
    is_spark_error,
)
from catalog.reports.spark.shared_session import SharedSession
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from catalog.reports.summary import Summary
from catalog.reports.tables import LEFT_OUT, ResultTable
from policies.engine.gc_pause import pause_gc

#: Rows of a table of results that are read, or passed over, together: pages show the first ones of a table.
ROW_GROUP_ROWS = 100_000


class BadInput(Exception):
    """The input of the job is invalid; the message says why."""


@dataclass(frozen=True)
class Job:
    """A running job: Spark, its folders, parameters, manifest of the snapshot, and its length."""

    spark: SparkSession
    source: str
    target: str
    parameters: Mapping[str, Any]
    manifest: Mapping[str, Any]
    is_short: bool = False

    @cached_property
    def state(self) -> SnapshotState:
        """The state that all partitions share. Raises CorruptSnapshot."""
        print_progress("Reading policies and people")
        return partitions.load_state(self.source, self.manifest["policy_version"])

    @cached_property
    def readable_folders(self) -> ReadableFolders:
        """The folders that Spark's own readers read for this job."""
        return ReadableFolders(self.spark, find_local_folder() / f"copies-{uuid4().hex}")

    @cached_property
    def read_frame(self) -> Callable[[str], DataFrame]:
        """A function that returns a table of the snapshot as a DataFrame, opened once. Raises OSError, CorruptSnapshot.

        Short jobs keep a small one in memory, as they do with intermediate tables.
        """
        return cache(self._open_frame)

    def _open_frame(self, name: str) -> DataFrame:
        if self.is_short and has_arrow_frames():
            table = self.read_table(name)
            if table.num_rows <= MAX_ROWS_IN_MEMORY:
                return self.merge_partitions(self.spark.createDataFrame(join_chunks(table)))
        frame = self._read_parquet(name)
        number_column = reader.NUMBER_COLUMNS.get(name)
        if number_column is None or not self.manifest.get("changed"):
            return frame
        numbers, changed_rows = (
            self._read_parquet(f"{reader.CHANGED_FOLDER}/{table}") for table in (reader.CHANGED_NUMBERS, name)
        )
        valid_rows = frame.join(numbers.withColumnRenamed("number", number_column), on=number_column, how="left_anti")
        return valid_rows.select(*frame.columns).unionByName(changed_rows)

    def _read_parquet(self, name: str) -> DataFrame:
        url = self.readable_folders.find_url(parse_address(self.source), f"{name}.parquet")
        columns = describe_columns(reader.read_schema(self.source, name))
        return self.merge_partitions(self.spark.read.schema(columns).parquet(url))

    def merge_partitions(self, frame: DataFrame) -> DataFrame:
        """Return a frame of files or of memory, in one partition if there is little: nothing is exchanged then."""
        return frame.coalesce(1) if self.is_short else frame

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table of the snapshot that fits into the memory of this process. Raises CorruptSnapshot."""
        return reader.read_table(self.source, name, columns)

    def read_json(self, name: str) -> Mapping[str, Any]:
        """Return a JSON object from the folder of the snapshot. Raises CorruptSnapshot."""
        return reader.read_json(self.source, name)

    def write_rows(self, table: ResultTable, rows: Sequence[Mapping[str, Any]], *, left_out: int = 0) -> None:
        """Write rows of results by column name; keys that are no columns are dropped.

        `left_out` is the number of further rows that there would be.
        """
        schema = _build_schema(table).with_metadata({LEFT_OUT: str(left_out)})
        self.write_table(table.name, pa.Table.from_pylist(list(rows), schema=schema))

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table of results with its row order as `position`."""
        self.write_ordered_tables(name, table.schema, [table])

    def write_ordered_tables(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
        """Write a table of results, however long, whose rows come in order in tables of this schema."""
        folder = parse_address(self.target) / name
        folder.create()
        positioned_schema = schema.append(pa.field("position", pa.int64()))
        row_count = 0
        with (
            folder.open_output("part-0.parquet") as stream,
            pq.ParquetWriter(stream, positioned_schema, compression="zstd") as writer,
        ):
            for rows in tables:
                positions = pa.array(range(row_count, row_count + rows.num_rows), pa.int64())
                writer.write_table(rows.append_column("position", positions), row_group_size=ROW_GROUP_ROWS)
                row_count += rows.num_rows

    def write_batches(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Write rows that are no table of a page, however many; without any there is no file."""
        for number, batch in enumerate(batches):
            self.write_part(name, f"part-{number}", batch)

    def write_part(self, name: str, part_name: str, rows: pa.Table) -> None:
        """Write some of the rows that are no table of a page, as a file of this name."""
        folder = parse_address(self.target) / name
        folder.create()
        with folder.open_output(f"{part_name}.parquet") as stream:
            pq.write_table(rows, stream, compression="zstd")


def _build_schema(table: ResultTable) -> pa.Schema:
    """Return the schema of the files of a table, without the position."""
    return pa.schema([(column.name, pa.int64() if column.is_number else pa.string()) for column in table.columns])


#: Size of the files, in bytes, up to which a job with joins is short: some seconds of work.
_MAX_SHORT_INPUT = 8 * 2**20

#: The work of a job: receives it and returns its summary.
ComputeFunction = Callable[[Job], Summary]


@dataclass(frozen=True, slots=True)
class JobProgram:
    """The program of a job. `has_joins`: the work is done by Spark's joins, and not in Python, by partition.

    The summary that `compute` returns becomes `summary.json`. `list_inputs` returns the folders that the job reads
    besides its snapshot.
    """

    name: str
    compute: ComputeFunction
    has_joins: bool = False
    list_inputs: Callable[[str], Iterable[StorageFolder]] = lambda _: ()

    def is_short(self, source: str) -> bool:
        """Whether the job ends before optimized compilation by Java pays."""
        if not self.has_joins:
            return True
        try:
            folders = (parse_address(source), *self.list_inputs(source))
            return sum(folder.measure_size() for folder in folders) <= _MAX_SHORT_INPUT
        except (OSError, BadAddress, CorruptSnapshot):
            # The job says what is wrong with them.
            return False

    def run_alone(self) -> int:
        """Run the job that the command line asks for and return the exit code."""
        parser = argparse.ArgumentParser(prog=self.name)
        parser.add_argument("--input", required=True, metavar="URL")
        parser.add_argument("--output", required=True, metavar="URL")
        arguments = parser.parse_args()
        with SharedSession() as shared_session:
            return self.run(arguments.input, arguments.output, shared_session)

    def run(self, source: str, target: str, shared_session: SharedSession) -> int:
        """Run the job and return the exit code; the reason of a failure is printed."""
        try:
            with pause_gc():
                self._run_steps(source.rstrip("/"), target.rstrip("/"), shared_session)
        except CorruptSnapshot as error:
            return _print_exit_sentence(
                EXIT_BAD_INPUT, f"{error} Start the report again, which takes another snapshot."
            )
        except BadInput as error:
            return _print_exit_sentence(EXIT_BAD_INPUT, str(error))
        except (SparkUnavailable, _SparkFailed) as error:
            return _print_exit_sentence(EXIT_FAILED, str(error))
        except ConnectionError:
            return _print_exit_sentence(EXIT_FAILED, error_sentences.describe_end_of_java())
        except OSError as error:
            return _print_exit_sentence(EXIT_FAILED, _describe_file_error(parse_address(target), error))
        except MemoryError:
            return _print_exit_sentence(EXIT_FAILED, _LITTLE_MEMORY)
        except Exception:  # noqa: BLE001 - whatever goes wrong, its stack is for the log and not for the page
            traceback.print_exc()
            return _print_exit_sentence(EXIT_FAILED, _UNEXPECTED_ERROR)
        return EXIT_DONE

    def _run_steps(self, source: str, target: str, shared_session: SharedSession) -> None:
        manifest, parameters = (reader.read_json(source, name) for name in ("manifest.json", "parameters.json"))
        if manifest.get("schema") != SCHEMA_VERSION:
            raise BadInput(f"The snapshot has schema {manifest.get('schema')}; this job reads {SCHEMA_VERSION}.")
        is_short = self.is_short(source)
        print_progress("Starting Spark")
        session = shared_session.open(is_short=is_short)
        clear_tags(session)
        add_tags(session, [f"authzsite.{self.name}"])
        job = Job(session, source, target, parameters, manifest, is_short)
        try:
            summary = self.compute(job)
        except Exception as error:
            if not is_spark_error(error):
                raise
            read_folder = job.readable_folders.find_read_folder(parse_address(source))
            raise _SparkFailed(_log_spark_error(error, read_folder.url)) from None
        folder = parse_address(target)
        folder.create()
        folder.write_text("summary.json", json.dumps(summary.serialize(), ensure_ascii=False))


def print_progress(stage: str, done: int = 0, total: int = 0) -> None:
    """Print the progress of the job; a `total` of 0 is unknown."""
    sys.stdout.write(json.dumps({"stage": stage, "done": done, "total": total}) + "\n")
    sys.stdout.flush()


def _describe_file_error(folder: StorageFolder, error: OSError) -> str:
    if not folder.is_local:
        return storage_problems.describe_error(folder, error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Files of Spark are on one disk, and those of the report may be on another.
        return error_sentences.describe_error(os.strerror(errno.ENOSPC), folder=find_local_folder())
    return storage_problems.describe_local_error(error, folder)


_LITTLE_MEMORY = "The job had too little memory: give the machine more, or Java less of it (SPARK_DRIVER_MEMORY)."
_UNEXPECTED_ERROR = "The job failed with an unexpected error; its log says where."


class _SparkFailed(Exception):
    """A failure of Spark, with its sentence."""


def _log_spark_error(error: Exception, source: str) -> str:
    """Print the error of Spark to the log, as long as its JVM responds, and return the sentence about it."""
    try:
        text = str(error)
    except OSError:
        return error_sentences.describe_end_of_java()
    sys.stderr.write(f"{text}\n")
    if has_ended(error):
        return error_sentences.describe_end_of_java()
    return error_sentences.describe_error(text, source=source, folder=find_local_folder())


def _print_exit_sentence(code: int, sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    sys.stdout.write(json.dumps({"problem": sentence}) + "\n")
    sys.stdout.flush()
    return code
