"""Files through which the driver and the partitions of one computation exchange values.

Any Spark can reach them, since slices are read from storage anyway: there is no channel of a session that local, remote
and managed Spark have in common, and none whose size is not limited. Values are pickled, so every file is signed with a
key that only the computation has: who can write to the folder cannot make a process of the job run code.
"""

import hashlib
import hmac
import pickle
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from catalog.reports.storage import UNFINISHED, parse_address

_SIGNATURE_LENGTH = 32
_KEY_LENGTH = 32


class ForgedWork(Exception):
    """A file of a work folder is not from the computation that it should be from."""


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The folder of one computation, and the key that signs its files."""

    url: str
    key: bytes

    def write(self, name: str, value: object) -> None:
        """Write a value, which is there as a whole or not at all; a second attempt replaces the first."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        parse_address(self.url).write_bytes(name, self._sign(name, data), data)

    def read(self, name: str) -> Any:
        """Return a value. Raises ForgedWork, and FileNotFoundError where it was not written."""
        content = memoryview(parse_address(self.url).read_bytes(name))
        signature, data = content[:_SIGNATURE_LENGTH], content[_SIGNATURE_LENGTH:]
        if not hmac.compare_digest(signature, self._sign(name, data)):
            raise ForgedWork(f"{name} in the folder of the computation was changed.")
        return pickle.loads(data)  # noqa: S301 - signed by this computation

    def delete(self, name: str) -> None:
        """Delete a value."""
        parse_address(self.url).delete_file(name)

    def list_names(self) -> set[str]:
        """Return the names of all values that are there."""
        return {name for name in parse_address(self.url).list_names() if not name.endswith(UNFINISHED)}

    def _sign(self, name: str, data: "bytes | memoryview[int]") -> bytes:
        signature = hashlib.blake2b(name.encode(), key=self.key, digest_size=_SIGNATURE_LENGTH)
        signature.update(data)
        return signature.digest()


@contextmanager
def open_work_folder(parent_url: str) -> Iterator[WorkFolder]:
    """Create a work folder inside another folder, and delete it with all its files at the end of the block.

    Of a job that is killed nothing is left either, since the worker deletes the folder of its results.
    """
    folder = parse_address(parent_url) / f"_work-{uuid4().hex}"
    folder.create()
    try:
        yield WorkFolder(folder.url, secrets.token_bytes(_KEY_LENGTH))
    finally:
        folder.delete()
