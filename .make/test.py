"""The checks and tests that the goals of the Makefile name, side by side, all of them even when one fails."""

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import caches
import jobs
import record
import servers
import stages
import tools
import touched
from jobs import ROOT, Job
from record import Line
from report import Report, say
from stages import Depth, Stage

STATIC_CHECKS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["python", ".make/type_check.py"],
    "contracts": ["lint-imports"],
    "templates": ["djlint", "--check", "--lint", "templates"],
    "migrations": ["python", "manage.py", "makemigrations", "--check", "--dry-run"],
}
#: What checks take, in processor seconds; what is not here takes less than the others.
CHECK_SECONDS = {"types": 150.0, "contracts": 20.0}
#: Tests wait for processes for a part of their time, in which one more runs than there are processors.
SLOTS = (os.cpu_count() or 2) + 1
#: Where the tests of `make check` lie; collecting the others takes longer than they do.
FAST = ("tests/engine/", "tests/properties/", "tests/spec/", "tests/architecture/")


def list_checks(names: Iterable[str] = STATIC_CHECKS) -> list[Job]:
    """Return the checks that run no test."""
    return [Job(name, tuple(STATIC_CHECKS[name]), seconds=CHECK_SECONDS.get(name, 5.0)) for name in names]


def provide_tools(report: Report) -> set[str]:
    """Install what is missing where that is possible; return the names of what is still missing."""
    lacking = tools.provide()
    for tool in lacking:
        say(f"{tool.name} is missing; as root: {' '.join(tools.command_for([tool]))}")
    words = f"missing: {', '.join(tool.name for tool in lacking)}" if lacking else "all there"
    report.note("tools", words, is_ok=not (lacking and tools.is_ci()))
    return {tool.name for tool in lacking}


@contextmanager
def start_servers(lacking: set[str]) -> Iterator[Mapping[str, str]]:
    """Give the addresses of a PostgreSQL and a Redis for the block; none where one of them is missing."""
    if lacking & {"PostgreSQL", "Redis"}:
        say("The run on PostgreSQL with Redis is left out: all tests run on SQLite.")
        yield {}
        return
    with ExitStack() as stack:
        database = stack.enter_context(servers.postgres())
        yield {"DATABASE_URL": database, "REDIS_URL": stack.enter_context(servers.redis())}


def run_tests(report: Report, depth: Depth, *, clients: str) -> list[Line]:
    """Run checks, the tests of both databases and of clients side by side, then those that have to be alone."""
    lacking = provide_tools(report)
    known = record.read_record()
    say(f"generated examples: TEST_SEED={depth.seed}")
    with start_servers(lacking) as addresses:
        queue = list_checks()
        if "Java" not in lacking:
            # Each of many tests then starts Spark in half the time.
            queue.append(Job("class archive", ("python", "manage.py", "prepare_spark"), stages.SQLITE, seconds=500))
        beside = [*stages.list_stages(depth, addresses), *stages.list_client_stages(clients)]
        queue += [job for stage in beside for job in stages.list_jobs(stage, depth, known)]
        jobs.run_jobs(queue, SLOTS, report.add)
        run_in_turn(report, stages.list_alone(addresses), depth)
    return list(record.read_lines(stages.RECORDS))


def run_in_turn(report: Report, chosen: Iterable[Stage], depth: Depth) -> None:
    """Run stages with nothing beside them."""
    for stage in chosen:
        jobs.run_jobs(stages.list_jobs(stage, depth, record.read_record()), 1, report.add)


def judge_speakers(report: Report, lines: list[Line]) -> None:
    """Fail where a function speaks to a database and no test lets it speak to SQLite."""
    uncovered = record.find_uncovered(lines, record.read_record().fewest)
    words = ", ".join(f"{function} ({number})" for function, number in uncovered.items())
    sentence = f"no test runs these on SQLite; `make test-all` chooses others: {words}" if words else "covered"
    report.note("on SQLite", sentence, is_ok=not uncovered)


def run_everything(report: Report) -> list[Line]:
    """Run all there is, and write down what it showed."""
    lines = run_tests(report, Depth(is_all=True), clients="clients")
    if not report.has_failure:
        made = record.make_record(lines)
        record.write_record(made)
        report.note("record", f"{len(made.tests)} tests, {len(made.spared)} on PostgreSQL alone: tests/record.json")
    return lines


def run_touched(report: Report) -> list[Line]:
    """Run the tests of what has changed, the cheapest first, in two processes."""
    choice = touched.choose(ROOT, os.environ.get("SINCE", ""), is_whole=os.environ.get("WHOLE") == "1")
    for sentence in choice.sentences:
        say(sentence)
    if choice.problem:
        report.note("choice", choice.problem, is_ok=False)
        return []
    if choice.tests:
        provide_tools(report)
    jobs.run_jobs(touched.list_jobs(choice, Depth()), 2, report.add)
    return list(record.read_lines(stages.RECORDS))


def main(goal: str) -> int:
    """Run what the goal names and return the exit status. SIGTERM ends it as Ctrl-C does, servers included."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Tests start many processes; without bytecode each of them compiles what it imports, for seconds.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    caches.set_spark_variables(os.environ)
    jobs.adopt_orphans()
    shutil.rmtree(stages.RECORDS, ignore_errors=True)
    report = Report()
    lines: list[Line] = []
    match goal:
        case "lint":
            jobs.run_jobs(list_checks(), SLOTS, report.add)
        case "check":
            fast = Stage("fast", "fast", stages.SQLITE, FAST)
            depth = Depth(profile="quick")
            queue = list_checks(("format", "lint", "contracts", "types"))
            jobs.run_jobs([*queue, *stages.list_jobs(fast, depth, record.read_record())], SLOTS, report.add)
        case "touched":
            lines = run_touched(report)
        case "clients":
            run_in_turn(report, stages.list_client_stages("clients"), Depth())
        case "everything":
            lines = run_everything(report)
        case _:
            lines = run_tests(report, Depth(), clients="smoke")
            judge_speakers(report, lines)
    return report.close(lines, has_budget=goal == "test")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "test"))
    except KeyboardInterrupt:
        sys.exit(130)
