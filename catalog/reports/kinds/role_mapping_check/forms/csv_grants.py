"""Facts of rows in CSV that name an object, a privilege and a grantee, each with its type."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import principals
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, select_facts
from catalog.reports.kinds.role_mapping_check.forms.sql_names import parse_time
from catalog.reports.kinds.role_mapping_check.grant_facts import (
    Grantee,
    dotted_role_key,
    name_key,
    object_key,
)
from catalog.reports.spark.sql_text import list_texts, quote_text

TABLE_TYPES = (
    *("TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE", "DYNAMIC TABLE", "EVENT TABLE", "HYBRID TABLE"),
    *("ICEBERG TABLE", "SEMANTIC VIEW"),
)
ROLE_TYPES = ("ROLE", "ACCOUNT ROLE", *principals.SCOPED_ROLE_TYPES)
CONTAINER_TYPES = ("SCHEMA", "DATABASE", "PROJECT", "DATASET", "CATALOG")
#: What SQL calls all tables, or views, of a container.
_ALL_TABLES_PATTERN = "^ALL .+ IN (SCHEMA|DATABASE)$"


def mark_types(rows: DataFrame) -> DataFrame:
    """Return rows with what the functions below say of their `object_type` and `grantee_type`.

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


def on_role() -> Column:
    """Whether a row is about a role."""
    return f.col("on_role")


def on_table() -> Column:
    """Whether a row is about a table or view."""
    return f.col("on_table")


def on_container() -> Column:
    """Whether a row is about something that contains tables."""
    return f.col("on_container")


def on_all_tables() -> Column:
    """Whether a row is about all tables of a container."""
    return f.col("on_all_tables")


def to_role() -> Column:
    """Whether a row is about what a role has, or what holds grants as roles do, such as a share."""
    return f.col("to_role")


def to_person() -> Column:
    """Whether a row is about what a person or group has."""
    return f.col("to_person")


def to_holder() -> Column:
    """Whether a row is about a privilege of a role or user: forms in which groups hold some make them roles first."""
    return f.col("to_holder")


def find_missing_names() -> Column:
    """Return the reason of rows without an object or grantee, else null."""
    return f.when(f.coalesce(f.col("path"), f.lit("")) == "", "It names no object.").when(
        f.coalesce(f.trim("grantee"), f.lit("")) == "", "It names nobody who has it."
    )


def build_csv_facts(rows: DataFrame, export: Export, outcome: RowOutcome) -> DataFrame:
    """Return facts of rows with object_type, path, privilege, grantee_type and grantee, all texts, and `mark_types`.

    `path` are the parts of the object's name joined by SEPARATOR; `created_on`, where there is one, is the day of the
    grant.
    """
    path = f.col("path")
    # Columns of their own, since keys name them several times.
    named_rows = rows.withColumns(
        {
            "object_name": f.when(on_role(), principals.dotted_name(path)),
            "holder_name": f.when(to_role(), principals.dotted_name(f.col("grantee"))).otherwise(f.col("grantee")),
        }
    )
    holder_name = f.col("holder_name")
    return select_facts(
        named_rows,
        export,
        outcome,
        path=path,
        object_key=f.when(on_role(), dotted_role_key(export, f.col("object_name"))).otherwise(object_key(export, path)),
        object_type="object_type",
        is_container=on_container(),
        kind=f.when(to_role(), Grantee.ROLE).otherwise(f.col("grantee_type")),
        granted_at=parse_time(f.col("created_on")) if "created_on" in rows.columns else f.lit(None),
        grantee="grantee",
        grantee_key=f.when(to_role(), dotted_role_key(export, holder_name)).otherwise(name_key(export, holder_name)),
    )
