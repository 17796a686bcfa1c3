"""Statements at a PostgreSQL: all in one transaction, which is kept only if it changes for everybody what was expected.

One set at a time changes a database: the transaction holds an advisory lock, and compares what everybody may do before
and after. A warning of the server is a failure, since it says that a statement has not done what it says.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from time import monotonic

import psycopg
from psycopg import errors

from catalog.warehouses.connector import (
    AccessFact,
    AccessOutcome,
    ConnectorProblem,
    ProgressReporter,
    StatementRefused,
)
from catalog.warehouses.postgres import sessions
from catalog.warehouses.postgres.sessions import Connection
from catalog.warehouses.postgres.statements import split_repair

#: The advisory lock of whoever changes access from here.
_LOCK = 0x6175747A
_IDENTITY = """
SELECT (SELECT system_identifier FROM pg_control_system()) || '/'
    || (SELECT oid FROM pg_database WHERE datname = current_database()), pg_is_in_recovery()
"""
_MAX_NAMED = 3


def read_access(connection: Connection) -> frozenset[AccessFact]:
    """Return who may do what now, in the transaction that is open."""
    query = files(__package__).joinpath("access.sql").read_bytes()
    return frozenset(AccessFact(*row) for row in connection.execute(query).fetchall())


def try_statements(dsn: str, statements: Sequence[str], *, identity: str, seconds: float) -> AccessOutcome:
    """Return what the statements change for everybody, and take it back."""
    with _open_change(dsn, identity=identity, seconds=seconds) as connection:
        difference = _run(connection, statements, lambda *_: None)
        connection.rollback()
    return difference


def apply_statements(
    dsn: str,
    statements: Sequence[str],
    *,
    identity: str,
    seconds: float,
    expected: AccessOutcome,
    report_progress: ProgressReporter,
) -> None:
    """Run the statements, and keep what they change if it is what is expected."""
    is_ending = False
    try:
        with _open_change(dsn, identity=identity, seconds=seconds) as connection:
            difference = _run(connection, statements, report_progress)
            _check_expected(difference, expected)
            is_ending = True
            connection.commit()
            is_ending = False
    except ConnectorProblem as problem:
        if is_ending:
            # Whether the server still took the COMMIT is not known until it is asked again.
            raise ConnectorProblem(
                f"{problem} It went at the very end, so it is not known whether the statements are in force: take a "
                "snapshot before anything else."
            ) from None
        raise


@contextmanager
def _open_change(dsn: str, *, identity: str, seconds: float) -> Iterator[Connection]:
    """Open a transaction that may change the place of this identity. Raises ConnectorProblem."""
    end = monotonic() + seconds
    with sessions.open_session(dsn, seconds=seconds) as connection:
        sessions.set_limits(connection, seconds=max(end - monotonic(), 0))
        ((found_identity, is_replica),) = connection.execute(_IDENTITY).fetchall()
        if is_replica:
            raise ConnectorProblem("The server is a read-only replica: nothing can be changed there. Name its primary.")
        if found_identity != identity:
            raise ConnectorProblem(
                "The DSN that applies leads to another database than the snapshot is of: nothing was changed."
            )
        ((is_alone,),) = connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchall()
        if not is_alone:
            raise ConnectorProblem("Other repairs are being applied to this database: try again when that is done.")
        yield connection


def _run(connection: Connection, statements: Sequence[str], report_progress: ProgressReporter) -> AccessOutcome:
    """Run the statements and return what they change. Raises StatementRefused."""
    warnings: list[str] = []
    connection.add_notice_handler(
        lambda notice: (
            warnings.append(notice.message_primary or "") if notice.severity_nonlocalized == "WARNING" else None
        )
    )
    access = read_access(connection)
    for position, statement in enumerate(statements):
        report_progress(statement, position, len(statements))
        # Whoever stored them: what is run is what the dialect could have written.
        if split_repair(statement) != [statement]:
            raise StatementRefused(f"This is no statement of a repair: {statement!r}.", position)
        try:
            connection.execute(statement.encode())
        except (errors.QueryCanceled, errors.LockNotAvailable):
            raise
        except psycopg.Error as error:
            if error.sqlstate is None or isinstance(error, errors.OperationalError):
                raise
            raise StatementRefused(f"{statement} says: {sessions.describe_error(error)}.", position) from None
        if warnings:
            raise StatementRefused(f"{statement} does not do what it says: {warnings[0]}.", position)
    return compare_access(access, read_access(connection))


def compare_access(before: frozenset[AccessFact], after: frozenset[AccessFact]) -> AccessOutcome:
    """Return the difference of two states."""
    return AccessOutcome(tuple(sorted(after - before)), tuple(sorted(before - after)))


def _check_expected(difference: AccessOutcome, expected: AccessOutcome) -> None:
    """Raise ConnectorProblem where the statements change something else for somebody."""
    odd = [
        f"{fact.holder} would {verb} {fact.privilege} on {fact.on}"
        for verb, facts, expected_facts in (
            ("gain", difference.gained, expected.gained),
            ("lose", difference.lost, expected.lost),
        )
        for fact in sorted(set(facts) ^ set(expected_facts))
    ]
    if odd:
        more = f" (and {len(odd) - _MAX_NAMED} more)" if len(odd) > _MAX_NAMED else ""
        raise ConnectorProblem(
            f"The source has changed since the preview, which differs in this: {'; '.join(odd[:_MAX_NAMED])}{more}. "
            "Nothing was changed: preview it again."
        )
