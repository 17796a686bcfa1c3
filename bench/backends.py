"""Processor time of this process and of the database, which other programs do not lengthen."""

import time

from django.db import connection

from bench import processes


def list_backends() -> list[int]:
    """Return the processes of PostgreSQL on this machine that answer programs; none for SQLite, which has none."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()"
        )
        return [number for (number,) in cursor.fetchall()]


def worked_ms(backends: list[int]) -> float:
    """Return the milliseconds that this process and those of the database took so far."""
    return (time.process_time() + sum(map(processes.worked_seconds, backends))) * 1000
