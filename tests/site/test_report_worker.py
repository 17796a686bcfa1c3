"""A real worker is killed or stopped in the middle of a report: another one makes it again, seconds later."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.clients import installations

#: How often something is looked at that comes by itself, and how many seconds lie in between.
LOOKS, BETWEEN = 600, 0.1

LEASE_SECONDS = 2

#: Stands where spark-submit would: the first time it works until its worker is gone, then it ends with a sentence.
PROGRAM = """#!/bin/sh
if [ -e "$VAR_DIR/began" ]; then echo "This was made again." >&2; exit 10; fi
touch "$VAR_DIR/began"
exec cat
"""

#: The same, but it works until its worker is gone each time.
STUBBORN_PROGRAM = """#!/bin/sh
touch "$VAR_DIR/began"
exec cat
"""

#: How many seconds a worker that is stopped in the middle of a report may take to end.
QUICK_SECONDS = 15


@contextmanager
def started(name: str, environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process of the Procfile until the block ends."""
    command = [sys.executable, *installations.process(name)[1:]]
    log = Path(environment["VAR_DIR"]) / f"{name}.log"
    with (
        log.open("ab") as sink,
        subprocess.Popen(command, cwd=installations.PROJECT, env=environment, stdout=sink, stderr=sink) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def find_report(folder: Path) -> tuple[str, int, str]:
    """Return status, attempts and problem of the one report."""
    with closing(sqlite3.connect(folder / "db.sqlite3")) as link:
        found: tuple[str, int, str] = link.execute("SELECT status, attempts, problem FROM catalog_report").fetchone()
        return found


def wait_for(folder: Path, status: str) -> tuple[str, int, str]:
    """Return the report once it has this status."""
    for _ in range(LOOKS):
        found = find_report(folder)
        if found[0] == status:
            return found
        sleep(BETWEEN)
    raise AssertionError(f"The report does not come to be {status}, it is {find_report(folder)}.")


def wait_for_mail(folder: Path) -> str:
    """Return the text of the only mail, once it is there: beat has it delivered some seconds after the fact."""
    for _ in range(LOOKS):
        if mails := list((folder / "emails").glob("*")):
            (mail,) = mails
            return mail.read_text()
        sleep(BETWEEN)
    raise AssertionError("No mail was sent.")


def prepare(folder: Path, program_text: str) -> dict[str, str]:
    """Set up an installation with a report in the queue, and return the environment of its processes."""
    program = folder / "spark-submit"
    program.write_text(program_text)
    program.chmod(0o755)
    environment = installations.environment_of(
        folder,
        SPARK_SUBMIT=str(program),
        REPORT_LEASE_SECONDS=str(LEASE_SECONDS),
        ALERT_RECIPIENTS="audit@x.example",
        EMAIL_BACKEND="django.core.mail.backends.filebased.EmailBackend",
        EMAIL_FILE_PATH=str(folder / "emails"),
    )
    installations.set_up(environment, ["report", "policy_hygiene"])
    return environment


def list_leftovers(folder: Path) -> list[Path]:
    """Return the files of runs, of Spark and of its workers; what the next snapshot continues is kept on purpose."""
    of_runs = [path for path in folder.glob("reports/*/*") if path.parent.name != "bases"]
    return [*of_runs, *folder.glob("spark/runs/*"), *folder.glob("spark/local/*")]


def wait_for_job(folder: Path) -> None:
    """Return once the job of the report works."""
    for _ in range(LOOKS):
        if (folder / "began").exists():
            return
        sleep(BETWEEN)
    raise AssertionError(f"The job does not begin; the report is {find_report(folder)}.")


def test_a_report_whose_worker_is_killed_is_made_again_by_another_one(tmp_path: Path) -> None:
    environment = prepare(tmp_path, PROGRAM)
    with ExitStack() as stack:
        first = stack.enter_context(started("worker", environment))
        wait_for_job(tmp_path)
        assert find_report(tmp_path)[:2] == ("RUNNING", 1)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        second = stack.enter_context(started("worker", environment))
        stack.enter_context(started("beat", environment))
        assert wait_for(tmp_path, "FAILED") == ("FAILED", 2, "This was made again.")
        mail = wait_for_mail(tmp_path)
        second.terminate()
        second.wait(LOOKS * BETWEEN)
    assert list_leftovers(tmp_path) == []
    assert "Subject: [authzsite] Policy hygiene failed" in mail
    assert "This was made again." in mail


def test_a_report_whose_worker_is_replaced_is_made_again_once_and_then_fails(tmp_path: Path) -> None:
    environment = prepare(tmp_path, STUBBORN_PROGRAM)
    for attempt, status in ((1, "QUEUED"), (2, "FAILED")):
        with started("worker", environment) as worker:
            wait_for_job(tmp_path)
            worker.terminate()
            began = monotonic()
            assert worker.wait(LOOKS * BETWEEN) == 0
            assert monotonic() - began < QUICK_SECONDS
        assert find_report(tmp_path)[:2] == (status, attempt)
        assert list_leftovers(tmp_path) == []
        (tmp_path / "began").unlink()
    assert find_report(tmp_path)[2].startswith("The worker that made this report was stopped")
