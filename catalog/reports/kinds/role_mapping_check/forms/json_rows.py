"""Lines that hold one JSON object: Spark reads the first one of a text, and leaves out what follows it."""

from pyspark.sql import Column
from pyspark.sql import functions as f

#: Where a second object may begin, if not in a text.
_SECOND_OBJECT_PATTERN = r"\}\s*,?\s*\{"


def parse_object(column: str, schema: str) -> Column:
    """Return the object of a text as a struct of the fields of a schema, null where it holds none or several."""
    objects = f.from_json(_list_objects(column), f"array<struct<{schema}>>")
    # Read once: what stands twice in an expression may be computed twice.
    single = f.get(f.filter(f.array(objects), lambda values: f.size(values) == 1), f.lit(0))
    return f.get(single, f.lit(0))


def holds_several(column: str) -> Column:
    """Whether another object follows the first one; quick where no text looks like it."""
    count = f.size(f.from_json(_list_objects(column), "array<string>"))
    return f.rlike(f.col(column), f.lit(_SECOND_OBJECT_PATTERN)) & (f.coalesce(count, f.lit(0)) != 1)


def _list_objects(column: str) -> Column:
    """Return the text of a list, of which Spark reads every object; a comma may stand behind the last one."""
    return f.concat(f.lit("["), f.regexp_replace(column, r",\s*$", ""), f.lit("]"))
