"""Program that runs jobs one after the other in one session of Spark, so that only the first one waits for its start.

Each line on standard input asks for a job: {"module", "input", "output"}, the module with its PROGRAM and two URLs.
Standard output says {"is_accepted": true}, then the job's progress, and {"exit_code": N} at its end; the last line of a
job on standard error is END_LINE. The program ends after SPARK_IDLE_SECONDS without a request, after a job that failed
for another reason than its input, instead of a job for which its session is not fit, and with its standard input.
"""

import gc
import importlib
import json
import os
import queue
import sys
import threading
from typing import Any, Protocol

from catalog.reports.job_protocol import END_LINE, EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED
from catalog.reports.spark.shared_session import SharedSession


class Program(Protocol):
    """The content of PROGRAM in a job's module."""

    def is_short(self, source: str) -> bool:
        """Whether the job ends before optimized compilation by Java pays."""

    def run(self, source: str, target: str, shared_session: SharedSession) -> int:
        """Run the job and return its exit code."""


def serve(idle_seconds: float) -> int:
    """Run jobs until nothing is asked for so many seconds, and return the exit code."""
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    with SharedSession() as shared_session:
        # The first request is on its way.
        request: dict[str, Any] | None = requests.get()
        while request is not None:
            program: Program = importlib.import_module(request["module"]).PROGRAM
            if not shared_session.can_run(is_short=program.is_short(request["input"])):
                break
            _print_message({"is_accepted": True})
            exit_code = program.run(request["input"], request["output"], shared_session)
            # The collector is off during a job.
            gc.collect()
            sys.stderr.write(f"{END_LINE}\n")
            sys.stderr.flush()
            _print_message({"exit_code": exit_code})
            if exit_code not in (EXIT_DONE, EXIT_BAD_INPUT):
                return exit_code
            request = _wait_for_request(requests, idle_seconds)
    return EXIT_DONE


def _wait_for_request(requests: "queue.SimpleQueue[dict[str, Any]]", idle_seconds: float) -> dict[str, Any] | None:
    """Return the next request, or None when there is none within so many seconds."""
    try:
        return requests.get(timeout=idle_seconds)
    except queue.Empty:
        return None


def _read_requests(requests: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Read requests until standard input ends, that is when the parent is gone; Java then ends by itself."""
    # Not through sys.stdin: a thread blocked in it would hold its lock at the end of the program.
    pending = b""
    while data := os.read(0, 65_536):
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            requests.put(json.loads(line))
    os._exit(EXIT_FAILED)


def _print_message(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(serve(float(os.environ["SPARK_IDLE_SECONDS"])))
