"""One Spark for all tests: starting it takes longer than most of them."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.session import open_session

#: A Java that starts in half the time, and would be slower only at more work than tests have for it.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def java_of(started: SparkSession) -> subprocess.Popen[bytes]:
    """Return the Java program of a session."""
    gateway = started.sparkContext._gateway
    assert gateway is not None
    process: subprocess.Popen[bytes] = gateway.proc
    return process


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on this machine. Afterwards nothing is left of it: no process, no file."""
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_MASTER", raising=False)
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        with open_session("tests", folder=folder) as started:
            java = java_of(started)
            yield started
    assert java.poll() is not None
    assert [file for file in folder.rglob("*") if not file.is_dir()] == []
