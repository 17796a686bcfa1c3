"""A throw-away PostgreSQL and a throw-away Redis on free loopback ports, for the second run of the tests."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 30
INITDB = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")


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


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the server listens; raise with its log when it ends or takes too long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{server.args!r} did not start:\n{log.read_text(errors='replace')}")


@contextmanager
def running(command: list[str], *, port: int, folder: Path, user: str | None, stop: signal.Signals) -> Iterator[None]:
    """The server, listening, until the block ends; its log lies in the folder."""
    log = folder / "server.log"
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            command, stdout=sink, stderr=sink, cwd=folder, user=user, group=user, extra_groups=[] if user else None
        ) as server,
    ):
        try:
            wait_for(port, server, log)
            yield
        finally:
            server.send_signal(stop)
            try:
                server.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL cluster of its own; gives the address of its database. Root runs it as the user postgres."""
    programs = postgres_folder()
    assert programs
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="authzsite-postgres-") as name:
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
        settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=127.0.0.1"]
        settings += [f"unix_socket_directories={folder}", "max_connections=200"]
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(port)]
        command += [part for setting in settings for part in ("-c", setting)]
        # An interrupt is PostgreSQL's fast shutdown: it does not wait for clients that forgot to leave.
        with running(command, port=port, folder=folder, user=user, stop=signal.SIGINT):
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"


@contextmanager
def redis() -> Iterator[str]:
    """A Redis that keeps nothing on disk; gives its address."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="authzsite-redis-") as name:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with running(command, port=port, folder=Path(name), user=None, stop=signal.SIGTERM):
            yield f"redis://127.0.0.1:{port}/0"
