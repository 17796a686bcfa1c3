"""``make run``: prepares the database, then keeps the processes of the Procfile running until it is told to stop.

Ctrl-C or SIGTERM ends all of them. honcho starts and ends the processes; it stands in a session of its own, so that the
terminal's Ctrl-C reaches only this program, which passes it on once every process is known to honcho.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import FrameType

import tools

ROOT = Path(__file__).resolve().parent.parent
PORT = os.environ.get("PORT", "8000")
ADDRESS = f"http://127.0.0.1:{PORT}"
SAMPLE = ROOT / "catalog" / "sample" / "sample_catalog.json.gz"
ASSERTIONS = SAMPLE.with_name("sample_assertions.yaml")

# What a trial on one machine differs in; a variable that is set already stays as it is.
TRIAL = {
    "DJANGO_SETTINGS_MODULE": "authzsite.settings",
    "PLAIN_HTTP": "true",
    "SHOW_ACCESS_MANAGEMENT": "true",
    "GRANTS_EXPORTS": str(SAMPLE.with_name("sample_grants")),
    "PYTHONUNBUFFERED": "1",
}


def say(sentence: str) -> None:
    """One line on the terminal, at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def prepare() -> None:
    """Bring database and static files up to date; the sample catalog is loaded into a new database only."""
    sys.path.insert(0, str(ROOT))
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    from django.conf import settings
    from django.core.management import CommandError, call_command
    from django.db import connection

    marker = settings.VAR_DIR / "sample-catalog.loaded"
    if "django_migrations" not in connection.introspection.table_names():
        marker.unlink(missing_ok=True)
    # What the commands print is enough; the lines of the log are for the processes.
    logging.getLogger().setLevel(logging.WARNING)
    try:
        say("Preparing the database")
        call_command("migrate", verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
        call_command("bootstrap")
        if not marker.exists():
            _load_sample()
            marker.touch()
        call_command("collectstatic", verbosity=0, interactive=False)
    except CommandError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    connection.close()
    if hasattr(connection, "close_pool"):
        connection.close_pool()


def _load_sample() -> None:
    """Load the sample company with what it asserts, and have its reports made as soon as a worker is there."""
    from django.conf import settings
    from django.core.management import call_command

    from catalog.reports.services import assertions
    from policies.pdp import authorizer

    say("Loading the sample catalog")
    call_command("load_catalog", str(SAMPLE))
    if not settings.ASSERTIONS_FILE:
        assertions.save(text=ASSERTIONS.read_text(encoding="utf-8"), expected_version=0, by=authorizer.SYSTEM)
    if tools.has_java():
        call_command("report", "nightly")


def announce_when_up() -> None:
    """Wait until the web process answers, then say where it is and how to sign in."""
    while True:
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"{ADDRESS}/health/live", timeout=2).close()
            break
        time.sleep(0.2)
    password = "the password in AUTHZ_ROOT_PASSWORD" if os.environ.get("AUTHZ_ROOT_PASSWORD") else "password datahub"
    say(f"\nauthzsite is up at {ADDRESS} - sign in as datahub with {password}. Ctrl-C ends it.\n")


# honcho kills after five seconds what has not ended; a worker that finishes its task first needs longer.
HONCHO = "import honcho.command, honcho.manager; honcho.manager.KILL_WAIT = 30; honcho.command.main()"


class Processes:
    """The processes of the Procfile, under honcho."""

    def __init__(self) -> None:
        names = [line.partition(":")[0] for line in (ROOT / "Procfile").read_text().splitlines() if ":" in line]
        self.expected = len(names)
        self.started = 0
        self.is_stopping = False
        self.honcho = subprocess.Popen(
            [sys.executable, "-c", HONCHO, "start"],
            cwd=ROOT,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
                "GRANIAN_PORT": PORT,
            },
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """End every process; honcho can end only those that it has already counted as started."""
        if not self.is_stopping:
            self.is_stopping = True
            if self.started == self.expected:
                self.honcho.terminate()

    def relay(self) -> int:
        """Pass the output on until all have ended; the exit status is 0 when they were asked to."""
        assert self.honcho.stdout
        for line in self.honcho.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            if self.started < self.expected and " started (pid=" in line:
                self.started += 1
                if self.started == self.expected and self.is_stopping:
                    self.honcho.terminate()
        status = self.honcho.wait()
        return 0 if self.is_stopping else status or 1


def main() -> int:
    """Prepare, start, and stay until told to stop or until one process ends by itself."""
    for name, value in TRIAL.items():
        os.environ.setdefault(name, value)
    prepare()
    processes = Processes()
    signal.signal(signal.SIGTERM, processes.stop)
    signal.signal(signal.SIGINT, processes.stop)
    threading.Thread(target=announce_when_up, daemon=True).start()
    return processes.relay()


if __name__ == "__main__":
    sys.exit(main())
