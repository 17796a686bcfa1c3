"""A place of its own for each test process: what several of them share on one machine must not meet.

A process has a place as a worker of xdist, or by TEST_PLACE=0, 1, 2, … in the environment of one that was started by
itself: both with the same number have the same folder VAR_DIR, Redis database and name of a database, so they do not
run at the same time. Without either there is one place, apart from that of an installation in the same tree.

Loaded as a plugin (see pyproject.toml), because Django's settings are read before any conftest is.
"""

import os
from pathlib import Path


def find_worker() -> str:
    """Return the name of the place of this process: gw0, gw1, …; nothing where it is the only one."""
    number = os.environ.get("TEST_PLACE", "")
    return os.environ.get("PYTEST_XDIST_WORKER") or (f"gw{int(number)}" if number else "")


WORKER = find_worker()

os.environ["VAR_DIR"] = str(Path(__file__).resolve().parent.parent / "var" / f"test{WORKER and f'-{WORKER}'}")
if os.environ.get("REDIS_URL") and WORKER:
    server, _, _ = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{server}/{int(WORKER.removeprefix('gw')) + 1}"
