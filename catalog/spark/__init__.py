"""What needs PySpark, and nothing of Django: it runs under spark-submit as it stands."""

from catalog.spark.enforcement import read_as

__all__ = ["read_as"]
