"""The queue in a folder: every message is whole and taken once, whatever the disk and the workers do."""

import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from random import Random
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from threading import Event, Thread
from typing import Any

import pytest
from celery import Celery
from children import Children, read_procfile
from kombu import Connection
from kombu.exceptions import OperationalError

from tests.clients import installations

QUEUE = "celery"
ROOT = Path(__file__).parents[2]
MESSAGE_COUNT, WRITER_COUNT, READER_COUNT = 100, 2, 2
#: Longer than a message may take.
PATIENCE_SECONDS = 60


TRANSPORT = "authzsite.folder_broker:FolderTransport"


def list_options(queue: Path, control: Path) -> dict[str, str]:
    return {"data_folder_in": str(queue), "data_folder_out": str(queue), "control_folder": str(control)}


def connect(folder: Path) -> Connection:
    options = list_options(folder, folder / "control")
    return Connection("filesystem://", transport=TRANSPORT, transport_options=options)


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Any]:
    with connect(tmp_path) as connection:
        yield connection.channel()


def message(text: str) -> dict[str, Any]:
    return {"body": text * 2_000, "properties": {"delivery_tag": text}}


def write(folder: Path, writer: int) -> None:
    with connect(folder) as connection:
        channel: Any = connection.channel()
        for number in range(MESSAGE_COUNT):
            channel._put(QUEUE, message(f"{writer}.{number} "))


def read(folder: Path, taken: Any, are_written: Any) -> None:
    with connect(folder) as connection:
        channel: Any = connection.channel()
        while True:
            is_last_look = are_written.is_set()
            try:
                taken.put(channel._get(QUEUE)["properties"]["delivery_tag"])
            except Empty:
                if is_last_look:
                    return


def test_messages_are_whole_and_taken_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    taken, are_written = context.Queue(), context.Event()
    readers = [context.Process(target=read, args=(tmp_path, taken, are_written)) for _ in range(READER_COUNT)]
    writers = [context.Process(target=write, args=(tmp_path, writer)) for writer in range(WRITER_COUNT)]
    for process in (*readers, *writers):
        process.start()
    found = [taken.get(timeout=PATIENCE_SECONDS) for _ in range(WRITER_COUNT * MESSAGE_COUNT)]
    for process in writers:
        process.join(PATIENCE_SECONDS)
    are_written.set()
    for process in readers:
        process.join(PATIENCE_SECONDS)
    assert [process.exitcode for process in (*readers, *writers)] == [0] * (READER_COUNT + WRITER_COUNT)
    assert taken.empty()
    assert set(Counter(found).values()) == {1}
    assert not list(tmp_path.glob("*.msg"))


@pytest.mark.parametrize(
    "content", [b"", b'{"body": "x', b"\xff\xfe", b"[]", b"{}", b"null", b'{"body": "", "properties": {}}']
)
def test_what_cannot_be_read_is_dropped(channel: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"!bad.{QUEUE}.msg").write_bytes(content)
    channel._put(QUEUE, message("good"))
    assert channel._get(QUEUE) == message("good")
    assert not list(tmp_path.glob("*.msg"))


def test_a_message_that_is_still_written_is_not_seen(channel: Any, tmp_path: Path) -> None:
    (tmp_path / f".0_half.{QUEUE}.msg.0.part").write_bytes(b"{")
    with pytest.raises(Empty):
        channel._get(QUEUE)
    assert channel._size(QUEUE) == 0


def test_a_full_disk_leaves_nothing_and_is_said(channel: Any, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    setrlimit(RLIMIT_FSIZE, (100, RLIM_INFINITY))
    try:
        with pytest.raises(OperationalError, match="The message cannot be written"):
            channel._put(QUEUE, message("long"))
    finally:
        setrlimit(RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, before)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


def test_tables_of_exchanges_are_read_and_changed_whole(channel: Any, tmp_path: Path) -> None:
    for queue in ("a", "b", "a"):
        channel._queue_bind("celery", "key", "", queue)
    assert [binding.queue for binding in channel.get_table("celery")] == ["a", "b"]
    channel._delete("a", "celery", "key", "")
    assert [binding.queue for binding in channel.get_table("celery")] == ["b"]
    # As a full disk left it.
    (tmp_path / "control" / "celery.exchange").write_bytes(b"")
    assert channel.get_table("celery") == []
    channel._queue_bind("celery", "key", "", "c")
    assert [binding.queue for binding in channel.get_table("celery")] == ["c"]


def test_a_child_that_ends_is_started_again(tmp_path: Path) -> None:
    commands = {"good": "exec sleep 600", "bad": "echo begun; exit 3"}
    lines: list[str] = []
    is_again = Event()

    def say(line: str) -> None:
        lines.append(line)
        if lines.count("bad  | begun") == 2:
            is_again.set()

    children = Children(commands, folder=tmp_path, environment=os.environ, say=say)
    thread = Thread(target=children.run)
    thread.start()
    try:
        assert is_again.wait(PATIENCE_SECONDS)
        assert "bad ended (code 3); it is started again in 1 s." in lines
        assert not [line for line in lines if line.startswith("good")]
    finally:
        children.stop()
        thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert children.find_process("good") is None


def test_a_worker_that_is_killed_is_there_again_and_takes_what_is_queued(tmp_path: Path) -> None:
    environment = installations.environment_of(tmp_path, DATABASE_URL="", REDIS_URL="", LOG_LEVEL="INFO")
    installations.set_up(environment)
    queue, control = (tmp_path / "broker" / name for name in ("queue", "control"))
    for folder in (queue, control):
        folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate((b"", b'{"bo')):
        (queue / f"!{number}_bad.{QUEUE}.msg").write_bytes(content)
    application = Celery("writer", broker="filesystem://")
    application.conf.broker_transport = TRANSPORT
    application.conf.broker_transport_options = list_options(queue, control)
    command = f"{sys.executable} {read_procfile(ROOT / 'Procfile')['worker'].removeprefix('exec python ')}"
    lines: list[str] = []
    is_ready, dice = Event(), Random(7)

    def say(line: str) -> None:
        lines.append(line)
        if " ready." in line:
            is_ready.set()

    children = Children({"worker": f"exec {command}"}, folder=ROOT, environment=environment, say=say)
    thread = Thread(target=children.run)
    thread.start()
    try:
        for _ in range(2):
            assert is_ready.wait(PATIENCE_SECONDS), lines
            is_ready.clear()
            for _ in range(dice.randint(20, 60)):
                application.send_task("policies.nobody_knows")
            process = children.find_process("worker")
            assert process is not None
            os.kill(process, signal.SIGKILL)
        assert is_ready.wait(PATIENCE_SECONDS), lines
        assert sum("worker ended (signal 9); it is started again" in line for line in lines) == 2
    finally:
        children.stop()
        thread.join(PATIENCE_SECONDS)
    assert sum("message_illegible" in line for line in lines) == 2
