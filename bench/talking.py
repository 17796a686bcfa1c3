"""A client that costs little: requests made beforehand, over connections that stay open, without a library.

Some requests at a time in lock step, or over several connections that do not wait for one another: as fast as the
server answers, or at a fixed rate.
"""

import json
import re
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.processes import Memory, family, memory_of, worked_seconds

#: Connections that wait for an answer at the same time, so that the server never waits for the client.
CONNECTIONS = 4

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_LENGTH_LINE = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Spent:
    """The cost of some requests: seconds on the clock, and seconds that the server's processes worked."""

    requests: int
    clock: float
    work: float


class Client:
    """Talks to one server, and looks how much its processes work."""

    def __init__(self, port: int, token: str, process: int) -> None:
        self._port = port
        self._token = token
        self._process = process
        self._links = [self._connect() for _ in range(CONNECTIONS)]

    def made(self, path: str, body: Any = None, verb: str = "POST", headers: Sequence[str] = ()) -> bytes:
        """Return a request as it is sent, with more headers."""
        data = b"" if body is None else json.dumps(body).encode()
        lines = (
            f"{verb} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            f"Authorization: Bearer {self._token}",
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
            *headers,
        )
        return "\r\n".join(lines).encode() + _END + data

    def ask(self, request: bytes) -> Any:
        """Send one request and return the JSON of its answer. Raises RuntimeError when that is no 2xx."""
        self._links[0].sendall(request)
        head, body = _answer(self._links[0])
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{head.decode()}\n{body.decode()}")
        return json.loads(body) if body else None

    def time(self, requests: Sequence[bytes]) -> Spent:
        """Send all of these, some at a time, and return what they took."""
        began, worked = time.perf_counter(), self.worked()
        for start in range(0, len(requests), CONNECTIONS):
            some = list(zip(self._links, requests[start : start + CONNECTIONS], strict=False))
            for link, request in some:
                link.sendall(request)
            for link, _ in some:
                head, body = _answer(link)
                if not head.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(f"{head.decode()}\n{body.decode()}")
        return Spent(len(requests), time.perf_counter() - began, self.worked() - worked)

    def saturate(self, requests: Sequence[bytes], connections: int) -> Spent:
        """Send all of these over so many connections, each the next one as soon as it is answered."""
        links = {link.fileno(): link for link in (self._connect() for _ in range(connections))}
        left, pending = iter(requests), len(requests)
        with select.epoll() as poll:
            for number in links:
                poll.register(number, select.EPOLLIN)
            began, worked = time.perf_counter(), self.worked()
            for link, request in zip(links.values(), left, strict=False):
                link.sendall(request)
            while pending:
                for number, _ in poll.poll():
                    link = links[number]
                    _receive(link)
                    pending -= 1
                    following = next(left, None)
                    if following is not None:
                        link.sendall(following)
            spent = Spent(len(requests), time.perf_counter() - began, self.worked() - worked)
        for link in links.values():
            link.close()
        return spent

    def pace(self, requests: Sequence[bytes], connections: int, rate: float) -> list[float]:
        """Send so many a second over so many connections; return ms from the planned time of each to its answer.

        A request whose time has come while all connections wait for answers is sent late, and has waited that long.
        """
        free = deque(self._connect() for _ in range(connections))
        links = list(free)
        planned: dict[socket.socket, float] = {}
        waited: list[float] = []
        sent, began = 0, time.perf_counter()
        while len(waited) < len(requests):
            now = time.perf_counter()
            while free and sent < len(requests) and began + sent / rate <= now:
                link = free.popleft()
                link.sendall(requests[sent])
                planned[link] = began + sent / rate
                sent += 1
            is_free = free and sent < len(requests)
            pause = max(0.0, began + sent / rate - time.perf_counter()) if is_free else None
            for link in select.select(list(planned), (), (), pause)[0]:
                _receive(link)
                waited.append((time.perf_counter() - planned.pop(link)) * 1000)
                free.append(link)
        for link in links:
            link.close()
        return waited

    def _connect(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self._port))
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link

    def worked(self) -> float:
        """Return the seconds of processor time that the server's processes took so far."""
        return sum(self.shares().values())

    def shares(self) -> dict[int, float]:
        """Return each process that the server started, itself included → the seconds that it worked so far."""
        return {number: worked_seconds(number) for number in family(self._process)}

    def memories(self) -> list[Memory]:
        """Return what the server's process has in memory, and then what each of those has that it started."""
        return [memory_of(number) for number in family(self._process)]

    def memory(self) -> float:
        """Return the MiB that the largest of the server's processes has in memory."""
        return max(memory.resident for memory in self.memories())

    def close(self) -> None:
        """End the connections."""
        for link in self._links:
            link.close()


def _receive(link: socket.socket) -> None:
    """Read one answer, and no further; raise RuntimeError when it is no 200."""
    received = _more(link)
    while not _is_whole(received):
        received += _more(link)
    if not received.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(received.decode())


def _is_whole(received: bytes) -> bool:
    end = received.find(_END)
    if end < 0:
        return False
    length = _LENGTH_LINE.search(received, 0, end + len(_END))
    return len(received) - end - len(_END) >= (int(length[1]) if length else 0)


def _answer(link: socket.socket) -> tuple[bytes, bytes]:
    received = b""
    while _END not in received:
        received += _more(link)
    head, _, body = received.partition(_END)
    lines = head.lower().split(b"\r\n")
    length = next((int(line.removeprefix(_LENGTH)) for line in lines if line.startswith(_LENGTH)), 0)
    pieces = [body]
    have = len(body)
    while have < length:
        pieces.append(_more(link))
        have += len(pieces[-1])
    return head, b"".join(pieces)


def _more(link: socket.socket) -> bytes:
    piece = link.recv(1 << 20)
    if not piece:
        raise RuntimeError("The server hung up.")
    return piece
