"""One Spark for all tests: starting it takes longer than most of them."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.session import open_session
from tests.spark.drift_world import interpreted

#: A Java that starts in half the time, and would be slower only at more work than tests have for it.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"


def find_java() -> int:
    """Return the process of the Java program that belongs to this one."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            before, _, after = stat.read_text(encoding="utf-8").rpartition(")")
            if before.endswith("(java") and int(after.split()[1]) == os.getpid():
                return int(stat.parent.name)
    pytest.skip("needs /proc")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on this machine. Its Java ends with this process, which `test_docs` looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_MASTER", raising=False)
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        with open_session("tests", folder=tmp_path_factory.mktemp("spark")) as started:
            yield started


@pytest.fixture(scope="session")
def vendor_check(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of the results of one check of all vendors' exports, and its tables: nobody changes them."""
    from tests.spark.test_vendor_forms import world

    folder = tmp_path_factory.mktemp("vendors")
    with interpreted(spark):
        tables = world().checked(spark, folder)
    return folder / "output", tables
