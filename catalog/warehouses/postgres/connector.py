"""A PostgreSQL that can be reached: reads the tables of its export by the queries that `exports sql` prints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import BinaryIO

from psycopg import IsolationLevel, sql

from catalog.warehouses.connector import (
    AccessOutcome,
    Address,
    Connector,
    ConnectorProblem,
    FileOpener,
    ProgressReporter,
    Reading,
    Right,
)
from catalog.warehouses.postgres import changes, sessions
from catalog.warehouses.postgres.export_script import SCRIPT
from catalog.warehouses.postgres.sessions import Connection
from catalog.warehouses.postgres.statements import split_repair

#: Under which key of exports.json the files stand that have no grants.
_FILE_KEYS = {"roles": "members", "role_members": "members", "row_policies": "policies"}

_STATE = """
SELECT current_database(), current_user, current_setting('server_version'), pg_is_in_recovery(), role.rolsuper,
    role.rolcreaterole, role.rolbypassrls,
    EXISTS (SELECT FROM pg_roles AS opening WHERE opening.rolname IN ('pg_read_all_data', 'pg_write_all_data')
        AND pg_has_role(current_user, opening.oid, 'USAGE')),
    (SELECT count(*) FROM pg_class AS relation JOIN pg_namespace AS schema ON schema.oid = relation.relnamespace
     WHERE relation.relkind IN ('r', 'v', 'm', 'f', 'p')
         AND schema.nspname <> 'information_schema' AND schema.nspname NOT LIKE 'pg\\_%'
         AND has_schema_privilege(schema.oid, 'USAGE') AND has_table_privilege(relation.oid, 'SELECT')),
    (SELECT system_identifier FROM pg_control_system()) || '/'
        || (SELECT oid FROM pg_database WHERE datname = current_database())
FROM pg_roles AS role WHERE role.rolname = current_user
"""


class PostgresConnector(Connector):
    """PostgreSQL, by psycopg."""

    warehouse = SCRIPT.warehouse

    def describe_address(self, dsn: str) -> Address:
        """Return where a DSN leads."""
        return sessions.describe_address(dsn)

    def list_files(self) -> Mapping[str, Sequence[str]]:
        """Return the files by the keys of exports.json."""
        files: dict[str, list[str]] = {"grants": [], "members": [], "policies": []}
        for name in SCRIPT.list_queries():
            files[_FILE_KEYS.get(name, "grants")].append(_name_file(name))
        return files

    def read_tables(
        self, dsn: str, *, seconds: float, open_file: FileOpener, report_progress: ProgressReporter
    ) -> Reading:
        """Write the files in one transaction that can change nothing and sees one state."""
        end = monotonic() + seconds
        with sessions.open_session(dsn, seconds=seconds) as connection:
            connection.isolation_level, connection.read_only = IsolationLevel.REPEATABLE_READ, True
            sessions.set_limits(connection, seconds=seconds)
            reading = _read_state(connection)
            queries = SCRIPT.list_queries()
            row_counts = {}
            for position, (name, query) in enumerate(queries.items()):
                report_progress(name, position, len(queries))
                sessions.set_limits(connection, seconds=max(end - monotonic(), 0))
                with open_file(_name_file(name)) as file:
                    row_counts[name] = _copy_rows(connection, query, file)
            connection.rollback()
        return replace(reading, row_counts=row_counts)

    def split_repair(self, repair: str) -> list[str]:
        """Return the statements of a repair."""
        return split_repair(repair)

    def try_statements(self, dsn: str, statements: Sequence[str], *, identity: str, seconds: float) -> AccessOutcome:
        """Return what the statements would change."""
        return changes.try_statements(dsn, statements, identity=identity, seconds=seconds)

    def apply_statements(
        self,
        dsn: str,
        statements: Sequence[str],
        *,
        identity: str,
        seconds: float,
        expected: AccessOutcome,
        report_progress: ProgressReporter,
    ) -> None:
        """Run the statements and keep what they change, if it is what is expected."""
        changes.apply_statements(
            dsn, statements, identity=identity, seconds=seconds, expected=expected, report_progress=report_progress
        )


def _name_file(layout: str) -> str:
    return f"{layout}.csv"


def _copy_rows(connection: Connection, query: str, file: BinaryIO) -> int:
    """Write the rows of a query as psql would, and return their number."""
    statement = sql.SQL("COPY (\n{}\n) TO STDOUT WITH (FORMAT csv, HEADER)").format(sql.SQL(query))
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for part in copy:
                file.write(part)
        return max(cursor.rowcount, 0)


def _read_state(connection: Connection) -> Reading:
    """Return a reading without its rows. Raises ConnectorProblem where reading would mislead."""
    (row,) = connection.execute(_STATE).fetchall()
    database, role, version, is_replica, is_superuser, makes_roles, bypasses, reads_all, count, identity = row
    if is_replica:
        raise ConnectorProblem(
            f"The server of {database} is a read-only replica: it may be behind, so a snapshot of it could "
            "be older than it says. Name its primary."
        )
    if is_superuser:
        raise ConnectorProblem(
            f"{role} is a superuser. Everybody may read what a snapshot needs: make a role that may CONNECT, and no "
            "more."
        )
    return Reading(
        database=database,
        role=role,
        version=version,
        identity=identity,
        row_counts={},
        rights=_list_rights(makes_roles=makes_roles, bypasses=bypasses, reads_all=reads_all, readable_count=count),
    )


def _list_rights(*, makes_roles: bool, bypasses: bool, reads_all: bool, readable_count: int) -> list[Right]:
    return [
        Right("CONNECT", is_held=True, meaning="It gets into this database. It needs no other right."),
        Right(
            "The catalog of the system",
            is_held=True,
            meaning="Everybody may read it: owners, grants, roles, their members, default privileges, row security.",
        ),
        Right("Superuser", is_held=False, meaning="Passwords and other sessions stay hidden from it."),
        Right(
            "Other databases",
            is_held=False,
            meaning="Their grants are not seen from here: each database is a connection of its own.",
        ),
        Right(
            "SELECT on tables",
            is_held=readable_count > 0,
            meaning=f"It can read {readable_count:,} relations, and needs none."
            if readable_count
            else "It reads no rows.",
            is_odd=readable_count > 0,
        ),
        Right(
            "All data",
            is_held=reads_all,
            meaning="pg_read_all_data or pg_write_all_data opens every table to it: take it away."
            if reads_all
            else "It is in no role that opens every table.",
            is_odd=reads_all,
        ),
        Right(
            "BYPASSRLS",
            is_held=bypasses,
            meaning="It passes row security and need not: NOBYPASSRLS." if bypasses else "Row security binds it.",
            is_odd=bypasses,
        ),
        Right(
            "CREATEROLE",
            is_held=makes_roles,
            meaning="It can make and give roles and need not: NOCREATEROLE." if makes_roles else "It makes no roles.",
            is_odd=makes_roles,
        ),
    ]
