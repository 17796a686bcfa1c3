"""A client that costs little: requests made beforehand, over connections that stay open, without a library."""

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Connections that wait for an answer at the same time, so that the server never waits for the client.
CONNECTIONS = 4

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True)
class Spent:
    """What some requests took: seconds on the clock, and seconds that the server's processes worked."""

    requests: int
    clock: float
    work: float


class Client:
    """Talks to one server, and looks how much its processes work."""

    def __init__(self, port: int, token: str, process: int) -> None:
        self._port = port
        self._token = token
        self._process = process
        self._links = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
        for link in self._links:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

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

    def worked(self) -> float:
        """Return the seconds of processor time that the server's processes took so far."""
        return sum(_worked(number) for number in family(self._process))

    def memory(self) -> float:
        """Return the MiB that the largest of the server's processes has in memory."""
        return max(_resident(number) for number in family(self._process))

    def close(self) -> None:
        """End the connections."""
        for link in self._links:
            link.close()


def family(number: int) -> list[int]:
    """Return a process and everything that it started."""
    children = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii").split()
    return [number, *(one for child in children for one in family(int(child)))]


def pin(number: int, core: int) -> None:
    """Have a process and everything that it started run on one core only."""
    for one in family(number):
        for thread in Path(f"/proc/{one}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


def _worked(number: int) -> float:
    files = Path(f"/proc/{number}/task").glob("*/schedstat")
    return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files) / 1e9


def _resident(number: int) -> float:
    lines = Path(f"/proc/{number}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


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
