"""``make run``: prepares the database, then keeps the processes of the Procfile running until it is told to stop.

Ctrl-C or SIGTERM ends all of them. One that ends by itself is started again, which a line says. They stand in sessions
of their own, so that the terminal's Ctrl-C reaches only this program. Their lines go to a file, so that the address and
the account stay the last thing on the terminal.
"""

import logging
import logging.handlers
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import tools
from children import Children, read_procfile

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
    # In a company people ask for what they lack, and their addresses of mail are made up.
    "BOOTSTRAP_RESTRICTED": "true",
    "NOTICE_MAIL": "false",
    "PYTHONUNBUFFERED": "1",
}


def say(sentence: str) -> None:
    """One line on the terminal, at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def open_log(path: Path) -> logging.Logger:
    """Return the log of the processes: three files of at most ten megabytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=10_000_000, backupCount=2, encoding="utf-8")
    log = logging.getLogger("processes")
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    return log


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
        if marker.exists():
            call_command("bootstrap")
        else:
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
    """Load the sample company as it was a month ago, write that month, and have reports made once a worker is there."""
    from django.conf import settings
    from django.core.management import call_command

    from catalog.reports.services import assertions
    from catalog.sample import month
    from policies.pdp import authorizer

    with month.open_before():
        call_command("bootstrap")
        say("Loading the sample catalog")
        call_command("load_catalog", str(SAMPLE))
    if count := month.write_month():
        say(f"The month before today has {count} requests for access.")
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
    say(f"\nauthzsite is up at {ADDRESS} - sign in as datahub with {password}.")


def main() -> int:
    """Prepare, start, and stay until told to stop."""
    for name, value in TRIAL.items():
        os.environ.setdefault(name, value)
    prepare()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "GRANIAN_PORT": PORT,
    }
    commands = read_procfile(ROOT / "Procfile")
    from django.conf import settings

    log = settings.VAR_DIR / "log" / "run.log"
    say(f"Starting; the logs are in {log}. Ctrl-C ends the site.")
    children = Children(commands, folder=ROOT, environment=environment, say=say, log=open_log(log).info)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: children.stop())
    threading.Thread(target=announce_when_up, daemon=True).start()
    children.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
