"""How long a statement may take: of a web process, and of workers and commands."""

from typing import Any

from policies import deadlines

#: Seconds that this side waits longer than PostgreSQL works, so that the server's own refusal comes first.
MARGIN_SECONDS = 1


def limit_statements(database: dict[str, Any], seconds: int) -> None:
    """Have PostgreSQL end what takes longer, on connections that are made from now on; 0 sets no limit.

    Doors answer 503 then, and the thread serves somebody else. A server that says nothing at all is not waited for much
    longer either. SQLite knows no limit.
    """
    limit_waits(seconds)
    if seconds and database["ENGINE"] == "authzsite.postgresql":
        options = database["OPTIONS"]
        options["options"] = f"{options.get('options', '')} -c statement_timeout={seconds}s".strip()


def limit_waits(seconds: int) -> None:
    """Bound every wait for the database on this side; 0 sets no limit."""
    deadlines.set_wait_limit(seconds + MARGIN_SECONDS if seconds else None)
