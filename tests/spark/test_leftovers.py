"""However a job ends, its processes and its files are gone: cancelled, killed, or on a full disk."""

import os
import select
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from catalog.reports.run import launcher
from catalog.reports.run.job_output import Progress
from catalog.reports.storage import parse_address
from tests.spark import slices
from tests.spark.conftest import QUICK_JAVA
from tests.spark.test_effective_access import VIEW
from tests.worlds import World

pytestmark = [pytest.mark.spark, pytest.mark.own_spark("ends in the middle")]

JOB = "catalog.reports.kinds.effective_access.job"

_END_SECONDS = 10

#: The program of Python processes that Spark starts.
DAEMON = "pyspark.daemon"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot to report about."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    world = World()
    world.user("jo")
    world.entity("dataset:d1")
    slices.write(world, tmp_path / "in", grants=slices.GRANTS, parameters={"privileges": [VIEW]})
    return tmp_path / "in"


class Run:
    """A run of the job, and what was there while it counted."""

    def __init__(self, source: Path, spark_folder: Path) -> None:
        self.source, self.spark_folder, self.target = source, spark_folder, source.with_name("out")
        self.files: set[str] = set()
        self.processes: set[int] = set()
        self.has_ended = threading.Event()

    def start(self, *, killed: str = "", is_cancelled: bool = False) -> None:
        """Run the job; once it counts, kill a program of it, or cancel it."""

        def interfere(progress: Progress, _: str) -> bool:
            if progress.stage != "Counting":
                return True
            self.files = {file.name for file in self.spark_folder.rglob("*")}
            self.processes = list_processes(self.spark_folder)
            if killed == DAEMON:
                killing.submit(self.kill_as_they_come)
            elif killed:
                self.kill(killed)
            return not is_cancelled

        with ThreadPoolExecutor(1) as killing:
            try:
                launcher.run(
                    module=JOB,
                    source=parse_address(self.source),
                    target=parse_address(self.target),
                    spark_folder=self.spark_folder,
                    on_progress=interfere,
                )
            finally:
                self.has_ended.set()

    def kill(self, program: str) -> None:
        """Kill the processes of a program."""
        for process in list_processes(self.spark_folder):
            if is_program(process, program):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def kill_as_they_come(self) -> None:
        """Kill Python processes of Spark until the job has ended: it starts them when it has rows for them."""
        while not self.has_ended.wait(0.01):
            self.kill(DAEMON)

    def assert_nothing_is_left(self) -> None:
        """Check that there was something, and that nothing of it is left."""
        assert self.files
        assert len(self.processes) >= 2
        assert not self.spark_folder.exists()
        assert not (self.target / "summary.json").exists()
        assert list_processes_after(self.spark_folder, _END_SECONDS) == set()


def list_processes_after(spark_folder: Path, seconds: float) -> set[int]:
    """Return the processes of a folder that have not ended within so many seconds; a killed one takes a moment."""
    for process in list_processes(spark_folder):
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(process)
            # Readable when the process has ended.
            select.select([descriptor], [], [], seconds)
            os.close(descriptor)
    return list_processes(spark_folder)


def is_program(process: int, name: str) -> bool:
    """Whether a process is of a program, by its name or a module that its command line names."""
    folder = Path("/proc") / str(process)
    with suppress(FileNotFoundError, ProcessLookupError):
        return (folder / "comm").read_text().startswith(name) or name.encode() in (folder / "cmdline").read_bytes()
    return False


def list_processes(spark_folder: Path) -> set[int]:
    """Return the processes whose environment names this folder."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"SPARK_FOLDER={spark_folder}\0".encode() in (place / "environ").read_bytes():
                found.add(int(place.name))
        except OSError:
            continue
    return found


def test_a_cancelled_job_leaves_nothing(source: Path, tmp_path: Path):
    run = Run(source, tmp_path / "spark")
    with pytest.raises(launcher.JobCancelled):
        run.start(is_cancelled=True)
    run.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("python", "The job was killed from outside (SIGKILL), most likely because"),
        ("java", "The Java program of Spark ended before the report was finished, most likely because"),
        (DAEMON, "A Python process of Spark ended before the report was finished, most likely because"),
    ],
)
def test_a_killed_job_leaves_nothing_and_says_what_was_killed(
    source: Path, tmp_path: Path, program: str, sentence: str
):
    run = Run(source, tmp_path / "spark")
    with pytest.raises(launcher.JobFailed) as raised:
        run.start(killed=program)
    assert str(raised.value).startswith(sentence)
    run.assert_nothing_is_left()
    if program != "python":
        # A program that is killed itself leaves this to the runner.
        assert not [*run.target.glob("_work-*")]


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of this size at a folder; skips the test where none can be mounted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system, and not in every container")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_job_on_a_full_disk_leaves_nothing_and_says_so(source: Path, tmp_path: Path):
    disk = tmp_path / "disk"
    with small_disk(disk, "12k"):
        run = Run(source, disk / "spark")
        run.target = disk / "out"
        with pytest.raises(launcher.JobFailed, match="no room left on the disk"):
            run.start()
        run.assert_nothing_is_left()
