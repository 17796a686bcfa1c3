"""A job of a report that does what its parameters say: for the tests of whoever starts jobs."""

import json
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.reports.storage import StorageFolder, parse_address


class ThingsProgram:
    """A job without Spark."""

    def is_short(self, _: str) -> bool:
        """Whether optimized compilation does not pay: there is no Java."""
        return True

    def run(self, source_url: str, target_url: str, _: object) -> int:
        """Say something, write something, and end as told."""
        return work(parse_address(source_url), parse_address(target_url))


def work(source: StorageFolder, target: StorageFolder) -> int:
    """Do what the parameters say and return the exit code."""
    wanted = json.loads(source.read_bytes("parameters.json"))["wanted"]
    sys.stdout.write("beginning\n" + json.dumps({"stage": "Working", "done": 1, "total": 2}) + "\n")
    sys.stdout.flush()
    if wanted == "hang":
        threading.Event().wait()
    if wanted == "chatter":
        sys.stdout.writelines(f"line {number}\n" for number in range(20_000))
    if wanted == "warn":
        sys.stderr.write("WARNING: Using incubator modules: jdk.incubator.vector\nWARNING: something real\n")
    if wanted == "crash":
        raise ValueError("nobody expected this")
    if wanted == "explain":
        sys.stdout.write(json.dumps({"problem": "The input is wrong."}) + "\n")
        sys.stdout.flush()
        sys.stderr.write("The input is wrong.\njava.io.IOException: It ends.\n\tat x.y.Z.run(Z.java:1)\n")
        return 11
    if wanted == "refuse":
        sys.stderr.write("a stack\nThe input is wrong.\n")
        return 10
    (target / "things").create()
    target.write_text("summary.json", json.dumps({"numbers": [{"title": "Things", "value": 3}]}))
    counts = ["1", "2", "3"] if wanted == "texts" else [1, 2, 3]
    table = pa.table({"thing": ["a", "b", "c"], "count": counts, "position": pa.array([0, 1, 2], pa.int64())})
    write(table.drop(["count"]) if wanted == "narrow" else table, target / "things")
    keys = ["a", "b", "c"] if wanted == "find" else []
    texts = {name: pa.array(keys, pa.string()) for name in ("type", "sentence", "repair", "key")}
    severities = pa.array(["HIGH" for _ in keys], pa.string())
    findings = pa.table({"severity": severities, **texts, "position": pa.array(range(len(keys)), pa.int64())})
    (target / "findings").create()
    write(findings, target / "findings")
    if wanted == "corrupt":
        (target / "things").write_bytes("part-1.parquet", b"PAR1 and no more")
    return 0


def write(table: pa.Table, folder: StorageFolder) -> None:
    """Write the one file of a table."""
    with folder.open_output("part-0.parquet") as stream:
        pq.write_table(table, stream)


PROGRAM = ThingsProgram()
