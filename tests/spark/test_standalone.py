"""A report on a cluster of its own: a master and two workers, which have no copy of this project."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
import servers
from django.conf import LazySettings

from catalog.reports.run import launcher
from catalog.reports.run.job_output import Progress
from catalog.reports.spark import class_archive
from catalog.reports.storage import parse_address
from tests.spark import slices
from tests.spark.conftest import QUICK_JAVA
from tests.worlds import World, document, urn

VIEW = "VIEW_ENTITY_PAGE"
SPARK = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
PATIENCE_SECONDS = 90


@contextmanager
def running(name: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of Spark's own programs, away from this project."""
    folder.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DATABASE_URL")}
    # Workers give them to the executors that they start.
    java = " ".join((QUICK_JAVA, *class_archive.build_java_options()))
    environment = kept | {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": HOST, "JAVA_TOOL_OPTIONS": java}
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", HOST, *arguments]
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def alive(port: int) -> int:
    """Return how many workers the master knows; none while it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/json/", timeout=5) as answer:
            found: int = json.load(answer)["aliveworkers"]
    except OSError:
        return 0
    return found


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master with two workers of one core each; its address."""
    folder = tmp_path_factory.mktemp("cluster")
    port, pages = servers.free_port(), servers.free_port()
    address = f"spark://{HOST}:{port}"
    with ExitStack() as stack:
        started_master = stack.enter_context(
            running("master.Master", folder / "master", "--port", str(port), "--webui-port", str(pages))
        )
        for number in (1, 2):
            place = folder / f"worker{number}"
            size = ("--cores", "1", "--memory", "1g", "--webui-port", str(servers.free_port()))
            stack.enter_context(running("worker.Worker", place, *size, "--work-dir", str(place / "work"), address))
        servers.wait_until(
            lambda: alive(pages) == 2,
            server=started_master,
            explain=lambda: (folder / "master" / "log").read_text(errors="replace"),
            seconds=PATIENCE_SECONDS,
        )
        yield address


@pytest.mark.drawn(2)
@pytest.mark.own_spark("is a cluster")
@pytest.mark.parametrize("program", ["", str(SPARK / "bin" / "spark-submit")], ids=["started here", "spark-submit"])
def test_a_report_counts_the_same_on_two_workers(
    master: str, program: str, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.user("jo", groups=["readers"])
    world.user("al")
    world.group("readers")
    for number in range(40):
        world.entity(f"dataset:d{number}", owners=["al"] if number < 3 else [])
    actors = {"groups": [urn("group:readers")], "resourceOwners": True}
    world.policy("read", document(privileges=[VIEW], actors=actors))
    slices.write(world, tmp_path / "in", grants=slices.GRANTS, parameters={"privileges": [VIEW]})
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    settings.SPARK_MASTER, settings.SPARK_SUBMIT = master, program
    stages = set()

    def tell(progress: Progress, _: str) -> bool:
        stages.add(progress.stage)
        return True

    source, target = tmp_path / "in", tmp_path / "out"
    launcher.run(
        module="catalog.reports.kinds.effective_access.job",
        source=parse_address(source),
        target=parse_address(target),
        spark_folder=target.with_name("spark"),
        on_progress=tell,
    )
    people = {row["person"]: row["entities"] for row in slices.read(target, "people")}
    assert people == {urn("jo"): 40, urn("al"): 3}
    assert "Starting Spark" in stages
    summary = json.loads((target / "summary.json").read_text(encoding="utf-8"))
    assert {one["title"]: one["value"] for one in summary["numbers"]}[
        "View Entity Page: accesses, one for each person and entity"
    ] == 43
