"""The decision log of this process: decisions are queued during requests and written in batches by one thread.

A process logs from `start` to `stop`, and only inside `bind_request`, so decisions of management commands and tasks are
not logged. Every denial is logged, and the share settings.DECISION_LOG_SAMPLE of what is allowed. A request never waits
for the log: entries that exceed the queue while the database is away are dropped, counted and reported in the log.

Beside the log the same thread writes how often each privilege was used (`use_counts`), of which nothing is left out.
"""

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from policies import deadlines
from policies.engine.model import Actor, Decision
from policies.engine.requirements import Requirement
from policies.kept_settings import kept_settings
from policies.models import LoggedDecision
from policies.models.decision import MAX_WANTED_LENGTH
from policies.models.fields import MAX_URN_LENGTH, is_storable, json_text
from policies.outages import find_outage
from policies.pdp.access_requests import AccessRequest
from policies.pdp.bound_value import BoundValue
from policies.pdp.log import bulk_insert
from policies.pdp.log.use_writing import ProcessUses
from policies.pdp.requirement_text import format_requirement, parse_requirement
from policies.propagation import metrics
from policies.propagation.batch_thread import BatchThread

log = logging.getLogger(__name__)

#: Longest queue, in entries; a batch of the API has up to 10,000 questions.
MAX_QUEUED_ENTRIES = 50_000
#: Rows per INSERT.
INSERT_BATCH_SIZE = 500
#: Seconds for which entries are collected before they are written.
COLLECT_SECONDS = 0.5
#: Seconds between two tries while the database is away, and seconds for all that is left once the process is ending.
RETRY_SECONDS, FINAL_SECONDS = 1.0, 5.0
#: Longest write of one batch.
WRITE_SECONDS = 60.0
#: Longest list that is stored; the rest of a longer one is cut off.
MAX_LOGGED_ITEMS = 20

#: The JSON of a list without members, as most are.
_EMPTY_LIST = json_text([])

#: Last character of a text that was cut.
CUT_MARK = "…"

_COLUMNS = (
    "at",
    "actor",
    "by",
    "door",
    "request_id",
    "operation",
    "wanted",
    "resource",
    "resource_type",
    "sub_resources",
    "is_allowed",
    "code",
    "policy_version",
    "statements",
    "milliseconds",
    "is_complete",
    "evaluation_id",
)


class RequestChannel(NamedTuple):
    """The channel of a request, as functions that are called on logging: sign-in comes after the middleware."""

    name: Callable[[], str]
    by: Callable[[], str]
    request_id: Callable[[], str]


class RequestContext(NamedTuple):
    """Time, channel, caller (`by`) and request id of logged questions."""

    at: datetime
    channel: str
    by: str
    request_id: str


class Entry(NamedTuple):
    """A decision with its question, queued for writing.

    `is_plain`: the question has nothing but actor, requirement, resource and sub-resources. `evaluation_id` is the id
    that the caller was told, empty for most.
    """

    context: RequestContext
    actor: str
    operation: str
    requirement: Requirement
    resource: str
    resource_type: str
    subresources: tuple[str, ...]
    decision: Decision
    milliseconds: float
    is_plain: bool = False
    evaluation_id: str = ""


_REQUEST_CHANNEL: ContextVar[RequestChannel | None] = ContextVar("request_channel", default=None)


class BufferedLogWriter:
    """The queue of decisions to write and the thread that writes it, which starts with the first decision.

    The thread also writes `uses`, if there are any to write.
    """

    def __init__(self, *, capacity: int = MAX_QUEUED_ENTRIES, uses: ProcessUses | None = None) -> None:
        self._uses = uses
        self._capacity = capacity
        self._queue: deque[Entry] = deque()
        self._dropped_count = 0
        self._allowed_counter = itertools.count(1)
        self._lock = threading.Lock()
        self._thread = BatchThread(
            self._write_batch,
            name="decision-log",
            collect_seconds=COLLECT_SECONDS,
            prepare=self._prepare,
            is_ended_by_owner=True,
        )
        self._ends_at = float("inf")

    def sample_indexes(self, decisions: Sequence[Decision]) -> list[int]:
        """Return the indexes of the decisions to log: every denial, and an even sample of the rest."""
        share = kept_settings.DECISION_LOG_SAMPLE
        if share >= 1:
            return list(range(len(decisions)))
        counter = self._allowed_counter
        return [
            index
            for index, decision in enumerate(decisions)
            if not decision.is_allowed or (number := next(counter)) * share // 1 > (number - 1) * share // 1
        ]

    def enqueue(self, entry: Entry) -> None:
        """Queue an entry, or count it as dropped when the queue is full; never blocks."""
        if len(self._queue) >= self._capacity:
            with self._lock:
                self._dropped_count += 1
        else:
            self._queue.append(entry)
        self._thread.wake()

    def open_uses(self) -> None:
        """Make this process known as one that counts uses, soon."""
        self._thread.wake()

    def count_uses(self, requests: Sequence[tuple[Actor, AccessRequest]], decisions: Sequence[Decision]) -> None:
        """Count the uses of the decisions that allow; never blocks."""
        if self._uses is not None:
            self._uses.counts.add(requests, decisions, at=time.time())
            self._thread.wake()

    def stop(self) -> None:
        """Write the queue and end the thread; what cannot be written within FINAL_SECONDS is dropped."""
        self._ends_at = time.monotonic() + FINAL_SECONDS
        self._thread.stop(2 * FINAL_SECONDS)
        self._report_dropped()

    def _prepare(self) -> float | None:
        return self._write_batch(has_log=False)

    def _write_batch(self, *, has_log: bool = True) -> float | None:
        try:
            # Uses first: the log waits for a database that is away.
            seconds = self._write_uses()
            if has_log:
                self._write_all()
        finally:
            # An idle connection would be missing from the pool of the requests.
            connection.close()
        return seconds

    def _write_uses(self) -> float | None:
        """Write the uses that are due; return after how many seconds to call this again."""
        if self._uses is None:
            return None
        if self._thread.is_stopping:
            self._uses.finish(ends_at=self._ends_at)
            return None
        return self._uses.write_due()

    def _write_all(self) -> None:
        self._report_dropped()
        while self._queue:
            count = min(INSERT_BATCH_SIZE, len(self._queue))
            self._write(_build_rows([self._queue.popleft() for _ in range(count)]))

    def _write(self, values: Sequence[tuple[Any, ...]]) -> None:
        """Write rows, retrying while the database is away and, once the process is ending, while there is time."""
        while True:
            try:
                with deadlines.open_budget(min(self._ends_at - time.monotonic(), WRITE_SECONDS)):
                    bulk_insert.insert_rows(LoggedDecision, _COLUMNS, values)
            except (DatabaseError, InterfaceError) as error:
                if find_outage(error) is None:
                    log.exception("decisions_refused")
                    self._count_dropped(len(values))
                    return
                connection.close()
                log.warning("decisions_wait", extra={"error": str(error), "waiting": len(values) + len(self._queue)})
                if time.monotonic() + RETRY_SECONDS >= self._ends_at:
                    self._count_dropped(len(values) + len(self._queue))
                    self._queue.clear()
                    return
                time.sleep(RETRY_SECONDS) if self._thread.is_stopping else self._thread.wait_for_stop(RETRY_SECONDS)
            else:
                return

    def _count_dropped(self, count: int) -> None:
        with self._lock:
            self._dropped_count += count

    def _report_dropped(self) -> None:
        with self._lock:
            dropped_count, self._dropped_count = self._dropped_count, 0
        if dropped_count:
            metrics.count_unlogged(dropped_count)
            log.warning("decisions_not_logged", extra={"count": dropped_count})


class _ProcessDecisionLog:
    """Holder of the one decision log of this process."""

    def __init__(self) -> None:
        self.writer: BufferedLogWriter | None = None
        self.finalizer: Finalize | None = None


_process_log = _ProcessDecisionLog()


def start(*, capacity: int = MAX_QUEUED_ENTRIES) -> None:
    """Start the decision log of this process; the queue is written before the process ends."""
    stop()
    _process_log.writer = BufferedLogWriter(capacity=capacity, uses=ProcessUses())
    _process_log.writer.open_uses()
    # Not atexit: processes that granian forks end as those of multiprocessing do, which do not run atexit handlers.
    _process_log.finalizer = Finalize(None, stop, exitpriority=0)


def stop() -> None:
    """Write the queue and end the decision log of this process."""
    writer, _process_log.writer = _process_log.writer, None
    finalizer, _process_log.finalizer = _process_log.finalizer, None
    if finalizer is not None:
        finalizer.cancel()
    if writer is not None:
        writer.stop()


def bind_request(channel: RequestChannel) -> BoundValue[RequestChannel | None]:
    """Log the decisions made inside the block as requested through this channel."""
    return BoundValue(_REQUEST_CHANNEL, channel)


def sample_indexes(decisions: Sequence[Decision]) -> list[int]:
    """Return the indexes of the decisions to log; empty if there is no log or no bound request."""
    writer = _process_log.writer
    if writer is None or _REQUEST_CHANNEL.get() is None:
        return []
    return writer.sample_indexes(decisions)


def count_uses(requests: Sequence[tuple[Actor, AccessRequest]], decisions: Sequence[Decision]) -> None:
    """Count the uses of the decisions that allow, if there is a log and a bound request."""
    writer = _process_log.writer
    if writer is not None and _REQUEST_CHANNEL.get() is not None:
        writer.count_uses(requests, decisions)


def current_context() -> tuple[BufferedLogWriter, RequestContext] | None:
    """Return the log writer and the context of the bound request; None if there is no log or no request."""
    writer, channel = _process_log.writer, _REQUEST_CHANNEL.get()
    if writer is None or channel is None:
        return None
    return writer, RequestContext(timezone.now(), channel.name(), channel.by(), channel.request_id())


def _build_rows(entries: Iterable[Entry]) -> list[tuple[Any, ...]]:
    # Many entries share a request context, so its time is adapted for the database once.
    adapt_time = cache(connection.ops.adapt_datetimefield_value)
    return [_build_row(entry, adapt_time(entry.context.at)) for entry in entries]


def _build_row(entry: Entry, adapted_time: Any) -> tuple[Any, ...]:
    """Return the values of _COLUMNS for one entry."""
    context, decision = entry.context, entry.decision
    actor, resource = _fit_text(entry.actor, MAX_URN_LENGTH), _fit_text(entry.resource, MAX_URN_LENGTH)
    requirement_text, resource_type = _fit_requirement(entry.requirement), _fit_text(entry.resource_type, 64)
    subresources = _fit_urns(entry.subresources) if entry.subresources else _EMPTY_LIST
    # What was cut, or names another entity, cannot be asked again.
    is_complete = (
        entry.is_plain
        and (actor, resource, resource_type) == (entry.actor, entry.resource, entry.resource_type)
        and parse_requirement(requirement_text) == entry.requirement
        and (not entry.subresources or subresources == json_text(list(entry.subresources)))
    )
    return (
        adapted_time,
        actor,
        _fit_text(context.by, MAX_URN_LENGTH),
        context.channel,
        _fit_text(context.request_id, 64),
        _fit_text(entry.operation, 255),
        requirement_text,
        resource,
        resource_type,
        subresources,
        decision.is_allowed,
        str(decision.code),
        decision.version,
        _list_statements(decision) if decision.bits or decision.grants else _EMPTY_LIST,
        round(entry.milliseconds, 3),
        is_complete,
        entry.evaluation_id,
    )


def _fit_urns(urns: Sequence[str]) -> str:
    return json_text([_fit_text(urn, MAX_URN_LENGTH) for urn in urns[:MAX_LOGGED_ITEMS]])


def _list_statements(decision: Decision) -> str:
    return json_text(
        [
            {
                "policy": statement.origin.policy,
                "name": statement.origin.name,
                "statement": statement.origin.index,
                "effect": statement.effect.value,
            }
            for statement in decision.statements[:MAX_LOGGED_ITEMS]
        ]
    )


def _fit_requirement(requirement: Requirement) -> str:
    """Return the privileges of a requirement; a list that is too long ends after a whole name, with CUT_MARK."""
    text = _fit_text(requirement.sole_privilege or format_requirement(requirement), MAX_WANTED_LENGTH)
    return f"{text.rpartition(' ')[0]} {CUT_MARK}".strip() if text.endswith(CUT_MARK) else text


def _fit_text(text: str, length: int) -> str:
    """Return the text made storable and cut to `length` characters: one bad value must not lose the whole batch."""
    if len(text) <= length and text.isascii() and "\x00" not in text:
        return text
    if not is_storable(text):
        text = text.replace("\x00", "�").encode(errors="replace").decode()
    return text if len(text) <= length else f"{text[: length - 1]}{CUT_MARK}"
