"""How much processor time calls take, measured so that a busy machine does not fail a test."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.test import Client
from slowness import measure_slowness

from authzsite.middleware import find_body_limit
from policies.pdp import snapshot_store
from tests.limits.shapes import Body

#: Most processor time of a call, in seconds.
MAX_SECONDS = 0.25

#: How often a call that took too long is made again, measured against how slow the machine is; the fastest one counts.
MAX_TRIES = 4

#: How many more calls each try lies within than the one before. The interpreter keeps the frames of calls in chunks of
#: 16 KiB; calls from the last frame of a chunk make a chunk and give it back each time, which costs ten times the call.
FRAMES_OF_A_TRY = 20


def is_failure(answer: Any) -> bool:
    """Return whether an answer is that of an unexpected error; GraphQL names it in an answer with status 200."""
    return answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR or b'"code": 500' in answer.content


@dataclass
class Costs:
    """Calls of one operation that took too long or ended in a fault.

    `seconds` is how long each may take.
    """

    client: Client
    seconds: float = MAX_SECONDS
    failures: list[str] = field(default_factory=list)

    def measure(self, method: str, address: str, bodies: Iterable[Body], kind: str = "application/json") -> None:
        """Send each body once, and again while it takes too long; what it stores is rolled back."""
        for body in bodies:
            assert len(body.content) <= find_body_limit(address), (address, body.name, len(body.content))
            seconds, answer = self._send(method, address, body.content, kind)
            for number in range(1, MAX_TRIES):
                if seconds <= self.seconds:
                    break
                seconds, answer = self._send_deeper(number * FRAMES_OF_A_TRY, method, address, body.content, kind)
                seconds /= max(1.0, measure_slowness())
            if seconds > self.seconds or is_failure(answer):
                size = f"{len(body.content)} bytes in, {len(answer.content)} out"
                self.failures.append(f"{method} {address} {body.name}: {seconds:.2f} s, {answer.status_code}, {size}")

    def _send_deeper(self, frames: int, method: str, address: str, content: bytes, kind: str) -> tuple[float, Any]:
        if frames:
            return self._send_deeper(frames - 1, method, address, content, kind)
        return self._send(method, address, content, kind)

    def _send(self, method: str, address: str, content: bytes, kind: str) -> tuple[float, Any]:
        with transaction.atomic():
            # Of this thread: the snapshot that is reloaded beside it after `forget` is no cost of the call.
            start = time.thread_time()
            answer = self.client.generic(method, address, content, content_type=kind)
            seconds = time.thread_time() - start
            transaction.set_rollback(True)
        snapshot_store.mark_stale()
        return seconds, answer
