"""One site for all fault tests: it outlives each of them, as it should."""

import os
from collections.abc import Iterator

import pytest

from tests.faults import sites, worlds
from tests.faults.sites import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Real processes of this test run's own; only where the run is about PostgreSQL and Redis."""
    if not os.environ.get("DATABASE_URL", "").startswith("postgres") or not os.environ.get("REDIS_URL"):
        pytest.skip("What happens while a server is away is tested in the run with PostgreSQL and Redis.")
    with sites.running(tmp_path_factory.mktemp("faults")) as made:
        yield made


@pytest.fixture(scope="session")
def facts() -> dict[str, int]:
    """The facts as they were written last."""
    return dict(worlds.AT_FIRST)
