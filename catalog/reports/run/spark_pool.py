"""The programs of Spark of this worker that wait for their next job."""

import atexit
import threading
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from catalog.reports.run.spark_process import SparkProcess, build_environment

# Of one thread again and again: a signal may end the idle programs while its thread takes one.
_lock = threading.RLock()
_idle_processes: list[SparkProcess] = []


def find_folder() -> Path:
    """Return the folder with a folder for each program of Spark on this machine."""
    return Path(settings.VAR_DIR) / "spark" / "runs"


def create_folder_path() -> Path:
    """Return the path of a new folder for a program."""
    return find_folder() / uuid4().hex


def take_process() -> SparkProcess | None:
    """Return a program that waits for a job, or None; those with another environment or folder are ended."""
    environment, folder = build_environment(), find_folder()
    with _lock:
        processes = [process for process in _idle_processes if process.is_running]
        _idle_processes.clear()
        fitting_processes = [
            process for process in processes if process.environment == environment and process.folder.parent == folder
        ]
        _idle_processes.extend(fitting_processes[1:])
    for process in processes:
        if process not in fitting_processes:
            process.end()
    return fitting_processes[0] if fitting_processes else None


def add_idle_process(process: SparkProcess) -> None:
    """Keep a program for the next job; it ends by itself after SPARK_IDLE_SECONDS."""
    with _lock:
        _idle_processes.append(process)


def end_idle_processes() -> None:
    """End all programs that wait for a job."""
    with _lock:
        processes = list(_idle_processes)
        _idle_processes.clear()
    for process in processes:
        process.end()


# Whoever runs a report, a worker or a command, leaves nothing of Spark behind.
atexit.register(end_idle_processes)
