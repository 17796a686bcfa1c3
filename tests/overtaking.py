"""Writes that overtake a reader: between its statement and its use of the rows."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from django.db import connection


def overtake(part: str, write: Callable[[], None]) -> AbstractContextManager[None]:
    """In the block, another thread writes after each statement with this part, before its rows are used."""

    def execute_and_write(execute: Any, sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        if part in sql:
            writer = threading.Thread(target=write)
            writer.start()
            writer.join()
        return found

    return connection.execute_wrapper(execute_and_write)
