"""The time of a WSGI application that does nothing: the line that no answer over this server can pass."""

from collections.abc import Callable, Iterable
from typing import Any

_BODY = b'{"decision":"DENY","reasons":[]}'
_HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(_BODY)))]


def answer_plainly(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read the body and answer a small JSON document."""
    environ["wsgi.input"].read()
    start_response("200 OK", _HEADERS)
    return [_BODY]
