"""What every answer carries, and what no request may bring."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory

from authzsite.middleware import MAX_DRAINS, drain_body


def test_every_answer_carries_the_security_headers(client):
    headers = client.get("/health/live").headers
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/health/live", "/nowhere"])
def test_a_body_above_the_limit_is_413_before_anything_reads_it(client, path):
    body = b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    answer = client.post(path, data=body, content_type="application/json")
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 413


@pytest.mark.parametrize("length", ["", "many", "-1", "٣", "1e9"])
def test_a_length_that_is_no_number_is_no_error_of_ours(client, length):
    assert client.get("/health/live", CONTENT_LENGTH=length).status_code == 200


CHUNKED: dict[str, Any] = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}


def test_a_refused_body_without_a_length_is_read_to_its_end(rf: RequestFactory):
    body = BytesIO(b"x" * 200_000)
    drain_body(rf.post("/", **CHUNKED | {"wsgi.input": body}))
    assert body.read() == b""


class Stalled(BytesIO):
    """A body whose client sends nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.goes_on = Event(), Event()

    def read(self, _size: int | None = -1) -> bytes:
        self.has_begun.set()
        assert self.goes_on.wait(60)
        raise OSError("The client hung up.")


@pytest.mark.parametrize("declared", [CHUNKED, {"CONTENT_LENGTH": "9"}], ids=["chunked", "declared"])
def test_no_more_refused_bodies_than_a_few_are_waited_for(rf: RequestFactory, declared: dict[str, Any]):
    """A read that is given up would stop the server, so each holds a thread until its client goes on."""
    bodies = [Stalled() for _ in range(MAX_DRAINS)]
    with ThreadPoolExecutor(MAX_DRAINS) as pool:
        drains = [pool.submit(drain_body, rf.post("/", **declared | {"wsgi.input": body})) for body in bodies]
        for body in bodies:
            assert body.has_begun.wait(60)
        one_more = Stalled()
        drain_body(rf.post("/", **declared | {"wsgi.input": one_more}))
        assert not one_more.has_begun.is_set()
        for body in bodies:
            body.goes_on.set()
        for drain in drains:
            drain.result(60)
    ended = BytesIO(b"x" * 9)
    drain_body(rf.post("/", **declared | {"wsgi.input": ended}))
    assert ended.read() == b""
