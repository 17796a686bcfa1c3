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

from pyarrow import fs

_SIGNATURE_LENGTH = 32
_KEY_LENGTH = 32
#: End of the names of files that are still written.
_UNFINISHED = ".part"


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
        filesystem, folder = fs.FileSystem.from_uri(self.url)
        unfinished_path = f"{folder}/{name}.{uuid4().hex}{_UNFINISHED}"
        with filesystem.open_output_stream(unfinished_path) as stream:
            stream.write(self._sign(name, data))
            stream.write(data)
        filesystem.move(unfinished_path, f"{folder}/{name}")

    def read(self, name: str) -> Any:
        """Return a value. Raises ForgedWork, and FileNotFoundError where it was not written."""
        filesystem, folder = fs.FileSystem.from_uri(self.url)
        with filesystem.open_input_stream(f"{folder}/{name}") as stream:
            content = memoryview(stream.readall())
        signature, data = content[:_SIGNATURE_LENGTH], content[_SIGNATURE_LENGTH:]
        if not hmac.compare_digest(signature, self._sign(name, data)):
            raise ForgedWork(f"{name} in the folder of the computation was changed.")
        return pickle.loads(data)  # noqa: S301 - signed by this computation

    def delete(self, name: str) -> None:
        """Delete a value."""
        filesystem, folder = fs.FileSystem.from_uri(self.url)
        filesystem.delete_file(f"{folder}/{name}")

    def list_names(self) -> set[str]:
        """Return the names of all values that are there."""
        filesystem, folder = fs.FileSystem.from_uri(self.url)
        names = (info.base_name for info in filesystem.get_file_info(fs.FileSelector(folder)))
        return {name for name in names if not name.endswith(_UNFINISHED)}

    def _sign(self, name: str, data: "bytes | memoryview[int]") -> bytes:
        signature = hashlib.blake2b(name.encode(), key=self.key, digest_size=_SIGNATURE_LENGTH)
        signature.update(data)
        return signature.digest()


@contextmanager
def open_work_folder(parent_url: str) -> Iterator[WorkFolder]:
    """Create a work folder inside another folder, and delete it at the end of the block."""
    work_folder = WorkFolder(f"{parent_url}/_work-{uuid4().hex}", secrets.token_bytes(_KEY_LENGTH))
    filesystem, path = fs.FileSystem.from_uri(work_folder.url)
    filesystem.create_dir(path)
    try:
        yield work_folder
    finally:
        filesystem.delete_dir(path)
