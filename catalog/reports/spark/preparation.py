"""Program that makes the archive of Java's classes, with the lowest priority.

It starts itself again as the program whose Java writes the archive when it ends: with Spark in it, after queries of all
the kinds that jobs ask. The last line on standard output says what became of it.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from catalog.reports.job_protocol import EXIT_DONE, EXIT_FAILED
from catalog.reports.spark import class_archive, session_settings
from catalog.reports.spark.frames import collect_table
from catalog.reports.spark.session import find_local_folder, is_started_here, open_session
from catalog.reports.spark.session_settings import LOCAL_MASTER

_LOAD_ARGUMENT = "load-classes"

_LOG_OPTIONS = ("-Xlog:disable", "-Xlog:all=error:stderr")

_CSV = "id,name,kind\n" + "".join(f'{number},"Name {number}",{number % 3}\n' for number in range(100))


def make_archive() -> int:
    """Make the archive unless it is there, and return the exit code."""
    path = class_archive.find_file()
    if not is_started_here():
        return _print_result("No archive: Spark is not started by this site.")
    if path is None:
        return _print_result(
            f"No archive: there is no Java, or no folder for it ({class_archive.FOLDER_VARIABLE}).", EXIT_FAILED
        )
    if conf_folders := class_archive.list_conf_folders():
        names = ", ".join(map(str, conf_folders))
        return _print_result(
            f"No archive: Java makes none while there are files in folders on its class path: {names}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _print_result("Another program is making the archive.")
        return _print_result(f"The archive is there: {path}") if path.is_file() else _make_file(path)


def _make_file(path: Path) -> int:
    new_path = path.with_suffix(".new")
    new_path.unlink(missing_ok=True)
    # Java would warn of each class that it leaves out.
    options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), f'"-XX:ArchiveClassesAtExit={new_path}"', *_LOG_OPTIONS)
    variables = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    variables = {"PYSPARK_PYTHON": sys.executable, **variables, "SPARK_MASTER": LOCAL_MASTER}
    # Java has the pipe, too, so that its end is that of Java, which comes after that of the program.
    program = subprocess.run(
        [sys.executable, "-m", __spec__.name, _LOAD_ARGUMENT],
        env={**variables, "SPARK_SUBMIT_OPTS": " ".join(filter(None, options))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if program.returncode or not new_path.is_file():
        new_path.unlink(missing_ok=True)
        sys.stderr.write(program.stdout)
        return _print_result("No archive: Java did not write it; what it said stands in the log.", EXIT_FAILED)
    for other_path in path.parent.glob(f"*{class_archive.SUFFIX}"):
        other_path.unlink(missing_ok=True)
    new_path.replace(path)
    return _print_result(f"The archive has been made: {path}")


def _print_result(sentence: str, code: int = EXIT_DONE) -> int:
    sys.stdout.write(f"{sentence}\n")
    return code


# -- classes ----------------------------------------------------------------------------------------------------------


def load_classes() -> None:
    """Have Java load the classes that jobs need: with the settings of long jobs, then with those of short ones."""
    folder = find_local_folder() / "classes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.csv").write_text(_CSV, encoding="utf-8")
    with open_session("preparation") as session:
        job_settings = session_settings.read_job_settings(session)
        for is_short in (False, True):
            session_settings.apply_job_settings(session, job_settings, is_short=is_short)
            _run_queries(session, folder)
        # Java's part of Python functions.
        session.range(1).select(f.udf(str, "string", useArrow=False)("id")).collect()


def _run_queries(session: SparkSession, folder: Path) -> None:
    lines = session.read.text((folder / "rows.csv").as_uri())
    columns = f.from_csv("value", "id string, name string, kind string", {"mode": "PERMISSIVE"})
    rows = lines.withColumn("file", f.input_file_name()).select(columns.alias("row"), "value", "file")
    rows = rows.filter("row.id <> 'id'").select(
        f.try_to_number("row.id", f.lit("999")).cast("bigint").alias("id"),
        f.lower(f.regexp_replace("row.name", " ", ".")).alias("name"),
        f.when(f.col("row.kind").isin("1", "2"), f.col("row.kind")).otherwise("none").alias("kind"),
        f.concat_ws(".", f.substring_index("file", "/", -1), f.substring("value", 1, 3)).alias("place"),
        f.split("row.name", "[ ]").alias("parts"),
    )
    table_url = (folder / "rows").as_uri()
    rows.write.mode("overwrite").parquet(table_url)
    stored_rows = session.read.parquet(table_url)
    for frame in (
        stored_rows.filter(f.col("name").rlike("^name") & f.col("id").isNotNull()).orderBy("place").limit(20),
        _join_rows(session, stored_rows),
        stored_rows.withColumn("rank", f.row_number().over(Window.partitionBy("kind").orderBy("name", "id"))),
        stored_rows.select(f.explode("parts").alias("part")).distinct().union(stored_rows.select("name")),
    ):
        collect_table(frame)
    stored_rows.agg(f.count("*"), f.count_distinct("name"), f.bit_or("id")).collect()
    stored_rows.groupBy("kind").agg(f.collect_list(f.struct("id", "name")).alias("all")).collect()


def _join_rows(session: SparkSession, rows: DataFrame) -> DataFrame:
    kinds = session.createDataFrame(pa.table({"kind": ["1", "2"], "title": ["one", "two"]}).to_pylist())
    counts = rows.groupBy("kind").agg(f.min("name").alias("first"), f.max("id").alias("last"), f.sum("id").alias("sum"))
    large_rows = session.range(20_000).withColumn("kind", (f.col("id") % 5).cast("string")).drop("id")
    return (
        rows.repartition(2, "kind")
        .join(kinds, "kind", "left")
        .join(f.broadcast(counts), "kind")
        .join(large_rows.distinct(), "kind", "left_semi")
        .join(rows.filter("id = 1").select("name"), "name", "left_anti")
        .drop("parts")
    )


if __name__ == "__main__":
    if sys.argv[1:] == [_LOAD_ARGUMENT]:
        load_classes()
    else:
        # Whatever else this machine does comes first.
        os.nice(19)
        sys.exit(make_archive())
