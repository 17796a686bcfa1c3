"""BigQuery: IAM policies as JSON lines or OBJECT_PRIVILEGES as CSV, and the members of groups in the plain form."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import plain_grants
from catalog.warehouses.bigquery.condition_facts import read_clock, read_conditions
from catalog.warehouses.bigquery.conditions import ConditionState
from catalog.warehouses.bigquery.coverage import IAM_POLICIES, OBJECT_PRIVILEGES
from catalog.warehouses.bigquery.place_facts import Places, read_places
from catalog.warehouses.bigquery.privileges import NO_DATA_PATTERN, NO_DATA_ROLES, OWN_ROLE_PREFIX
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.files.json_rows import parse_object
from catalog.warehouses.files.lines import LINE_COLUMNS, read_lines
from catalog.warehouses.grant_facts import (
    SEPARATOR,
    FactKind,
    Grantee,
    role_key,
    without_domain,
)
from catalog.warehouses.layouts import Layout, choose_layout
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import UNKNOWN_LEVEL, RowOutcome, select_facts
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.warehouse import Export

_CONDITION_TYPE = "struct<expression: string>"
_BINDING_TYPE = f"struct<role: string, members: array<string>, condition: {_CONDITION_TYPE}>"
_POLICY_KEYS = ("policy", "iam_policy", "iamPolicy")
_IAM_POLICY_SCHEMA = "name string, resource string, " + ", ".join(
    f"{key} struct<bindings: array<{_BINDING_TYPE}>>" for key in _POLICY_KEYS
)
_PROJECT_PATTERN = r"^//(?:bigquery|cloudresourcemanager)\.googleapis\.com/(?:v[0-9]+/)?projects/([^/]+)"
_PARENT_PATTERN = r"^//cloudresourcemanager\.googleapis\.com/(?:v[0-9]+/)?((?:folders|organizations)/[0-9]+)$"
#: What a dataset has beside tables: a binding on it reaches no table.
_OTHER_PART_PATTERN = "/(?:routines|models|rowAccessPolicies)/"
_TABLE_TYPES = ("TABLE", "VIEW", "EXTERNAL", "EXTERNAL TABLE", "MATERIALIZED VIEW", "CLONE", "SNAPSHOT", "BASE TABLE")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of BigQuery. Raises BadExports."""
    now = read_clock(spark)
    places = read_places(spark, folder, export, now)
    frames = [_read_grants(spark, folder, export, pattern) for pattern in export.grants]
    conditions = read_conditions(spark, frames, now)
    return [
        *(_build_facts(rows, export, places, conditions) for rows in frames),
        *(plain_grants.read_files(spark, folder, export, pattern) for pattern in export.members),
        *places.facts,
    ]


def _read_grants(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return rows with LINE_COLUMNS, place, object_type, privilege, member, condition and layout."""
    if not pattern.removesuffix(".gz").endswith(".csv"):
        return _parse_iam_policies(read_lines(spark, folder, pattern))
    rows = read_csv(spark, folder, export, pattern, ())
    columns = [name for name in rows.columns if name not in LINE_COLUMNS]
    described_columns = choose_layout(columns, export, pattern, (_OBJECT_LAYOUT,)).describe(rows, export)
    return rows.selectExpr(*LINE_COLUMNS, *(f"{text} AS {name}" for name, text in described_columns.items()))


def _describe_object(_rows: DataFrame, _export: Export) -> dict[str, str]:
    object_type = normalize_word("object_type")
    part = f"CASE WHEN {object_type} IN {list_texts(_TABLE_TYPES)} THEN 'tables' ELSE 'routines' END"
    resource = f"""CASE WHEN object_name IS NOT NULL THEN concat_ws(
        '/',
        concat('//bigquery.googleapis.com/projects/', object_catalog),
        'datasets',
        CASE WHEN {object_type} = 'SCHEMA' THEN object_name ELSE object_schema END,
        CASE WHEN {object_type} <> 'SCHEMA' THEN concat({part}, '/', object_name) END) END"""
    return {
        "place": resource,
        "object_type": object_type,
        "privilege": "privilege_type",
        "member": "grantee",
        "condition": NO_TEXT,
        "layout": quote_text(OBJECT_PRIVILEGES),
    }


_OBJECT_LAYOUT = Layout(
    ("object_catalog", "object_schema", "object_name", "object_type", "privilege_type", "grantee"),
    _describe_object,
    OBJECT_PRIVILEGES,
    (),
)


def _parse_iam_policies(lines: DataFrame) -> DataFrame:
    """Return a row for each resource, IAM role and member; a line with a problem is one row."""
    bindings = f"coalesce({', '.join(f'said.{key}.bindings' for key in _POLICY_KEYS)})"
    policies = lines.withColumn("said", f.expr(parse_object("row_text", _IAM_POLICY_SCHEMA))).withColumns(
        {"place": f.expr("coalesce(said.resource, said.name)"), "bindings": f.expr(bindings)}
    )
    problem = """CASE WHEN is_row THEN coalesce(row_problem, CASE
        WHEN place IS NULL THEN 'It is no JSON object with a resource.'
        WHEN bindings IS NULL THEN 'It has no policy with bindings.' END) END"""
    policies = policies.withColumns(
        {
            "row_problem": f.expr(problem),
            # A policy without bindings grants nothing: no row.
            "is_row": f.expr("is_row AND coalesce(size(bindings), -1) <> 0"),
        }
    )
    binding_rows = policies.selectExpr(
        *LINE_COLUMNS, "place", "explode_outer(CASE WHEN row_problem IS NULL THEN bindings END) AS binding"
    )
    rows = binding_rows.selectExpr(
        *LINE_COLUMNS,
        "place",
        f"{NO_TEXT} AS object_type",
        "binding.role AS privilege",
        "explode_outer(binding.members) AS member",
        "binding.condition.expression AS condition",
        f"{quote_text(IAM_POLICIES)} AS layout",
    )
    whole_row = """CASE WHEN row_problem IS NULL
        THEN concat_ws(' ', place, privilege, member, concat('if ', condition)) ELSE row_text END"""
    return rows.withColumn("row_text", f.expr(whole_row))


def _build_facts(rows: DataFrame, export: Export, places: Places, conditions: DataFrame) -> DataFrame:
    names = {
        "project": f"nullif(regexp_extract(coalesce(place, ''), {quote_text(_PROJECT_PATTERN)}, 1), '')",
        "parent": f"nullif(regexp_extract(coalesce(place, ''), {quote_text(_PARENT_PATTERN)}, 1), '')",
    }
    rows = rows.withColumns({name: f.expr(text) for name, text in names.items()})
    # Only names that are no identifiers of projects have to be looked up.
    number = f"CASE WHEN project RLIKE {quote_text('^[0-9]+$')} THEN concat('projects/', project) END"
    rows = rows.withColumn("known_as", f.expr(f"coalesce({number}, parent)")).join(places.names, "known_as", "left")
    rows = rows.join(f.broadcast(conditions), "condition", "left")
    dataset, table = (f"nullif(regexp_extract(place, '/{part}/([^/]+)', 1), '')" for part in ("datasets", "tables"))
    project = "CASE WHEN known_as IS NULL THEN project ELSE known_project END"
    name = "regexp_replace(member, '^[A-Za-z]+:', '')"
    parent_type = "upper(regexp_extract(parent, '^([a-z]+)s/', 1))"
    return select_facts(
        rows,
        export,
        _OUTCOME,
        path=f"coalesce(parent, concat_ws({quote_text(SEPARATOR)}, {project}, {dataset}, {table}))",
        object_type=f"nullif(coalesce(object_type, {parent_type}), '')",
        is_container=f"{table} IS NULL",
        # Any member but a user counts as a role: groups, service accounts, everybody.
        kind=f"CASE WHEN {_MEMBER_KIND} = 'user' THEN '{Grantee.USER}' ELSE '{Grantee.ROLE}' END",
        grantee="member",
        grantee_key=f"""CASE WHEN {_MEMBER_KIND} = 'group' THEN {role_key(export, name)}
            WHEN {_MEMBER_KIND} = 'user' THEN {without_domain(export, name)} ELSE lower(member) END""",
        condition="condition",
        condition_names="condition_names",
        layout="layout",
    )


_MEMBER_KIND = "substring_index(member, ':', 1)"
_IS_HARMLESS = f"""bit IS NULL
        AND (privilege IN {list_texts(NO_DATA_ROLES)} OR privilege RLIKE {quote_text(NO_DATA_PATTERN)})"""
_IS_UNDECIDED = f"coalesce(state, '{ConditionState.UNKNOWN}') = '{ConditionState.UNKNOWN}'"
_RULE = f"""CASE
    WHEN project IS NULL AND parent IS NULL THEN '{PassRule.OTHER_SERVICE}'
    WHEN place RLIKE {quote_text(_OTHER_PART_PATTERN)} THEN '{PassRule.OTHER_OBJECT}'
    WHEN {_MEMBER_KIND} = 'deleted' THEN '{PassRule.DELETED_MEMBER}'
    WHEN state = '{ConditionState.EXPIRED}' THEN '{PassRule.EXPIRED}'
    WHEN state = '{ConditionState.EARLY}' THEN '{PassRule.NOT_YET_VALID}'
    WHEN state = '{ConditionState.OUTSIDE}' THEN '{PassRule.OUTSIDE_CONDITION}'
    WHEN {_IS_HARMLESS} THEN '{PassRule.NO_DATA_PRIVILEGE}'
    WHEN bit IS NULL AND startswith(privilege, 'roles/') AND NOT startswith(privilege, '{OWN_ROLE_PREFIX}')
        THEN '{PassRule.UNLISTED_ROLE}'
    WHEN bit IS NOT NULL AND condition IS NOT NULL AND {_IS_UNDECIDED} THEN '{PassRule.UNDECIDED_CONDITION}' END"""
_OUTCOME = RowOutcome(
    reason=f"""CASE
        WHEN place IS NULL THEN 'It names no object.'
        WHEN coalesce(privilege, '') = '' THEN 'A binding names no role.'
        WHEN coalesce(member, '') = '' THEN 'A binding names no member.'
        WHEN rule IS NULL AND bit IS NULL THEN {UNKNOWN_LEVEL}
        WHEN rule IS NULL AND condition_problem IS NOT NULL THEN condition_problem
        WHEN rule IS NULL AND known_as IS NOT NULL AND is_known IS NULL
            THEN concat('No "hierarchy" names ', known_as, '.') END""",
    rule=_RULE,
    kind=f"'{FactKind.GRANT}'",
)
