"""Masks of columns and filters of rows, as warehouses list them: which policy stands before the data of which table."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import layouts
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import TABLE_TYPES
from catalog.reports.kinds.role_mapping_check.forms.json_rows import parse_object
from catalog.reports.kinds.role_mapping_check.forms.layouts import Layout, join_path
from catalog.reports.kinds.role_mapping_check.forms.lines import read_lines
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, select_facts
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, PolicyKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule
from catalog.reports.spark.sql_text import list_texts, quote_text

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
    reason = """CASE WHEN said_rule IS NULL THEN coalesce(
        said_problem,
        CASE WHEN coalesce(path, '') = '' THEN 'It names no object.' END,
        CASE WHEN coalesce(grantee, '') = '' THEN 'It names no policy.' END) END"""
    return select_facts(
        rows.withColumn("privilege", f.expr("''")),
        export,
        RowOutcome(reason, "said_rule", f"'{FactKind.POLICY}'"),
        path="path",
        kind="grantee_type",
        grantee="grantee",
    )


def _describe(kind: str, path: str, name: str) -> dict[str, str]:
    """Return the columns of a policy of a kind and a name on a table."""
    return {"path": path, "grantee_type": kind, "grantee": name}


# -- Snowflake --------------------------------------------------------------------------------------------------------


def _describe_reference(rows: DataFrame, _: Export) -> dict[str, str]:
    """Return table, kind, name and rule of rows of POLICY_REFERENCES; policies on tags and accounts are passed."""
    choices = " ".join(f"WHEN '{name}' THEN '{kind}'" for name, kind in _SNOWFLAKE_KINDS.items())
    kind = f"CASE {normalize_word('policy_kind')} {choices} END"
    is_on_table = f"{normalize_word('ref_entity_domain')} IN {list_texts(TABLE_TYPES)}"
    status = normalize_word("policy_status") if "policy_status" in rows.columns else "'ACTIVE'"
    rule = f"""CASE WHEN NOT {is_on_table} OR {kind} IS NULL THEN '{PassRule.OTHER_OBJECT}'
        WHEN NOT {status} IN ('ACTIVE', '') THEN '{PassRule.INACTIVE_POLICY}' END"""
    return {**_describe(kind, join_path(*_SNOWFLAKE_OBJECT), "policy_name"), "said_rule": rule}


# -- BigQuery ---------------------------------------------------------------------------------------------------------


def _read_json(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return row access policies and columns with policy tags, one JSON object a line."""
    rows = read_lines(spark, folder, pattern).withColumn("said", f.expr(parse_object("row_text", _ROW_POLICY_SCHEMA)))
    reference = "said.rowAccessPolicyReference"
    row_policy_table = join_path(*(f"{reference}.{name}" for name in ("projectId", "datasetId", "tableId")))
    column_table = join_path(*(f"said.{name}" for name in _TABLE))
    described_columns = {
        "said_problem": f"""CASE WHEN {reference} IS NULL AND said.table_name IS NULL
            THEN 'It is no JSON of a row access policy or a column.' END""",
        "said_rule": f"""CASE WHEN {reference} IS NULL AND said.table_name IS NOT NULL
            AND NOT coalesce(size(said.policy_tags), 0) > 0 THEN '{PassRule.OTHER_OBJECT}' END""",
        **_describe(
            f"CASE WHEN {reference} IS NOT NULL THEN '{PolicyKind.ROWS}' ELSE '{PolicyKind.MASK}' END",
            f"CASE WHEN {reference} IS NOT NULL THEN {row_policy_table} ELSE {column_table} END",
            f"coalesce({reference}.policyId, array_join(said.policy_tags, ' '))",
        ),
    }
    return rows.withColumns({name: f.expr(text) for name, text in described_columns.items()})


# -- the others -------------------------------------------------------------------------------------------------------


def _describe_plain(_: DataFrame, export: Export) -> dict[str, str]:
    kind = normalize_word("kind")
    return {
        **_describe(kind, split_name(export, "object"), "policy"),
        "said_problem": f"""CASE WHEN NOT {kind} IN {list_texts(PolicyKind)}
            THEN concat('No policy is of the kind ', {kind}, '.') END""",
    }


def _build_layout(
    kind: PolicyKind, table: Sequence[str], name: str, *others: str, switches: Sequence[str] = ()
) -> Layout:
    """Return a layout of policies of a kind; a table of two parts is in the database of the export.

    `switches` are further columns: a policy is in force unless one of them that is there says no.
    """

    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        path = join_path(*table) if len(table) > 2 else join_path(quote_text(export.database), *table)
        conditions = [f"lower(trim({switch})) IN ('f', 'false', '0')" for switch in switches if switch in rows.columns]
        said_rule = f"CASE WHEN {' OR '.join(conditions)} THEN '{PassRule.INACTIVE_POLICY}' END"
        return _describe(f"'{kind}'", path, name) | ({"said_rule": said_rule} if conditions else {})

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
