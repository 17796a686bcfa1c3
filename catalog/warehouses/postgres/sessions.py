"""Transactions at a PostgreSQL, with a hard end, and the sentences about what goes wrong with them.

No message of the client is repeated, since it may hold the address that was given; of a server's messages the first
line is.
"""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any

import psycopg
from psycopg import conninfo, errors

from catalog.warehouses.connector import Address, ConnectorProblem

Connection = psycopg.Connection[tuple[Any, ...]]

_CONNECT_SECONDS = 10
_LOCK_SECONDS = 10
#: A server that is gone without a word is noticed after some 25 seconds, and not after two hours.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
#: Names are those of the system, whoever made what in the database; texts are the same whatever its settings.
_SESSION_SETTINGS = {
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": "60s",
}
_APPLICATION_NAME = "authzsite"

#: What a refusal to connect says, and the sentence about it.
_REFUSALS = (
    (r"password authentication failed|authentication failed", "The server {host} refuses the password of {role}."),
    (r"no password supplied", "The server {host} wants a password of {role}, and the DSN has none."),
    (r'database ".*" does not exist', "The server {host} has no database {database}."),
    (r'role ".*" does not exist', "The server {host} has no role {role}."),
    (r"is not permitted to log in", "The role {role} may not sign in at {host}."),
    (r"no pg_hba.conf entry|pg_hba.conf rejects", "The server {host} lets {role} not in from here (pg_hba.conf)."),
    (r"permission denied for database", "The role {role} lacks CONNECT on the database {database}."),
    (r"too many (clients|connections)|remaining connection slots", "The server {host} has no connection left."),
    (r"starting up|shutting down|not yet accepting|recovery mode", "The server {host} is starting or stopping."),
    (r"certificate|SSL|TLS", "There is no secure connection to {host}: see the certificates and sslmode."),
    (r"could not translate host name|[Nn]ame or service not known|resolve", "There is no server of the name {host}."),
)
_AWAY = "The server {host} does not answer."


def describe_address(dsn: str) -> Address:
    """Return where a DSN leads. Raises ConnectorProblem."""
    try:
        parts = conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        raise ConnectorProblem(
            "The DSN cannot be read: it has to be postgresql://ROLE:PASSWORD@HOST:PORT/DATABASE, or key=value pairs."
        ) from None
    role = str(parts.get("user") or "")
    host = str(parts.get("host") or parts.get("hostaddr") or "localhost")
    port = str(parts.get("port") or "5432")
    database = str(parts.get("dbname") or role)
    if not database:
        raise ConnectorProblem("The DSN names no database.")
    # A DSN that is spelt wrong may have its password where a host or a name should be.
    if not all(re.fullmatch(r"[\w.,:/*\[\]-]*", text) for text in (host, port)) or "://" in database:
        raise ConnectorProblem(
            "The DSN cannot be read: its host or its database is none. A sign in it may need %-codes."
        )
    return Address(f"{host}:{port}", database, role)


@contextmanager
def open_session(dsn: str, *, seconds: float) -> Iterator[Connection]:
    """Connect, with no transaction yet; after these seconds the connection is cut. Raises ConnectorProblem."""
    address = describe_address(dsn)
    settings = {"connect_timeout": _CONNECT_SECONDS, "application_name": _APPLICATION_NAME, **_KEEPALIVE}
    try:
        connection: Connection = psycopg.connect(dsn, **settings)  # type: ignore[arg-type]  # numbers and a text
    except psycopg.Error as error:
        raise ConnectorProblem(_describe_refusal(str(error), address)) from None
    # A server that hangs answers no timeout of its own: what ends it is the end of the connection.
    handle = socket.socket(fileno=os.dup(connection.fileno()))
    is_cut = Event()
    cut = Timer(seconds, _cut, [handle, is_cut])
    cut.daemon = True
    cut.start()
    try:
        yield connection
    except psycopg.Error as error:
        raise ConnectorProblem(_describe_failure(error, address, seconds=seconds, is_late=is_cut.is_set())) from None
    finally:
        cut.cancel()
        with suppress(psycopg.Error, OSError):
            connection.close()
        handle.close()


def set_limits(connection: Connection, *, seconds: float) -> None:
    """Set names, formats and timeouts for the transaction that is open."""
    settings = {**_SESSION_SETTINGS, "statement_timeout": f"{max(int(seconds * 1000), 1)}ms"}
    for name, value in settings.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))


def _cut(handle: socket.socket, is_cut: Event) -> None:
    # Before the connection ends: who waits for it asks why at once.
    is_cut.set()
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


def _describe_refusal(message: str, address: Address) -> str:
    pattern = next((sentence for words, sentence in _REFUSALS if re.search(words, message)), _AWAY)
    return _fill(pattern, address)


def _describe_failure(error: psycopg.Error, address: Address, *, seconds: float, is_late: bool) -> str:
    if is_late or isinstance(error, errors.QueryCanceled):
        return _fill("{host} took longer than the " + f"{seconds:.0f} seconds that it may take.", address)
    if isinstance(error, errors.LockNotAvailable):
        return _fill("{host} held a lock for longer than " + f"{_LOCK_SECONDS} seconds: try again later.", address)
    if error.sqlstate is None or isinstance(error, (errors.AdminShutdown, errors.CrashShutdown)):
        return _fill("The server {host} went away in the middle.", address)
    return f"{address.host}/{address.database} says: {describe_error(error)}."


def describe_error(error: psycopg.Error) -> str:
    """Return what the server says of a statement, with its code."""
    message = error.diag.message_primary or type(error).__name__
    return f"{message} ({error.sqlstate})"


def _fill(pattern: str, address: Address) -> str:
    role = address.role or "the role of the worker's account"
    return pattern.format(host=address.host, role=role, database=address.database)
