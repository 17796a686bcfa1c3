"""Lines that hold one JSON object: Spark reads the first one of a text, and leaves out what follows it.

All arguments and results are expressions of SQL.
"""

from catalog.sql_text import quote_text

_LAST_COMMA_PATTERN = r",\s*$"
#: Where a second object may begin, if not in a text.
_SECOND_OBJECT_PATTERN = r"\}\s*,?\s*\{"


def parse_object(text: str, schema: str) -> str:
    """Return the object of a text as a struct of the fields of a schema, null where it holds none or several."""
    objects = f"from_json({_list_objects(text)}, {quote_text(f'array<struct<{schema}>>')})"
    # Read once: what stands twice in an expression may be computed twice.
    return f"get(get(filter(array({objects}), found -> size(found) = 1), 0), 0)"


def holds_several(text: str) -> str:
    """Return whether another object follows the first one; quick where no text looks like it."""
    count = f"coalesce(size(from_json({_list_objects(text)}, 'array<string>')), 0)"
    return f"({text} RLIKE {quote_text(_SECOND_OBJECT_PATTERN)} AND {count} <> 1)"


def _list_objects(text: str) -> str:
    """Return the text of a list, of which Spark reads every object; a comma may stand behind the last one."""
    return f"concat('[', regexp_replace({text}, {quote_text(_LAST_COMMA_PATTERN)}, ''), ']')"
