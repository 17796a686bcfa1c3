"""Everything here runs other people's programs against a running site; `make test-clients` runs it."""

from collections.abc import Iterator
from pathlib import Path

import port
import pytest
import tools

from tests.clients import installations
from tests.clients.installations import Installation
from tests.clients.packages import Package

#: The port that examples and clients use unless they are told another.
USUAL_PORT = 8080

#: The newest release when this was written, and one a year older.
DATAHUB = (
    Package("acryl-datahub", "1.7.0.17", "[datahub-rest]"),
    Package("acryl-datahub", "1.3.1.3", "[datahub-rest]"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("clients")


@pytest.fixture(
    scope="session",
    params=[DATAHUB[0], *(pytest.param(older, marks=pytest.mark.deep) for older in DATAHUB[1:])],
    ids=str,
)
def datahub(request: pytest.FixtureRequest) -> Package:
    """DataHub's own package, one version after the other."""
    package: Package = request.param
    package.provide()
    return package


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A site that asks for tokens, on a free port."""
    with installations.running(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(scope="session")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A site on the usual port that takes calls without a token."""
    sentence = port.complaint(str(USUAL_PORT))
    if sentence is not None:
        if tools.is_ci():
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    folder = tmp_path_factory.mktemp("open-site")
    with installations.running(folder, port=USUAL_PORT, METADATA_SERVICE_AUTH_ENABLED="false") as found:
        yield found


@pytest.fixture
def cli(datahub, site, tmp_path):
    """Run the `datahub` command."""

    def run(*arguments):
        done = datahub.run("-m", "datahub", *arguments, site=site, home=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
