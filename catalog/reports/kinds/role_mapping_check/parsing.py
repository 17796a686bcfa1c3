"""Reads exports of grants into facts: Snowflake's views and SHOW GRANTS, BigQuery's IAM policies, plain CSV.

Rows are read in parallel and never gathered; docs/grants-exports.md describes the columns of each form.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import (
    SEPARATOR,
    Grantee,
    What,
    bit_of,
    cut,
    level_of,
    object_key,
    role_key,
    shaped,
    without_domain,
)

_TABLES = (
    *("TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE", "DYNAMIC TABLE", "EVENT TABLE", "HYBRID TABLE"),
    *("ICEBERG TABLE", "SEMANTIC VIEW"),
)
_ROLES = ("ROLE", "ACCOUNT ROLE", "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE")
_CONTAINERS = ("SCHEMA", "DATABASE", "PROJECT", "DATASET", "CATALOG")
#: One part of a name: in quotation marks, in which two stand for one, or up to the next dot.
_PART = r'"((?:[^"]|"")*)"|([^."]+)'
_POLICY = (
    "name string, resource string, "
    "policy struct<bindings: array<struct<role: string, members: array<string>>>>, "
    "iam_policy struct<bindings: array<struct<role: string, members: array<string>>>>, "
    "iamPolicy struct<bindings: array<struct<role: string, members: array<string>>>>"
)


def facts(spark: SparkSession, folder: str, exports: Sequence[Export]) -> DataFrame:
    """Return everything that the files of the exports say.

    Raises BadExports when a file is not there or lacks a column.
    """
    found = []
    for export in exports:
        try:
            found += _FORMS[export.form](spark, folder, export)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            raise BadExports(f"The export {export.name} names files that are not there.") from error
    return reduce(DataFrame.union, found)


# -- CSV --------------------------------------------------------------------------------------------------------------


def _csv(spark: SparkSession, folder: str, export: Export, pattern: str, required: Sequence[str]) -> DataFrame:
    """Return the rows of CSV files, columns named in lower case: with `file`, `row` and what is wrong with it."""
    path = f"{folder}/{pattern}"
    written = spark.read.option("header", "true").option("escape", '"').csv(path).columns
    names = [name.strip().strip("\ufeff").lower() for name in written]
    if missing := [name for name in required if name not in names]:
        raise BadExports(f"The files {pattern} of the export {export.name} lack the column {missing[0]}.")
    if len(set(names)) < len(names):
        raise BadExports(f"The files {pattern} of the export {export.name} have a column twice.")
    schema = StructType([StructField(name, StringType()) for name in (*written, "row")])
    reader = spark.read.schema(schema).option("header", "true").option("enforceSchema", "false")
    reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", "row").option("escape", '"')
    # Without all columns of a row nobody can tell whether it has as many as it should.
    rows = reader.option("columnPruning", "false").csv(path).toDF(*names, "row")
    text = f.concat_ws(",", *(f.coalesce(name, f.lit("")) for name in names))
    wrong = f.when(f.col("row").isNotNull(), "It has not the columns of the first line.").when(
        text.contains("\ufffd"), "It is not UTF-8."
    )
    return rows.withColumns({"file": _file(), "wrong": wrong, "row": f.coalesce("row", text)})


def _file() -> Column:
    return f.element_at(f.split(f.col("_metadata.file_path"), "/"), -1)


def _upper(name: str) -> Column:
    """Return a word of a fixed vocabulary: in capitals, with spaces."""
    return f.translate(f.upper(f.trim(f.coalesce(name, f.lit("")))), "_", " ")


def _csv_facts(rows: DataFrame, export: Export, *, is_plain: bool = False) -> DataFrame:
    """Return facts of rows with object_type, path, privilege, grantee_type and grantee, all of them texts.

    `path` are the parts of the object's name with SEPARATOR between them.
    """
    on_role, on_table = f.col("object_type").isin(*_ROLES), f.col("object_type").isin(*_TABLES)
    on_container = f.col("object_type").isin(*_CONTAINERS)
    to_role = f.col("grantee_type").isin(*_ROLES)
    to_person = f.col("grantee_type").isin("USER", "GROUP")
    bit = f.col("bit")
    rows = rows.withColumn("bit", bit_of(export, f.col("privilege")))
    is_held = f.col("privilege").isin("USAGE", "MEMBER", "") if is_plain else f.col("privilege") == "USAGE"
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
        .when(
            f.lit(is_plain) & ~on_role & bit.isNull(),
            f.concat(f.lit("How far "), "privilege", f.lit(' goes is not known; say it under "levels".')),
        )
    )
    what = (
        f.when(f.col("reason").isNotNull(), What.BAD)
        .when(on_role & is_held & to_role, What.INHERIT)
        .when(on_role & is_held & to_person, What.MEMBER)
        .when(on_role, What.ROLE)
        # A privilege on a schema of Snowflake does not reach the data of its tables.
        .when((on_table | (on_container & f.lit(is_plain))) & bit.isNotNull() & (to_role | to_person), What.GRANT)
        .otherwise(What.PASSED)
    )
    found = rows.withColumn("reason", reason).withColumn("what", what)
    key = f.when(f.col("object_type").isin(*_ROLES), role_key(export, f.col("path")))
    person = without_domain(export, f.col("grantee"))
    kind = f.when(to_role, Grantee.ROLE).otherwise(f.col("grantee_type"))
    return shaped(
        found,
        export,
        file=f.col("file"),
        what=f.col("what"),
        object=f.when(f.col("reason").isNull(), f.col("path")).otherwise(cut(f.col("row"))),
        object_key=key.otherwise(object_key(export, f.col("path"))),
        is_container=on_container,
        bit=bit,
        level=level_of(export, f.col("privilege")),
        kind=kind,
        grantee=f.col("grantee"),
        grantee_key=f.when(to_role, role_key(export, f.col("grantee"))).otherwise(person),
        reason=f.col("reason"),
    )


def _plain(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    required = ("object_type", "object", "privilege", "grantee_type", "grantee")
    rows = _csv(spark, folder, export, pattern, required).withColumns(
        {
            "object_type": _upper("object_type"),
            "privilege": _upper("privilege"),
            "grantee_type": _upper("grantee_type"),
            "path": f.when(_upper("object_type").isin(*_ROLES), f.col("object")).otherwise(_parts("object")),
        }
    )
    return _csv_facts(rows, export, is_plain=True)


def _parts(name: str) -> Column:
    """Return the parts of a name as SQL writes it."""
    quoted = f.regexp_extract_all(f.col(name), f.lit(_PART), f.lit(1))
    bare = f.regexp_extract_all(f.col(name), f.lit(_PART), f.lit(2))
    both = f.zip_with(
        quoted, bare, lambda one, other: f.when(other != "", other).otherwise(f.replace(one, f.lit('""'), f.lit('"')))
    )
    return f.array_join(both, SEPARATOR)


# -- Snowflake --------------------------------------------------------------------------------------------------------


def _snowflake(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    found: list[DataFrame] = []
    for pattern in export.grants:
        rows = _csv(spark, folder, export, pattern, ("privilege", "granted_on", "name", "grantee_name"))
        found.append(_csv_facts(_as_it_is_now(_granted(rows)), export))
    for pattern in export.members:
        rows = _csv(spark, folder, export, pattern, ("role", "grantee_name"))
        held = rows.withColumns(
            {
                "object_type": f.lit("ROLE"),
                "path": f.col("role"),
                "privilege": f.lit("USAGE"),
                "grantee_type": _upper("granted_to") if "granted_to" in rows.columns else f.lit("USER"),
                "grantee": f.col("grantee_name"),
            }
        )
        found.append(_csv_facts(_as_it_is_now(held), export))
    return found


def _granted(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_ROLES, or of SHOW GRANTS, whose name is the whole name in SQL, in the words of ours."""
    on = _upper("granted_on")
    is_view = "table_catalog" in rows.columns and "table_schema" in rows.columns
    whole = f.concat_ws(SEPARATOR, "table_catalog", "table_schema", "name") if is_view else _parts("name")
    to = _upper("granted_to") if "granted_to" in rows.columns else f.lit("ROLE")
    return rows.withColumns(
        {
            "object_type": on,
            "path": f.when(on.isin(*_TABLES), f.when(f.col("name") != "", whole)).otherwise(f.col("name")),
            "privilege": _upper("privilege"),
            "grantee_type": to,
            "grantee": f.col("grantee_name"),
        }
    )


def _as_it_is_now(rows: DataFrame) -> DataFrame:
    """Leave out what was taken back."""
    return rows.filter("deleted_on IS NULL OR wrong IS NOT NULL") if "deleted_on" in rows.columns else rows


# -- BigQuery ---------------------------------------------------------------------------------------------------------


def _bigquery(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    return [
        *(_policies(spark, f"{folder}/{pattern}", export) for pattern in export.grants),
        *(_plain(spark, folder, export, pattern) for pattern in export.members),
    ]


def _policies(spark: SparkSession, path: str, export: Export) -> DataFrame:
    lines = spark.read.text(path).withColumn("file", _file()).filter(f.trim("value") != "")
    read = lines.withColumn("said", f.from_json("value", _POLICY)).withColumns(
        {
            "place": f.coalesce("said.resource", "said.name"),
            "bindings": f.coalesce(*(f.col(f"said.{key}.bindings") for key in ("policy", "iam_policy", "iamPolicy"))),
        }
    )
    wrong = (
        f.when(f.col("value").contains("\ufffd"), "It is not UTF-8.")
        .when(f.col("place").isNull(), "It is no JSON object with a resource.")
        .when(f.col("bindings").isNull(), "It has no policy with bindings.")
    )
    # A line with something wrong stays one row.
    bindings = f.when(wrong.isNull(), f.col("bindings"))
    bound = read.select("file", "place", "value", wrong.alias("wrong"), f.explode_outer(bindings).alias("binding"))
    rows = bound.select("*", f.col("binding.role").alias("role"), f.explode_outer("binding.members").alias("member"))
    return _bound(rows.filter("wrong IS NOT NULL OR binding IS NOT NULL"), export)


def _bound(rows: DataFrame, export: Export) -> DataFrame:
    """Return facts of rows that say: this member is bound by this IAM role on this resource."""
    parts = [f.regexp_extract("place", rf"/{kind}/([^/]+)", 1) for kind in ("projects", "datasets", "tables")]
    is_ours = f.col("place").rlike("^//(bigquery|cloudresourcemanager)[.]googleapis[.]com/projects/[^/]+")
    kind, name = f.substring_index("member", ":", 1), f.regexp_replace("member", "^[A-Za-z]+:", "")
    is_custom = ~f.col("role").startswith("roles/")
    bit = f.col("bit")
    rows = rows.withColumn("bit", bit_of(export, f.col("role")))
    reason = (
        f.when(f.col("wrong").isNotNull(), f.col("wrong"))
        .when(f.col("role").isNull() | (f.col("role") == ""), "A binding names no role.")
        .when(f.col("member").isNull() | (f.col("member") == ""), "A binding names no member.")
        .when(
            is_ours & is_custom & bit.isNull(),
            f.concat(f.lit("How far "), "role", f.lit(' goes is not known; say it under "levels".')),
        )
    )
    is_gone = kind == "deleted"
    what = (
        f.when(f.col("reason").isNotNull(), What.BAD)
        .when(is_ours & bit.isNotNull() & ~is_gone, What.GRANT)
        .otherwise(What.PASSED)
    )
    path = f.array_join(f.filter(f.array(*parts), lambda part: part != ""), SEPARATOR)
    account = f.when(kind == "group", role_key(export, name)).when(kind == "user", without_domain(export, name))
    return shaped(
        rows.withColumn("reason", reason),
        export,
        file=f.col("file"),
        what=what,
        object=f.when(f.col("reason").isNull(), path).otherwise(
            cut(f.when(f.col("wrong").isNull(), f.concat_ws(" ", "place", "role", "member")).otherwise(f.col("value")))
        ),
        object_key=object_key(export, path),
        is_container=parts[2] == "",
        bit=bit,
        level=level_of(export, f.col("role")),
        # Whatever is no person stands for a role: groups, service accounts, everybody.
        kind=f.when(kind == "user", Grantee.USER).otherwise(Grantee.ROLE),
        grantee=f.col("member"),
        grantee_key=account.otherwise(f.lower("member")),
        reason=f.col("reason"),
    )


def _plain_csv(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    return [_plain(spark, folder, export, pattern) for pattern in (*export.grants, *export.members)]


_FORMS: Mapping[str, Callable[[SparkSession, str, Export], list[DataFrame]]] = {
    "snowflake": _snowflake,
    "bigquery": _bigquery,
    "csv": _plain_csv,
}
