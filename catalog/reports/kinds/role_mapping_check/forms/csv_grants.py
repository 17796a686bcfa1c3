"""Facts of rows in CSV that name an object, a privilege and a grantee, each with its type."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import principals
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, select_facts
from catalog.reports.kinds.role_mapping_check.forms.sql_names import parse_time
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, name_key, object_key, role_key

TABLE_TYPES = (
    *("TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE", "DYNAMIC TABLE", "EVENT TABLE", "HYBRID TABLE"),
    *("ICEBERG TABLE", "SEMANTIC VIEW"),
)
ROLE_TYPES = ("ROLE", "ACCOUNT ROLE", *principals.SCOPED_ROLE_TYPES)
CONTAINER_TYPES = ("SCHEMA", "DATABASE", "PROJECT", "DATASET", "CATALOG")
#: What SQL calls all tables, or views, of a container.
_ALL_TABLES_PATTERN = "^ALL .+ IN (SCHEMA|DATABASE)$"


def on_role() -> Column:
    """Whether a row is about a role."""
    return f.col("object_type").isin(*ROLE_TYPES)


def on_table() -> Column:
    """Whether a row is about a table or view."""
    return f.col("object_type").isin(*TABLE_TYPES)


def on_container() -> Column:
    """Whether a row is about something that contains tables."""
    return f.col("object_type").isin(*CONTAINER_TYPES) | on_all_tables()


def on_all_tables() -> Column:
    """Whether a row is about all tables of a container."""
    return f.col("object_type").startswith("ALL ") & f.col("object_type").rlike(_ALL_TABLES_PATTERN)


def to_role() -> Column:
    """Whether a row is about what a role has, or what holds grants as roles do, such as a share."""
    return f.col("grantee_type").isin(*ROLE_TYPES, *principals.OUTSIDE_TYPES)


def to_person() -> Column:
    """Whether a row is about what a person or group has."""
    return f.col("grantee_type").isin(Grantee.USER, Grantee.GROUP)


def to_holder() -> Column:
    """Whether a row is about a privilege of a role or user: forms in which groups hold some make them roles first."""
    return to_role() | (f.col("grantee_type") == Grantee.USER)


def find_missing_names() -> Column:
    """Return the reason of rows without an object or grantee, else null."""
    return f.when(f.coalesce(f.col("path"), f.lit("")) == "", "It names no object.").when(
        f.coalesce(f.trim("grantee"), f.lit("")) == "", "It names nobody who has it."
    )


def build_csv_facts(rows: DataFrame, export: Export, outcome: RowOutcome) -> DataFrame:
    """Return facts of rows with object_type, path, privilege, grantee_type and grantee, all of them texts.

    `path` are the parts of the object's name joined by SEPARATOR; `created_on`, where there is one, is the day of the
    grant.
    """
    path = f.col("path")
    person_key = name_key(export, f.col("grantee"))
    return select_facts(
        rows,
        export,
        outcome,
        path=path,
        object_key=f.when(on_role(), role_key(export, path)).otherwise(object_key(export, path)),
        object_type="object_type",
        is_container=on_container(),
        kind=f.when(to_role(), Grantee.ROLE).otherwise(f.col("grantee_type")),
        granted_at=parse_time(f.col("created_on")) if "created_on" in rows.columns else f.lit(None),
        grantee="grantee",
        grantee_key=f.when(to_role(), role_key(export, f.col("grantee"))).otherwise(person_key),
    )
