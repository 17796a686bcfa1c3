"""Triggers that note in `ChangeMarker` which entities a write changes: no write can forget it, and it commits with it.

On PostgreSQL one statement notes all its entities at once, sorted, so that two writers do not wait for each other in a
circle.
"""

from typing import Any, Final

from django.apps import AppConfig
from django.apps import apps as all_apps
from django.apps.registry import Apps
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

#: Table, its column with the number of the entity, and the name of its triggers.
_NOTED_TABLES: Final = (("catalog_entity", "id", "entity"), ("catalog_facet", "entity_id", "facet"))

#: Events with the rows that they change, and the name of the trigger.
_NOTED_ROWS: Final = (
    ("INSERT", "NEW", "inserted"),
    ("UPDATE", "NEW", "updated"),
    ("UPDATE", "OLD", "replaced"),
    ("DELETE", "OLD", "deleted"),
)

_POSTGRESQL_FUNCTION = """
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

_POSTGRESQL_TRIGGER = """
CREATE OR REPLACE TRIGGER catalog_{name}_{trigger} AFTER {event} ON {table} REFERENCING {rows} TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION catalog_note_{name}()
"""

#: Who empties a table at once names no rows, so the next snapshot is a full one.
_POSTGRESQL_EMPTYING = (
    """
    CREATE OR REPLACE FUNCTION catalog_forget_bases() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN DELETE FROM catalog_snapshotbase; RETURN NULL; END $$
    """,
    *(
        f"CREATE OR REPLACE TRIGGER catalog_{name}_emptied AFTER TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION catalog_forget_bases()"
        for table, _, name in _NOTED_TABLES
    ),
)

_SQLITE_TRIGGER = """
CREATE TRIGGER IF NOT EXISTS catalog_{name}_{trigger} AFTER {event} ON {table} BEGIN
    INSERT INTO catalog_changemarker (entity, marker)
    VALUES ({rows}.{column}, COALESCE((SELECT change_seq + 1 FROM policies_policyversion), 1))
    ON CONFLICT (entity) DO UPDATE SET marker = excluded.marker WHERE marker <> excluded.marker;
END
"""


def are_installed(connection: BaseDatabaseWrapper) -> bool:
    """Whether every trigger is there and fires."""
    names = {f"catalog_{name}_{trigger}" for _, _, name in _NOTED_TABLES for _, _, trigger in _NOTED_ROWS}
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        names |= {f"catalog_{name}_emptied" for _, _, name in _NOTED_TABLES}
        tables = ", ".join(f"'{table}'::regclass" for table, _, _ in _NOTED_TABLES)
        query = f"SELECT tgname FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgrelid IN ({tables})"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query)
        return names <= {name for (name,) in cursor.fetchall()}


def create(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are missing; then what was written meanwhile is unknown, so all bases are forgotten."""
    if are_installed(connection):
        return
    is_postgresql = connection.vendor == "postgresql"
    trigger_form = _POSTGRESQL_TRIGGER if is_postgresql else _SQLITE_TRIGGER
    with connection.cursor() as cursor:
        for table, column, name in _NOTED_TABLES:
            if is_postgresql:
                cursor.execute(_POSTGRESQL_FUNCTION.format(name=name, column=column))
            for event, rows, trigger in _NOTED_ROWS:
                cursor.execute(
                    trigger_form.format(name=name, trigger=trigger, event=event, table=table, rows=rows, column=column)
                )
        for statement in _POSTGRESQL_EMPTYING if is_postgresql else ():
            cursor.execute(statement)
        cursor.execute("DELETE FROM catalog_snapshotbase")


def remove(connection: BaseDatabaseWrapper) -> None:
    """Remove the triggers."""
    with connection.cursor() as cursor:
        for table, _, name in _NOTED_TABLES:
            for trigger in (*(trigger for _, _, trigger in _NOTED_ROWS), "emptied"):
                where = f" ON {table}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER IF EXISTS catalog_{name}_{trigger}{where}")


@receiver(post_migrate)
def _ensure_triggers(*, sender: AppConfig, using: str, apps: Apps = all_apps, **_: Any) -> None:
    # After all migrations, some of which replace tables and thereby drop their triggers. `apps` is the state after
    # those that ran; migrating back removes the table.
    if sender.name == "catalog" and "snapshotbase" in apps.all_models["catalog"]:
        create(connections[using])
