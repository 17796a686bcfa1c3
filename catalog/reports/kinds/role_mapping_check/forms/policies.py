"""Masks of columns and filters of rows, as warehouses list them: which policy stands before the data of which table."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import layouts
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import TABLE_TYPES
from catalog.reports.kinds.role_mapping_check.forms.json_rows import parse_object
from catalog.reports.kinds.role_mapping_check.forms.layouts import Layout, join_path
from catalog.reports.kinds.role_mapping_check.forms.lines import read_lines
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, select_facts
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, PolicyKind, object_key
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_TABLE = ("table_catalog", "table_schema", "table_name")
_NAMES = ("catalog_name", "schema_name", "table_name")
_SNOWFLAKE_OBJECT = ("ref_database_name", "ref_schema_name", "ref_entity_name")
#: What Snowflake calls the policies that decide which rows and values of a table somebody sees.
_SNOWFLAKE_KINDS: Mapping[str, PolicyKind] = {
    **dict.fromkeys(("MASKING POLICY", "PROJECTION POLICY"), PolicyKind.MASK),
    **dict.fromkeys(("ROW ACCESS POLICY", "AGGREGATION POLICY"), PolicyKind.ROWS),
}
_ROW_POLICY_SCHEMA = (
    "rowAccessPolicyReference struct<projectId: string, datasetId: string, tableId: string, policyId: string>, "
    "table_catalog string, table_schema string, table_name string, policy_tags array<string>"
)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    if export.form == "bigquery":
        frames = [_read_json(spark, folder, pattern) for pattern in export.policies]
    else:
        form_layouts = _LAYOUTS[export.form]
        frames = [layouts.describe_file(spark, folder, export, pattern, form_layouts) for pattern in export.policies]
    return [_build_facts(rows, export) for rows in frames]


def _build_facts(rows: DataFrame, export: Export) -> DataFrame:
    path = f.col("path")
    reason = f.coalesce(
        f.col("said_problem"),
        f.when(f.coalesce("path", f.lit("")) == "", "It names no object."),
        f.when(f.coalesce("grantee", f.lit("")) == "", "It names no policy."),
    )
    return select_facts(
        rows.withColumn("privilege", f.lit("")),
        export,
        RowOutcome(f.when(f.col("said_rule").isNull(), reason), f.col("said_rule"), f.lit(FactKind.POLICY)),
        path=path,
        object_key=object_key(export, path),
        kind="grantee_type",
        grantee="grantee",
    )


def _describe(kind: Column, path: Column, name: Column) -> dict[str, Column]:
    """Return the columns of a policy of a kind and a name on a table."""
    return {"path": path, "grantee_type": kind, "grantee": name}


# -- Snowflake --------------------------------------------------------------------------------------------------------


def _describe_reference(rows: DataFrame, _: Export) -> dict[str, Column]:
    """Return table, kind, name and rule of rows of POLICY_REFERENCES; policies on tags and accounts are passed."""
    kinds = f.create_map(*(f.lit(item) for pair in _SNOWFLAKE_KINDS.items() for item in pair))
    kind = f.try_element_at(kinds, normalize_word(f.col("policy_kind")))
    is_on_table = normalize_word(f.col("ref_entity_domain")).isin(*TABLE_TYPES)
    status = normalize_word(f.col("policy_status")) if "policy_status" in rows.columns else f.lit("ACTIVE")
    rule = f.when(~is_on_table | kind.isNull(), PassRule.OTHER_OBJECT).when(
        ~status.isin("ACTIVE", ""), PassRule.INACTIVE_POLICY
    )
    return {**_describe(kind, join_path(*_SNOWFLAKE_OBJECT), f.col("policy_name")), "said_rule": rule}


# -- BigQuery ---------------------------------------------------------------------------------------------------------


def _read_json(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return row access policies and columns with policy tags, one JSON object a line."""
    rows = read_lines(spark, folder, pattern).withColumn("said", parse_object("row_text", _ROW_POLICY_SCHEMA))
    reference = "said.rowAccessPolicyReference"
    is_row_policy, is_column = f.col(reference).isNotNull(), f.col("said.table_name").isNotNull()
    table = join_path(*(f"said.{name}" for name in _TABLE))
    has_tags = f.coalesce(f.size("said.policy_tags"), f.lit(0)) > 0
    described_columns = {
        "said_problem": f.when(~is_row_policy & ~is_column, "It is no JSON of a row access policy or a column."),
        "said_rule": f.when(~is_row_policy & is_column & ~has_tags, PassRule.OTHER_OBJECT),
        **_describe(
            f.when(is_row_policy, PolicyKind.ROWS).otherwise(f.lit(PolicyKind.MASK)),
            f.when(
                is_row_policy, join_path(*(f"{reference}.{name}" for name in ("projectId", "datasetId", "tableId")))
            ).otherwise(table),
            f.coalesce(f.col(f"{reference}.policyId"), f.array_join("said.policy_tags", " ")),
        ),
    }
    return rows.withColumns(described_columns)


# -- the others -------------------------------------------------------------------------------------------------------


def _describe_plain(_: DataFrame, export: Export) -> dict[str, Column]:
    kind = normalize_word(f.col("kind"))
    return {
        **_describe(kind, split_name(export, f.col("object")), f.col("policy")),
        "said_problem": f.when(~kind.isin(*PolicyKind), f.concat(f.lit("No policy is of the kind "), kind, f.lit("."))),
    }


def _build_layout(
    kind: PolicyKind, table: Sequence[str], name: str, *others: str, switches: Sequence[str] = ()
) -> Layout:
    """Return a layout of policies of a kind; a table of two parts is in the database of the export.

    `switches` are further columns: a policy is in force unless one of them that is there says no.
    """

    def describe(rows: DataFrame, export: Export) -> dict[str, Column]:
        path = join_path(*table) if len(table) > 2 else join_path(f.lit(export.database), *table)
        is_off = f.expr("false")
        for switch in set(switches) & set(rows.columns):
            is_off |= f.lower(f.trim(switch)).isin("f", "false", "0")
        said_rule = f.when(is_off, PassRule.INACTIVE_POLICY)
        return {**_describe(f.lit(kind), path, f.col(name)), "said_rule": said_rule}

    return Layout((*table, name, *others), describe)


_PLAIN = Layout(("object", "kind", "policy"), _describe_plain)
#: The layouts of each form but BigQuery, whose policies are JSON.
_LAYOUTS: Mapping[str, Sequence[Layout]] = {
    "snowflake": (
        Layout((*_SNOWFLAKE_OBJECT, "ref_entity_domain", "policy_name", "policy_kind"), _describe_reference),
        _PLAIN,
    ),
    "databricks": (
        *(_build_layout(PolicyKind.MASK, table, "mask_name", "column_name") for table in (_NAMES, _TABLE)),
        *(_build_layout(PolicyKind.ROWS, table, "filter_name") for table in (_NAMES, _TABLE)),
        _PLAIN,
    ),
    "redshift": (
        _build_layout(PolicyKind.ROWS, ("relschema", "relname"), "polname", switches=("is_pol_on", "is_rls_on")),
        _build_layout(PolicyKind.MASK, ("schema_name", "table_name"), "policy_name"),
        _PLAIN,
    ),
    "postgres": (
        _build_layout(PolicyKind.ROWS, ("schemaname", "tablename"), "policyname", switches=("rowsecurity",)),
        _PLAIN,
    ),
    "trino": (_PLAIN,),
    "csv": (_PLAIN,),
}
