"""For Spark programs: a decision applied to a table. Needs PySpark, and nothing of Django."""

from catalog.reports.spark.enforcement_map import read_as
from catalog.reports.spark.session import session

__all__ = ["read_as", "session"]
