"""The plain form: CSV with object_type, object, privilege, grantee_type and grantee."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import (
    build_csv_facts,
    find_missing_names,
    mark_types,
    on_container,
    on_role,
    on_table,
    to_person,
    to_role,
)
from catalog.reports.kinds.role_mapping_check.forms.csv_rows import read_csv
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, describe_unknown_level
from catalog.reports.kinds.role_mapping_check.forms.sql_names import fold_name, normalize_word, split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee
from catalog.reports.kinds.role_mapping_check.principals import GROUP, join_name

#: The columns of the form.
COLUMNS = ("object_type", "object", "privilege", "grantee_type", "grantee")

#: The end of a name that stands for everything in a container, and the parts of names in which a star is only a letter.
_WILDCARD_ENDING, _QUOTED_PART = r"(?<=[^.])([.][*])+$", r'"([^"]|"")*"'


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export in the plain form. Raises BadExports."""
    return [read_files(spark, folder, export, pattern) for pattern in (*export.grants, *export.members)]


def read_files(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the facts of files in the plain form. Raises BadExports."""
    rows = read_csv(spark, folder, export, pattern, COLUMNS).withColumns(
        {name: normalize_word(f.col(name)) for name in ("object_type", "privilege", "grantee_type")}
    )
    rows = mark_types(rows.withColumn("grantee", fold_name(export, f.col("grantee"))))
    rows = mark_types(_resolve_groups(_resolve_wildcards(rows, export)))
    return build_csv_facts(rows, export, _decide_outcome())


def _resolve_wildcards(rows: DataFrame, export: Export) -> DataFrame:
    """Return rows with `path` and `has_stray_wildcard`: what ends with .* is a grant on all tables of a container."""
    stem = f.regexp_replace("object", _WILDCARD_ENDING, "")
    is_wildcard = ~on_role() & f.col("object").rlike(_WILDCARD_ENDING)
    bare_stem = f.regexp_replace(stem, _QUOTED_PART, "")
    rows = rows.withColumns(
        {
            "path": f.when(on_role(), fold_name(export, f.col("object"))).otherwise(split_name(export, stem)),
            "has_stray_wildcard": ~on_role() & bare_stem.contains("*"),
        }
    )
    return rows.withColumn("object_type", f.when(is_wildcard & on_table(), "SCHEMA").otherwise(f.col("object_type")))


def _resolve_groups(rows: DataFrame) -> DataFrame:
    """Return rows in which a group that has a privilege itself counts as a role, as groups do in all forms."""
    is_holder = ~on_role() & (f.col("grantee_type") == Grantee.GROUP) & (f.trim("grantee") != "")
    return rows.withColumns(
        {
            "grantee_type": f.when(is_holder, Grantee.ROLE).otherwise(f.col("grantee_type")),
            "grantee": f.when(is_holder, join_name(GROUP, f.col("grantee"))).otherwise(f.col("grantee")),
        }
    )


def _decide_outcome() -> RowOutcome:
    is_membership = f.col("privilege").isin("USAGE", "MEMBER", "")
    reason = f.coalesce(
        find_missing_names(),
        f.when((f.col("privilege") == "") & ~on_role(), "It names no privilege.")
        .when(~to_role() & ~to_person(), f.concat(f.lit("Nobody is a "), "grantee_type", f.lit(".")))
        .when(
            ~on_role() & ~on_table() & ~on_container(),
            f.concat(f.lit("There is no "), "object_type", f.lit(" to grant on.")),
        )
        .when(f.col("has_stray_wildcard"), "A * can only stand for all that follows in a name: database.schema.*")
        .when(~on_role() & f.col("bit").isNull(), describe_unknown_level()),
    )
    kind = (
        f.when(on_role() & is_membership & to_role(), FactKind.INHERIT)
        .when(on_role() & is_membership, FactKind.MEMBER)
        .when(on_role(), FactKind.ROLE)
        .otherwise(FactKind.GRANT)
    )
    return RowOutcome(reason, f.lit(None).cast("string"), kind)
