"""What jobs about exports of grants begin with: the exports, and a place for intermediate tables."""

from collections.abc import Callable, Iterable

from pyspark.errors import AnalysisException

from catalog.reports import storage_problems
from catalog.reports.kinds.role_mapping_check import exports
from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms.blocks import Block, find_other_header
from catalog.reports.kinds.role_mapping_check.stages import Stages, open_stages_folder
from catalog.reports.snapshot import reader
from catalog.reports.spark import error_sentences
from catalog.reports.spark.job import BadInput, Job
from catalog.reports.spark.job_threads import JobThreads, open_threads
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from catalog.reports.summary import Summary


def compute_in_stages(job: Job, compute: Callable[[Job, Stages, JobThreads], Summary]) -> Summary:
    """Compute in intermediate tables and threads, and return the summary. Raises BadInput, also for bad exports."""
    try:
        # Threads end before what they write is deleted.
        with open_stages_folder(job) as folder, open_threads(job.spark) as threads:
            return compute(job, Stages(job, threads, folder), threads)
    except BadExports as error:
        raise BadInput(str(error)) from error


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
