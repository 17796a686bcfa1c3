"""A server of S3 on this machine, for tests of what is kept in a bucket."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import Request, urlopen

from moto.server import ThreadedMotoServer

BUCKET = "reports-of-a-test"
#: What the server would refuse if it checked: it only has to be there, and nowhere to be seen.
SECRET = "kept-out-of-every-page-and-log"


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server; `environment` is what programs need to use it."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def list_keys(self) -> list[str]:
        """Return the keys of all objects, without those that stand for folders."""
        text = self.send("GET", f"{BUCKET}?list-type=2").decode()
        return [key for key in re.findall("<Key>(.*?)</Key>", text) if not key.endswith("/")]

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Content-Type": "text/plain"}
        with urlopen(Request(f"{self.endpoint}/{path}", method=method, data=body, headers=headers)) as answer:
            return bytes(answer.read())


@contextmanager
def serve_s3() -> Iterator[S3Server]:
    """Start a server with an empty bucket, which ends with the block."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        running = S3Server(f"http://{host}:{port}")
        running.send("POST", "moto-api/reset")
        running.send("PUT", BUCKET)
        yield running
    finally:
        server.stop()
