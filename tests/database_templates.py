"""Databases that others are copied from: migrating and bootstrapping take seconds, and end alike each time.

A template is known by the content of all that it is made from, so a change of these files makes another one. Those
that are files lie in the user's cache folder, for all trees of this machine; on PostgreSQL the template of the tests is
a database of their cluster. Processes that start together make a template once.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import caches

PROJECT = Path(__file__).resolve().parent.parent
#: What decides the tables, triggers and rows that migrations leave behind.
OF_TABLES = (
    "requirements-dev.lock",
    "authzsite/settings/*.py",
    "authzsite/postgresql/*.py",
    "*/apps.py",
    "*/migrations/*.py",
    "*/models/**/*.py",
    "tests/database_templates.py",
)
#: What an installation is set up by: beside the tables, all that a bootstrap may run or read.
OF_INSTALLATIONS = (
    *OF_TABLES,
    *("authzsite/**/*.py", "catalog/**/*.py", "policies/**/*.py", "policies/**/*.toml", "policies/fixtures/*.json"),
    "tests/clients/installations.py",
)
#: A template that nobody has used for so long is of a tree that is gone.
KEPT_SECONDS = 7 * 24 * 3600
FILE = "db.sqlite3"


@cache
def hash_sources(*patterns: str) -> str:
    """Return a name of the content of these files of the project."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in PROJECT.glob(pattern)}):
        content = path.read_bytes()
        found.update(f"{path.relative_to(PROJECT)}:{len(content)}:".encode() + content)
    return found.hexdigest()[:20]


def provide_folder(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of a template; `make` fills a new one where there is none."""
    folder = caches.find_caches() / "databases" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / "lock"):
        if not folder.exists():
            _remove_unused(folder.parent)
            made = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
            make(made)
            made.rename(folder)
        os.utime(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process makes a template; one that ends in the middle leaves no lock behind."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_unused(above: Path) -> None:
    now = time.time()
    for folder in above.iterdir():
        if folder.is_dir() and now - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder)


def close_file(file: Path) -> None:
    """Move into the file what SQLite still keeps beside it, so that a copy of the file is whole."""
    with closing(sqlite3.connect(file)) as link:
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def connect_to_copy(connection: Any) -> None:
    """Have Django's connection use a new test database with all tables, under the name that its settings give it."""
    make_copy = _copy_database if connection.vendor == "postgresql" else _copy_file
    make_copy(connection, connection.creation._get_test_db_name())
    connection.ensure_connection()


def _copy_file(connection: Any, name: str) -> None:
    def make(folder: Path) -> None:
        _make_by_migrations(connection, str(folder / FILE))
        close_file(folder / FILE)

    shutil.copyfile(provide_folder(f"tables-{hash_sources(*OF_TABLES)}", make) / FILE, name)
    _set_name(connection, name)


def _copy_database(connection: Any, name: str) -> None:
    """Nobody may be connected to a database that is copied, so connections to a template are not allowed."""
    template, making = f"tables_{hash_sources(*OF_TABLES)}", f"making_{name}"
    quote = connection.ops.quote_name
    with connection._nodb_cursor() as cursor:
        # This connection keeps the lock, and gives it up when it is closed, however this ends.
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [template])
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [template])
        if cursor.fetchone() is None:
            cursor.execute(f"DROP DATABASE IF EXISTS {quote(making)}")
            _make_by_migrations(connection, making)
            cursor.execute(f"ALTER DATABASE {quote(making)} ALLOW_CONNECTIONS false")
            cursor.execute(f"ALTER DATABASE {quote(making)} RENAME TO {quote(template)}")
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [template])
        cursor.execute(f"DROP DATABASE IF EXISTS {quote(name)}")
        cursor.execute(f"CREATE DATABASE {quote(name)} TEMPLATE {quote(template)}")
    _set_name(connection, name)


def _make_by_migrations(connection: Any, name: str) -> None:
    """Have Django make a test database of this name, and leave it."""
    own_name, options = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    name_of_tests = options["NAME"]
    options["NAME"] = name
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        options["NAME"] = name_of_tests
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()
        _set_name(connection, own_name)


def _set_name(connection: Any, name: str) -> None:
    """Have it connect to the database of this name from now on."""
    from django.conf import settings

    connection.close()
    settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = name
