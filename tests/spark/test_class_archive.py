"""Spark starts with the archive of Java's classes where there is one, and without it where there can be none."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from catalog.reports.run import launcher, preparation, spark_pool
from catalog.reports.spark import class_archive, session_settings
from tests.spark.test_leftovers import list_processes
from tests.spark.test_shared_spark import run, source  # noqa: F401 - a fixture

pytestmark = pytest.mark.spark

MASTER = "local[2]"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of archives for this test, with a Spark of no jars, and nothing set that Java would be given."""
    for name in ("SPARK_MASTER", "SPARK_REMOTE", "SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home" / "jars").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPARK_CLASSES_DIR", str(tmp_path / "classes"))
    return tmp_path


def find_file() -> Path:
    path = class_archive.find_file()
    assert path is not None
    return path


def make_archive() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "catalog.reports.spark.preparation"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_java_is_given_the_archive_only_when_it_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def list_options() -> str:
        return session_settings.build_defaults(MASTER, folder, is_short=True)["spark.driver.defaultJavaOptions"]

    assert "SharedArchiveFile" not in list_options()
    path = find_file()
    path.parent.mkdir()
    path.touch()
    assert f'"-XX:SharedArchiveFile={path}"' in list_options()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xshare:off")
    assert "SharedArchiveFile" not in list_options()


def test_an_archive_belongs_to_one_spark(folder: Path):
    before = find_file()
    (folder / "home" / "jars" / "delta.jar").write_bytes(b"new")
    after = find_file()
    assert after != before
    assert find_file() == after


def test_without_a_folder_or_java_there_is_no_archive(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(folder))
    assert class_archive.find_file() is None
    program = make_archive()
    assert program.returncode != 0
    assert "there is no Java" in program.stdout
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.delenv("SPARK_CLASSES_DIR")
    assert class_archive.find_file() is None


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR"])
def test_configuration_on_the_class_path_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str):
    (folder / "conf").mkdir()
    monkeypatch.setenv(variable, str(folder / "conf"))
    assert class_archive.list_conf_folders() == []
    (folder / "conf" / "core-site.xml").touch()
    program = make_archive()
    assert program.returncode == 0
    assert str(folder / "conf") in program.stdout


def test_a_spark_that_runs_elsewhere_needs_none(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_MASTER", "sc://spark.example.com:15002")
    assert "not started by this site" in make_archive().stdout
    assert not (folder / "classes").exists()


def test_a_java_that_cannot_start_says_so(folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:NoSuchOption")
    settings.VAR_DIR, settings.SPARK_CLASSES_DIR = folder / "var", str(folder / "classes")
    with pytest.raises(CommandError, match="Java did not write it"):
        call_command("prepare_spark")
    assert [path.suffix for path in (folder / "classes").iterdir()] == [".lock"]
    assert list((folder / "var" / "spark" / "runs").iterdir()) == []


@pytest.mark.own_spark("starts with the archive")
def test_spark_runs_with_the_archive(source: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    for name in ("SPARK_MASTER", "SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    settings.VAR_DIR, settings.SPARK_IDLE_SECONDS = tmp_path, 60
    # The one of `make test`, unless there is none yet.
    settings.SPARK_CLASSES_DIR = os.environ["SPARK_CLASSES_DIR"]
    assert find_file().name in preparation.make_archive()
    try:
        run(source)
        (program,) = (path for path in spark_pool.find_folder().iterdir() if path.is_dir())
        maps = [(Path("/proc") / str(process) / "maps").read_text() for process in list_processes(program)]
        assert any(str(find_file()) in text for text in maps)
    finally:
        spark_pool.end_idle_processes()


def test_a_worker_makes_it_once_after_a_report(folder: Path, settings: Any):
    settings.VAR_DIR, settings.SPARK_CLASSES_DIR = folder / "var", str(folder / "classes")
    path = find_file()
    path.parent.mkdir()
    path.touch()
    preparation.make_in_background()
    assert not (folder / "var" / "spark").exists()
    settings.SPARK_MAKES_ARCHIVE = True
    try:
        preparation.make_in_background()
        preparation.make_in_background()
        assert len(list((folder / "var" / "spark" / "runs").glob("*.lock"))) == 1
    finally:
        preparation.end()
    assert list((folder / "var" / "spark" / "runs").iterdir()) == []
    assert not launcher.STOP_EVENT.is_set()
