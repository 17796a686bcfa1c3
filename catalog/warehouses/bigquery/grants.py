"""BigQuery: IAM policies and datasets as JSON lines, OBJECT_PRIVILEGES as CSV, members of groups in the plain form."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import plain_grants
from catalog.warehouses.bigquery.conditions import ConditionState, judge_condition
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

IAM_POLICIES, OBJECT_PRIVILEGES, SHOWN_DATASETS = "iam_policies", "OBJECT_PRIVILEGES", "bq_show"
#: Different conditions of an export that are judged; those beyond it stay undecided.
_MAX_CONDITIONS = 50_000
_CONDITION_SCHEMA = "condition string, state string, condition_names string, condition_problem string"
_CONDITION_TYPE = "struct<expression: string>"
_BINDING_TYPE = f"struct<role: string, members: array<string>, condition: {_CONDITION_TYPE}>"
_POLICY_KEYS = ("policy", "iam_policy", "iamPolicy")
_OBJECT_TYPE = "struct<projectId: string, datasetId: string, tableId: string, routineId: string>"
_ACCESS_TYPE = (
    "struct<role: string, userByEmail: string, groupByEmail: string, domain: string, specialGroup: string, "
    f"iamMember: string, condition: {_CONDITION_TYPE}, view: {_OBJECT_TYPE}, routine: {_OBJECT_TYPE}, "
    f"dataset: struct<dataset: {_OBJECT_TYPE}>>"
)
_LINE_SCHEMA = "name string, resource string, " + ", ".join(
    (
        *(f"{key} struct<bindings: array<{_BINDING_TYPE}>>" for key in _POLICY_KEYS),
        f"datasetReference {_OBJECT_TYPE}",
        f"access array<{_ACCESS_TYPE}>",
    )
)
#: What `bq show` calls IAM roles and the members of IAM policies.
_DATASET_ROLES = {"OWNER": "dataOwner", "WRITER": "dataEditor", "READER": "dataViewer"}
_PROJECT_KINDS = {
    "projectOwners": "projectOwner",
    "projectWriters": "projectEditor",
    "projectReaders": "projectViewer",
}
#: Stands for the role of what reads a dataset for others: an authorized view, routine or dataset.
_AUTHORIZED = "authorized"
_PROJECT_PATTERN = r"^//(?:bigquery|cloudresourcemanager)\.googleapis\.com/(?:v[0-9]+/)?projects/([^/]+)"
_PARENT_PATTERN = r"^//cloudresourcemanager\.googleapis\.com/(?:v[0-9]+/)?((?:folders|organizations)/[0-9]+)$"
#: What a dataset has beside tables: a binding on it reaches no table.
_OTHER_PART_PATTERN = "/(?:routines|models|rowAccessPolicies)/"
_TABLE_TYPES = ("TABLE", "VIEW", "EXTERNAL", "EXTERNAL TABLE", "MATERIALIZED VIEW", "CLONE", "SNAPSHOT", "BASE TABLE")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of BigQuery. Raises BadExports."""
    now = _read_clock(spark)
    places = read_places(spark, folder, export, now)
    frames = [_read_grants(spark, folder, export, pattern) for pattern in export.grants]
    conditions = _read_conditions(spark, frames, now)
    return [
        *(_build_facts(rows, export, places, conditions) for rows in frames),
        *(plain_grants.read_files(spark, folder, export, pattern) for pattern in export.members),
        *places.facts,
    ]


def _read_clock(spark: SparkSession) -> datetime:
    """Return the present time."""
    (row,) = spark.range(1).select(f.unix_micros(f.current_timestamp()).alias("now")).collect()
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row["now"])


def _read_conditions(spark: SparkSession, frames: Sequence[DataFrame], now: datetime) -> DataFrame:
    """Return each condition of rows with its state, the names of tables for which it holds, and its problem."""
    texts = reduce(DataFrame.union, (rows.select("condition") for rows in frames)).filter("condition IS NOT NULL")
    conditions = [row["condition"] for row in texts.distinct().limit(_MAX_CONDITIONS).collect()]
    judged = ((text, judge_condition(text, now)) for text in conditions)
    rows = [(text, judgement.state.value, judgement.names, judgement.problem) for text, judgement in judged]
    return spark.createDataFrame(rows, _CONDITION_SCHEMA)


def _read_grants(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return rows with LINE_COLUMNS, place, object_type, privilege, member, condition and layout."""
    if not pattern.removesuffix(".gz").endswith(".csv"):
        return _parse_policies(read_lines(spark, folder, pattern))
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


def _list_dataset_bindings() -> str:
    """Return the access entries of a dataset, as `bq show` has them, as bindings."""
    roles = " ".join(f"WHEN '{name}' THEN 'roles/bigquery.{role}'" for name, role in _DATASET_ROLES.items())
    groups = " ".join(
        f"WHEN '{name}' THEN concat('{kind}:', said.datasetReference.projectId)"
        for name, kind in _PROJECT_KINDS.items()
    )
    user_kind = "CASE WHEN endswith(entry.userByEmail, 'gserviceaccount.com') THEN 'serviceAccount:' ELSE 'user:' END"
    reader = "coalesce(entry.view, entry.routine, entry.dataset.dataset)"
    reader_kind = """CASE WHEN entry.view IS NOT NULL THEN 'view' WHEN entry.routine IS NOT NULL THEN 'routine'
        ELSE 'views of' END"""
    name = f"concat_ws('.', {reader}.projectId, {reader}.datasetId, {reader}.tableId, {reader}.routineId)"
    member = f"""coalesce(concat({user_kind}, entry.userByEmail), concat('group:', entry.groupByEmail),
        concat('domain:', entry.domain), CASE entry.specialGroup {groups} ELSE entry.specialGroup END, entry.iamMember,
        CASE WHEN {reader} IS NOT NULL THEN concat_ws(' ', {reader_kind}, {name}) END)"""
    role = f"""CASE WHEN {reader} IS NOT NULL THEN '{_AUTHORIZED}'
        ELSE CASE entry.role {roles} ELSE entry.role END END"""
    return f"""transform(said.access, entry ->
        named_struct('role', {role}, 'members', array({member}), 'condition', entry.condition))"""


def _parse_policies(lines: DataFrame) -> DataFrame:
    """Return a row for each resource, IAM role and member; a line with a problem is one row."""
    bindings = f"coalesce({', '.join(f'said.{key}.bindings' for key in _POLICY_KEYS)}, {_list_dataset_bindings()})"
    dataset = "concat_ws('/', 'projects', said.datasetReference.projectId, 'datasets', said.datasetReference.datasetId)"
    is_dataset = "said.datasetReference.datasetId IS NOT NULL"
    resource = f"""coalesce(said.resource, said.name,
        CASE WHEN {is_dataset} THEN concat('//bigquery.googleapis.com/', {dataset}) END)"""
    policies = lines.withColumn("said", f.expr(parse_object("row_text", _LINE_SCHEMA))).withColumns(
        {"place": f.expr(resource), "bindings": f.expr(bindings)}
    )
    problem = """CASE WHEN is_row THEN coalesce(row_problem, CASE
        WHEN place IS NULL THEN 'It is no JSON object with a resource.'
        WHEN bindings IS NULL THEN 'It has no policy with bindings.' END) END"""
    policies = policies.withColumns(
        {
            "row_problem": f.expr(problem),
            # A policy without bindings grants nothing: no row.
            "is_row": f.expr("is_row AND coalesce(size(bindings), -1) <> 0"),
            "layout": f.expr(f"CASE WHEN {is_dataset} THEN '{SHOWN_DATASETS}' ELSE '{IAM_POLICIES}' END"),
        }
    )
    binding_rows = policies.selectExpr(
        *LINE_COLUMNS, "place", "layout", "explode_outer(CASE WHEN row_problem IS NULL THEN bindings END) AS binding"
    )
    rows = binding_rows.selectExpr(
        *LINE_COLUMNS,
        "place",
        f"{NO_TEXT} AS object_type",
        "binding.role AS privilege",
        "explode_outer(binding.members) AS member",
        "binding.condition.expression AS condition",
        "layout",
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
        condition=f"CASE WHEN privilege = '{_AUTHORIZED}' THEN member ELSE condition END",
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
    WHEN privilege = '{_AUTHORIZED}' THEN '{PassRule.READING_OBJECT}'
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
