"""An installation of two web processes for each way in which they hear of writes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import servers
import tools

from tests.clients import installations
from tests.clients.installations import Installation

CARRIERS = {"poll": set[str](), "postgres": {"PostgreSQL"}, "redis": {"Redis"}}


@contextmanager
def running(carrier: str, folder: Path) -> Iterator[Installation]:
    """Serve one until the block ends; skips the test where the carrier is not on this machine."""
    with starting(carrier) as variables, installations.running(folder, workers=2, **variables) as installation:
        yield installation


@contextmanager
def starting(carrier: str) -> Iterator[dict[str, Any]]:
    """Start the servers of a carrier; gives what an installation is told about them."""
    if CARRIERS[carrier] & {tool.name for tool in tools.missing()}:
        pytest.skip(f"{carrier} is missing.")
    with ExitStack() as stack:
        variables: dict[str, Any] = {}
        if carrier == "postgres":
            variables["DATABASE_URL"] = stack.enter_context(servers.postgres())
        if carrier == "redis":
            variables["REDIS_URL"] = stack.enter_context(servers.redis())
        yield variables
