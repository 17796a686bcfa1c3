"""What a run of checks and tests says: each job as it ends, then one line a stage, the dearest tests, the budget."""

import resource
import statistics
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence

from jobs import ROOT, Ended
from record import Line
from slowness import measure_slowness

#: pytest's status where no test of a process was chosen.
NO_TESTS = 5
#: How far the processor seconds of a run may be above the budget.
TOLERANCE = 1.1
DEAREST = 20


def say(sentence: str) -> None:
    """One line on the terminal, at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def read_budget() -> float:
    """Return how many processor seconds `make test` may take where the machine's slowness is 1."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return float(project["tool"]["authzsite"]["test_seconds"])


class Report:
    """What ran, how long it took and how it ended."""

    def __init__(self) -> None:
        self.has_failure = False
        self.slowness = [measure_slowness()]
        self._begin = time.monotonic()
        self._ended: list[Ended] = []
        self._lines: list[str] = []

    def add(self, ended: Ended) -> None:
        """Show what a job printed, and remember how it ended."""
        self._ended.append(ended)
        self.slowness.append(ended.slowness)
        is_ok = ended.status == 0 or (ended.status == NO_TESTS and "pytest" in ended.job.command)
        self.has_failure = self.has_failure or not is_ok
        took = f"{ended.end - ended.begin:.0f} s, {ended.processor_seconds:.0f} processor s"
        say(f"\n=== {ended.job.name}, {took}{'' if is_ok else f': FAILED with {ended.status}'}\n{ended.output}")
        if not is_ok:
            self.note(ended.job.name, ended.last_words, is_ok=False)

    def note(self, name: str, words: str, *, is_ok: bool = True) -> None:
        """Keep a line for the summary."""
        self.has_failure = self.has_failure or not is_ok
        self._lines.append(f"{'ok' if is_ok else 'FAILED':7}{name:16}{words}")

    def close(self, lines: Sequence[Line], *, has_budget: bool = False) -> int:
        """Print the summary and return the exit status. Every child has to have ended."""
        say("\n=== summary")
        self._say_stages(lines)
        self._say_dearest(lines)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._judge(used.ru_utime + used.ru_stime, has_budget=has_budget)
        for line in self._lines:
            say(line)
        if lines:
            counts = {outcome: sum(line.outcome == outcome for line in lines) for outcome in ("passed", "failed")}
            say(f"{counts['passed']} passed, {counts['failed']} failed")
        return 1 if self.has_failure else 0

    def _say_stages(self, lines: Sequence[Line]) -> None:
        tests: dict[str, int] = defaultdict(int)
        for line in lines:
            tests[line.stage] += 1
        stages: dict[str, list[Ended]] = defaultdict(list)
        for ended in self._ended:
            stages[ended.job.name.partition(" ")[0] if "pytest" in ended.job.command else "checks"].append(ended)
        say(f"{'stage':12}{'processes':>10}{'tests':>8}{'clock s':>9}{'processor s':>13}{'slowness':>10}")
        for stage, jobs in stages.items():
            clock = max(job.end for job in jobs) - min(job.begin for job in jobs)
            # Of a process that nobody waited for, as Java, only its tests know what it took.
            of_tests = sum(line.seconds for line in lines if line.stage == stage)
            seconds = max(of_tests, sum(job.processor_seconds for job in jobs))
            slowness = statistics.median(job.slowness for job in jobs)
            say(f"{stage:12}{len(jobs):10}{tests[stage]:8}{clock:9.0f}{seconds:13.0f}{slowness:10.2f}")

    def _say_dearest(self, lines: Sequence[Line]) -> None:
        if lines:
            say(f"\nThe {DEAREST} dearest tests, in processor seconds:")
        for line in sorted(lines, key=lambda line: -line.seconds)[:DEAREST]:
            say(f"{line.seconds:7.1f}  {line.stage:11} {line.id}")
        say("")

    def _judge(self, seconds: float, *, has_budget: bool) -> None:
        slowness = statistics.median([*self.slowness, measure_slowness()])
        clock = time.monotonic() - self._begin
        words = f"{clock:.0f} s, {seconds:.0f} processor s, slowness {slowness:.2f}"
        if not has_budget:
            self.note("in all", words)
            return
        budget, used = read_budget(), seconds / slowness
        sentence = f"{words}: {used:.0f} s of a budget of {budget:.0f} s (pyproject.toml, test_seconds)"
        self.note("in all", sentence, is_ok=used <= budget * TOLERANCE)
