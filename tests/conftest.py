"""Plumbing of all tests: the database, the browser, and what happens where a tool is missing."""

import gc
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import caches
import pytest
import tools
from pytest_django import DjangoDbBlocker

from tests import database_templates
from tests.workers import WORKER

# Playwright keeps an event loop in the thread of the test, which makes Django take the test for asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
# Workers of tests have folders of their own; all use the archive of `make test`, if there is one.
os.environ.setdefault("SPARK_MAKES_ARCHIVE", "false")
caches.set_spark_variables(os.environ)

NEEDED = {"browser": "Chromium", "redis": "Redis", "spark": "Java"}


def pytest_configure() -> None:
    """Serve static files from where they lie; that they can be collected has a test of its own."""
    from django.conf import settings
    from django.contrib.auth import hashers

    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = True
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    # Django has read the environment before this file.
    settings.SPARK_MAKES_ARCHIVE, settings.SPARK_CLASSES_DIR = False, os.environ["SPARK_CLASSES_DIR"]
    # Tests come from one address, and faster than people; what is counted has tests of its own.
    settings.CALLS_PER_TOKEN = settings.CALLS_PER_ADDRESS = settings.SIGN_INS_PER_ADDRESS = 0
    # The real cost of a password would be a good part of the time of the suite; nobody guesses these.
    hasher = hashers.Argon2PasswordHasher
    hasher.time_cost, hasher.memory_cost, hasher.parallelism = 1, 8, 1
    empty_tables_by_deleting()


def empty_tables_by_deleting() -> None:
    """Let PostgreSQL empty the few rows of tests by DELETE: TRUNCATE makes new files for each table and index.

    As with TRUNCATE no trigger runs and no order of the tables matters.
    """
    from django.conf import settings

    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
        return
    from django.db.backends.postgresql.operations import DatabaseOperations

    truncate = DatabaseOperations.sql_flush

    def delete(
        operations: Any,
        style: Any,
        tables: Sequence[str],
        *,
        reset_sequences: bool = False,
        allow_cascade: bool = False,
    ) -> list[str]:
        if reset_sequences or not tables:
            return truncate(operations, style, tables, reset_sequences=reset_sequences, allow_cascade=allow_cascade)
        deletions = [f"DELETE FROM {operations.quote_name(table)}" for table in tables]
        return ["SET LOCAL session_replication_role = replica", *deletions]

    DatabaseOperations.sql_flush = delete  # type: ignore[method-assign, assignment]  # `operations` is its self


def pytest_collection_finish() -> None:
    """Let the collector of cycles pass over the program and its tests, which stay, and come by less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose tool is missing, naming the command that installs it; where CI is set that is a failure."""
    needed = {tool for marker, tool in NEEDED.items() if item.get_closest_marker(marker)}
    for tool in tools.missing() if needed else ():
        if tool.name in needed:
            sentence = f"{tool.name} is missing; as root: {' '.join(tools.command_for([tool]))}"
            if tools.is_ci():
                pytest.fail(sentence, pytrace=False)
            pytest.skip(sentence)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Keep SQLite in a file: WAL, waiting writers and several threads are then what they are in an installation.

    On PostgreSQL each place has a database of its own.
    """
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database.setdefault("TEST", {})["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    elif WORKER:
        database.setdefault("TEST", {})["NAME"] = f"test_{database['NAME']}_{WORKER}"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """A database with all tables, copied from a template.

    What a request that its browser left behind still holds is ended first: PostgreSQL drops no database that is in use.
    """
    from django.db import connection

    own_name = connection.settings_dict["NAME"]
    with django_db_blocker.unblock():
        database_templates.connect_to_copy(connection)
    yield
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            connection.close()
            with connection._nodb_cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
                    [connection.settings_dict["NAME"]],
                )
        connection.creation.destroy_test_db(own_name, verbosity=0)


@pytest.fixture(scope="module")
def module_transaction(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[bool]:
    """A transaction around the tests of a module, for what they all start from; True where there is one.

    A fixture of a module that asks for it may write what each test then finds, and what is there again for the next
    one. Tests that commit have no transaction around them, so what they start from has to be written for each.
    """
    from django.db import transaction

    if any(has_commits(item) for item in request.session.items if item.path == request.path):
        yield False
        return
    around = transaction.atomic()
    # As for the block around each test: what happens inside must not take it for a transaction of its own.
    around._from_testcase = True  # type: ignore[attr-defined]  # what Django's TestCase sets
    with django_db_blocker.unblock(), around:
        yield True
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def program_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A VAR_DIR for the tests of a module, whose program makes one report after the other as that of a worker does."""
    from catalog.reports.run import spark_pool

    folder = tmp_path_factory.mktemp("var")
    yield folder
    spark_pool.end_idle_processes()
    assert [path for path in folder.glob("spark/runs/*") if path.is_dir()] == []


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Take away the variable that names the test, where tests share a program: it makes reports of one environment."""
    if "program_folder" in pyfuncitem.fixturenames:
        os.environ.pop("PYTEST_CURRENT_TEST", None)


def has_commits(item: pytest.Item) -> bool:
    """Return whether a test commits what it writes, so that the tables are emptied after it."""
    marker = item.get_closest_marker("django_db")
    names = set(getattr(item, "fixturenames", ()))
    return bool(names & {"transactional_db", "live_server"} or (marker and marker.kwargs.get("transaction")))


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """Let a test begin with an empty memory: the database it had been compared with may have been emptied since."""
    from policies.pdp import thread_connection
    from policies.propagation.invalidating_cache import process_cache

    process_cache.clear()
    # Since a browser was started, an event loop runs in this thread, and Django has another connection for it.
    thread_connection._thread.connection = None


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    """Debian's Chromium; it refuses to run as root unless its sandbox is off."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {**browser_type_launch_args, "executable_path": tools.find_browser(), "args": arguments}
