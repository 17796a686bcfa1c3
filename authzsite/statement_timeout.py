"""Time limits of database statements, for web processes and for workers and commands."""

from typing import Any

from policies import deadlines

#: Seconds by which the client's limit exceeds PostgreSQL's, so that the server's own error comes first.
MARGIN_SECONDS = 1


def limit_statements(database: dict[str, Any], seconds: int) -> None:
    """Have PostgreSQL abort longer statements, on connections made from now on; 0 sets no limit.

    Interfaces then answer 503 and the thread is free again. The wait for a server that does not respond at all is
    limited too. SQLite has no such limit.
    """
    limit_waits(seconds)
    if seconds and database["ENGINE"] == "authzsite.postgresql":
        options = database["OPTIONS"]
        options["options"] = f"{options.get('options', '')} -c statement_timeout={seconds}s".strip()


def limit_waits(seconds: int) -> None:
    """Limit every wait for the database in this process, to `seconds` and a margin; 0 sets no limit."""
    deadlines.set_wait_limit(seconds + MARGIN_SECONDS if seconds else None)
