"""`python -m bench.attribution TOKEN RESULTS POLICIES USERS ENTITIES`: which room the time of a hot call is spent in.

Runs in a process of its own, whose environment names the database (bench.profile). The time of a call is measured
without a profiler; the profiler says how it is divided.
"""

import cProfile
import io
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.http.installation import SERVER
from bench.http.single import QUESTIONS
from bench.questions import body_of, list_questions
from bench.rooms import ELSEWHERE, ROOMS, Attribution, Function, Spent, merge, read_profile
from bench.worlds import Company

#: Rounds without and with the profiler.
ROUNDS, PROFILED_ROUNDS = 15, 9
#: Functions that are named for a room.
_NAMED = 2
#: Seconds after which the threads that write logs and counters have written all of them.
_DRAIN_SECONDS = 2.0
THREADS = "threads that write logs, counters"

Application = Callable[..., Iterable[bytes]]
MakeCall = Callable[[], dict[str, Any]]


def main() -> None:
    """Measure, profile, and write the lines of a table."""
    token, results, *sizes = sys.argv[1:]
    policies, users, entities = map(int, sizes)
    os.sched_setaffinity(0, {SERVER})
    from bench.site.wsgi import application
    from policies.pdp.log import decision_log

    company = Company(policies, users=users, entities=entities)
    asked = list_questions(company, min(2 * QUESTIONS, users // 2 * 2))
    bodies = [json.dumps(body_of(one)).encode() for one in asked[: len(asked) // 2]]
    calls = [partial(_make_environment, body, token) for body in bodies]
    for _ in range(2):
        _call_all(application, calls)
    own, others = _time_calls(application, calls)
    rounds = [_profile_round(application, calls) for _ in range(PROFILED_ROUNDS)]
    decision_log.stop()
    rows = _list_rows(Attribution(merge(rounds)), own, others, len(calls))
    notes = [
        f"{ROUNDS} rounds of {len(calls):,} calls without a profiler, medians of the processor's time;"
        f" {PROFILED_ROUNDS} rounds with it, medians of each function, divide that time. Libraries belong to who calls."
    ]
    Path(results).write_text(json.dumps({"rows": rows, "notes": notes}), encoding="utf-8")


def _make_environment(body: bytes, token: str) -> dict[str, Any]:
    """Return a call as granian hands it over."""
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/api/v1/authorize",
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_AUTHORIZATION": f"Bearer {token}",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(body),
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }


def _call_all(application: Application, calls: Sequence[MakeCall]) -> None:
    for make in calls:
        answer = application(make(), _start_response)
        b"".join(answer)
        getattr(answer, "close", int)()


def _start_response(status: str, _headers: object, *_more: object) -> None:
    if not status.startswith("200"):
        raise RuntimeError(status)


def _answer_nothing(_environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    return ()


def _time_calls(application: Application, calls: Sequence[MakeCall]) -> tuple[float, float]:
    """Return the seconds of a call, without what asking takes, and those of other threads for it."""
    nothing = statistics.median(_time_round(_answer_nothing, calls) for _ in range(ROUNDS))
    began = time.process_time()
    rounds = [_time_round(application, calls) for _ in range(ROUNDS)]
    time.sleep(_DRAIN_SECONDS)
    others = time.process_time() - began - sum(rounds)
    return (statistics.median(rounds) - nothing) / len(calls), max(0.0, others / ROUNDS / len(calls))


def _time_round(application: Application, calls: Sequence[MakeCall]) -> float:
    """Return the seconds of processor time that this thread takes for all calls."""
    began = time.thread_time()
    _call_all(application, calls)
    return time.thread_time() - began


def _profile_round(application: Application, calls: Sequence[MakeCall]) -> dict[Function, Spent]:
    """Return what each function spends in a round."""
    profiler = cProfile.Profile()
    profiler.runcall(_call_all, application, calls)
    return read_profile(profiler)


def _list_rows(attribution: Attribution, own: float, others: float, profiled: int) -> list[tuple[object, ...]]:
    """Return the rows of the table: the rooms as a call passes them, other threads, and all."""
    found, calls = attribution.divide(own * profiled), attribution.count_calls()
    everything = own + others
    rows: list[tuple[object, ...]] = []
    for room in (*ROOMS, ELSEWHERE):
        parts = found.get(room, {})
        if room == ELSEWHERE and calls.get(room, 0.0) < profiled:
            continue
        spent = sum(parts.values()) / profiled
        most = ", ".join(sorted(parts, key=lambda name: -parts[name])[:_NAMED])
        rows.append((room, spent * 1e6, f"{spent / everything:.0%}", calls.get(room, 0.0) / profiled, most))
    rows.append((THREADS, others * 1e6, f"{others / everything:.0%}", "", ""))
    rows.append(("all", everything * 1e6, "100%", sum(row[3] for row in rows[:-1] if isinstance(row[3], float)), ""))
    return rows


if __name__ == "__main__":
    main()
