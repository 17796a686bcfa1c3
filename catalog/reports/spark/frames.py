"""Tables of Spark as tables of Arrow, in any version."""

import pyarrow as pa
from pyspark.sql import DataFrame

#: The types of columns of jobs: Spark's name -> Arrow's type.
_ARROW_TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}


def collect_table(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame, in its order."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    # PySpark 3.5 has no such method.
    schema = pa.schema([(field.name, _ARROW_TYPES[field.dataType.simpleString()]) for field in frame.schema.fields])
    return pa.Table.from_pylist([row.asDict() for row in frame.collect()], schema=schema)
