"""A history of access as plain CSV: used_at, user, object, privilege and, if it is known, role."""

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import NO_TEXT
from catalog.warehouses.files import csv_rows
from catalog.warehouses.files.headers import Header
from catalog.warehouses.grant_facts import find_privilege, privilege_level
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import list_object
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

_HEADER = Header(("used_at", "user", "object", "privilege"), "the plain history", further=("role",))


def read_plain_history(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, [_HEADER])
    level = privilege_level(export, find_privilege(export, "upper(trim(privilege))"))
    problem = f"""CASE WHEN coalesce(trim(object), '') = '' THEN 'It does not name the object.'
        WHEN {level} IS NULL THEN 'How far its privilege goes is not known; say it under "levels".' END"""
    reading = LineReading(
        used_at="used_at",
        person="`user`",
        role="role" if "role" in rows.columns else NO_TEXT,
        objects=list_object(split_name(export, "object"), level),
        problem=problem,
    )
    return build_history(rows, export, reading)
