"""Functions for Spark programs: a decision applied to a table. Needs PySpark, but not Django."""

from catalog.reports.spark.enforcement_map import read_as
from catalog.reports.spark.session import open_session

__all__ = ["open_session", "read_as"]
