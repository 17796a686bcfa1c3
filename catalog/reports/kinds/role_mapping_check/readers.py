"""Reads the facts of an export as its warehouse does. Rows are parsed in parallel and never collected."""

import re
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
    try:
        frames = [
            *export.warehouse.read_grants(spark, folder, export),
            *export.warehouse.read_policies(spark, folder, export),
        ]
    except AnalysisException as error:
        if not is_path_missing(str(error)):
            raise
        name = _find_missing_name(folder, error)
        raise BadExports(f"The export {export.name} names files that are not there: {name}.") from error
    return reduce(DataFrame.union, frames)


def _find_missing_name(folder: str, error: AnalysisException) -> str:
    """Return the path in the folder, or the pattern, that Spark did not find."""
    path, start = (
        _SCHEME_PATTERN.sub("", unquote(text))
        for text in ((error.getMessageParameters() or {}).get("path", ""), f"{folder}/")
    )
    return path.removeprefix(start)
