"""A gateway that asks before it passes anything on: AuthZEN 1.0, of the standard library alone.

    AUTHZSITE_URL=http://127.0.0.1:8000 AUTHZSITE_TOKEN=... python gateway.py 9000 http://127.0.0.1:9100

serves on port 9000 of this machine and passes calls on to port 9100. The subject is the name in the header `X-User`,
which whoever stands in front has checked; the action is the method, the resource the path. So a policy about resources
of type `route` with the privileges `GET` and `POST` opens routes (CUSTOM_PRIVILEGES=GET,POST names these privileges).

It asks where the site says its endpoint is, and lets nothing pass while nobody answers. A path that could be read in
two ways (`/a/../b`, `%2e`) is refused: what is asked about has to be what is fetched.
"""

import json
import os
import posixpath
import sys
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_PATIENCE = 30


class Pdp:
    """The policy decision point: where it is, as it says itself."""

    def __init__(self, address: str, token: str) -> None:
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        url = f"{address.rstrip('/')}/.well-known/authzen-configuration"
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
            said = json.load(answer)
        if said["policy_decision_point"].rstrip("/") != address.rstrip("/"):
            raise ValueError(f"{address} calls itself {said['policy_decision_point']}; set its PUBLIC_URL.")
        self.endpoint: str = said["access_evaluation_endpoint"]

    def permits(self, user: str, method: str, path: str, request_id: str) -> bool:
        """Ask; raises OSError where nobody answers or the question is refused."""
        question = {
            "subject": {"type": "user", "id": user},
            "action": {"name": method},
            "resource": {"type": "route", "id": path},
        }
        headers = self.headers | {"X-Request-ID": request_id}
        request = urllib.request.Request(self.endpoint, json.dumps(question).encode(), headers)
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            decision: Any = json.load(answer)["decision"]
        return decision is True


class Gateway(BaseHTTPRequestHandler):
    """Each call: who, what, where to; then yes or no."""

    pdp: Pdp
    upstream: str

    def _handle(self) -> None:
        user = self.headers.get("X-User", "")
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else None
        request_id = str(uuid.uuid4())
        path = urlsplit(self.path).path
        if not user:
            self._answer(401, b"Who are you?\n")
            return
        if "%" in path or posixpath.normpath(path) != (path.rstrip("/") or "/"):
            self._answer(400, b"Say that path plainly.\n")
            return
        try:
            status, said = self.judge(user, path, request_id)
        except OSError:
            status, said = 503, b"Nobody can say whether you may.\n"
        if status != 200:
            self._answer(status, said)
            return
        request = urllib.request.Request(self.upstream + self.path, body, {"X-User": user}, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                self._answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read())
        except OSError:
            self._answer(502, b"Nobody is there.\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815  # the names that http.server calls

    def judge(self, user: str, path: str, request_id: str) -> tuple[int, bytes]:
        """Return 200 if the call may pass, else the answer to it; raises OSError where nobody can say."""
        if self.pdp.permits(user, self.command, path, request_id):
            return 200, b""
        return 403, f"You may not. Ask about {request_id}.\n".encode()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(port: str, upstream: str, *, pdp: type[Pdp] = Pdp, gateway: type[Gateway] = Gateway) -> None:
    """Serve until interrupted."""
    gateway.pdp = pdp(os.environ["AUTHZSITE_URL"], os.environ["AUTHZSITE_TOKEN"])
    gateway.upstream = upstream.rstrip("/")
    ThreadingHTTPServer(("127.0.0.1", int(port)), gateway).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
