"""The queue in a folder, for installations without Redis: kombu's transport, in which every message is whole.

A message is written under another name and renamed into place, so no worker reads half of one, and a full disk leaves
none. Deleting a message takes it. A message that cannot be read all the same is deleted with a line in the log: a
worker must not end because of it.
"""

import fcntl
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from kombu.exceptions import OperationalError
from kombu.transport import filesystem, virtual

log = logging.getLogger(__name__)

#: End of the names of files that are still written.
_UNFINISHED = ".part"

#: A queue that an exchange hands messages on to: routing key, pattern, and name of the queue.
Binding = tuple[str, str, str]


class FolderChannel(filesystem.Channel):
    """A channel whose messages and tables are files, each written whole before it gets its name."""

    def get_table(self, exchange: str) -> list[Any]:
        """Return the bindings of an exchange, none for a table that cannot be read: workers write it at their start."""
        return [filesystem.exchange_queue_t(*binding) for binding in self._read_bindings(exchange)]

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None) -> None:
        binding = (routing_key or "", pattern or "", queue or "")
        self._change_bindings(exchange, lambda bindings: [binding, *(item for item in bindings if item != binding)])

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *_: Any, **__: Any) -> None:
        self._purge(queue)
        binding = (routing_key or "", pattern or "", queue or "")
        self._change_bindings(exchange, lambda bindings: [item for item in bindings if item != binding])

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # as kombu's own channels
        name = f"{time.time_ns():020d}_{uuid4()}.{queue}.msg"
        try:
            _write_whole(Path(self.data_folder_out) / name, payload)
        except OSError as error:
            raise OperationalError(f"The message cannot be written: {error}") from error

    def _get(self, queue: str) -> Any:  # type: ignore[override]  # as kombu's own channels
        folder = Path(self.data_folder_in)
        for name in sorted(path.name for path in folder.iterdir()):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            try:
                content = (folder / name).read_bytes()
                (folder / name).unlink()
            except FileNotFoundError:
                # Another worker has taken it.
                continue
            with suppress(ValueError, KeyError, TypeError):
                payload = json.loads(content)
                # What kombu asks of every message.
                _ = payload["body"], payload["properties"]["delivery_tag"]
                return payload
            log.warning("message_illegible", extra={"file": name, "bytes": len(content)})
        raise Empty

    def _read_bindings(self, exchange: str) -> list[Binding]:
        try:
            return [(key, pattern, queue) for key, pattern, queue in json.loads(self._find_table(exchange).read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []

    def _change_bindings(self, exchange: str, change: Callable[[list[Binding]], list[Binding]]) -> None:
        try:
            with self._hold_tables():
                bindings = self._read_bindings(exchange)
                if (changed := change(bindings)) != bindings:
                    _write_whole(self._find_table(exchange), changed)
        except OSError as error:
            raise OperationalError(f"The table of an exchange cannot be written: {error}") from error

    def _find_table(self, exchange: str) -> Path:
        """Return the file of the table of an exchange; kombu checks its name."""
        return Path(self._exchange_file(exchange))  # type: ignore[attr-defined]  # the stubs leave it out

    @contextmanager
    def _hold_tables(self) -> Iterator[None]:
        """Let no other process change a table in the block."""
        self.control_folder.mkdir(parents=True, exist_ok=True)
        with (self.control_folder / "tables.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _write_whole(path: Path, value: Any) -> None:
    written_path = path.with_name(f".{path.name}.{uuid4().hex}{_UNFINISHED}")
    try:
        written_path.write_text(json.dumps(value), encoding="utf-8")
        written_path.rename(path)
    except OSError:
        written_path.unlink(missing_ok=True)
        raise


class FolderTransport(filesystem.Transport):
    """The transport of these channels."""

    Channel = FolderChannel
    global_state = virtual.BrokerState()
