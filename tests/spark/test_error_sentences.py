"""What ends a job is a sentence that names the file or address and says what to do."""

import gzip
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from catalog.reports import spark_address
from catalog.reports.run import launcher
from catalog.reports.spark import error_sentences
from catalog.reports.spark.job import BadInput
from catalog.reports.storage import parse_address
from tests.spark import failing_parts
from tests.spark.drift_world import World

pytestmark = pytest.mark.spark

HEADER = "object_type,object,privilege,grantee_type,grantee\n"
ROWS = "".join(f"TABLE,shop.orders{number * 7919},READ,ROLE,reader{number}\n" for number in range(20_000))


class ExportsElsewhere(World):
    """A catalog whose exports of grants are at an address."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def write(self, folder: Path) -> None:
        super().write(folder)
        (folder / "grants_exports.json").write_text(json.dumps({"folder": self.address}), encoding="utf-8")


def fail(spark: SparkSession, work: Callable[[SparkSession], Any]) -> str:
    """Return the text of the error that some work of Spark ends with."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its kind depends on how Spark is reached
        work(spark)
    return str(raised.value)


def write_frame(spark: SparkSession, path: Path, form: str, target: Path) -> None:
    spark.read.format(form).load(str(path)).write.parquet(str(target))


def test_a_file_of_exports_that_was_cut_off(spark: SparkSession, tmp_path: Path):
    folder = tmp_path / "input" / "exports" / "pg"
    folder.mkdir(parents=True)
    packed = gzip.compress((HEADER + ROWS).encode())
    (folder / "a b.csv.gz").write_bytes(packed[: len(packed) // 2])
    text = fail(spark, lambda session: write_frame(session, folder, "text", tmp_path / "out"))
    assert error_sentences.describe_error(text, source=(tmp_path / "input").as_uri()) == (
        "pg/a b.csv.gz of the exports of grants ends in the middle: it was not written or copied to its end. "
        "Export it again."
    )


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_table_of_the_snapshot_that_is_damaged(spark: SparkSession, tmp_path: Path, *, is_whole: bool):
    file = tmp_path / "users.parquet"
    pq.write_table(pa.table({"number": list(range(100_000))}), file)
    content = file.read_bytes()
    file.write_bytes(content[:200] + os.urandom(4800) + content[5000:] if is_whole else b"PAR1 and no more")
    text = fail(spark, lambda session: write_frame(session, file, "parquet", tmp_path / "out"))
    sentence = error_sentences.describe_error(text, source=tmp_path.as_uri())
    assert sentence.startswith("users.parquet of the snapshot is damaged: ")
    assert sentence.endswith(". Start the report again, which takes another snapshot.")
    assert "java" not in sentence


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (
            failing_parts.raise_corruption,
            "facets.parquet of the snapshot cannot be read. Start the report again, which takes another snapshot.",
        ),
        (failing_parts.raise_bug, "A Python process of Spark failed with an unexpected error; the log says where."),
        (
            failing_parts.raise_memory_error,
            "A Python process of Spark ended before the report was finished, most likely because the",
        ),
        (
            failing_parts.open_nothing,
            "A Python process of Spark could not read or write a file: [Errno 2] No such file or directory: "
            "'/nowhere/part'. All of them have to reach the folder of reports (REPORTS_DIR).",
        ),
        (
            failing_parts.import_nothing,
            "A Python process of Spark lacks a library: No module named 'nowhere'. Install it where Spark runs.",
        ),
        (
            failing_parts.end_at_once,
            "A Python process of Spark ended before the report was finished, most likely because the",
        ),
    ],
)
def test_what_ends_a_python_process_of_spark(spark: SparkSession, work: Callable[[int], int], sentence: str):
    compute = udf(work, "bigint", useArrow=False).asNondeterministic()
    text = fail(spark, lambda session: session.range(0, 2, 1, 2).select(compute("id")).collect())
    assert error_sentences.describe_error(text).startswith(sentence)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("file:///nowhere/exports.json", "file:///nowhere/exports.json cannot be read: there is nothing."),
        ("odd://jo:secret@bucket/exports.json", "odd://bucket/exports.json cannot be read: Spark has no library for"),
        ("s3a://bucket/exports.json", "s3://bucket cannot be used: nothing answers at 127.0.0.1:1 (AWS_ENDPOINT_URL)."),
        ("hdfs://127.0.0.1:1/exports.json", "hdfs://127.0.0.1:1/exports.json cannot be read: Nothing answers at "),
    ],
)
def test_exports_at_an_address_that_cannot_be_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, sentence: str
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    made = ExportsElsewhere(url.rpartition("/")[0])
    with pytest.raises(BadInput) as raised:
        made.checked(spark, tmp_path)
    assert str(raised.value).startswith(f"GRANTS_EXPORTS: {sentence}")
    assert "secret" not in str(raised.value)


def test_files_with_different_first_lines_are_both_named(spark: SparkSession, tmp_path: Path):
    made = World()
    export = {"name": "pg", "platform": "postgres", "form": "csv", "grants": ["pg*.csv"], "members": ["members.csv"]}
    other_header = "object_type,object,privilege,grantee,grantee_type\n"
    made.files = {
        "exports.json": json.dumps({"exports": [export]}),
        "pg1.csv": HEADER + ROWS[:200].rpartition("\n")[0],
        "pg2.csv": other_header,
        "members.csv": HEADER,
    }
    with pytest.raises(BadInput) as raised:
        made.checked(spark, tmp_path)
    named = {"pg1.csv", "pg2.csv"}
    assert named == {word for word in str(raised.value).replace(".csv.", ".csv").split() if word in named}


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nonsense", "SPARK_MASTER is 'nonsense', which is no address of Spark. It has to be local[*]"),
        ("spark://nobody.invalid:7077", "No Spark answers at SPARK_MASTER: nobody.invalid:7077: there is no such host"),
        ("sc://127.0.0.1:1/;token=secret", "No Spark answers at SPARK_MASTER: 127.0.0.1:1: connection refused"),
        ("spark://a:b", "No Spark answers at SPARK_MASTER: a:b: this is no host with a port"),
    ],
)
def test_a_wrong_address_of_spark(address: str, sentence: str, settings: Any, tmp_path: Path):
    settings.SPARK_MASTER = address
    with pytest.raises(launcher.JobFailed) as raised:
        launcher.run(
            module="none",
            source=parse_address(tmp_path),
            target=parse_address(tmp_path),
            spark_folder=tmp_path / "spark",
            on_progress=lambda *_: True,
        )
    assert str(raised.value).startswith(sentence)
    assert "secret" not in str(raised.value)
    assert not (tmp_path / "spark").exists()


def test_an_address_that_can_be_right():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        masters = (f"spark://127.0.0.1:1,127.0.0.1:{port}", f"sc://127.0.0.1:{port}/;use_ssl=true")
        assert [spark_address.find_problem(address) for address in (*masters, "", "local[2]", "yarn")] == [""] * 5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x\nCaused by: java.io.IOException: No space left on device", "There is no room left on the disk. Free some"),
        ("java.lang.OutOfMemoryError: Java heap space", "Spark had too little memory; raise SPARK_DRIVER_MEMORY."),
        # As PySpark 3.5 says it.
        (
            "x.Python: Traceback (most recent call last):\n  File a\na.b.CorruptSnapshot: It is odd.\n\n\tat x.y",
            "It is odd. Start the report again",
        ),
        ("[CODE.X] Something odd. SQLSTATE: 42K03;", "Spark could not do it: Something odd."),
        (
            "An error occurred while calling o670.parquet.\n: org.apache.spark.SparkException: Job aborted\n\tat x.y\n"
            "Caused by: java.lang.IllegalStateException: it is odd\n\tat x.y",
            "Spark could not do it: it is odd",
        ),
        ("java.net.UnknownHostException: nobody.invalid", "There is no host called nobody.invalid."),
    ],
)
def test_other_errors(text: str, sentence: str):
    assert error_sentences.describe_error(text).startswith(sentence)
