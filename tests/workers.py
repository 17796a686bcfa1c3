"""A place of its own for each test process: what several of them share on one machine must not meet.

Loaded as a plugin (see pyproject.toml), because Django's settings are read before any conftest is. Without several
processes there is one place, apart from that of an installation in the same tree.
"""

import os
from pathlib import Path

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

os.environ["VAR_DIR"] = str(Path(__file__).resolve().parent.parent / "var" / f"test{WORKER and f'-{WORKER}'}")
if os.environ.get("REDIS_URL") and WORKER:
    server, _, _ = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{server}/{int(WORKER.removeprefix('gw')) + 1}"
