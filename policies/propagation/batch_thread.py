"""A thread that writes what requests have queued, several at once, so that no request waits for a write."""

import threading
from collections.abc import Callable
from multiprocessing.util import Finalize


class BatchThread:
    """Calls `write_batch` in a thread of its own, `collect_seconds` after something was queued, and once at the end.

    It is called again after as many seconds as it returns, if it returns any. The thread starts with the first `wake`,
    and begins with `prepare`, which returns such seconds, too. It is ended before the process ends, unless
    `is_ended_by_owner`.
    """

    def __init__(
        self,
        write_batch: Callable[[], float | None],
        *,
        name: str,
        collect_seconds: float,
        prepare: Callable[[], float | None] = lambda: None,
        is_ended_by_owner: bool = False,
    ) -> None:
        self._write_batch = write_batch
        self._prepare = prepare
        self._name = name
        self._collect_seconds = collect_seconds
        self._is_ended_by_owner = is_ended_by_owner
        self._wake_event = threading.Event()
        # Whether the event is set: asking the event takes several times as long.
        self._is_awake = False
        self._stop_event = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Have what is queued written soon; never blocks. Call it after queueing."""
        if not self._is_awake:
            if self._thread is None:
                self._start()
            self._is_awake = True
            self._wake_event.set()

    def stop(self, seconds: float | None = None) -> None:
        """Write what is left and end the thread; wait at most this many seconds for it."""
        self._stop_event.set()
        self._wake_event.set()
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_stopping(self) -> bool:
        """Whether the thread has to end."""
        return self._stop_event.is_set()

    def wait_for_stop(self, seconds: float) -> None:
        """Wait until the thread has to end, at most this many seconds."""
        self._stop_event.wait(seconds)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._stop_event.is_set():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
                if not self._is_ended_by_owner:
                    # Not atexit: processes that granian forks end as those of multiprocessing do.
                    Finalize(None, self.stop, exitpriority=0)

    def _run(self) -> None:
        seconds = self._prepare()
        while not self._stop_event.is_set():
            self._wake_event.wait(seconds)
            self._stop_event.wait(self._collect_seconds)
            self._wake_event.clear()
            self._is_awake = False
            seconds = self._write_batch()
        # What was queued between the last batch and the end.
        self._write_batch()
