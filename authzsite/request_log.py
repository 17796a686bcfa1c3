"""The log line of a request for decisions, without the cost of the logging pipeline.

The pipeline needs a tenth of a millisecond for a line, more than a decision takes. So it renders one line for each path
with marks in place of the time, the address and the request id, and later lines are made from that text: whatever the
format, they are what the pipeline would have written. A thread of this process writes them, several at once; at the end
of the process it writes what is left.
"""

import logging
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any, TextIO

import structlog
from django.http import HttpRequest, HttpResponseBase
from django_structlog.middlewares import RequestMiddleware

from policies.propagation.batch_thread import BatchThread

#: Name of the log in which django_structlog's middleware writes a line for each request.
LOG_NAME = RequestMiddleware.__module__

#: Beginnings of the paths of decisions. There are few of them and none contains a name, so a line of each is kept.
_PATHS = ("/api/v1/authorize", "/access/v1/evaluation")

#: Seconds for which lines are collected before they are written.
COLLECT_SECONDS = 0.05

#: What stands for the address and the request id in a line that is rendered once; neither is ever sent.
_ADDRESS_MARK, _ID_MARK = "000.address.000", "000.request-id.000"

_logger = structlog.get_logger(LOG_NAME)
_standard_logger = logging.getLogger(LOG_NAME)


class LineTemplate:
    """The line of requests to one path with one status, as a formatter renders it; `render` gives one of them."""

    def __init__(self, formatter: logging.Formatter, request: str, status: int) -> None:
        with structlog.contextvars.bound_contextvars(request_id=_ID_MARK, ip=_ADDRESS_MARK):
            event: Any = {"code": status, "request": request, "event": "request_finished"}
            *processors, _ = structlog.get_config()["processors"]
            for process in processors:
                event = process(_standard_logger, "info", event)
        record = logging.LogRecord(LOG_NAME, logging.INFO, "", 0, event, (), None)
        record.__dict__.update(_logger=_standard_logger, _name="info")
        text = formatter.format(record)
        self._text = text.replace("%", "%%")
        for mark, name in ((event["timestamp"], "at"), (_ADDRESS_MARK, "address"), (_ID_MARK, "request_id")):
            self._text = self._text.replace(mark, f"%({name})s")

    def render(self, *, address: str, request_id: str) -> str:
        """Return the line of a request that ends now."""
        second, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
        at = f"{_format_second(second)}.{microseconds:06d}Z"
        return self._text % {"at": at, "address": address, "request_id": request_id}


@lru_cache(maxsize=8)
def _format_second(second: int) -> str:
    """Return a Unix time as a date and time in UTC (ISO 8601), without an offset."""
    return datetime.fromtimestamp(second, tz=UTC).replace(tzinfo=None).isoformat()


class LineWriter:
    """Writes lines to a stream from a thread of its own, which starts with the first line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: deque[str] = deque()
        self._thread = BatchThread(self._write_all, name="request-log", collect_seconds=COLLECT_SECONDS)

    def write(self, line: str) -> None:
        """Have a line written soon; never blocks."""
        self._lines.append(line)
        self._thread.wake()

    def stop(self) -> None:
        """Write what is left and end the thread."""
        self._thread.stop()

    def _write_all(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


def has_plain_line(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Return whether `log_answer` logs the end of a request that a view answered: a decision, without query string."""
    return (
        response.status_code == HTTPStatus.OK
        and request.method == "POST"
        and request.path.startswith(_PATHS)
        and not request.META.get("QUERY_STRING")
        and not response.streaming
    )


def log_answer(meta: Mapping[str, Any], status: int, *, address: str | None, request_id: str) -> None:
    """Log the end of a request without query string, as django_structlog's middleware does.

    The request id and the caller's address are those that `middleware.LogContext` has bound, and nothing else is.
    """
    request = f"{meta['REQUEST_METHOD']} {meta['PATH_INFO']}"
    target = _find_target()
    # An id with an equals sign is quoted on the console.
    if target is None or not address or "=" in request_id:
        _logger.info("request_finished", code=status, request=request)
    elif _standard_logger.isEnabledFor(logging.INFO):
        formatter, stream = target
        line = _get_template(formatter, request, status).render(address=address, request_id=request_id)
        _get_writer(stream).write(line)


def _find_target() -> tuple[logging.Formatter, TextIO] | None:
    """Return the formatter of all logs and their stream; None where another handler would miss or change the line."""
    handlers = logging.root.handlers
    if len(handlers) != 1 or type(handler := handlers[0]) is not logging.StreamHandler:
        return None
    if handler.filters or handler.level > logging.INFO or handler.formatter is None:
        return None
    return handler.formatter, handler.stream


_get_template = cache(LineTemplate)
_get_writer = cache(LineWriter)
