"""Reads the facts and the history of exports as their warehouses do. Rows are parsed in parallel, never collected."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.spark.error_sentences import is_path_missing
from catalog.warehouses.warehouse import BadExports, Export

#: The beginning of an address, of which Spark writes more or fewer slashes than others do.
_SCHEME_PATTERN = re.compile("^[a-z0-9]+:/*")


def read_facts(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return the facts of all files of an export. Raises BadExports when a file is missing or lacks a column."""
    with _name_missing_files(folder, export):
        frames = [
            *export.warehouse.read_grants(spark, folder, export),
            *export.warehouse.read_policies(spark, folder, export),
        ]
    return reduce(DataFrame.union, frames)


def read_history(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return the history of an export. Raises BadExports when a file is missing or lacks a column."""
    with _name_missing_files(folder, export):
        histories = [export.warehouse.read_history(spark, folder, export, pattern) for pattern in export.usage]
    return reduce(DataFrame.union, histories)


@contextmanager
def _name_missing_files(folder: str, export: Export) -> Iterator[None]:
    """Raise BadExports where Spark does not find a file of an export."""
    try:
        yield
    except AnalysisException as error:
        if not is_path_missing(str(error)):
            raise
        name = _find_missing_name(folder, error)
        raise BadExports(f"The export {export.name} names files that are not there: {name}.") from error


def _find_missing_name(folder: str, error: AnalysisException) -> str:
    """Return the path in the folder, or the pattern, that Spark did not find."""
    path, start = (
        _SCHEME_PATTERN.sub("", unquote(text))
        for text in ((error.getMessageParameters() or {}).get("path", ""), f"{folder}/")
    )
    return path.removeprefix(start)
