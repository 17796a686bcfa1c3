"""Classification of infrastructure failures, so that every interface answers the same failure the same way.

A database that is away, busy or unresponsive is 503 and worth another try. A full disk is 507, since a retry does not
help until there is space.
"""

import errno
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

import psycopg
from django.db import InterfaceError, OperationalError

from policies.engine.errors import MissingFact

#: Seconds after which a caller that was answered 503 may retry.
RETRY_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Outage:
    """A failure as reported to callers: HTTP status, stable code, title and sentence; `event` is for the log."""

    status: HTTPStatus
    code: str
    title: str
    detail: str
    event: str


UNAVAILABLE = Outage(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable",
    "Not available just now",
    "The facts cannot be had now: the database is away, busy or silent. Nothing is allowed meanwhile; ask again.",
    "facts_unavailable",
)
STORAGE_FULL = Outage(
    HTTPStatus.INSUFFICIENT_STORAGE,
    "storage_full",
    "The disk is full",
    "There is no room left on the disk, so nothing was stored. The administrators of this site have to make room.",
    "storage_full",
)


def find_outage(error: BaseException) -> Outage | None:
    """Return the outage that an error or one of its causes indicates; None for an error of another kind."""
    causes = list(_iterate_causes(error))
    if any(_is_storage_full(cause) for cause in causes):
        return STORAGE_FULL
    if any(_is_unavailable(cause) for cause in causes):
        return UNAVAILABLE
    return None


def _is_unavailable(error: BaseException) -> bool:
    match error:
        case OperationalError() | InterfaceError() | MissingFact() | psycopg.errors.ReadOnlySqlTransaction():
            return True
        case psycopg.OperationalError() | psycopg.InterfaceError():
            # Django translates what a query raises, and not what closing the cursor of a long one does.
            return True
        case psycopg.DatabaseError(sqlstate=None):
            # psycopg raises this very class, without a code, for a server that is gone.
            return type(error) is psycopg.DatabaseError
        case _:
            return False


def _iterate_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _is_storage_full(error: BaseException) -> bool:
    match error:
        case psycopg.errors.DiskFull():
            return True
        case sqlite3.Error():
            return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return True
        case _:
            return False
