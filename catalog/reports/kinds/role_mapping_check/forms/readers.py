"""Reads the facts of an export by the reader of its form. Rows are parsed in parallel and never collected."""

import re
from collections.abc import Mapping
from functools import reduce
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms import (
    bigquery,
    databricks,
    plain,
    policies,
    postgres,
    redshift,
    snowflake,
    trino,
)
from catalog.reports.kinds.role_mapping_check.forms.row_facts import FormReader
from catalog.reports.spark.error_sentences import is_path_missing

#: The reader of each form: returns frames with FACT_COLUMNS, in which each line of each file gives at least one fact.
FORM_READERS: Mapping[str, FormReader] = {
    "snowflake": snowflake.read_export,
    "bigquery": bigquery.read_export,
    "databricks": databricks.read_export,
    "redshift": redshift.read_export,
    "postgres": postgres.read_export,
    "trino": trino.read_export,
    "csv": plain.read_export,
}


#: The beginning of an address, of which Spark writes more or fewer slashes than others do.
_SCHEME_PATTERN = re.compile("^[a-z0-9]+:/*")


def read_facts(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return the facts of all files of an export. Raises BadExports when a file is missing or lacks a column."""
    try:
        frames = [
            *FORM_READERS[export.form](spark, folder, export),
            *policies.read_policies(spark, folder, export),
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
