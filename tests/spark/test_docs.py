"""The example of the docs runs as it stands, in a program of its own, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.spark.conftest import QUICK_JAVA

ROOT = Path(__file__).resolve().parents[2]


def living(group: int) -> list[str]:
    """Return what still runs of a process group; a process that has ended and is only not yet taken away does not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            stat = path.read_text(encoding="utf-8")
            state, _parent, of = stat.rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(stat)
    return found


@pytest.mark.spark
@pytest.mark.own_spark("is a program for itself")
def test_the_example_of_the_docs_prints_what_they_say(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "datazone.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    started = {name: value for name, value in os.environ.items() if name != "SPARK_MASTER"}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**started, "VAR_DIR": str(tmp_path), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        said, complained = process.communicate()
    assert (process.returncode, said.strip()) == (0, printed.strip()), complained
    assert living(process.pid) == []
    assert [file for file in tmp_path.rglob("*") if not file.is_dir()] == []
