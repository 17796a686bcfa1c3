"""The layout of the history of each form of an export."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.warehouse_usage.layouts import (
    bigquery,
    databricks,
    plain,
    postgres,
    redshift,
    snowflake,
    trino,
)
from catalog.reports.spark.error_sentences import is_path_missing

_READERS: Mapping[str, Callable[[SparkSession, str, Export, str], DataFrame]] = {
    "snowflake": snowflake.read_access_history,
    "bigquery": bigquery.read_audit_log,
    "databricks": databricks.read_system_tables,
    "redshift": redshift.read_query_details,
    "postgres": postgres.read_audit_entries,
    "trino": trino.read_query_events,
    "csv": plain.read_plain_history,
}

#: Forms whose layouts name the tables that a view reads, and not the view.
FORMS_WITHOUT_VIEWS = frozenset({"databricks", "redshift"})


def read_histories(spark: SparkSession, folder: str, exports: Sequence[Export]) -> list[DataFrame]:
    """Return the histories of the exports, one for each name of files. Raises BadExports."""
    histories = []
    for export in exports:
        for pattern in export.usage:
            try:
                histories.append(_READERS[export.form](spark, folder, export, pattern))
            except AnalysisException as error:
                if not is_path_missing(str(error)):
                    raise
                raise BadExports(f"The export {export.name} names files that are not there: {pattern}.") from error
    return histories
