"""Memory under mixed load: questions, batches, lists, pages and edits at an installation as it is deployed.

Two web processes and two workers with PostgreSQL and Redis, as in tests/faults; SOAK_MINUTES says for how long. A
process needs as much memory as it holds after the first quarter; growth in the second half is a leak.
"""

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import quote

import django

from bench.tables import Cell, Table

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
django.setup()

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

from tests.faults import sites, worlds  # noqa: E402  # imports those
from tests.faults.sites import Caller, Site  # noqa: E402
from tests.faults.watching import watched  # noqa: E402

#: Seconds between two looks at the processes, and between two rounds of the slower calls.
_LOOK_EVERY, _ROUND_EVERY = 5.0, 0.5

_PROGRAMS = {"authzsite.serving": "web", "celery": "worker"}


@dataclass(frozen=True, slots=True)
class Size:
    """The memory of one process, in MiB, so many seconds after the beginning."""

    seconds: float
    process: str
    mebibytes: float


def run(*, is_quick: bool) -> list[Table]:
    """Load a site of its own, and look at its processes."""
    minutes = 0.5 if is_quick else float(os.environ.get("SOAK_MINUTES", "10"))
    with tempfile.TemporaryDirectory(prefix="authzsite-soak-") as folder, sites.running(Path(folder)) as site:
        statuses, over = Counter[int](), threading.Event()
        others = threading.Thread(target=_others, args=(site, statuses, over))
        with watched(site, facts=dict(worlds.AT_FIRST), seed=7) as record:
            others.start()
            try:
                seen = list(_looked(minutes * 60))
            finally:
                over.set()
                others.join()
    statuses.update(answer.status for answer in record.answers)
    statuses.update(write.status for write in record.policies)
    statuses.update(write.status for write in record.fact_writes)
    table = Table(
        f"{minutes:g} minutes of mixed load, resident memory in MiB",
        ("process", "after a quarter", "after half", "at the end", "gained a minute in the second half"),
    )
    for process in sorted({one.process for one in seen}):
        table.rows.append(_row(process, [one for one in seen if one.process == process], minutes * 60))
    answered = ", ".join(f"{status}: {number}" for status, number in sorted(statuses.items()))
    table.notes.append(f"Answers by status: {answered}; {record.newest} versions of the policies.")
    return [table]


def _row(process: str, sizes: Sequence[Size], total: float) -> tuple[Cell, ...]:
    def at(share: float) -> float:
        return min(sizes, key=lambda one: abs(one.seconds - total * share)).mebibytes

    gained = (at(1.0) - at(0.5)) / (total / 120)
    return (process, at(0.25), at(0.5), at(1.0), gained)


def _looked(seconds: float) -> Iterator[Size]:
    begin, pause = monotonic(), threading.Event()
    while (passed := monotonic() - begin) < seconds:
        yield from (Size(passed, name, size) for name, size in _processes())
        pause.wait(_LOOK_EVERY)


def _processes() -> Iterator[tuple[str, float]]:
    """Yield the web processes and workers that this process started, directly or not, with what they hold in MiB."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            lines = (path / "status").read_text().splitlines()
            command = (path / "cmdline").read_text()
        except OSError:
            continue
        facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        found[int(path.name)] = (int(facts["PPid"]), command, int(facts.get("VmRSS", "0 kB").split()[0]) / 1024)
    for pid, (_, command, size) in found.items():
        for program, name in _PROGRAMS.items():
            if program in command and os.getpid() in _above(pid, found):
                yield f"{name} {pid}", size


def _above(pid: int, found: dict[int, tuple[int, str, float]]) -> Iterator[int]:
    while pid in found:
        pid = found[pid][0]
        yield pid


def _others(site: Site, statuses: Counter[int], over: threading.Event) -> None:
    """Ask what takes longer than a question: batches, lists and pages of the API, in turn at both processes."""
    questions: list[dict[str, object]] = [
        {"actor": actor, "privilege": privilege, "resource": {"urn": urn}} for actor, privilege, urn in worlds.QUESTIONS
    ]
    with site.calling(0) as first, site.calling(1) as second:
        while not over.wait(_ROUND_EVERY):
            for caller in (first, second):
                statuses.update(_round(caller, questions))


def _round(caller: Caller, questions: list[dict[str, object]]) -> Iterator[int]:
    yield caller.call("POST", "/api/v1/authorize/batch", {"questions": questions}).status
    yield caller.call("POST", "/api/v1/what", {"privilege": "EDIT_ENTITY_TAGS"}).status
    yield caller.call("GET", "/api/v1/entities/?q=orders").status
    yield caller.call("GET", f"/api/v1/policies/{quote(worlds.POLICIES[0], safe='')}/versions/").status
    yield caller.call("GET", "/api/v1/audit/?of=decisions").status
    yield caller.call("GET", "/health/ready").status
