"""Keeps the processes of a Procfile running: one that ends is started again, until all are told to stop."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

#: Seconds before a process that ended is started again: the first time, and at most. A longer run counts as good.
FIRST_DELAY, MAX_DELAY = 1.0, 30.0
GOOD_RUN_SECONDS = 20.0
#: Seconds after which a process that was told to end is killed: a worker finishes its task first.
KILL_SECONDS = 30.0


def read_procfile(path: Path) -> dict[str, str]:
    """Return the command of each process, by its name."""
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").splitlines() if ":" in line)
    return {name.strip(): command.strip() for name, _, command in lines}


class Children:
    """The processes of these commands, each in a session of its own.

    Their lines go to `log` with their name, and to `say` without one; sentences about them go to `say`.
    """

    def __init__(
        self,
        commands: Mapping[str, str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        log: Callable[[str], None] | None = None,
    ) -> None:
        self._commands = commands
        self._folder = folder
        self._environment = dict(environment)
        self._say = say
        self._log = log or say
        self._width = max(map(len, commands))
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()
        self._is_stopping = threading.Event()

    def run(self) -> None:
        """Start all, and return when all have ended after `stop`."""
        threads = [threading.Thread(target=self._keep, args=(name,)) for name in self._commands]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stop(self) -> None:
        """Tell all processes to end, and start none any more; may be called by a handler of signals."""
        if not self._is_stopping.is_set():
            self._is_stopping.set()
            # A handler must not wait for a lock that the thread it interrupts may hold.
            threading.Thread(target=self._end_all).start()

    def find_process(self, name: str) -> int | None:
        """Return the id of a process that runs now."""
        process = self._processes.get(name)
        return process.pid if process is not None and process.poll() is None else None

    def _keep(self, name: str) -> None:
        """Run a process again and again."""
        delay = FIRST_DELAY
        while (process := self._start(name)) is not None:
            started_at = time.monotonic()
            reader = threading.Thread(target=self._relay, args=(name, process))
            reader.start()
            code = process.wait()
            # What it started would hold its port, and the other end of its output.
            _send(process, signal.SIGKILL)
            reader.join()
            if self._is_stopping.is_set():
                return
            delay = FIRST_DELAY if time.monotonic() - started_at > GOOD_RUN_SECONDS else delay
            self._say(f"{name} ended ({_describe_code(code)}); it is started again in {delay:.0f} s.")
            self._is_stopping.wait(delay)
            delay = min(2 * delay, MAX_DELAY)

    def _start(self, name: str) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._is_stopping.is_set():
                return None
            process = self._processes[name] = subprocess.Popen(
                ["/bin/sh", "-c", self._commands[name]],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            return process

    def _relay(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                self._log(f"{name.ljust(self._width)} | {line.rstrip()}")

    def _end_all(self) -> None:
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            _send(process, signal.SIGTERM)
        deadline = time.monotonic() + KILL_SECONDS
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0))
                continue
            _send(process, signal.SIGKILL)


def _send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to all that is left of the session of a process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _describe_code(code: int) -> str:
    return f"code {code}" if code >= 0 else f"signal {-code}"
