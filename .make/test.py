"""``make test``, ``make lint`` and ``make test-clients``: every check in turn, all of them even when one fails."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import ExitStack
from pathlib import Path

import servers
import tools

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
# A file stays together, so that what its tests share is made once.
TESTS = ["python", "-m", "pytest", "-m", "not clients", "-n", "2", "--dist", "loadfile"]
# What no database has a part in, what reads files alone (Spark), what is about the shape of bodies and answers, and
# what brings its own databases ends alike on both.
ONCE = [
    "tests/properties",
    "tests/spark",
    "tests/vendor",
    "tests/api/test_fuzzing.py",
    "tests/limits",
    "tests/journeys/test_make_run.py",
    "tests/site/test_fresh_facts.py",
    "tests/site/test_processes.py",
    "tests/site/test_report_worker.py",
    "tests/site/test_serving.py",
]
CLIENT_TESTS = ["python", "-m", "pytest", "-m", "clients", "tests/clients"]


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


def static_checks(report: Report) -> None:
    """Everything that runs no test."""
    for name, command in STATIC_CHECKS.items():
        report.run(name, command)


def run_tests(report: Report) -> None:
    """The whole suite on SQLite, then all that a database has a part in on PostgreSQL with Redis."""
    lacking = tools.provide()
    for tool in lacking:
        say(f"{tool.name} is missing; as root: {' '.join(tools.command_for([tool]))}")
    words = f"missing: {', '.join(tool.name for tool in lacking)}" if lacking else "all there"
    report.note("tools", is_ok=not (lacking and tools.is_ci()), seconds=0, words=words)
    report.run("sqlite", TESTS, DATABASE_URL="", REDIS_URL="")
    if {tool.name for tool in lacking} & {"PostgreSQL", "Redis"}:
        say("The run on PostgreSQL with Redis is left out.")
        return
    with ExitStack() as stack:
        database = stack.enter_context(servers.postgres())
        broker = stack.enter_context(servers.redis())
        again = [*TESTS, *(f"--ignore={path}" for path in ONCE)]
        report.run("postgresql", again, DATABASE_URL=database, REDIS_URL=broker)


def main(goal: str) -> int:
    """Run what the goal names: everything, lint, or clients. SIGTERM ends it as Ctrl-C does, servers included."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Report()
    match goal:
        case "lint":
            static_checks(report)
        case "clients":
            report.run("clients", CLIENT_TESTS)
        case _:
            static_checks(report)
            run_tests(report)
    return report.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "all"))
    except KeyboardInterrupt:
        sys.exit(130)
