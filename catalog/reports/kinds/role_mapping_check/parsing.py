"""Parses exports of grants into facts: Snowflake views and SHOW GRANTS, BigQuery IAM policies, plain CSV.

Rows are parsed in parallel and never collected; docs/grants-exports.md describes the columns of each form.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import (
    FACT_COLUMNS,
    SEPARATOR,
    FactKind,
    Grantee,
    object_key,
    privilege_bit,
    privilege_level,
    role_key,
    select_columns,
    without_domain,
)

#: Maximum length of a bad row in a fact, in characters.
_MAX_ROW_LENGTH = 500
_TABLE_TYPES = (
    *("TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE", "DYNAMIC TABLE", "EVENT TABLE", "HYBRID TABLE"),
    *("ICEBERG TABLE", "SEMANTIC VIEW"),
)
_ROLE_TYPES = ("ROLE", "ACCOUNT ROLE", "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE")
_CONTAINER_TYPES = ("SCHEMA", "DATABASE", "PROJECT", "DATASET", "CATALOG")
#: One part of a name: quoted, with doubled quotation marks, or up to the next dot.
_NAME_PART_PATTERN = r'"((?:[^"]|"")*)"|([^."]+)'
_IAM_POLICY_SCHEMA = (
    "name string, resource string, "
    "policy struct<bindings: array<struct<role: string, members: array<string>>>>, "
    "iam_policy struct<bindings: array<struct<role: string, members: array<string>>>>, "
    "iamPolicy struct<bindings: array<struct<role: string, members: array<string>>>>"
)


def read_facts(spark: SparkSession, folder: str, exports: Sequence[Export]) -> DataFrame:
    """Return the facts of all files of the exports. Raises BadExports when a file is missing or lacks a column."""
    frames = []
    for export in exports:
        try:
            frames += _FORM_READERS[export.form](spark, folder, export)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            raise BadExports(f"The export {export.name} names files that are not there.") from error
    return reduce(DataFrame.union, frames)


def _select_facts(
    rows: DataFrame, export: Export, *, reason: Column, path: Column, bad_row: Column, **columns: Column | str
) -> DataFrame:
    """Return facts of rows with `file` and `privilege`; the object of a row with a `reason` is the row itself.

    `reason` and `columns` may use the columns `bit` and `reason`.
    """
    rows = rows.withColumn("bit", privilege_bit(export, f.col("privilege"))).withColumn("reason", reason)
    fact_columns: dict[str, Column | str] = {
        "export": f.lit(export.name),
        "file": "file",
        "object": f.when(f.col("reason").isNull(), path).otherwise(f.substring(bad_row, 1, _MAX_ROW_LENGTH)),
        "object_key": object_key(export, path),
        "bit": "bit",
        "level": privilege_level(export, f.col("privilege")),
        "reason": "reason",
    }
    return select_columns(rows, FACT_COLUMNS, fact_columns | columns)


def _describe_unknown_level() -> Column:
    return f.concat(f.lit("How far "), "privilege", f.lit(' goes is not known; say it under "levels".'))


# -- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(spark: SparkSession, folder: str, export: Export, pattern: str, required: Sequence[str]) -> DataFrame:
    """Return the rows of CSV files, columns in lower case, with `file`, `row` and `wrong`. Raises BadExports."""
    path = f"{folder}/{pattern}"
    header_names = spark.read.option("header", "true").option("escape", '"').csv(path).columns
    names = [name.strip().strip("\ufeff").lower() for name in header_names]
    if missing_names := [name for name in required if name not in names]:
        raise BadExports(f"The files {pattern} of the export {export.name} lack the column {missing_names[0]}.")
    if len(set(names)) < len(names):
        raise BadExports(f"The files {pattern} of the export {export.name} have a column twice.")
    schema = StructType([StructField(name, StringType()) for name in (*header_names, "row")])
    reader = spark.read.schema(schema).option("header", "true").option("enforceSchema", "false")
    reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", "row").option("escape", '"')
    # Pruning columns would hide whether a row has the right number of them.
    rows = reader.option("columnPruning", "false").csv(path).toDF(*names, "row")
    text = f.concat_ws(",", *(f.coalesce(name, f.lit("")) for name in names))
    row_problem = f.when(f.col("row").isNotNull(), "It has not the columns of the first line.").when(
        text.contains("\ufffd"), "It is not UTF-8."
    )
    return rows.withColumns({"file": _file_name(), "wrong": row_problem, "row": f.coalesce("row", text)})


def _file_name() -> Column:
    return f.element_at(f.split(f.col("_metadata.file_path"), "/"), -1)


def _normalize_word(name: str) -> Column:
    """Return a word of a fixed vocabulary in capitals, with spaces for underscores."""
    return f.translate(f.upper(f.trim(f.coalesce(name, f.lit("")))), "_", " ")


def _build_csv_facts(rows: DataFrame, export: Export, *, is_plain: bool = False) -> DataFrame:
    """Return facts of rows with object_type, path, privilege, grantee_type and grantee, all of them texts.

    `path` are the parts of the object's name joined by SEPARATOR.
    """
    on_role, on_table = f.col("object_type").isin(*_ROLE_TYPES), f.col("object_type").isin(*_TABLE_TYPES)
    on_container = f.col("object_type").isin(*_CONTAINER_TYPES)
    to_role = f.col("grantee_type").isin(*_ROLE_TYPES)
    to_person = f.col("grantee_type").isin("USER", "GROUP")
    bit = f.col("bit")
    is_membership = f.col("privilege").isin("USAGE", "MEMBER", "") if is_plain else f.col("privilege") == "USAGE"
    reason = (
        f.when(f.col("wrong").isNotNull(), f.col("wrong"))
        .when(f.coalesce(f.col("path"), f.lit("")) == "", "It names no object.")
        .when(f.coalesce(f.trim("grantee"), f.lit("")) == "", "It names nobody who has it.")
        .when((f.col("privilege") == "") & ~(on_role & f.lit(is_plain)), "It names no privilege.")
        .when(~to_role & ~to_person & f.lit(is_plain), f.concat(f.lit("Nobody is a "), "grantee_type", f.lit(".")))
        .when(
            ~on_role & ~on_table & ~on_container & f.lit(is_plain),
            f.concat(f.lit("There is no "), "object_type", f.lit(" to grant on.")),
        )
        .when(f.lit(is_plain) & ~on_role & bit.isNull(), _describe_unknown_level())
    )
    fact_kind = (
        f.when(f.col("reason").isNotNull(), FactKind.BAD)
        .when(on_role & is_membership & to_role, FactKind.INHERIT)
        .when(on_role & is_membership & to_person, FactKind.MEMBER)
        .when(on_role, FactKind.ROLE)
        # A privilege on a schema in Snowflake does not reach the data of its tables.
        .when((on_table | (on_container & f.lit(is_plain))) & bit.isNotNull() & (to_role | to_person), FactKind.GRANT)
        .otherwise(FactKind.PASSED)
    )
    key = f.when(on_role, role_key(export, f.col("path"))).otherwise(object_key(export, f.col("path")))
    person_key = without_domain(export, f.col("grantee"))
    return _select_facts(
        rows,
        export,
        reason=reason,
        path=f.col("path"),
        bad_row=f.col("row"),
        what=fact_kind,
        object_key=key,
        is_container=on_container,
        kind=f.when(to_role, Grantee.ROLE).otherwise(f.col("grantee_type")),
        grantee="grantee",
        grantee_key=f.when(to_role, role_key(export, f.col("grantee"))).otherwise(person_key),
    )


def _read_plain_file(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    required = ("object_type", "object", "privilege", "grantee_type", "grantee")
    rows = _read_csv(spark, folder, export, pattern, required).withColumns(
        {
            "object_type": _normalize_word("object_type"),
            "privilege": _normalize_word("privilege"),
            "grantee_type": _normalize_word("grantee_type"),
            "path": f.when(_normalize_word("object_type").isin(*_ROLE_TYPES), f.col("object")).otherwise(
                _split_name("object")
            ),
        }
    )
    return _build_csv_facts(rows, export, is_plain=True)


def _split_name(name: str) -> Column:
    """Return the parts of an SQL name, unquoted and joined by SEPARATOR."""
    quoted_parts = f.regexp_extract_all(f.col(name), f.lit(_NAME_PART_PATTERN), f.lit(1))
    bare_parts = f.regexp_extract_all(f.col(name), f.lit(_NAME_PART_PATTERN), f.lit(2))
    name_parts = f.zip_with(
        quoted_parts,
        bare_parts,
        lambda quoted_part, bare_part: f.when(bare_part != "", bare_part).otherwise(
            f.replace(quoted_part, f.lit('""'), f.lit('"'))
        ),
    )
    return f.array_join(name_parts, SEPARATOR)


# -- Snowflake --------------------------------------------------------------------------------------------------------


def _read_snowflake(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    frames: list[DataFrame] = []
    for pattern in export.grants:
        rows = _read_csv(spark, folder, export, pattern, ("privilege", "granted_on", "name", "grantee_name"))
        frames.append(_build_csv_facts(_drop_revoked(_rename_grant_columns(rows)), export))
    for pattern in export.members:
        rows = _read_csv(spark, folder, export, pattern, ("role", "grantee_name"))
        member_rows = rows.withColumns(
            {
                "object_type": f.lit("ROLE"),
                "path": f.col("role"),
                "privilege": f.lit("USAGE"),
                "grantee_type": _normalize_word("granted_to") if "granted_to" in rows.columns else f.lit("USER"),
                "grantee": f.col("grantee_name"),
            }
        )
        frames.append(_build_csv_facts(_drop_revoked(member_rows), export))
    return frames


def _rename_grant_columns(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_ROLES or SHOW GRANTS (full SQL names) with the columns of `_build_csv_facts`."""
    object_type = _normalize_word("granted_on")
    is_view = "table_catalog" in rows.columns and "table_schema" in rows.columns
    full_name = f.concat_ws(SEPARATOR, "table_catalog", "table_schema", "name") if is_view else _split_name("name")
    grantee_type = _normalize_word("granted_to") if "granted_to" in rows.columns else f.lit("ROLE")
    return rows.withColumns(
        {
            "object_type": object_type,
            "path": f.when(object_type.isin(*_TABLE_TYPES), f.when(f.col("name") != "", full_name)).otherwise(
                f.col("name")
            ),
            "privilege": _normalize_word("privilege"),
            "grantee_type": grantee_type,
            "grantee": f.col("grantee_name"),
        }
    )


def _drop_revoked(rows: DataFrame) -> DataFrame:
    """Return the rows without revoked grants."""
    return rows.filter("deleted_on IS NULL OR wrong IS NOT NULL") if "deleted_on" in rows.columns else rows


# -- BigQuery ---------------------------------------------------------------------------------------------------------


def _read_bigquery(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    return [
        *(_read_iam_policies(spark, f"{folder}/{pattern}", export) for pattern in export.grants),
        *(_read_plain_file(spark, folder, export, pattern) for pattern in export.members),
    ]


def _read_iam_policies(spark: SparkSession, path: str, export: Export) -> DataFrame:
    lines = spark.read.text(path).withColumn("file", _file_name()).filter(f.trim("value") != "")
    parsed_lines = lines.withColumn("said", f.from_json("value", _IAM_POLICY_SCHEMA)).withColumns(
        {
            "place": f.coalesce("said.resource", "said.name"),
            "bindings": f.coalesce(*(f.col(f"said.{key}.bindings") for key in ("policy", "iam_policy", "iamPolicy"))),
        }
    )
    line_problem = (
        f.when(f.col("value").contains("\ufffd"), "It is not UTF-8.")
        .when(f.col("place").isNull(), "It is no JSON object with a resource.")
        .when(f.col("bindings").isNull(), "It has no policy with bindings.")
    )
    # A line with a problem remains one row.
    bindings = f.when(line_problem.isNull(), f.col("bindings"))
    binding_rows = parsed_lines.select(
        "file", "place", "value", line_problem.alias("wrong"), f.explode_outer(bindings).alias("binding")
    )
    rows = binding_rows.select(
        "*", f.col("binding.role").alias("privilege"), f.explode_outer("binding.members").alias("member")
    )
    return _build_binding_facts(rows.filter("wrong IS NOT NULL OR binding IS NOT NULL"), export)


def _build_binding_facts(rows: DataFrame, export: Export) -> DataFrame:
    """Return facts of rows with the resource (`place`), IAM role and member of one binding."""
    path_parts = [
        f.regexp_extract("place", rf"/{member_kind}/([^/]+)", 1) for member_kind in ("projects", "datasets", "tables")
    ]
    is_ours = f.col("place").rlike("^//(bigquery|cloudresourcemanager)[.]googleapis[.]com/projects/[^/]+")
    member_kind, name = f.substring_index("member", ":", 1), f.regexp_replace("member", "^[A-Za-z]+:", "")
    is_custom = ~f.col("privilege").startswith("roles/")
    bit = f.col("bit")
    reason = (
        f.when(f.col("wrong").isNotNull(), f.col("wrong"))
        .when(f.col("privilege").isNull() | (f.col("privilege") == ""), "A binding names no role.")
        .when(f.col("member").isNull() | (f.col("member") == ""), "A binding names no member.")
        .when(is_ours & is_custom & bit.isNull(), _describe_unknown_level())
    )
    is_deleted = member_kind == "deleted"
    fact_kind = (
        f.when(f.col("reason").isNotNull(), FactKind.BAD)
        .when(is_ours & bit.isNotNull() & ~is_deleted, FactKind.GRANT)
        .otherwise(FactKind.PASSED)
    )
    path = f.array_join(f.filter(f.array(*path_parts), lambda part: part != ""), SEPARATOR)
    account = f.when(member_kind == "group", role_key(export, name)).when(
        member_kind == "user", without_domain(export, name)
    )
    whole_row = f.concat_ws(" ", "place", "privilege", "member")
    return _select_facts(
        rows,
        export,
        reason=reason,
        path=path,
        bad_row=f.when(f.col("wrong").isNull(), whole_row).otherwise(f.col("value")),
        what=fact_kind,
        is_container=path_parts[2] == "",
        # Any member but a user counts as a role: groups, service accounts, everybody.
        kind=f.when(member_kind == "user", Grantee.USER).otherwise(Grantee.ROLE),
        grantee="member",
        grantee_key=account.otherwise(f.lower("member")),
    )


def _read_plain_csv(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    return [_read_plain_file(spark, folder, export, pattern) for pattern in (*export.grants, *export.members)]


_FORM_READERS: Mapping[str, Callable[[SparkSession, str, Export], list[DataFrame]]] = {
    "snowflake": _read_snowflake,
    "bigquery": _read_bigquery,
    "csv": _read_plain_csv,
}
