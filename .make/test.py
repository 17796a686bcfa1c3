"""The checks and tests that the goals of the Makefile name, in turn, all of them even when one fails."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import servers
import tools
import touched

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
STATIC_CHECKS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
    "contracts": ["lint-imports"],
    "templates": ["djlint", "--check", "--lint", "templates"],
    "migrations": ["python", "manage.py", "makemigrations", "--check", "--dry-run"],
}
# A file stays together, so that what its tests share is made once; files begin in the order of tests/runs.py.
PYTEST = ["python", "-m", "pytest", "--dist", "loadfile", "--no-loadscope-reorder"]
PYTEST += ["--durations", "25", "--durations-min", "1"]
TWO_PROCESSES, THREE_PROCESSES = [*PYTEST, "-n", "2"], [*PYTEST, "-n", "3"]
#: For tests during whose faults every other answer has to come in time: nothing runs beside them.
ONE_PROCESS = ["python", "-m", "pytest", "-n", "0"]
#: Which marks of tests/runs.py the two runs choose by: what PostgreSQL has no part in or SQLite may differ in, and all
#: that PostgreSQL has a part in.
USUAL = "not clients and not alone"
TOLD_BY_SQLITE = "(not database or both or sqlite)"
TOLD_BY_POSTGRESQL = "database and not sqlite"
#: Where the tests of `make check` lie; collecting the others takes longer than they do.
FAST = ["tests/engine", "tests/properties", "tests/spec", "tests/architecture"]


class Report:
    """What ran, how long it took, how it ended, and the last words of each test run."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.has_failure = False

    def run(self, name: str, command: list[str], **variables: str) -> None:
        """Run one check, passing its output on."""
        say(f"\n=== {name}: {' '.join(command)}")
        begin = time.monotonic()
        last_words: deque[str] = deque(maxlen=1)
        with subprocess.Popen(
            [str(PROGRAMS / command[0]), *command[1:]],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout
            try:
                for line in process.stdout:
                    sys.stdout.write(line)
                    sys.stdout.flush()
                    if line.strip():
                        last_words.append(line.strip())
            except BaseException:
                process.terminate()
                raise
        self.note(name, is_ok=process.returncode == 0, seconds=time.monotonic() - begin, words=" ".join(last_words))

    @contextmanager
    def running_beside(self, name: str, command: list[str]) -> Iterator[None]:
        """Run one check while the block runs another; its output follows that of the other."""
        begin = time.monotonic()
        with (
            TemporaryFile("w+", errors="replace") as kept,
            ThreadPoolExecutor(1) as waiting,
            subprocess.Popen(
                [str(PROGRAMS / command[0]), *command[1:]], cwd=ROOT, stdout=kept, stderr=subprocess.STDOUT
            ) as process,
        ):
            end = waiting.submit(lambda: (process.wait(), time.monotonic()))
            try:
                yield
            except BaseException:
                process.terminate()
                raise
            status, ended = end.result()
            kept.seek(0)
            output = kept.read().strip()
        say(f"\n=== {name}, beside it: {' '.join(command)}\n{output}")
        self.note(name, is_ok=status == 0, seconds=ended - begin, words=output.rpartition("\n")[2])

    def note(self, name: str, *, is_ok: bool, seconds: float, words: str) -> None:
        """Keep one line for the summary."""
        self.has_failure = self.has_failure or not is_ok
        self.lines.append(f"{'ok' if is_ok else 'FAILED':7}{name:12}{seconds:7.1f} s  {words}")

    def close(self) -> int:
        """Print the summary; the exit status."""
        say("\n=== summary")
        for line in self.lines:
            say(line)
        return 1 if self.has_failure else 0


def say(sentence: str) -> None:
    """One line on the terminal, at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def run_checks(report: Report, *names: str) -> None:
    """Run what needs no test."""
    for name in names or STATIC_CHECKS:
        report.run(name, STATIC_CHECKS[name])


def run_tests(report: Report, *, is_all: bool) -> None:
    """Run the tests on SQLite and on PostgreSQL with Redis, each where it can tell something, then clients.

    `is_all` leaves nothing out: every test on both, the wide searches, every client. Without PostgreSQL or Redis all
    that make test is about runs on SQLite.
    """
    lacking = tools.provide()
    for tool in lacking:
        say(f"{tool.name} is missing; as root: {' '.join(tools.command_for([tool]))}")
    words = f"missing: {', '.join(tool.name for tool in lacking)}" if lacking else "all there"
    report.note("tools", is_ok=not (lacking and tools.is_ci()), seconds=0, words=words)
    is_alone = bool({tool.name for tool in lacking} & {"PostgreSQL", "Redis"})
    depth = {"HYPOTHESIS_PROFILE": "all"} if is_all else {}
    usual = USUAL if is_all else f"{USUAL} and not deep"
    on_sqlite = usual if is_all or is_alone else f"{usual} and {TOLD_BY_SQLITE}"
    if "Java" not in {tool.name for tool in lacking}:
        # Each of many tests then starts Spark in half the time.
        report.run("spark", ["python", "manage.py", "prepare_spark"], DATABASE_URL="", REDIS_URL="")
    # The tests on SQLite wait for processes for a part of their time, in which a third one runs and types are checked.
    with report.running_beside("types", STATIC_CHECKS["types"]):
        report.run("sqlite", [*THREE_PROCESSES, "-m", on_sqlite], DATABASE_URL="", REDIS_URL="", **depth)
    report.run("limits", [*TWO_PROCESSES, "tests/limits"], DATABASE_URL="", REDIS_URL="")
    if is_alone:
        say("The run on PostgreSQL with Redis is left out.")
    else:
        with ExitStack() as stack:
            database = stack.enter_context(servers.postgres())
            broker = stack.enter_context(servers.redis())
            addresses = {"DATABASE_URL": database, "REDIS_URL": broker}
            report.run("postgresql", [*TWO_PROCESSES, "-m", f"{usual} and {TOLD_BY_POSTGRESQL}"], **addresses, **depth)
            report.run("faults", [*ONE_PROCESS, "tests/faults"], **addresses)
    run_clients(report, "clients" if is_all else "smoke")


def run_clients(report: Report, marks: str) -> None:
    """Run other people's programs against this site; the smoke in two processes, where no port is the usual one."""
    parallel = ["-n", "2", "--dist", "loadfile"] if marks == "smoke" else []
    report.run("clients", ["python", "-m", "pytest", "-m", marks, *parallel, "--durations", "10", "tests/clients"])


def run_touched(report: Report) -> None:
    """Run the tests of what has changed since main, those that failed last first."""
    files = touched.list_tests(ROOT)
    if not files:
        say("Nothing has changed that a test is about.")
        return
    chosen = "\n".join(files)
    say(f"{len(files)} test files:\n{chosen}")
    report.run("touched", ["python", "-m", "pytest", "-q", "-m", "not clients and not deep", "--ff", *files])


def main(goal: str) -> int:
    """Run what the goal names and return the exit status. SIGTERM ends it as Ctrl-C does, servers included."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Tests start many processes; without bytecode each of them compiles what it imports, for seconds.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    report = Report()
    begin = time.monotonic()
    match goal:
        case "lint":
            run_checks(report)
        case "check":
            run_checks(report, "format", "lint", "contracts", "types")
            report.run("fast", [*TWO_PROCESSES, "-q", "-m", "fast", *FAST], HYPOTHESIS_PROFILE="quick", DATABASE_URL="")
        case "touched":
            run_touched(report)
        case "clients":
            run_clients(report, "clients")
        case _:
            run_checks(report, *(name for name in STATIC_CHECKS if name != "types"))
            run_tests(report, is_all=goal == "everything")
    report.note("in all", is_ok=not report.has_failure, seconds=time.monotonic() - begin, words=goal)
    return report.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "test"))
    except KeyboardInterrupt:
        sys.exit(130)
