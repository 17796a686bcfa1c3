"""Facts of rows in CSV that name an object, a privilege and a grantee, each with its type."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses import principals
from catalog.warehouses.grant_facts import (
    Grantee,
    dotted_role_key,
    object_key,
    person_key,
)
from catalog.warehouses.row_facts import RowOutcome, select_facts
from catalog.warehouses.sql_names import parse_time
from catalog.warehouses.warehouse import Export

TABLE_TYPES = (
    *("TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE", "DYNAMIC TABLE", "EVENT TABLE", "HYBRID TABLE"),
    *("ICEBERG TABLE", "SEMANTIC VIEW", "FOREIGN TABLE", "PARTITIONED TABLE"),
)
ROLE_TYPES = ("ROLE", "ACCOUNT ROLE", *principals.SCOPED_ROLE_TYPES)
CONTAINER_TYPES = ("SCHEMA", "DATABASE", "PROJECT", "DATASET", "CATALOG")
#: What SQL calls all tables, or views, of a container.
_ALL_TABLES_PATTERN = "^ALL .+ IN (SCHEMA|DATABASE)$"

_FURTHER_COLUMNS = ("condition", "details", "layout", "is_counted", "granted_by")

#: The reason of rows without an object or grantee, as SQL; else null.
MISSING_NAMES = """CASE WHEN coalesce(path, '') = '' THEN 'It names no object.'
    WHEN coalesce(trim(grantee), '') = '' THEN 'It names nobody who has it.' END"""


def mark_types(rows: DataFrame) -> DataFrame:
    """Return rows with what expressions ask of their `object_type` and `grantee_type`.

    - `on_role`, `on_table`, `on_container`, `on_all_tables`: about a role, a table or view, what contains tables, and
      all tables of a container.
    - `to_role`: about what a role has, or what holds grants as roles do, such as a share. `to_person`: about what a
      person or group has. `to_holder`: about a privilege of a role or user; forms in which groups hold some make them
      roles first.

    Each is a column of its own: written out in every condition they would be most of what Spark compiles and computes.
    """
    on_all = f"(startswith(object_type, 'ALL ') AND object_type RLIKE {quote_text(_ALL_TABLES_PATTERN)})"
    is_role = f"grantee_type IN {list_texts((*ROLE_TYPES, *principals.OUTSIDE_TYPES))}"
    marks = {
        "on_role": f"object_type IN {list_texts(ROLE_TYPES)}",
        "on_table": f"object_type IN {list_texts(TABLE_TYPES)}",
        "on_container": f"object_type IN {list_texts(CONTAINER_TYPES)} OR {on_all}",
        "on_all_tables": on_all,
        "to_role": is_role,
        "to_person": f"grantee_type IN {list_texts((Grantee.USER, Grantee.GROUP))}",
        "to_holder": f"{is_role} OR grantee_type = {quote_text(Grantee.USER)}",
    }
    return rows.withColumns({name: f.expr(mark) for name, mark in marks.items()})


def build_csv_facts(rows: DataFrame, export: Export, outcome: RowOutcome) -> DataFrame:
    """Return facts of rows with object_type, path, privilege, grantee_type and grantee, all texts, and `mark_types`.

    `path` are the parts of the object's name joined by SEPARATOR. Where there are such columns, `created_on` is the day
    of the grant, and `condition`, `details`, `layout`, `is_counted` and `granted_by` are those of facts.
    """
    # Columns of their own, since keys name them several times.
    named_rows = rows.withColumns(
        {
            "object_name": f.expr(f"CASE WHEN on_role THEN {principals.dotted_name('path')} END"),
            "holder_name": f.expr(f"CASE WHEN to_role THEN {principals.dotted_name('grantee')} ELSE grantee END"),
        }
    )
    further_columns = {name: name for name in _FURTHER_COLUMNS if name in rows.columns}
    return select_facts(
        named_rows,
        export,
        outcome,
        **further_columns,
        path="path",
        object_key=f"""CASE WHEN on_role THEN {dotted_role_key(export, "object_name")}
            ELSE {object_key(export, "path")} END""",
        object_type="object_type",
        is_container="on_container",
        kind=f"CASE WHEN to_role THEN '{Grantee.ROLE}' ELSE grantee_type END",
        granted_at=parse_time("created_on") if "created_on" in rows.columns else "NULL",
        grant_time="created_on" if "created_on" in rows.columns else "NULL",
        grantee="grantee",
        grantee_key=f"""CASE WHEN to_role THEN {dotted_role_key(export, "holder_name")}
            ELSE {person_key(export, "holder_name")} END""",
    )
