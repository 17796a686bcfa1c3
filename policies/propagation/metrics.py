"""Prometheus metrics of this process, scraped at `/metrics`.

In a web process the numbers are in files shared by the processes of one server (authzsite/metrics_multiprocess.py), so
one scrape sums up all of them; gauges are reported per process. Counts of every request are queued first
(`policies.propagation.metric_buffer`).
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from prometheus_client import Counter, Gauge, Histogram

from policies.engine import families
from policies.engine.families import cdap
from policies.engine.model import Decision, DecisionCode
from policies.engine.requirements import Requirement
from policies.propagation.metric_buffer import metric_buffer

#: Upper bounds in seconds. One warm question takes about a millisecond, one that waits for a version up to a second.
_SECONDS_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

_UNKNOWN_CODE = DecisionCode.PRIVILEGE_UNKNOWN

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_DECISIONS = Counter("authz_decisions", "Decisions of the engine, by whatever asked.", ["family", "outcome"])
_UNLOGGED_DECISIONS = Counter(
    "authz_decisions_not_logged", "Decisions that the decision log should have kept and lost."
)
_REQUESTS = Counter("authz_http_requests", "Answers sent, by route.", ["method", "route", "status"])
_AUTHORIZE_SECONDS = Histogram(
    "authz_authorize_seconds", "Seconds of one POST /api/v1/authorize.", buckets=_SECONDS_BUCKETS
)
_LOADS = Histogram(
    "authz_snapshot_load_seconds", "Seconds of reading and compiling policies.", ["kind"], buckets=_SECONDS_BUCKETS
)
_VERSION = Gauge("authz_snapshot_version", "Policy version the process answers from.", multiprocess_mode="liveall")
_STATEMENTS = Gauge("authz_snapshot_statements", "Compiled statements it holds.", multiprocess_mode="liveall")
_COMPARISON_TIME = Gauge(
    "authz_snapshot_compared_timestamp_seconds",
    "When it last compared its policies with the database, in Unix time.",
    multiprocess_mode="liveall",
)
_CLOCK_AHEAD = Gauge(
    "authz_clock_ahead_seconds",
    "Seconds by which the clock of the process is ahead of that of the database.",
    multiprocess_mode="liveall",
)


def count_decisions(requirements: Iterable[Requirement], decisions: Sequence[Decision]) -> None:
    """Count decisions by family and outcome; `requirements` and `decisions` correspond one to one.

    That a privilege does not exist is no refusal: its outcome is UNKNOWN.
    """
    counts: dict[tuple[str, str], int] = {}
    for requirement, decision in zip(requirements, decisions, strict=True):
        outcome = "ALLOW" if decision.is_allowed else "UNKNOWN" if decision.code is _UNKNOWN_CODE else "DENY"
        key = _family(requirement), outcome
        counts[key] = counts.get(key, 0) + 1
    for (family, outcome), number in counts.items():
        metric_buffer.add(_decision_counter(family, outcome), number)


def count_unlogged(count: int) -> None:
    """Count decisions that the decision log lost."""
    _UNLOGGED_DECISIONS.inc(count)


def count_response(*, method: str, route: str | None, status: int) -> None:
    """Count a sent response; `route` is None for static files and addresses that do not exist."""
    metric_buffer.add(_request_counter(method if method in _METHODS else "other", route, status))


def record_authorize(seconds: float) -> None:
    """Record how long one POST /api/v1/authorize took."""
    metric_buffer.observe(_AUTHORIZE_SECONDS, seconds)


@contextmanager
def measure_authorize() -> Iterator[None]:
    """Record how long the block took, which answers one POST /api/v1/authorize."""
    started_at = time.perf_counter()
    try:
        yield
    finally:
        record_authorize(time.perf_counter() - started_at)


def record_comparison(*, at: float) -> None:
    """Record the time (Unix, seconds) at which this process last compared its policies with the database."""
    _COMPARISON_TIME.set(at)


def record_clock(*, seconds_ahead: float) -> None:
    """Record by how many seconds the clock of this process is ahead of that of the database."""
    _CLOCK_AHEAD.set(seconds_ahead)


def record_load(*, version: int, statements: int, seconds: float, kind: str) -> None:
    """Record a loaded snapshot: version, number of statements, seconds of loading; `kind` is all or changes."""
    _LOADS.labels(kind).observe(seconds)
    _VERSION.set(version)
    _STATEMENTS.set(statements)


@cache
def _decision_counter(family: str, outcome: str) -> Counter:
    return _DECISIONS.labels(family, outcome)


@cache
def _request_counter(method: str, route: str | None, status: int) -> Counter:
    return _REQUESTS.labels(method, "none" if route is None else f"/{route}", str(status))


def _family(requirement: Requirement) -> str:
    """Return the family of the first privilege; `own` if no vocabulary has it, `none` if there is no privilege."""
    privilege = requirement.sole_privilege
    if privilege is None:
        first_need = next(iter(requirement.needs), None)
        if first_need is None or not first_need.privileges:
            return "none"
        privilege = first_need.privileges[0]
    return _family_by_privilege().get(privilege, "own")


@cache
def _family_by_privilege() -> Mapping[str, str]:
    family_by_privilege = {
        privilege: family
        for family, vocabulary in families.load_vocabularies().items()
        for privilege in vocabulary.privileges
    }
    return {**family_by_privilege, cdap.LIST_PRIVILEGE: cdap.NAME}
