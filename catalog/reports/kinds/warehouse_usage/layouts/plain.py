"""A history of access as plain CSV: used_at, user, object, privilege and, if it is known, role."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import csv_rows
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import find_privilege, privilege_level
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts.objects import list_object


def read_plain_history(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, ("used_at", "user", "object", "privilege"))
    level = privilege_level(export, find_privilege(export, "upper(trim(privilege))"))
    reading = LineReading(
        used_at=f.col("used_at"),
        person=f.col("user"),
        role=f.col("role") if "role" in rows.columns else f.lit(None).cast("string"),
        objects=list_object(split_name(export, f.col("object")), level),
        problem=f.when(f.coalesce(f.trim("object"), f.lit("")) == "", "It does not name the object.").when(
            level.isNull(), 'How far its privilege goes is not known; say it under "levels".'
        ),
    )
    return build_history(rows, export, reading)
