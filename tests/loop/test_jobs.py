"""Jobs run side by side, the longest first, and all of their processes' time is counted.

A program of its own runs them: it waits for every child of its process, and this one may have others.
"""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jobs
import pytest

#: Processor seconds that a process of these tests burns: more than a start of Python takes.
BURNT = 0.3
BURN = f"import time\nwhile time.process_time() < {BURNT}: pass\n"
PROGRAM = """
import json, os, resource, sys
given = json.load(sys.stdin)
sys.path.insert(0, given["folder"])
import jobs
jobs.adopt_orphans()
found = []

def end(ended):
    fields = ("status", "begin", "end", "output", "processor_seconds", "last_words")
    found.append({"name": ended.job.name, **{name: getattr(ended, name) for name in fields}})
    if ended.job.name == given["interrupt_after"]:
        raise KeyboardInterrupt

try:
    jobs.run_jobs([jobs.Job(**fields) for fields in given["jobs"]], given["slots"], end)
except KeyboardInterrupt:
    pass
left = 0
try:
    while os.wait():
        left += 1
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"ended": found, "left": left, "used": used.ru_utime + used.ru_stime}))
"""
#: Where `jobs` lies.
FOLDER = str(Path(jobs.__file__).parent)


def run(*queue: dict, slots: int = 1, interrupt_after: str = "") -> SimpleNamespace:
    given = json.dumps({"folder": FOLDER, "jobs": queue, "slots": slots, "interrupt_after": interrupt_after})
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=given, capture_output=True, text=True, check=True)
    found: SimpleNamespace = json.loads(done.stdout, object_hook=lambda fields: SimpleNamespace(**fields))
    return found


def make(name: str, source: str = "", **fields) -> dict:
    return {"name": name, "command": ["python", "-c", source], **fields}


def test_the_longest_job_begins_first():
    found = run(make("short", seconds=1), make("long", seconds=9), make("middle", seconds=5))
    assert [one.name for one in found.ended] == ["long", "middle", "short"]


def test_a_job_waits_for_the_one_that_it_comes_after():
    found = run(make("eager", seconds=9, after="slow"), make("slow"), slots=2)
    eager, slow = sorted(found.ended, key=lambda one: one.name)
    assert slow.end <= eager.begin


def test_a_job_comes_after_one_that_is_not_in_the_queue():
    assert [one.status for one in run(make("alone", after="somebody else")).ended] == [0]


def test_what_a_job_prints_and_how_it_ends_are_handed_over():
    source = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    (ended,) = run(make("broken", source)).ended
    assert (ended.status, ended.output, ended.last_words) == (3, "out\nerr", "err")


def test_jobs_that_run_at_the_same_time_have_different_places(tmp_path):
    # Each waits until the other one has begun.
    wait = "import os, time\nopen({own!r}, 'w').close()\nwhile not os.path.exists({other!r}): time.sleep(0.01)\n"
    show = wait + "print(os.environ['TEST_PLACE'])"
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    found = run(make("a", show.format(own=a, other=b)), make("b", show.format(own=b, other=a)), slots=2)
    assert {one.output for one in found.ended} == {"0", "1"}


def test_the_time_of_a_child_that_was_waited_for_is_its_job_s():
    source = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    (ended,) = run(make("parent", source)).ended
    assert ended.processor_seconds >= BURNT


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone hands orphans over")
def test_the_time_of_a_process_that_lost_its_parent_is_counted():
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"
    found = run(make("leaves", leave))
    assert found.ended[0].processor_seconds < BURNT < found.used


def test_an_interrupt_ends_what_runs(tmp_path):
    reached = str(tmp_path / "reached")
    hang = f"import pathlib, time; pathlib.Path({reached!r}).touch(); time.sleep(600)"
    wait = f"import os, time\nwhile not os.path.exists({reached!r}): time.sleep(0.01)"
    found = run(make("hangs", hang, seconds=9), make("ends", wait), slots=2, interrupt_after="ends")
    assert ([one.name for one in found.ended], found.left) == (["ends"], 0)
