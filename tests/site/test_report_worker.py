"""A real worker is killed in the middle of a report: another one makes it again, seconds later."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import sleep

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


def test_a_report_whose_worker_is_killed_is_made_again_by_another_one(tmp_path: Path) -> None:
    program = tmp_path / "spark-submit"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    environment = installations.environment_of(
        tmp_path, SPARK_SUBMIT=str(program), REPORT_LEASE_SECONDS=str(LEASE_SECONDS)
    )
    installations.set_up(environment, ["report", "policy_hygiene"])
    with ExitStack() as stack:
        first = stack.enter_context(started("worker", environment))
        for _ in range(LOOKS):
            if (tmp_path / "began").exists():
                break
            sleep(BETWEEN)
        assert find_report(tmp_path)[:2] == ("RUNNING", 1)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        stack.enter_context(started("worker", environment))
        stack.enter_context(started("beat", environment))
        assert wait_for(tmp_path, "FAILED") == ("FAILED", 2, "This was made again.")
