"""Triggers that note which entities and tables a write changes: no write can forget it, and it commits with it.

On PostgreSQL one statement notes all its entities at once, sorted, so that two writers do not wait for each other in a
circle. Of a table, each transaction has a row of its own, so that its writers do not wait at all.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from django.apps import AppConfig
from django.apps import apps as all_apps
from django.apps.registry import Apps
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

#: Tables whose changed entities are noted, the column with the number of the entity, and the name of their triggers.
_ENTITY_TABLES: Final = (("catalog_entity", "id", "entity"), ("catalog_facet", "entity_id", "facet"))

_USER_TABLE: Final = "policies_user"

#: Tables of which only is noted that they changed: what snapshots tell of people and hierarchies is in them.
NOTED_TABLES: Final = (
    _USER_TABLE,
    "auth_group",
    "policies_groupprofile",
    "policies_membership",
    "policies_role",
    "policies_roleassignment",
    "catalog_ancestry",
)

#: Events with the rows that they change, and the name of the trigger.
_NOTED_ROWS: Final = (
    ("INSERT", "NEW", "inserted"),
    ("UPDATE", "NEW", "updated"),
    ("UPDATE", "OLD", "replaced"),
    ("DELETE", "OLD", "deleted"),
)

_ENTITY_FUNCTION = """
CREATE OR REPLACE FUNCTION catalog_note_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE present bigint := pg_current_xact_id()::text::bigint;
BEGIN
    INSERT INTO catalog_changemarker (entity, marker)
    SELECT DISTINCT touched.{column}, present FROM touched
    WHERE NOT EXISTS (
        SELECT FROM catalog_changemarker noted WHERE noted.entity = touched.{column} AND noted.marker = present
    )
    ORDER BY 1
    ON CONFLICT (entity) DO UPDATE SET marker = excluded.marker;
    RETURN NULL;
END $$
"""

_TABLE_FUNCTION = """
CREATE OR REPLACE FUNCTION catalog_note_table() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO catalog_tablemarker (name, marker)
    VALUES (TG_TABLE_NAME, pg_current_xact_id()::text::bigint) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$
"""

#: Who signs in changes a user, but nothing that snapshots tell.
_USER_FUNCTION = """
CREATE OR REPLACE FUNCTION catalog_note_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM fresh FULL JOIN former USING (id)
        WHERE to_jsonb(fresh) - 'last_login' IS DISTINCT FROM to_jsonb(former) - 'last_login'
    ) THEN
        INSERT INTO catalog_tablemarker (name, marker)
        VALUES (TG_TABLE_NAME, pg_current_xact_id()::text::bigint) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$
"""

#: Who empties a table at once names no rows, so the next snapshot is a full one.
_EMPTYING_FUNCTION = """
CREATE OR REPLACE FUNCTION catalog_forget_bases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN DELETE FROM catalog_snapshotbase; RETURN NULL; END $$
"""

_POSTGRESQL_FUNCTIONS = (
    *(_ENTITY_FUNCTION.format(name=name, column=column) for _, column, name in _ENTITY_TABLES),
    _TABLE_FUNCTION,
    _USER_FUNCTION,
    _EMPTYING_FUNCTION,
)

_SQLITE_MARKER = "COALESCE((SELECT change_seq + 1 FROM policies_policyversion), 1)"


class _Trigger(NamedTuple):
    """A trigger: its name, its table, and what follows these in the statement that creates it."""

    name: str
    table: str
    event: str
    action: str


def _list_triggers(vendor: str) -> list[_Trigger]:
    """Return every trigger in a kind of database."""
    return list(_list_postgresql_triggers() if vendor == "postgresql" else _list_sqlite_triggers())


def _list_postgresql_triggers() -> Iterator[_Trigger]:
    call = "FOR EACH STATEMENT EXECUTE FUNCTION"
    for table, _, name in _ENTITY_TABLES:
        for event, rows, suffix in _NOTED_ROWS:
            action = f"REFERENCING {rows} TABLE AS touched {call} catalog_note_{name}()"
            yield _Trigger(f"catalog_{name}_{suffix}", table, event, action)
        yield _Trigger(f"catalog_{name}_emptied", table, "TRUNCATE", f"{call} catalog_forget_bases()")
    for table in NOTED_TABLES:
        event = "INSERT OR DELETE OR TRUNCATE" if table == _USER_TABLE else "INSERT OR UPDATE OR DELETE OR TRUNCATE"
        yield _Trigger(f"catalog_{table}_noted", table, event, f"{call} catalog_note_table()")
    tables = "REFERENCING OLD TABLE AS former NEW TABLE AS fresh"
    yield _Trigger("catalog_users_noted", _USER_TABLE, "UPDATE", f"{tables} {call} catalog_note_users()")


def _list_sqlite_triggers() -> Iterator[_Trigger]:
    for table, column, name in _ENTITY_TABLES:
        for event, rows, suffix in _NOTED_ROWS:
            action = (
                f"BEGIN INSERT INTO catalog_changemarker (entity, marker) VALUES ({rows}.{column}, {_SQLITE_MARKER}) "  # noqa: S608 - constants
                "ON CONFLICT (entity) DO UPDATE SET marker = excluded.marker WHERE marker <> excluded.marker; END"
            )
            yield _Trigger(f"catalog_{name}_{suffix}", table, event, action)
    for table in NOTED_TABLES:
        for event in ("INSERT", "UPDATE", "DELETE"):
            action = (
                f"BEGIN INSERT INTO catalog_tablemarker (name, marker) VALUES ('{table}', {_SQLITE_MARKER}) "  # noqa: S608 - constants
                "ON CONFLICT (name, marker) DO NOTHING; END"
            )
            yield _Trigger(f"catalog_{table}_{event.lower()}_noted", table, event, action)


def are_installed(connection: BaseDatabaseWrapper) -> bool:
    """Whether every trigger is there and fires."""
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        query = (
            "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
            "WHERE tgenabled IN ('O', 'A') AND pg_table_is_visible(pg_class.oid)"
        )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {trigger.name for trigger in _list_triggers(connection.vendor)} <= {name for (name,) in cursor}


def create(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are missing; then what was written meanwhile is unknown, so all bases are forgotten."""
    if are_installed(connection):
        return
    is_postgresql = connection.vendor == "postgresql"
    statement = "CREATE OR REPLACE TRIGGER" if is_postgresql else "CREATE TRIGGER IF NOT EXISTS"
    with connection.cursor() as cursor:
        for function in _POSTGRESQL_FUNCTIONS if is_postgresql else ():
            cursor.execute(function)
        for trigger in _list_triggers(connection.vendor):
            cursor.execute(f"{statement} {trigger.name} AFTER {trigger.event} ON {trigger.table} {trigger.action}")
        cursor.execute("DELETE FROM catalog_snapshotbase")


def remove(connection: BaseDatabaseWrapper) -> None:
    """Remove the triggers."""
    with connection.cursor() as cursor:
        for trigger in _list_triggers(connection.vendor):
            table_clause = f" ON {trigger.table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {trigger.name}{table_clause}")


@receiver(post_migrate)
def _ensure_triggers(*, sender: AppConfig, using: str, apps: Apps = all_apps, **_: Any) -> None:
    # After all migrations, some of which replace tables and thereby drop their triggers. `apps` is the state after
    # those that ran; migrating back removes the table.
    if sender.name == "catalog" and "tablemarker" in apps.all_models["catalog"]:
        create(connections[using])
