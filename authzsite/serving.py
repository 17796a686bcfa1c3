"""The web process: `python -m authzsite.serving`, with any further option of granian.

The application and the policies are loaded first, then granian starts GRANIAN_WORKERS worker processes as forks of this
one (`authzsite.preload`). It adds to granian: a port that is in use is refused with a sentence (granian would share it
silently); a worker process that ends is started again, and one that cannot start ends the program; there are more
threads than requests that run at once, so that a health check finds a free one (`authzsite.admission`).
"""

import argparse
import errno
import os
import socket
import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian.cli import cli

from authzsite import env, preload

#: Threads beyond those of running and waiting requests: for health checks, and to refuse requests when all are taken.
SPARE_THREADS = 8

#: Seconds beyond REQUEST_SECONDS after which a worker process that has not ended on request is killed. One that is told
#: to stop while it starts does not hear it, and granian would wait for it without end.
EXTRA_STOP_SECONDS = 10

#: What is served unless `--application` names another one.
APPLICATION = "authzsite.wsgi:application"


class PortTaken(Exception):
    """The port is in use or not permitted; the text is a sentence for people."""


def reserve_port(host: str, port: int) -> socket.socket:
    """Return a socket that holds the port for this program until it is closed; raises PortTaken.

    Granian's workers can share the port (they set SO_REUSEPORT and run as the same user); another site started on it
    finds it in use, even before this one listens.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved_socket = socket.socket(family)
    # As the server does: connections in TIME_WAIT after a restart do not block the port.
    reserved_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved_socket.bind((host, port))
    except OSError as error:
        reserved_socket.close()
        raise PortTaken(_explain(error, host, port)) from None
    reserved_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    reserved_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return reserved_socket


def _explain(error: OSError, host: str, port: int) -> str:
    if isinstance(error, PermissionError):
        return f"Port {port} needs root; choose another one with GRANIAN_PORT."
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken: another program listens there. Choose another one with GRANIAN_PORT."
    return f"Nothing can listen on port {port} of {host}: {error.strerror}."


def list_arguments(host: str, port: int, extra_arguments: Sequence[str], application: str = APPLICATION) -> list[str]:
    """Return the arguments of granian: ours, then the given ones, which take precedence, and the application."""
    threads = settings.REQUESTS_AT_ONCE + settings.REQUESTS_WAITING + SPARE_THREADS
    own_arguments = ["--interface", "wsgi", "--no-ws", "--no-access-log", "--blocking-threads", str(threads)]
    return [
        *own_arguments,
        "--respawn-failed-workers",
        "--workers-kill-timeout",
        str(settings.REQUEST_SECONDS + EXTRA_STOP_SECONDS),
        "--host",
        host,
        "--port",
        str(port),
        *extra_arguments,
        application,
    ]


def main(arguments: Sequence[str]) -> None:
    """Serve until a signal ends this program; exit with a sentence if the settings or the port are unusable."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    parser = argparse.ArgumentParser(prog="python -m authzsite.serving", allow_abbrev=False, add_help=False)
    try:
        parser.add_argument("--host", default=settings.BIND_ADDRESS)
        parser.add_argument("--port", type=int, default=env.integer("GRANIAN_PORT", default=8000, minimum=1))
        parser.add_argument("--workers", type=int, default=env.integer("GRANIAN_WORKERS", default=1, minimum=1))
        parser.add_argument("--application", default=APPLICATION)
        options, extra_arguments = parser.parse_known_args(arguments)
        # Open, and so reserved, until this program ends.
        reserved_socket = reserve_port(options.host, options.port)
        preload.load_all(workers=options.workers)
    except (ImproperlyConfigured, PortTaken) as error:
        sys.exit(str(error))
    extra_arguments = ["--workers", str(options.workers), *extra_arguments]
    with reserved_socket:
        cli.main(
            list_arguments(options.host, options.port, extra_arguments, options.application),
            prog_name="granian",
            auto_envvar_prefix="GRANIAN",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
