"""Profiles divided among the rooms of the product: which files are whose, and what the profiler itself takes.

The profiler's own time is taken off by calls of functions, or rooms with many small ones would look larger than they
are. The work of libraries is on the bill of the room that calls them.
"""

import cProfile
import pstats
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent

#: Room → its files, folders, or functions of files. The longest one that fits counts.
ROOMS = {
    "gateway, limits, headers": (
        *("bench/site/wsgi.py", "authzsite/decision_gateway.py", "authzsite/throttling.py", "authzsite/admission.py"),
        *("authzsite/middleware.py", "policies/deadlines.py"),
    ),
    "token": ("policies/identity/", "policies/writes/token_secrets.py", "authzsite/decision_gateway.py:_authenticate"),
    "body": ("policies/http/api/plain_json.py", "policies/writes/strict_json.py"),
    "understanding the question": (
        *("policies/decisions/", "policies/http/", "policies/pdp/access_requests.py", "catalog/urns.py"),
    ),
    "facts": (
        *("policies/pdp/", "policies/propagation/invalidating_cache.py", "policies/propagation/invalidation.py"),
        *("catalog/access/", "catalog/models/", "policies/models/", "policies/engine/ports.py"),
    ),
    "decision": ("policies/engine/", "policies/pdp/authorizer.py", "policies/pdp/snapshot_store.py"),
    "decision log": (
        *("policies/pdp/log/decision_log.py", "policies/pdp/log/bulk_insert.py"),
        *("policies/pdp/log/use_counts.py", "policies/pdp/log/use_writing.py"),
    ),
    "counters": (
        *("policies/propagation/metrics.py", "policies/propagation/metric_buffer.py"),
        "authzsite/metrics_multiprocess.py",
    ),
    "rendering": (
        *("policies/decisions/api/decision_serializers.py", "policies/http/api/plain_json.py:encode"),
        "policies/http/api/plain_json.py:encode_ascii",
    ),
    "log line": ("authzsite/request_log.py", "authzsite/logs.py"),
}
#: What several rooms use belongs to the one that calls it, as a library does.
SHARED = ("policies/propagation/batch_thread.py",)
#: What is of no room, and what is no part of a call: the module that makes the calls.
ELSEWHERE = "elsewhere in the project"
_ASKING, _ASKING_FILE = "", "bench/attribution.py:"

#: File, line and name, as pstats has them.
Function = tuple[str, int, str]
Shares = Mapping[str, float]
#: Where a caller has its calls, and the time in the called function itself.
_CALLS, _SECONDS = 0, 1


@dataclass(frozen=True)
class Overhead:
    """Seconds that the profiler adds for one call: to the time of what is called, and of what calls it."""

    called: float
    calling: float


@dataclass(frozen=True)
class Spent:
    """The calls and seconds of one round in one function itself, and by each of its callers."""

    calls: int
    seconds: float
    callers: Mapping[Function, tuple[int, float]]


_NOTHING = Spent(0, 0.0, {})


def read_profile(profiler: cProfile.Profile) -> dict[Function, Spent]:
    stats: dict[Function, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # what reports are made of
    return {
        function: Spent(calls, own, {caller: (edge[0], edge[2]) for caller, edge in callers.items()})
        for function, (_, calls, own, _, callers) in stats.items()
    }


def merge(rounds: Sequence[Mapping[Function, Spent]]) -> dict[Function, Spent]:
    """Return the medians of rounds: what comes once, such as another program on the processor, is in none of them."""
    merged = {}
    for function in {function for found in rounds for function in found}:
        all_spent = [found.get(function, _NOTHING) for found in rounds]
        callers = {caller for spent in all_spent for caller in spent.callers}
        merged[function] = Spent(
            statistics.median_low(spent.calls for spent in all_spent),
            statistics.median_low(spent.seconds for spent in all_spent),
            {
                caller: (
                    statistics.median_low(spent.callers.get(caller, (0, 0.0))[0] for spent in all_spent),
                    statistics.median_low(spent.callers.get(caller, (0, 0.0))[1] for spent in all_spent),
                )
                for caller in callers
            },
        )
    return merged


class Attribution:
    """Divides the time of a profile among the rooms."""

    def __init__(self, spent: Mapping[Function, Spent]) -> None:
        """Take a profile. Raises FileNotFoundError when a room has moved."""
        for place in (place.partition(":")[0] for places in ROOMS.values() for place in places):
            if not (PROJECT / place).exists():
                raise FileNotFoundError(place)
        self._spent = spent
        self._overhead = {True: _measure_overhead(_do_nothing), False: _measure_overhead(len)}
        self._shares: dict[tuple[Function, int], Shares] = {}
        self._added: dict[Function, float] = defaultdict(float)
        for function, one in self._spent.items():
            for caller, (calls, _) in one.callers.items():
                self._added[caller] += calls * self._overhead[_is_python(function)].calling

    def count_calls(self) -> Shares:
        """Return room → calls of functions."""
        calls: dict[str, float] = defaultdict(float)
        for function, spent in self._spent.items():
            for room, share in self._find_shares(function, _CALLS, ()).items():
                calls[room] += spent.calls * share
        return calls

    def divide(self, seconds: float) -> Mapping[str, Shares]:
        """Return room → function → its part of these seconds, which the profiled calls take without a profiler."""
        plain, less = (self._sum_up(self._divide(times)) for times in (0.0, 1.0))
        # Among many functions the profiler takes longer than where it was measured; how much longer follows from this.
        times = max(0.0, plain - seconds) / (plain - less)
        found = self._divide(times)
        scale = seconds / self._sum_up(found)
        return {room: {name: part * scale for name, part in parts.items()} for room, parts in found.items()}

    def _divide(self, times: float) -> dict[str, dict[str, float]]:
        """Return room → function → seconds, less so many times the profiler's measured overhead."""
        found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for function, spent in self._spent.items():
            added = spent.calls * self._overhead[_is_python(function)].called + self._added[function]
            for room, share in self._find_shares(function, _SECONDS, ()).items():
                found[room][_name(function)] += max(0.0, spent.seconds - times * added) * share
        return found

    @staticmethod
    def _sum_up(found: Mapping[str, Shares]) -> float:
        return sum(sum(parts.values()) for room, parts in found.items() if room != _ASKING)

    def _find_shares(self, function: Function, weight: int, above: tuple[Function, ...]) -> Shares:
        """Return room → share of a function: its own room, or for a library's those of its callers."""
        room = _find_room(function)
        if room is not None:
            return {room: 1.0}
        if (function, weight) in self._shares:
            return self._shares[function, weight]
        edges = self._spent[function].callers
        callers = {caller: edge[weight] for caller, edge in edges.items() if caller not in (*above, function)}
        total = sum(callers.values())
        shares: dict[str, float] = defaultdict(float)
        for caller, amount in callers.items():
            for name, share in self._find_shares(caller, weight, (*above, function)).items():
                shares[name] += share * amount / total if total else 0.0
        if not above:
            self._shares[function, weight] = shares
        return shares


def _do_nothing(_: object) -> None:
    pass


def _measure_overhead(called: Callable[[Any], object]) -> Overhead:
    """Return what the profiler adds for a call of a function that does next to nothing."""
    argument, times = (), 200_000

    def repeat() -> None:
        for _ in range(times):
            called(argument)

    started = time.perf_counter()
    repeat()
    plain = (time.perf_counter() - started) / times
    profiler = cProfile.Profile()
    profiler.runcall(repeat)
    own = {name: spent.seconds / times for (_, _, name), spent in read_profile(profiler).items()}
    calling = own.pop("repeat")
    return Overhead(max(own.values()), max(0.0, calling - plain))


def _is_python(function: Function) -> bool:
    return function[0] != "~"


def _find_room(function: Function) -> str | None:
    """Return the room of a function of the project; None for a function of a library."""
    file = Path(function[0])
    if not file.is_relative_to(PROJECT) or ".venv" in file.parts:
        return None
    path = f"{file.relative_to(PROJECT)}:{function[2]}"
    if path.startswith(_ASKING_FILE):
        return _ASKING
    if path.startswith(SHARED):
        return None
    fitting = [
        (len(start), room)
        for room, starts in ROOMS.items()
        for start in starts
        if path.startswith(start if start.endswith("/") else start + (":" if start.endswith(".py") else ""))
    ]
    return max(fitting)[1] if fitting else ELSEWHERE


def _name(function: Function) -> str:
    file, _, name = function
    return f"{Path(file).stem}.{name}" if _is_python(function) else name
