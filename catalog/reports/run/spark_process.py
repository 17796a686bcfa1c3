"""A program of Spark that a worker started, and its files. It runs jobs one after the other, or one by spark-submit."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from catalog.reports.run.job_output import JobOutput, LineReader

#: The program that runs jobs one after the other.
_SERVER_MODULE = "catalog.reports.spark.job_server"

#: Seconds that a program has to end after each signal.
_SHUTDOWN_SECONDS = 10

#: Seconds that a program has to begin with a job, and between two looks whether it has ended.
_ACCEPTANCE_SECONDS, _LOOK_SECONDS = 60, 0.1

_SECRET_VARIABLES = frozenset(
    {
        *("SECRET_KEY", "SECRET_KEY_FALLBACKS", "DATABASE_URL", "REDIS_URL", "AUTHZ_ROOT_PASSWORD"),
        *("EMAIL_HOST_PASSWORD", "OIDC_CLIENT_SECRET", "METRICS_TOKEN"),
    }
)


class SparkProcess:
    """A program that is running. However it ends, its files and the processes that it started are gone afterwards."""

    def __init__(self, folder: Path, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the program. Raises OSError."""
        self.folder, self.environment = folder, environment
        self.output = JobOutput()
        temporary_folder = folder / "local"
        lock = _lock_folder(folder)
        try:
            temporary_folder.mkdir(parents=True, exist_ok=True)
            # A process group of its own, so that all of its processes can be ended together.
            self._process = subprocess.Popen(
                command,
                cwd=settings.BASE_DIR,
                env=_add_folder(environment, folder, temporary_folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                pass_fds=(lock,),
            )
        except OSError:
            _remove_folder(folder)
            raise
        finally:
            # The program holds it from now on.
            os.close(lock)
        self._readers = [
            LineReader(self._process.stdout, lambda line: self.output.take_output_line(line)),
            LineReader(self._process.stderr, lambda line: self.output.take_error_line(line)),
        ]
        self._cleaner = threading.Thread(target=self._clean_up, daemon=True)
        self._cleaner.start()

    @property
    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return self._process.poll() is None

    def request_job(self, module: str, source_url: str, target_url: str) -> None:
        """Ask for a job, of which `output` is from now on."""
        self.output = JobOutput()
        request = {"module": module, "input": source_url, "output": target_url}
        # A program that has just ended is noticed by whoever waits for the job.
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()

    def wait_for_acceptance(self) -> bool:
        """Return whether the program begins with the job that it was asked for; otherwise it has ended, or is stuck."""
        deadline = time.monotonic() + _ACCEPTANCE_SECONDS
        while not self.output.accepted.wait(_LOOK_SECONDS):
            if not self.is_running or time.monotonic() > deadline:
                return False
        return True

    def wait_for_job(self, seconds: float) -> int | None:
        """Return the exit code of the job or program, below 0 the signal that killed it; None when it still works."""
        if self.output.ended.wait(seconds):
            return self.output.exit_code
        if self.is_running:
            return None
        self._cleaner.join()
        return self._process.returncode if self.output.exit_code is None else self.output.exit_code

    def wait_for_end(self, seconds: float) -> bool:
        """Return whether the program ends by itself in so many seconds, and nothing of it is left."""
        self._cleaner.join(seconds)
        return not self._cleaner.is_alive()

    def end(self) -> None:
        """End the program and wait until nothing of it is left."""
        self._close_input()
        for signal_ in (signal.SIGTERM, signal.SIGKILL):
            if not self.is_running:
                break
            self._signal_group(signal_)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SHUTDOWN_SECONDS)
        self._cleaner.join()

    def _clean_up(self) -> None:
        """Wait for the end of the program, end what it has left behind, and remove its files."""
        self._process.wait()
        self._close_input()
        self._signal_group(signal.SIGTERM)
        for reader in self._readers:
            reader.join(_SHUTDOWN_SECONDS)
        self._signal_group(signal.SIGKILL)
        for reader in self._readers:
            # Ends when every process that writes there has ended, so that none of them uses the folder any more.
            reader.join()
        _remove_folder(self.folder)

    def _close_input(self) -> None:
        # What could not be written any more is lost with the program.
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _signal_group(self, signal_: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal_)


def start_server(folder: Path) -> SparkProcess:
    """Start a program that runs jobs one after the other. Raises OSError."""
    return SparkProcess(folder, [sys.executable, "-m", _SERVER_MODULE], build_environment())


def start_submitted_job(folder: Path, module: str, source_url: str, target_url: str) -> SparkProcess:
    """Start a program that runs one job, by spark-submit. Raises OSError."""
    script = settings.BASE_DIR / Path(*module.split(".")).with_suffix(".py")
    command = [
        settings.SPARK_SUBMIT,
        *(["--master", settings.SPARK_MASTER] if settings.SPARK_MASTER else []),
        *settings.SPARK_SUBMIT_ARGUMENTS,
        str(script),
        *("--input", source_url, "--output", target_url),
    ]
    return SparkProcess(folder, command, build_environment())


def build_environment() -> dict[str, str]:
    """Return the environment of jobs, without the secrets of this process."""
    inherited_variables = {key: value for key, value in os.environ.items() if key not in _SECRET_VARIABLES}
    path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
    return {
        **inherited_variables,
        "SPARK_MASTER": settings.SPARK_MASTER,
        "SPARK_IDLE_SECONDS": str(settings.SPARK_IDLE_SECONDS),
        "SPARK_CLASSES_DIR": settings.SPARK_CLASSES_DIR,
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }


def remove_lost_folders(folder: Path) -> int:
    """Remove the folders of programs in a folder that have ended without it, and return their number."""
    count = 0
    for name in {path.name.removesuffix(_LOCK_SUFFIX) for path in folder.glob("*")}:
        try:
            lock = _lock_folder(folder / name)
        except BlockingIOError:
            continue
        count += (folder / name).exists()
        _remove_folder(folder / name)
        os.close(lock)
    return count


def _add_folder(environment: Mapping[str, str], folder: Path, temporary_folder: Path) -> dict[str, str]:
    variables = {**environment, "SPARK_FOLDER": str(folder), "TMPDIR": str(temporary_folder)}
    if settings.SPARK_SUBMIT:
        # Java is there before the job can say where its temporary files go.
        options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), f'"-Djava.io.tmpdir={temporary_folder}"')
        variables["SPARK_SUBMIT_OPTS"] = " ".join(filter(None, options))
    return variables


# -- folders ----------------------------------------------------------------------------------------------------------

#: End of the name of the file beside a folder that its program has locked while it runs.
_LOCK_SUFFIX = ".lock"


def _lock_folder(folder: Path) -> int:
    """Return the descriptor of the locked file of a folder. Raises BlockingIOError when a program uses the folder."""
    path = folder.with_name(f"{folder.name}{_LOCK_SUFFIX}")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it until now may have removed the file.
            if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _remove_folder(folder: Path) -> None:
    """Remove a folder and then the file that says that it is used."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_name(f"{folder.name}{_LOCK_SUFFIX}").unlink(missing_ok=True)
