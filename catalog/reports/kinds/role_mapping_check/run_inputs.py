"""What jobs about exports of grants begin with: the exports, and a place for intermediate tables."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from catalog.reports import storage_problems
from catalog.reports.kinds.role_mapping_check import exports
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms.blocks import Block, find_other_header
from catalog.reports.snapshot import reader
from catalog.reports.spark import error_sentences
from catalog.reports.spark.frames import copy_to_memory
from catalog.reports.spark.job import BadInput, Job
from catalog.reports.spark.job_threads import JobThreads, open_threads
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from catalog.reports.summary import Summary

#: Folder of intermediate tables inside the folder for results, deleted when the job ends.
STAGES_FOLDER = "_stages"
#: Columns of nearly as many values as rows: Parquet would look for each among those that it has seen.
_DISTINCT_COLUMNS = ("object", "object_key", "line", "number", "urn", "name", "key")
_STAGE_OPTIONS = {f"parquet.enable.dictionary#{name}": "false" for name in _DISTINCT_COLUMNS}
#: Rows up to which short jobs keep an intermediate table in memory; every plan that reads it contains them.
_MAX_ROWS_IN_MEMORY = 20_000


def compute_in_stages(job: Job, compute: Callable[[Job, Stage, JobThreads], Summary]) -> Summary:
    """Compute in intermediate tables and threads, and return the summary. Raises BadInput, also for bad exports."""
    try:
        with _open_stages(job) as store, open_threads(job.spark) as threads:

            def stage(name: str, frame: DataFrame) -> DataFrame:
                threads.check_not_ended()
                return store(name, frame)

            return compute(job, stage, threads)
    except BadExports as error:
        raise BadInput(str(error)) from error


@contextmanager
def _open_stages(job: Job) -> Iterator[Stage]:
    """Yield a function that stores an intermediate table and reads it; all of them are deleted at the end.

    Short jobs keep small tables in memory: files of a few rows cost them a third of their time.
    """
    stage_numbers = count()
    stages_folder = job.readable_folders.find_written_folder(parse_address(job.target) / STAGES_FOLDER)

    def stage(name: str, frame: DataFrame) -> DataFrame:
        if job.is_short and (rows := copy_to_memory(frame, _MAX_ROWS_IN_MEMORY)) is not None:
            return rows
        stage_path = (stages_folder / f"{next(stage_numbers)}-{name}").spark_url
        frame.write.options(**_STAGE_OPTIONS).parquet(stage_path)
        return job.merge_partitions(job.spark.read.schema(frame.schema).parquet(stage_path))

    try:
        yield stage
    finally:
        stages_folder.delete()
        job.readable_folders.delete_copies()


def list_inputs(source: str) -> list[StorageFolder]:
    """Return the folder of the exports, unless they are in that of the snapshot. Raises CorruptSnapshot, BadAddress."""
    location = _find_location(source)
    return [parse_address(location)] if _is_elsewhere(location) else []


def read_exports(job: Job) -> tuple[str, tuple[Export, ...]]:
    """Return where Spark reads the exports, and what `exports.json` says of them. Raises BadInput and BadExports."""
    location = _find_location(job.source)
    is_elsewhere = _is_elsewhere(location)
    url = (
        _find_readable(job, location)
        if is_elsewhere
        else job.readable_folders.find_url(parse_address(job.source), location)
    )
    text = _read_text(job, f"{url}/{exports.EXPORTS_FILE}", location=location if is_elsewhere else "")
    return url, exports.parse_exports(text)


def _find_location(source: str) -> str:
    """Return where the exports are: an address, or a folder in that of the snapshot. Raises CorruptSnapshot."""
    return str(reader.read_json(source, "grants_exports.json")["folder"])


def _is_elsewhere(location: str) -> bool:
    return ":/" in location


def _find_readable(job: Job, address: str) -> str:
    """Return where Spark reads the folder at an address. Raises BadInput."""
    try:
        folder = parse_address(address)
    except BadAddress:
        # Spark may know more kinds of addresses.
        return address
    try:
        return job.readable_folders.find_url(folder)
    except OSError as error:
        raise BadInput(f"GRANTS_EXPORTS: {storage_problems.describe_error(folder, error)}") from error


def check_headers(blocks: Iterable[Block]) -> None:
    """Raise BadExports when a file has another header than the other files of its export."""
    if other_header := find_other_header(blocks):
        file, neighbour = other_header
        raise BadExports(
            f"{file} has other columns in its first line than {neighbour or 'the other files of its export'}. Files "
            "that one pattern names need the same columns: export both in the same way."
        )


def _read_text(job: Job, url: str, *, location: str) -> str:
    """Return a file of exports: of those beside the snapshot, or of those at a location. Raises BadInput."""
    name = url.rpartition("/")[2]
    try:
        (row,) = job.spark.read.text(url, wholetext=True).collect()
    except Exception as error:
        if location:
            # Storage that cannot be reached is not among the exceptions of PySpark.
            sentence = error_sentences.describe_address(f"{location}/{name}", str(error))
            raise BadInput(f"GRANTS_EXPORTS: {sentence}") from error
        if not isinstance(error, (AnalysisException, ValueError)):
            raise
        raise BadInput(f"{name} of the exports of grants cannot be read.") from error
    return str(row["value"])
