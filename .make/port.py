"""Says in one sentence why the site cannot listen on the port that ``make run`` was given; says nothing when it can."""

import errno
import os
import socket
import sys


def complaint(port: str, host: str = "127.0.0.1") -> str | None:
    """Why the port will not do, or None when it is free.

    Asked without SO_REUSEPORT, so that a server that lets others share its port makes it taken as well.
    """
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        return f"PORT is {port!r}, but it has to be a number from 1 to 65535."
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # As the server does: connections that are still fading away after a restart do not make a port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except PermissionError:
            return f"Port {port} needs root; choose another one: make run PORT=8001"
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return f"Nothing can listen on port {port} of {host} (GRANIAN_HOST): {error.strerror}."
            return f"Port {port} is taken; choose another one: make run PORT={int(port) % 65535 + 1}"
    return None


if __name__ == "__main__":
    sys.exit(complaint(sys.argv[1], os.environ.get("GRANIAN_HOST") or "127.0.0.1"))
