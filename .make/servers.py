"""A throw-away PostgreSQL and a throw-away Redis on free loopback ports, for the second run of the tests."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 30
INITDB = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
#: A folder in memory, and how much has to be free there for a cluster of the tests: the suite fills a tenth of it.
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  # the cluster's folder in it has a random name and belongs to one user
MIN_FREE_BYTES = 2 * 1024**3
#: The operating system outlives the server, so what was handed over to it needs not lie on the disk.
POSTGRES_SETTINGS = ("listen_addresses=127.0.0.1", "max_connections=200", "fsync=off", "full_page_writes=off")
#: A cluster of the tests keeps no replica and needs no checkpoint; most transactions of tests are rolled back, so what
#: they leave behind is vacuumed soon and without a pause; compiling a query costs more than any query of a test.
TEST_SETTINGS = (
    "wal_level=minimal",
    "max_wal_senders=0",
    "min_wal_size=32MB",
    "max_wal_size=512MB",
    "checkpoint_timeout=1h",
    "shared_buffers=256MB",
    "autovacuum_naptime=15s",
    "autovacuum_vacuum_cost_delay=0",
    "jit=off",
)


def postgres_folder() -> Path | None:
    """Where the newest PostgreSQL on this machine keeps its programs."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    on_path = shutil.which("postgres")
    return debian[-1] if debian else Path(on_path).parent if on_path else None


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def memory_folder() -> Path:
    """Return where clusters of the tests lie: in memory where there is room, else in the folder for temporary files.

    Emptying the tables between tests creates and unlinks hundreds of files, which a slow disk makes the larger part of
    a run.
    """
    has_room = MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK)
    if has_room and shutil.disk_usage(MEMORY_FOLDER).free >= MIN_FREE_BYTES:
        return MEMORY_FOLDER
    return Path(tempfile.gettempdir())


def wait_for(
    port: int,
    server: subprocess.Popen[bytes],
    log: Path,
    *,
    pause: float = 0.1,
    is_answering: Callable[[], bool] = lambda: True,
) -> None:
    """Return once the server listens and answers, looking after each pause.

    Raises RuntimeError with its log when it ends or takes too long.
    """

    def is_ready() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0 and is_answering()

    def explain() -> str:
        return f"{server.args!r} did not start:\n{log.read_text(errors='replace')}"

    wait_until(is_ready, server=server, explain=explain, pause=pause)


def wait_until(
    is_ready: Callable[[], bool],
    *,
    server: subprocess.Popen[bytes],
    explain: Callable[[], str],
    seconds: float = PATIENCE_SECONDS,
    pause: float = 0.1,
) -> None:
    """Return once it is ready; raise RuntimeError with the explanation when the server ends, or these seconds have.

    Programs of others tell nobody that they are ready, so this looks, and gives them the processor between two looks.
    """
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        if is_ready():
            return
        time.sleep(pause)
    raise RuntimeError(explain())


def _list_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def find_parent(number: int) -> int:
    """Return who started a process; 0 for one that has ended."""
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Server:
    """A server on a loopback port: started, ended and started again by its own process; its log lies in its folder."""

    def __init__(
        self,
        command: list[str],
        *,
        port: int,
        folder: Path,
        user: str | None,
        address: str,
        is_answering: Callable[[], bool] = lambda: True,
    ) -> None:
        self.address = address
        self._is_answering = is_answering
        self._command, self._port, self._folder, self._user = command, port, folder, user
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it listens; raises RuntimeError with its log when it does not."""
        log = self._folder / "server.log"
        user = self._user
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                self._command,
                stdout=sink,
                stderr=sink,
                cwd=self._folder,
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        wait_for(self._port, self._process, log, is_answering=self._is_answering)

    def freeze(self) -> None:
        """Stop it with every process that it started: what is sent to it is taken by the kernel, and nobody answers."""
        for number in self._processes():
            os.kill(number, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        for number in reversed(self._processes()):
            os.kill(number, signal.SIGCONT)

    def _processes(self) -> list[int]:
        """Return the number of its process, and of those that this one started."""
        assert self._process
        parent = self._process.pid
        return [parent, *(number for number in _list_processes() if find_parent(number) == parent)]

    def end(self, sign: signal.Signals) -> None:
        """Return once the signal has ended it; by force when it takes too long."""
        if self._process is None:
            return
        self._process.send_signal(sign)
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running(server: Server, *, stop: signal.Signals) -> Iterator[Server]:
    """The server, listening, until the block ends."""
    try:
        server.start()
        yield server
    finally:
        server.end(stop)


@contextmanager
def postgres(*, is_for_tests: bool = True) -> Iterator[str]:
    """A PostgreSQL cluster of its own; gives the address of its database."""
    with postgres_server(is_for_tests=is_for_tests) as server:
        yield server.address


@contextmanager
def postgres_server(*, is_lasting: bool = False, is_for_tests: bool = True) -> Iterator[Server]:
    """A PostgreSQL cluster of its own; root runs it as the user postgres.

    With `is_lasting` what was committed is there again after the server was killed. What is measured is measured
    without `is_for_tests`: on the disk, with a server's usual settings.
    """
    programs = postgres_folder()
    assert programs
    user = "postgres" if os.geteuid() == 0 else None
    parent = memory_folder() if is_for_tests else None
    with tempfile.TemporaryDirectory(prefix="authzsite-postgres-", dir=parent) as name:
        folder = Path(name)
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        data = folder / "data"
        subprocess.run(
            [programs / "initdb", *INITDB, "-D", data],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )
        port = free_port()
        settings = [*POSTGRES_SETTINGS, f"unix_socket_directories={folder}"]
        settings += TEST_SETTINGS if is_for_tests else ()
        settings += [] if is_lasting else ["synchronous_commit=off"]
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(port)]
        command += [part for setting in settings for part in ("-c", setting)]

        def is_answering() -> bool:
            # It listens before it is ready, for longer on a busy machine.
            question = [str(programs / "pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={port}"]
            return subprocess.run(question, check=False).returncode == 0

        address = f"postgres://postgres@127.0.0.1:{port}/postgres"
        made = Server(command, port=port, folder=folder, user=user, address=address, is_answering=is_answering)
        # An interrupt is PostgreSQL's fast shutdown: it does not wait for clients that forgot to leave.
        with running(made, stop=signal.SIGINT) as server:
            yield server


@contextmanager
def redis() -> Iterator[str]:
    """A Redis that keeps nothing on disk; gives its address."""
    with redis_server() as server:
        yield server.address


@contextmanager
def redis_server() -> Iterator[Server]:
    """A Redis that keeps nothing on disk."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="authzsite-redis-") as name:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        address = f"redis://127.0.0.1:{port}/0"
        server = Server(command, port=port, folder=Path(name), user=None, address=address)
        with running(server, stop=signal.SIGTERM):
            yield server
