"""The line of an answered request is what the logging pipeline would have written, and none is lost."""

import io
import logging
import re
import threading
from contextlib import contextmanager

import pytest
import structlog
from django.http import HttpResponse
from django.test import RequestFactory
from django_structlog.middlewares import RequestMiddleware

from authzsite import logs, request_log
from authzsite.middleware import RequestLogMiddleware
from authzsite.request_log import LineWriter

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
META = {"REQUEST_METHOD": "POST", "PATH_INFO": "/api/v1/authorize"}


@contextmanager
def writing_to(stream, style):
    """Have all logs written to one stream inside the block; pytest adds handlers of its own before each test."""
    formatter = logs.build_configuration(level="INFO", style=style)["formatters"]["line"]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter["()"](**{name: value for name, value in formatter.items() if name != "()"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", [handler])
        yield


@pytest.fixture(params=["console", "json"])
def style(request):
    return request.param


def write_both(style, address, request_id):
    """Write the line by the pipeline and by the template; return both."""
    stream = io.StringIO()
    with writing_to(stream, style), structlog.contextvars.bound_contextvars(ip=address, request_id=request_id):
        structlog.get_logger(request_log.LOG_NAME).info("request_finished", code=200, request="POST /api/v1/authorize")
        expected = stream.getvalue()
        request_log.log_answer(META, 200, address=address, request_id=request_id)
        is_written_at_once = stream.getvalue() != expected
    request_log._get_writer(stream).stop()
    return expected, stream.getvalue().removeprefix(expected), is_written_at_once


@pytest.mark.parametrize(("address", "request_id"), [("10.0.0.1", "a-b"), ("::1", "100%s+x/y@z")])
def test_the_line_is_that_of_the_pipeline(style, address, request_id):
    expected, line, is_written_at_once = write_both(style, address, request_id)
    assert not is_written_at_once
    assert TIME.search(line)
    assert TIME.sub("now", line) == TIME.sub("now", expected)


@pytest.mark.parametrize(("address", "request_id"), [(None, "a"), ("10.0.0.1", "a=b")])
def test_what_is_formatted_otherwise_is_written_by_the_pipeline(style, address, request_id):
    expected, line, is_written_at_once = write_both(style, address, request_id)
    assert is_written_at_once
    assert TIME.sub("now", line) == TIME.sub("now", expected)


def test_below_the_level_there_is_no_line(style, caplog):
    caplog.set_level(logging.WARNING, logger=request_log.LOG_NAME)
    assert write_both(style, "10.0.0.1", "a") == ("", "", False)


def test_every_line_of_many_threads_is_written():
    stream = io.StringIO()
    writer = LineWriter(stream)

    def write_lines(number):
        for line in range(500):
            writer.write(f"{number}-{line}")

    threads = [threading.Thread(target=write_lines, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.stop()
    assert sorted(stream.getvalue().split()) == sorted(f"{number}-{line}" for number in range(4) for line in range(500))


def answer(middleware, path, status, method):
    """Have a middleware log a request that is answered with a status."""
    request = RequestFactory().generic(method, path, REMOTE_ADDR="10.0.0.1", HTTP_X_REQUEST_ID="a-b")
    middleware(lambda _: HttpResponse(status=status))(request)


class PipelineMiddleware(RequestLogMiddleware):
    """The same middleware with every line written by the pipeline."""

    def handle_response(self, request, response):
        """Log as django_structlog does."""
        RequestMiddleware.handle_response(self, request, response)


@pytest.mark.parametrize(
    ("method", "path", "status", "is_at_once"),
    [
        ("POST", "/api/v1/authorize", 200, False),
        ("POST", "/access/v1/evaluations", 200, False),
        ("POST", "/api/v1/authorize?a=1", 200, True),
        ("POST", "/api/v1/authorize", 403, True),
        ("GET", "/api/v1/authorize", 200, True),
        ("POST", "/api/v1/policies/", 200, True),
    ],
)
def test_the_line_of_a_view_is_that_of_the_pipeline(style, method, path, status, is_at_once):
    stream = io.StringIO()
    with writing_to(stream, style):
        answer(PipelineMiddleware, path, status, method)
        expected = stream.getvalue()
        answer(RequestLogMiddleware, path, status, method)
        assert (stream.getvalue() != expected) == is_at_once
    request_log._get_writer(stream).stop()
    assert TIME.sub("now", stream.getvalue()) == TIME.sub("now", expected) * 2
    assert structlog.contextvars.get_contextvars() == {}


def test_a_view_that_binds_more_is_logged_by_the_pipeline(style):
    stream = io.StringIO()

    def bind_and_answer(_request):
        structlog.contextvars.bind_contextvars(part="a")
        return HttpResponse()

    with writing_to(stream, style):
        request = RequestFactory().post("/api/v1/authorize", REMOTE_ADDR="10.0.0.1", HTTP_X_REQUEST_ID="a-b")
        RequestLogMiddleware(bind_and_answer)(request)
        assert "part" in stream.getvalue()
