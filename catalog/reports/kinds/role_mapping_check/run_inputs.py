"""What jobs about exports of grants begin with: the exports, and a place for intermediate tables."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check import exports
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms.lines import find_other_headers
from catalog.reports.spark import error_sentences
from catalog.reports.spark.job import BadInput, Job
from catalog.reports.storage import parse_address
from catalog.reports.summary import Summary

#: Folder of intermediate tables inside the folder for results, deleted when the job ends.
STAGES_FOLDER = "_stages"


def compute_in_stages(job: Job, compute: Callable[[Job, Stage], Summary]) -> Summary:
    """Return what `compute` does with a place for intermediate tables. Raises BadInput, also for bad exports."""
    try:
        with _open_stages(job) as stage:
            return compute(job, stage)
    except BadExports as error:
        raise BadInput(str(error)) from error


@contextmanager
def _open_stages(job: Job) -> Iterator[Stage]:
    """Yield a function that stores an intermediate table and reads it; all of them are deleted at the end."""
    stage_numbers = count()

    def stage(name: str, frame: DataFrame) -> DataFrame:
        stage_path = f"{job.target}/{STAGES_FOLDER}/{next(stage_numbers)}-{name}"
        frame.write.parquet(stage_path)
        return job.spark.read.schema(frame.schema).parquet(stage_path)

    try:
        yield stage
    finally:
        (parse_address(job.target) / STAGES_FOLDER).delete()


def read_exports(job: Job) -> tuple[str, tuple[Export, ...]]:
    """Return the folder of the exports and what `exports.json` says of them. Raises BadInput and BadExports."""
    folder = str(json.loads(_read_text(job, f"{job.source}/grants_exports.json"))["folder"])
    folder = folder if ":/" in folder else f"{job.source}/{folder}"
    return folder, exports.parse_exports(_read_text(job, f"{folder}/{exports.EXPORTS_FILE}"))


def check_headers(rows: DataFrame) -> None:
    """Raise BadExports when a file has another header than the other files of its export."""
    for row in find_other_headers(rows).orderBy("file").head(1):
        other_files = row["neighbour"] or "the other files of its export"
        raise BadExports(
            f"{row['file']} has other columns in its first line than {other_files}. Files that one pattern names need "
            "the same columns: export both in the same way."
        )


def _read_text(job: Job, path: str) -> str:
    try:
        (row,) = job.spark.read.text(path, wholetext=True).collect()
    except (AnalysisException, ValueError) as error:
        if path.startswith(f"{job.source}/"):
            raise BadInput(f"{path.rpartition('/')[2]} of the exports of grants cannot be read.") from error
        raise BadInput(_describe_address(path, error)) from error
    except Exception as error:
        # Storage that cannot be reached is not among the exceptions of PySpark.
        if path.startswith(f"{job.source}/"):
            raise
        raise BadInput(_describe_address(path, error)) from error
    return str(row["value"])


def _describe_address(path: str, error: Exception) -> str:
    """Return the sentence about a file of exports at a URL that cannot be read."""
    return f"GRANTS_EXPORTS: {error_sentences.describe_address(path, str(error))}"
