"""Names and texts in expressions of SQL.

What a plan says in one expression is one question to Java; in functions of PySpark it is four for each part of it.
"""

from collections.abc import Iterable


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
