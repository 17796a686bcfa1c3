"""What is there when worker processes start: everything that they share, and nothing that a fork cannot take along."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
import tools

from tests.clients import installations

#: Loads as the web process does before it starts workers; says what is there then, what a fork of it would record, and
#: which generations are collected while facts become many.
SHOW_STATE = """
import json, gc, os, threading
from authzsite import preload
preload.load_all()
from django.conf import settings
from django.db import connection
from policies.pdp import snapshot_store
collected = []
gc.callbacks.append(lambda phase, details: collected.append(details["generation"]))
facts = [[] for _ in range(200_000)]
loaded = snapshot_store.loaded_snapshot()
print(json.dumps({
    "version": loaded and loaded.snapshot.version,
    "threads": threading.active_count(),
    "connected": connection.connection is not None,
    "pools": len(getattr(connection, "_connection_pools", ())),
    "numbers": [path.name for path in settings.METRICS_DIR.glob(f"*_{os.getpid()}.db")],
    "collecting": gc.isenabled() and gc.get_freeze_count() > 100_000,
    "collected": sorted({*collected}),
}))
"""


def show_state(environment: dict[str, str]) -> tuple[str, str]:
    ended = installations.run_python(environment, "-c", SHOW_STATE)
    return ended.stdout, ended.stderr


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An installation with policies, on each database; PostgreSQL has a pool of connections with threads of its own."""
    if request.param == "SQLite":
        found = installations.environment_of(tmp_path)
        installations.set_up(found)
        yield found
    elif "PostgreSQL" in {tool.name for tool in tools.missing()}:
        pytest.skip("PostgreSQL is missing.")
    else:
        with servers.postgres() as address:
            found = installations.environment_of(tmp_path, DATABASE_URL=address)
            installations.set_up(found)
            yield found


def test_policies_are_there_and_no_thread_connection_or_number(environment: dict[str, str]) -> None:
    said, _ = show_state(environment)
    assert '"version": null' not in said
    assert said.partition(", ")[2].strip() == (
        '"threads": 1, "connected": false, "pools": 0, "numbers": [], "collecting": true, "collected": [0, 1]}'
    )


def test_a_database_that_is_away_is_logged_and_nothing_else_is_missing(tmp_path: Path) -> None:
    address = f"postgres://nobody@127.0.0.1:{servers.free_port()}/nothing"
    said, log = show_state(installations.environment_of(tmp_path, DATABASE_URL=address))
    assert said.strip() == (
        '{"version": null, "threads": 1, "connected": false, "pools": 0, "numbers": [], "collecting": true, '
        '"collected": [0, 1]}'
    )
    assert "policies_not_preloaded" in log
    assert "Traceback" not in log
