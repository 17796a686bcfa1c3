"""The connector of PostgreSQL at a real server: it reads what the printed script exports, and says why it cannot."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import psycopg
import pytest
import servers

from catalog.warehouses.connector import ConnectorProblem, Reading
from catalog.warehouses.connectors import CONNECTORS
from catalog.warehouses.scripts import SCRIPTS

CONNECTOR = CONNECTORS["postgres"]
SECRET = "s3cr3t-of-the-reader"
SETUP = f"""
CREATE ROLE snoop LOGIN PASSWORD '{SECRET}'; CREATE ROLE keen LOGIN CREATEROLE BYPASSRLS; CREATE ROLE boss LOGIN SUPERUSER;
GRANT pg_read_all_data TO keen; CREATE SCHEMA shop; CREATE ROLE "a""; DROP ROLE snoop; --";
CREATE TABLE shop.orders (id int, note text); GRANT USAGE ON SCHEMA shop TO PUBLIC; GRANT SELECT ON shop.orders TO keen;
GRANT SELECT (note) ON shop.orders TO "a""; DROP ROLE snoop; --"; ALTER ROLE snoop SET search_path = shop;
CREATE VIEW shop.pg_class AS SELECT 1 AS oid;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO keen; CREATE POLICY own ON shop.orders USING (true);
"""  # noqa: E501 - statements


class Source:
    """A server that takes passwords of `snoop` and trusts everybody else."""

    def __init__(self, server: servers.Server) -> None:
        self.server = server
        self.port = urlsplit(server.address).port or 0
        self.run(SETUP)
        (folder,) = self.run("SHOW data_directory")
        rules = Path(folder[0]) / "pg_hba.conf"
        rules.write_text(f"host all snoop 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self.run("SELECT pg_reload_conf()")

    def run(self, statements: str) -> list[tuple[str, ...]]:
        """Run statements as a superuser, and return the rows of the last one."""
        with psycopg.connect(self.server.address, autocommit=True) as connection:
            cursor = connection.execute(statements.encode())
            return cursor.fetchall() if cursor.description else []

    def dsn(self, role: str = "keen", *, password: str = "", database: str = "postgres", port: int = 0) -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{role}{secret}@127.0.0.1:{port or self.port}/{database}"


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    with servers.postgres_server() as server:
        yield Source(server)


def read(dsn: str, *, seconds: float = 20) -> tuple[Reading, dict[str, str], list[tuple[str, int, int]]]:
    """Return what is read: about the source, the files, and the progress."""
    files: dict[str, BytesIO] = {}
    progress: list[tuple[str, int, int]] = []

    @contextmanager
    def open_file(name: str) -> Iterator[BinaryIO]:
        files[name] = BytesIO()
        yield files[name]

    reading = CONNECTOR.read_tables(
        dsn, seconds=seconds, open_file=open_file, report_progress=lambda *step: progress.append(step)
    )
    return reading, {name: file.getvalue().decode() for name, file in files.items()}, progress


def test_a_snapshot_has_the_rows_of_the_printed_script(source: Source, tmp_path: Path) -> None:
    program = servers.postgres_folder()
    assert program
    script = tmp_path / "export.sql"
    script.write_text(SCRIPTS["postgres"].render(), encoding="utf-8")
    address = ("-h", "127.0.0.1", "-p", str(source.port), "-U", "keen", "-d", "postgres")
    subprocess.run([program / "psql", "-X", "-q", *address, "-f", script], cwd=tmp_path, check=True)
    reading, files, progress = read(source.dsn("snoop", password=SECRET))
    assert files == {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.csv")}
    assert sorted(name for names in CONNECTOR.list_files().values() for name in names) == sorted(files)
    assert {name: count > 0 for name, count in reading.row_counts.items()} == dict.fromkeys(reading.row_counts, True)
    assert [(position, total) for _, position, total in progress] == [(number, 8) for number in range(8)]
    assert (reading.database, reading.role) == ("postgres", "snoop")


def test_the_rights_of_the_role_that_reads_are_said(source: Source) -> None:
    odd = {right.name: right.is_held for right in read(source.dsn("keen"))[0].rights if right.is_odd}
    assert odd == {"SELECT on tables": True, "All data": True, "BYPASSRLS": True, "CREATEROLE": True}
    modest = read(source.dsn("snoop", password=SECRET))[0]
    assert [right.name for right in modest.rights if right.is_odd] == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"role": "snoop", "password": "wrong"}, "refuses the password of snoop."),
        ({"role": "snoop"}, "wants a password of snoop, and the DSN has none."),
        ({"role": "nobody"}, "has no role nobody."),
        ({"database": "elsewhere"}, "has no database elsewhere."),
        ({"port": 1}, "The server 127.0.0.1:1 does not answer."),
        ({"role": "boss"}, "boss is a superuser."),
    ],
)
def test_each_refusal_is_one_sentence_without_a_secret(source: Source, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConnectorProblem) as caught:
        read(source.dsn(**changes))
    assert sentence in str(caught.value)
    assert "wrong" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "dsn",
    [f"postgresql://snoop:{SECRET}@[bad/db", f"password='{SECRET}", f"x={SECRET}", f"postgresql://snoop:a@{SECRET}!/x"],
)
def test_a_dsn_that_cannot_be_read_is_not_repeated(dsn: str) -> None:
    with pytest.raises(ConnectorProblem, match="cannot be read") as caught:
        CONNECTOR.describe_address(dsn)
    assert SECRET not in str(caught.value)


def test_what_is_locked_or_hangs_ends_in_time(source: Source) -> None:
    with psycopg.connect(source.server.address) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_policy IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ConnectorProblem, match="longer than the 1 seconds"):
            read(source.dsn(), seconds=1)

    def freeze(name: str, *_: int) -> None:
        if name == "roles":
            source.server.freeze()

    try:
        with pytest.raises(ConnectorProblem, match="longer than the 2 seconds"):
            CONNECTOR.read_tables(source.dsn(), seconds=2, open_file=lambda _: open_nothing(), report_progress=freeze)
    finally:
        source.server.thaw()


@contextmanager
def open_nothing() -> Iterator[BinaryIO]:
    yield BytesIO()


def test_a_server_that_ends_the_session_is_said(source: Source) -> None:
    def end(name: str, *_: int) -> None:
        if name == "roles":
            source.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'authzsite'")

    with pytest.raises(ConnectorProblem, match="went away in the middle"):
        CONNECTOR.read_tables(source.dsn(), seconds=20, open_file=lambda _: open_nothing(), report_progress=end)


def test_a_catalog_that_the_role_may_not_read_fails_the_snapshot(source: Source) -> None:
    source.run("REVOKE SELECT ON pg_catalog.pg_auth_members FROM PUBLIC")
    try:
        with pytest.raises(ConnectorProblem, match="permission denied for table pg_auth_members"):
            read(source.dsn("snoop", password=SECRET))
    finally:
        source.run("GRANT SELECT ON pg_catalog.pg_auth_members TO PUBLIC")
