"""What each test takes and runs, as lines of a file: processor seconds, clock, outcome and, if it is traced, functions.

Loaded as a plugin (see pyproject.toml); it writes where `TEST_RECORDS` names a folder, as `make test` does. A line is a
JSON object: `id`, `seconds` (of this process and all that it started), `clock`, `outcome`, `is_on_both` (databases),
`spoke` and, with `TEST_TRACES=true`, `functions` and `templates` (see `tests/tracing.py`).
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests import tracing

FOLDER = os.environ.get("TEST_RECORDS", "")
TICKS = os.sysconf("SC_CLK_TCK")

if tracing.IS_ON:
    tracing.begin()


def pytest_configure(config: pytest.Config) -> None:
    """Write records if somebody asked for them."""
    if FOLDER:
        config.pluginmanager.register(Recorder(Path(FOLDER)), "records")


class Recorder:
    """Writes a line for each test that ends in this process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{os.getpid()}.jsonl"
        self._lines: TextIO | None = None
        self._outcome = "passed"
        #: What fixtures that several tests share ran when they were made, by the fixture.
        self._shared: dict[Any, tracing.Ran] = {}

    def pytest_collection_finish(self) -> None:
        """Watch Django from now on, and count nothing that only reading the tests ran."""
        tracing.watch_statements()
        if tracing.IS_ON:
            tracing.watch_templates()
        tracing.TRACES.take()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure a test with its fixtures."""
        self._outcome = "passed"
        begin, begin_seconds = time.monotonic(), read_processor_seconds()
        result = yield
        # A process whose parent does not wait for it takes its time away when it ends: a browser does.
        seconds = max(0.0, read_processor_seconds() - begin_seconds)
        line = {
            "id": item.nodeid,
            "seconds": round(seconds, 3),
            "clock": round(time.monotonic() - begin, 3),
            "outcome": self._outcome,
            "is_on_both": item.get_closest_marker("both") is not None,
        }
        self._write({**line, **self._trace(item)})
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst that happened in a test."""
        if report.failed:
            self._outcome = "failed"
        elif report.skipped and self._outcome == "passed":
            self._outcome = "skipped"

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Keep what a shared fixture ran: it counts for each test that has the fixture."""
        if fixturedef.scope == "function":
            return (yield)
        before = tracing.TRACES.take()
        try:
            return (yield)
        finally:
            ran = tracing.TRACES.take()
            if fixturedef.scope == "session":
                # What makes the database of a process speaks for no test, and on one of the two has been made before.
                ran.spoke.clear()
            self._shared.setdefault(fixturedef, tracing.Ran()).add(ran)
            before.add(ran)
            tracing.TRACES.put_back(before)

    def _trace(self, item: pytest.Item) -> dict[str, list[str]]:
        ran = tracing.TRACES.take()
        for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009  # private to pytest
            for definition in definitions:
                ran.add(self._shared.get(definition, tracing.Ran()))
        found = {"functions": ran.functions, "spoke": ran.spoke, "templates": ran.templates}
        return {name: sorted(names) for name, names in found.items() if names}

    def _write(self, line: dict[str, Any]) -> None:
        if self._lines is None:
            self._lines = self._path.open("w", encoding="utf-8", buffering=1)
        self._lines.write(json.dumps(line, separators=(",", ":")) + "\n")


def read_processor_seconds() -> float:
    """Return the processor seconds of this process and of all that it started, whether it has ended or not."""
    own = os.times()
    seconds = own.user + own.system + own.children_user + own.children_system
    return seconds + (_read_running(os.getpid()) if _has_children() else 0)


def _has_children() -> bool:
    """Return whether this process has one that it has not waited for: looking for them takes 2 ms."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _read_running(above: int) -> float:
    """Return the processor seconds of all processes below one, as /proc has them."""
    ticks: dict[int, int] = {}
    below: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):  # noqa: PTH208  # a third of the time of Path
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                fields = file.read().rpartition(")")[2].split()
                below[int(fields[1])].append(int(name))
                ticks[int(name)] = sum(map(int, fields[11:15]))
    found, total = below[above].copy(), 0
    while found:
        number = found.pop()
        total += ticks[number]
        found += below[number]
    return total / TICKS
