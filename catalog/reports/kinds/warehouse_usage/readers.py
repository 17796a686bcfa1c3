"""Reads the histories of access of exports as their warehouses do."""

from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.spark.error_sentences import is_path_missing
from catalog.warehouses.warehouse import BadExports, Export


def read_history(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return the history of an export. Raises BadExports."""
    histories = []
    for pattern in export.usage:
        try:
            histories.append(export.warehouse.read_history(spark, folder, export, pattern))
        except AnalysisException as error:
            if not is_path_missing(str(error)):
                raise
            raise BadExports(f"The export {export.name} names files that are not there: {pattern}.") from error
    return reduce(DataFrame.union, histories)
