"""Accessed objects as columns: the name of each with the level of the access."""

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as f

from catalog.reports.kinds.warehouse_usage.history import OBJECTS_TYPE


def build_object(path: Column, level: int | Column, *, is_direct: Column | bool = True) -> Column:
    """Return one accessed object."""
    return f.struct(
        path.cast("string").alias("path"),
        (f.lit(level) if isinstance(level, int) else level).cast("int").alias("level"),
        (f.lit(is_direct) if isinstance(is_direct, bool) else is_direct).cast("boolean").alias("is_direct"),
    )


def unite_objects(arrays: Iterable[Column]) -> Column:
    """Return the objects of several arrays, of which each may be null."""
    empty = f.array().cast(OBJECTS_TYPE)
    return f.concat(*(f.coalesce(array.cast(OBJECTS_TYPE), empty) for array in arrays))


def list_object(path: Column, level: int | Column) -> Column:
    """Return an array of one object, empty where the path is null or empty."""
    return f.when(f.coalesce(path, f.lit("")) != "", f.array(build_object(path, level)))
