"""Functions for Spark programs: a decision applied to a table. Needs PySpark, but not Django."""

from catalog.reports.spark.session import open_session
from catalog.spark.enforcement_map import read_as

__all__ = ["open_session", "read_as"]
