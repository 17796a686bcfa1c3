"""Reads the facts of all exports, each by the reader of its form. Rows are parsed in parallel and never collected."""

from collections.abc import Mapping, Sequence
from functools import reduce

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


def read_facts(spark: SparkSession, folder: str, exports: Sequence[Export]) -> DataFrame:
    """Return the facts of all files of the exports. Raises BadExports when a file is missing or lacks a column."""
    frames: list[DataFrame] = []
    for export in exports:
        try:
            frames += FORM_READERS[export.form](spark, folder, export)
            frames += policies.read_policies(spark, folder, export)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            raise BadExports(f"The export {export.name} names files that are not there.") from error
    return reduce(DataFrame.union, frames)
