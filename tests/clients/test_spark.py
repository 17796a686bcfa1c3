"""Reports in other releases of PySpark and on a Spark Connect server: the tables are those that this release writes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import spark_matrix
from spark_matrix import Spark

from catalog.reports.snapshot.reader import SCHEMA_VERSION
from tests.clients.installations import PROJECT
from tests.spark import slices, test_role_mapping
from tests.spark.conftest import QUICK_JAVA
from tests.spark.drift_world import PII
from tests.worlds import World, criterion, document, matching_all, urn

VIEW = "VIEW_ENTITY_PAGE"


@pytest.fixture(scope="module", params=spark_matrix.SPARKS[1:], ids=lambda spark: spark.name)
def python(request: pytest.FixtureRequest) -> Path:
    """The Python of another Spark."""
    spark: Spark = request.param
    return spark.python()


@pytest.fixture(scope="module")
def address(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server of this version, or none for a Spark that the job starts itself."""
    if not python.parents[1].name.endswith("-connect"):
        yield ""
        return
    with spark_matrix.connect_server(python, tmp_path_factory.mktemp("connect") / "server") as found:
        yield found


def write_catalog(folder: Path) -> None:
    """Write a small catalog for the counting of access."""
    world = World()
    world.user("jo", groups=["readers"])
    world.user("al")
    world.group("readers")
    for number in range(40):
        owners = ["al"] if number < 3 else []
        world.entity(f"dataset:d{number}", tags=["tag:pii"] if number % 3 else [], owners=owners)
    resources = matching_all(criterion("TAG", urn("tag:pii")))
    actors = {"groups": [urn("group:readers")], "resourceOwners": True}
    world.policy("read", document(privileges=[VIEW], actors=actors, resources=resources))
    slices.write(world, folder, grants=slices.GRANTS, parameters={"privileges": [VIEW]})


def write_exports(folder: Path) -> None:
    """Write a catalog and exports with every kind of difference."""
    test_role_mapping.world().write(folder)
    manifest = {"schema": SCHEMA_VERSION, "policy_version": 1}
    for name, content in (("manifest", manifest), ("parameters", {"tags": [PII]})):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


KINDS: dict[str, Callable[[Path], None]] = {"effective_access": write_catalog, "role_mapping_check": write_exports}


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_the_same_in_another_spark(python: Path, address: str, kind: str, tmp_path: Path) -> None:
    KINDS[kind](tmp_path / "in")
    expected = report(Path(sys.executable), kind, tmp_path, "here")
    found = report(python, kind, tmp_path, "there", SPARK_REMOTE=address)
    assert found.keys() == expected.keys()
    assert any(found[name] for name in found if name != "summary")
    for name, content in expected.items():
        assert found[name] == content, name


def report(python: Path, kind: str, folder: Path, name: str, **variables: str) -> dict[str, Any]:
    """Run the job of a kind with a Python, and return its tables and its summary."""
    target = folder / name
    environment = {
        **_bare_environment(),
        "VAR_DIR": str(folder / f"{name}-var"),
        "PYTHONPATH": str(PROJECT),
        "PYSPARK_PYTHON": str(python),
        "JAVA_TOOL_OPTIONS": QUICK_JAVA,
        **variables,
    }
    urls = ["--input", (folder / "in").as_uri(), "--output", target.as_uri()]
    command = [str(python), "-m", f"catalog.reports.kinds.{kind}.job", *urls]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = {path.name: slices.read(target, path.name) for path in target.iterdir() if path.is_dir()}
    return {**tables, "summary": json.loads((target / "summary.json").read_text(encoding="utf-8"))}


def _bare_environment() -> dict[str, str]:
    """Return the environment without what says where Spark or this project is."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
