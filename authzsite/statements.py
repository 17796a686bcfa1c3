"""How long a statement of a web process may take."""

from typing import Any


def limit(database: dict[str, Any], seconds: int) -> None:
    """Have PostgreSQL end what takes longer, on connections that are made from now on; 0 sets no limit.

    Doors answer 503 then, and the thread serves somebody else. Only the web process has the limit: exports and
    migrations take what they take. SQLite knows none.
    """
    if seconds and database["ENGINE"] == "django.db.backends.postgresql":
        options = database["OPTIONS"]
        options["options"] = f"{options.get('options', '')} -c statement_timeout={seconds}s".strip()
