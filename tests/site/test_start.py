"""What a web process imports before it answers: libraries of jobs and of the queue cost it time and memory."""

import subprocess
import sys
from pathlib import Path

from tests.clients import installations

#: Loads what a web process loads, every view included, and says which of the named libraries came with it.
SHOW_LIBRARIES = """
import sys
import authzsite.wsgi
from django.urls import reverse
reverse("home")
print(*sorted({"amqp", "celery", "kombu", "pandas", "py4j", "pyarrow", "pyspark"} & sys.modules.keys()))
"""


def test_a_web_process_starts_without_the_libraries_of_jobs_and_of_the_queue(tmp_path: Path) -> None:
    environment = installations.environment_of(tmp_path)
    installations.set_up(environment)
    ended = subprocess.run(
        [sys.executable, "-c", SHOW_LIBRARIES],
        cwd=installations.PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
