"""Jobs share a program of Spark one after the other; whatever happens to it, the next job runs.

So do the tests: each uses the program that the one before has left, unless it is about how a program begins.
"""

import json
import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from catalog.reports.registry import KINDS
from catalog.reports.run import launcher, spark_pool
from catalog.reports.run.job_output import Progress
from catalog.reports.storage import parse_address
from tests.spark import slices
from tests.spark.conftest import QUICK_JAVA
from tests.spark.test_effective_access import VIEW
from tests.spark.test_leftovers import list_processes
from tests.worlds import World

pytestmark = [pytest.mark.spark, pytest.mark.own_spark("how programs begin, wait and end")]

#: What the command lines of Java and of the program that runs jobs have.
JAVA, SERVER = "org.apache.spark.deploy.SparkSubmit", "catalog.reports.spark.job_server"
SHORT_JOB = "catalog.reports.kinds.effective_access.job"


@pytest.fixture(autouse=True)
def _pool(program_folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    settings.VAR_DIR, settings.SPARK_IDLE_SECONDS = program_folder, 600


@pytest.fixture
def _no_program(program_folder: Path) -> None:
    """For tests of how a program begins: none waits."""
    spark_pool.end_idle_processes()
    assert list_programs(program_folder) == []


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A snapshot to report about."""
    world = World()
    world.user("jo")
    world.entity("dataset:d1")
    slices.write(world, tmp_path / "in", grants=slices.GRANTS, parameters={"privileges": [VIEW]})
    return tmp_path / "in"


def run(source: Path, name: str = "out", *, module: str = SHORT_JOB, is_cancelled: bool = False) -> str:
    """Run a job and return its log."""

    def report_progress(progress: Progress, _: str) -> bool:
        return not (is_cancelled and progress.stage == "Starting Spark")

    return launcher.run(
        module=module,
        source=parse_address(source),
        target=parse_address(source.with_name(name)),
        on_progress=report_progress,
    )


def list_programs(folder: Path) -> list[Path]:
    """Return the folders of programs that are there."""
    return [path for path in folder.glob("spark/runs/*") if path.is_dir()]


def find_process(folder: Path, text: str) -> int:
    """Return the process of the program in a folder whose command line has this text."""
    (process,) = (
        process
        for process in list_processes(folder)
        if text.encode() in (Path("/proc") / str(process) / "cmdline").read_bytes()
    )
    return process


def test_a_second_job_uses_the_session_of_the_first(source: Path, tmp_path: Path, program_folder: Path):
    run(source)
    (program,) = list_programs(program_folder)
    java = find_process(program, JAVA)
    assert run(source, "again") == ""
    assert list_programs(program_folder) == [program]
    assert find_process(program, JAVA) == java
    for name in ("out", "again"):
        assert (tmp_path / name / "summary.json").exists()


def test_after_a_refused_input_the_next_job_uses_the_session_too(source: Path, program_folder: Path):
    run(source)
    (program,) = list_programs(program_folder)
    manifest = source / "manifest.json"
    text = manifest.read_text()
    manifest.write_text("{}")
    with pytest.raises(launcher.JobFailed, match="The snapshot has schema None") as raised:
        run(source, "refused")
    assert raised.value.log.count("\n") == 1, "the log of this job alone"
    manifest.write_text(text)
    run(source, "again")
    assert list_programs(program_folder) == [program]


@pytest.mark.parametrize("text", [JAVA, SERVER])
def test_a_program_that_was_killed_while_it_waited_is_replaced(source: Path, program_folder: Path, text: str):
    run(source)
    (program,) = list_programs(program_folder)
    os.kill(find_process(program, text), signal.SIGKILL)
    run(source, "again")
    (other_program,) = list_programs(program_folder)
    assert other_program != program
    assert list_processes(program) == set()


def test_other_settings_need_another_program(source: Path, program_folder: Path, settings: Any):
    run(source)
    (program,) = list_programs(program_folder)
    settings.SPARK_MASTER = "local[1]"
    run(source, "again")
    (other_program,) = list_programs(program_folder)
    assert other_program != program
    settings.SPARK_IDLE_SECONDS = 0
    run(source, "alone")
    assert list_programs(program_folder) == []


@pytest.mark.usefixtures("_no_program")
def test_a_start_that_fails_is_said(
    source: Path, tmp_path: Path, program_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(launcher.JobFailed, match="apt-get install default-jre-headless"):
        run(source)
    assert list_programs(program_folder) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "spark.sql.shuffle.partitions many",
            "The value 'many' in the config \"spark.sql.shuffle.partitions\" is invalid",
        ),
        ("spark.driver.memory lots", "Java ended before Spark was there; what it said stands in the log"),
        ("spark.app.name \udcff", ""),
    ],
)
def test_a_wrong_setting_of_the_user_is_said_with_its_file(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, reason: str
):
    file = tmp_path / "conf" / "spark-defaults.conf"
    file.parent.mkdir()
    file.write_bytes(line.encode(errors="surrogateescape"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(file.parent))
    if not reason:
        # Java reads what is no UTF-8, too.
        run(source)
        assert (tmp_path / "out" / "summary.json").exists()
        return
    with pytest.raises(launcher.JobFailed) as raised:
        run(source)
    sentence = str(raised.value)
    assert reason in sentence
    assert sentence.endswith(f" and {file}.")
    assert "org.apache" not in sentence


@pytest.mark.usefixtures("_no_program")
def test_a_cancelled_job_ends_its_program(source: Path, program_folder: Path):
    with pytest.raises(launcher.JobCancelled):
        run(source, is_cancelled=True)
    assert list_programs(program_folder) == []


def test_a_program_that_nobody_needs_ends_by_itself(source: Path, program_folder: Path, settings: Any):
    settings.SPARK_IDLE_SECONDS = 1
    run(source)
    (program,) = list_programs(program_folder)
    process = spark_pool.take_process()
    assert process is not None
    assert process.wait_for_end(60)
    assert list_programs(program_folder) == []
    assert list_processes(program) == set()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_and_its_job_agree_on_joins(kind: str):
    assert import_module(KINDS[kind].module).PROGRAM.has_joins == KINDS[kind].has_joins


@pytest.mark.parametrize("kind", sorted(kind for kind, spec in KINDS.items() if spec.has_joins))
def test_a_job_with_joins_is_short_where_there_is_little_to_read(tmp_path: Path, kind: str):
    program = import_module(KINDS[kind].module).PROGRAM
    source, exports = tmp_path / "in", tmp_path / "exports"
    source.mkdir()
    assert not program.is_short(source.as_uri()), "what cannot be read may be much"
    (source / "grants_exports.json").write_text(json.dumps({"folder": exports.as_uri()}))
    assert not program.is_short(source.as_uri())
    exports.mkdir()
    (exports / "grants.csv").write_text("ROLE\n")
    assert program.is_short(source.as_uri())
    (exports / "more").mkdir()
    with (exports / "more" / "grants.csv").open("wb") as file:
        file.truncate(16 * 2**20)
    assert not program.is_short(source.as_uri())
