"""Names and texts in expressions of SQL.

A text of SQL in `selectExpr` is one question to Java, and `functions.expr` of one is four. Functions of PySpark are
four for each part of an expression, and so is each name of a column that `select` is given.

Constants of the program stand in such texts as they are; names and texts of users are quoted.
"""

from collections.abc import Iterable

#: A text that is null.
NO_TEXT = "CAST(NULL AS string)"


def quote_name(name: str) -> str:
    """Return the name of a column as SQL writes it; no expression may contain one with `${`, see `quote_text`."""
    return "`" + name.replace("`", "``") + "`"


def quote_text(text: str) -> str:
    """Return a text as SQL writes it."""
    # Spark puts values of settings in place of ${name} wherever it stands.
    escaped_text = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped_text}'"


def list_texts(texts: Iterable[str]) -> str:
    """Return texts, at least one, as what follows IN."""
    return f"({', '.join(map(quote_text, texts))})"


def is_among(expression: str, texts: Iterable[str]) -> str:
    """Return a condition: an expression is one of these texts, of which there may be none."""
    values = list(texts)
    return f"{expression} IN {list_texts(values)}" if values else "false"
