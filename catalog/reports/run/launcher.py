"""Has the job of a report done by a program of Spark, follows its output, and ends it on cancellation or timeout.

Jobs share a program that waits for the next one for SPARK_IDLE_SECONDS, so that Spark starts once for several; with
SPARK_SUBMIT each job is a program of its own. Both use the master SPARK_MASTER.
"""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from catalog.reports import spark_address
from catalog.reports.job_protocol import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED
from catalog.reports.run import spark_pool
from catalog.reports.run.job_output import JobOutput, Progress
from catalog.reports.run.spark_process import SparkProcess, start_server, start_submitted_job
from catalog.reports.storage import StorageFolder

#: Set when this worker shuts down: running jobs then end instead of delaying the shutdown.
STOP_EVENT = threading.Event()

#: Interval of progress reports, and so the delay of a cancellation.
PROGRESS_SECONDS = 1.0


class JobFailed(Exception):
    """A job failed; the message says why. `log` is the end of its output."""

    def __init__(self, sentence: str, log: str) -> None:
        self.log = log
        super().__init__(sentence)


class JobCancelled(Exception):
    """A job was ended because its run was cancelled."""


class WorkerStopping(Exception):
    """The worker's part of a run ended because the worker shuts down."""


def check_worker() -> None:
    """Raise WorkerStopping when this worker shuts down."""
    if STOP_EVENT.is_set():
        raise WorkerStopping


#: Receives the progress and the log of a job; returns whether the job should continue.
ProgressCallback = Callable[[Progress, str], bool]


def run(
    *,
    module: str,
    source: StorageFolder,
    target: StorageFolder,
    on_progress: ProgressCallback,
    spark_folder: Path | None = None,
) -> str:
    """Run the job `module` on the snapshot at `source`, with results at `target`, and return its log.

    With `spark_folder` the job has a program for itself, whose files lie there and are removed with it. Raises
    JobCancelled when `on_progress` returns False, WorkerStopping, and JobFailed for any other failure, among them a job
    that takes longer than REPORT_MINUTES; no process of such a job is left running.
    """
    if problem := spark_address.find_problem(settings.SPARK_MASTER):
        raise JobFailed(problem, "")
    deadline = time.monotonic() + settings.REPORT_MINUTES * 60
    process, code = None, None
    try:
        process = _start_job(module, source.url, target.url, spark_folder)
        output = process.output
        code = _wait_for_end(process, on_progress, deadline)
    except OSError as error:
        raise JobFailed(_describe_start_failure(error), "") from error
    finally:
        if process is not None:
            is_reusable = code in (EXIT_DONE, EXIT_BAD_INPUT) and process.is_running
            if is_reusable and spark_folder is None and settings.SPARK_IDLE_SECONDS and not STOP_EVENT.is_set():
                spark_pool.add_idle_process(process)
            else:
                process.end()
    if code == -signal.SIGTERM:
        # Service managers signal every process of a service at once, and this one may not have noticed yet.
        STOP_EVENT.wait(PROGRESS_SECONDS)
        check_worker()
    if code != EXIT_DONE:
        raise JobFailed(_failure_sentence(code, output), output.log)
    return output.log


def _start_job(module: str, source_url: str, target_url: str, spark_folder: Path | None) -> SparkProcess:
    """Return a program that has begun with a job, or will. Raises OSError."""
    if settings.SPARK_SUBMIT:
        return start_submitted_job(spark_folder or spark_pool.create_folder_path(), module, source_url, target_url)
    if spark_folder is None and (waiting_process := spark_pool.take_process()) is not None:
        waiting_process.request_job(module, source_url, target_url)
        if waiting_process.wait_for_acceptance():
            return waiting_process
        # It ended a moment ago, or its Java does not suit this job.
        waiting_process.end()
    process = start_server(spark_folder or spark_pool.create_folder_path())
    process.request_job(module, source_url, target_url)
    return process


def _wait_for_end(process: SparkProcess, on_progress: ProgressCallback, deadline: float) -> int:
    """Wait for the end of the job, reporting progress, and return its exit code.

    Raises JobCancelled, WorkerStopping and JobFailed.
    """
    while (code := process.wait_for_job(PROGRESS_SECONDS)) is None:
        if not on_progress(process.output.progress, process.output.log):
            raise JobCancelled
        check_worker()
        if time.monotonic() > deadline:
            minutes = settings.REPORT_MINUTES
            raise JobFailed(f"The job was ended after {minutes} minutes (REPORT_MINUTES).", process.output.log)
    return code


def _describe_start_failure(error: OSError) -> str:
    """Return the sentence about a program that cannot be started."""
    reason = (error.strerror or str(error)).lower()
    if settings.SPARK_SUBMIT and error.filename == settings.SPARK_SUBMIT:
        return f"SPARK_SUBMIT is {settings.SPARK_SUBMIT}, which cannot be started: {reason}. Correct the path."
    location = f"{error.filename}: " if error.filename else ""
    return f"The job cannot be started: {location}{reason}. Its files are written to {settings.VAR_DIR} (VAR_DIR)."


def _failure_sentence(code: int, output: JobOutput) -> str:
    """Return the reason of a failure: the signal that killed the job, else what it says itself."""
    if code < 0:
        return (
            f"The job was killed from outside ({signal.Signals(-code).name}), most likely because the machine had no "
            "memory left for it: give the machine more, or Spark less (SPARK_DRIVER_MEMORY)."
        )
    if output.problem:
        return output.problem
    if code in (EXIT_BAD_INPUT, EXIT_FAILED) and output.last_error:
        return output.last_error
    # It ended before the job began, or as no job should: what it said last may be anything.
    if output.last_error:
        return f"The program of the job ended with code {code}; its log has the details. It said: {output.last_error}"
    return f"The job ended with code {code} and said nothing."
