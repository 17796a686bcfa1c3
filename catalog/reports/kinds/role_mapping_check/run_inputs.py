"""The first inputs of jobs about exports of grants: the exports, and a place for intermediate tables.

An export that cannot be read, or is of another account, costs itself and not the run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TypeVar

from pyspark.errors import AnalysisException

from catalog.reports import storage_problems
from catalog.reports.kinds.role_mapping_check.blocks import Block, find_other_headers
from catalog.reports.kinds.role_mapping_check.file_limits import FileLimits, FileProblem, find_file_problems
from catalog.reports.kinds.role_mapping_check.stages import Stages, open_stages_folder
from catalog.reports.snapshot import reader
from catalog.reports.spark import error_sentences
from catalog.reports.spark.job import BadInput, Job, print_progress
from catalog.reports.spark.job_threads import JobTask, JobThreads, open_threads
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from catalog.reports.summary import Summary
from catalog.warehouses import exports
from catalog.warehouses.warehouse import BadExports, Export

#: The file beside the snapshot that says where the exports are, and the limits of their files.
LOCATION_FILE = "grants_exports.json"

#: What is wrong with the files of exports that are left out, by the names of these.
UncomparedExports = Mapping[str, Sequence[FileProblem]]

ResultT = TypeVar("ResultT")


class UnreadableExports(Exception):
    """Some exports cannot be compared; `problems` says why. The others can."""

    def __init__(self, problems: UncomparedExports) -> None:
        super().__init__(_join_sentences(chain.from_iterable(problems.values())))
        self.problems = problems


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


def compare_readable(
    job: Job, export_list: Sequence[Export], compare: Callable[[list[Export]], ResultT]
) -> tuple[ResultT, UncomparedExports]:
    """Return what `compare` gives of the exports that can be read, and why the others are left out. Raises BadInput.

    It is called again without those that it finds to be unreadable, so it must write no results.
    """
    uncompared = dict(_measure_files(job, export_list))
    while compared := [export for export in export_list if export.name not in uncompared]:
        try:
            return compare(compared), uncompared
        except UnreadableExports as error:
            print_progress(f"Left out: {error}")
            uncompared |= error.problems
    raise BadInput(_join_sentences(chain.from_iterable(uncompared.values())))


def check_readable(readings: Mapping[str, JobTask[Any]]) -> None:
    """Wait for what reads exports, by their names. Raises UnreadableExports with every one that cannot be read."""
    problems = {}
    for name, reading in readings.items():
        try:
            reading.get_result()
        except BadExports as error:
            problems[name] = [FileProblem(None, str(error))]
    if problems:
        raise UnreadableExports(problems)


def _measure_files(job: Job, export_list: Sequence[Export]) -> UncomparedExports:
    """Return which files are damaged or beyond the limits. Storage that Spark alone can reach is not measured."""
    settings = reader.read_json(job.source, LOCATION_FILE)
    limits = FileLimits(**settings.get("limits", {}))
    location = str(settings["folder"])
    try:
        folder = parse_address(location) if _is_elsewhere(location) else parse_address(job.source) / location
        return find_file_problems(folder, export_list, limits)
    except (OSError, BadAddress) as error:
        print_progress(f"The files of exports are not measured: {type(error).__name__}")
        return {}


def read_file_times(job: Job) -> Mapping[str, int]:
    """Return when each file of exports was written, by its path, in seconds since 1970; {} where nobody can say.

    A run says it of what it copied; else the files are asked.
    """
    settings = reader.read_json(job.source, LOCATION_FILE)
    if times := settings.get("times"):
        return dict(times)
    location = str(settings["folder"])
    try:
        folder = parse_address(location) if _is_elsewhere(location) else parse_address(job.source) / location
        return folder.list_times()
    except (OSError, BadAddress):
        return {}


def read_age_settings(job: Job) -> tuple[int | None, datetime | None]:
    """Return EXPORT_MAX_AGE in hours, and when the exports were copied or named; None where the run says neither."""
    settings = reader.read_json(job.source, LOCATION_FILE)
    asked_at = settings.get("asked_at")
    return settings.get("max_age"), None if asked_at is None else datetime.fromtimestamp(asked_at, UTC)


def describe_uncompared(export_list: Sequence[Export], problems: UncomparedExports) -> list[dict[str, Any]]:
    """Return the rows of exports that are not compared in the table of exports."""
    return [
        {
            **dict.fromkeys(("rows", "compared", "passed", "quarantined"), 0),
            "export": export.name,
            "platform": export.platform,
            "problem": _join_sentences(problems[export.name]),
        }
        for export in export_list
        if export.name in problems
    ]


def list_unjudged(problems: UncomparedExports) -> tuple[str, ...]:
    """Return a sentence for each export that is not compared: nothing is known of it."""
    return tuple(
        f"{name} is not compared, and its findings of earlier runs stay: {_join_sentences(problems[name])}"
        for name in sorted(problems)
    )


def list_uncompared_files(problems: UncomparedExports) -> list[dict[str, Any]]:
    """Return the sentences about exports that are not compared as rows that are not understood."""
    return [
        {"export": name, "file": problem.path, "line": None, "reason": problem.sentence, "row": ""}
        for name, export_problems in sorted(problems.items())
        for problem in export_problems
    ]


def _join_sentences(problems: Iterable[FileProblem]) -> str:
    return " ".join(dict.fromkeys(problem.sentence for problem in problems))


def _find_location(source: str) -> str:
    """Return where the exports are: an address, or a folder in that of the snapshot. Raises CorruptSnapshot."""
    return str(reader.read_json(source, LOCATION_FILE)["folder"])


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
    """Raise UnreadableExports when a file has another header than the other files of its export."""
    problems = {}
    for export, (file, neighbour) in find_other_headers(blocks).items():
        sentence = (
            f"{file} has other columns in its first line than {neighbour or 'the other files of its export'}. Files "
            "that one pattern names need the same columns: export both in the same way."
        )
        problems[export] = [FileProblem(file, sentence)]
    if problems:
        raise UnreadableExports(problems)


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
