"""BigQuery: IAM policies as JSON lines or OBJECT_PRIVILEGES as CSV, and the members of groups in the plain form."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import plain
from catalog.reports.kinds.role_mapping_check.forms.csv_rows import read_csv
from catalog.reports.kinds.role_mapping_check.forms.google.condition_facts import read_clock, read_conditions
from catalog.reports.kinds.role_mapping_check.forms.google.conditions import ConditionState
from catalog.reports.kinds.role_mapping_check.forms.google.place_facts import Places, read_places
from catalog.reports.kinds.role_mapping_check.forms.json_rows import parse_object
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS, read_lines
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, describe_unknown_level, select_facts
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind, Grantee, role_key, without_domain
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_CONDITION_TYPE = "struct<expression: string>"
_BINDING_TYPE = f"struct<role: string, members: array<string>, condition: {_CONDITION_TYPE}>"
_POLICY_KEYS = ("policy", "iam_policy", "iamPolicy")
_IAM_POLICY_SCHEMA = "name string, resource string, " + ", ".join(
    f"{key} struct<bindings: array<{_BINDING_TYPE}>>" for key in _POLICY_KEYS
)
_OBJECT_COLUMNS = ("object_catalog", "object_schema", "object_name", "object_type", "privilege_type", "grantee")
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
        *(plain.read_files(spark, folder, export, pattern) for pattern in export.members),
        *places.facts,
    ]


def _read_grants(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return rows with LINE_COLUMNS, place, object_type, privilege, member and condition."""
    if not pattern.removesuffix(".gz").endswith(".csv"):
        return _parse_iam_policies(read_lines(spark, folder, pattern))
    rows = read_csv(spark, folder, export, pattern, _OBJECT_COLUMNS)
    object_type = normalize_word(f.col("object_type"))
    dataset = f.when(object_type == "SCHEMA", f.col("object_name")).otherwise(f.col("object_schema"))
    part = f.when(object_type.isin(*_TABLE_TYPES), "tables").otherwise("routines")
    object_part = f.when(object_type != "SCHEMA", f.concat(part, f.lit("/"), "object_name"))
    project = f.concat(f.lit("//bigquery.googleapis.com/projects/"), "object_catalog")
    is_named = f.col("object_name").isNotNull()
    return rows.select(
        *LINE_COLUMNS,
        f.when(is_named, f.concat_ws("/", project, f.lit("datasets"), dataset, object_part)).alias("place"),
        object_type.alias("object_type"),
        f.col("privilege_type").alias("privilege"),
        f.col("grantee").alias("member"),
        f.lit(None).cast("string").alias("condition"),
    )


def _parse_iam_policies(lines: DataFrame) -> DataFrame:
    """Return a row for each resource, IAM role and member; a line with a problem is one row."""
    policies = lines.withColumn("said", parse_object("row_text", _IAM_POLICY_SCHEMA)).withColumns(
        {
            "place": f.coalesce("said.resource", "said.name"),
            "bindings": f.coalesce(*(f.col(f"said.{key}.bindings") for key in _POLICY_KEYS)),
        }
    )
    problem = f.when(f.col("place").isNull(), "It is no JSON object with a resource.").when(
        f.col("bindings").isNull(), "It has no policy with bindings."
    )
    policies = policies.withColumns(
        {
            "row_problem": f.when(f.col("is_row"), f.coalesce("row_problem", problem)),
            # A policy without bindings grants nothing: no row.
            "is_row": f.col("is_row") & (f.coalesce(f.size("bindings"), f.lit(-1)) != 0),
        }
    )
    bindings = f.when(f.col("row_problem").isNull(), f.col("bindings"))
    binding_rows = policies.select(*LINE_COLUMNS, "place", f.explode_outer(bindings).alias("binding"))
    rows = binding_rows.select(
        *LINE_COLUMNS,
        "place",
        f.lit(None).cast("string").alias("object_type"),
        f.col("binding.role").alias("privilege"),
        f.explode_outer("binding.members").alias("member"),
        f.col("binding.condition.expression").alias("condition"),
    )
    whole_row = f.concat_ws(" ", "place", "privilege", "member", f.concat(f.lit("if "), "condition"))
    return rows.withColumn("row_text", f.when(f.col("row_problem").isNull(), whole_row).otherwise(f.col("row_text")))


def _build_facts(rows: DataFrame, export: Export, places: Places, conditions: DataFrame) -> DataFrame:
    project, parent = (
        f.nullif(f.regexp_extract(f.coalesce("place", f.lit("")), pattern, 1), f.lit(""))
        for pattern in (_PROJECT_PATTERN, _PARENT_PATTERN)
    )
    rows = rows.withColumns({"project": project, "parent": parent})
    # Only names that are no identifiers of projects have to be looked up.
    number = f.when(f.col("project").rlike("^[0-9]+$"), f.concat(f.lit("projects/"), "project"))
    rows = rows.withColumn("known_as", f.coalesce(number, "parent")).join(places.names, "known_as", "left")
    rows = rows.join(f.broadcast(conditions), "condition", "left")
    parts = [f.nullif(f.regexp_extract("place", f"/{part}/([^/]+)", 1), f.lit("")) for part in ("datasets", "tables")]
    project_name = f.when(f.col("known_as").isNull(), f.col("project")).otherwise(f.col("known_project"))
    path = f.coalesce("parent", f.concat_ws(SEPARATOR, project_name, *parts))
    member_kind, name = f.substring_index("member", ":", 1), f.regexp_replace("member", "^[A-Za-z]+:", "")
    account = f.when(member_kind == "group", role_key(export, name)).when(
        member_kind == "user", without_domain(export, name)
    )
    facts = select_facts(
        rows,
        export,
        _decide_outcome(member_kind),
        path=path,
        object_type=f.coalesce("object_type", f.upper(f.regexp_extract("parent", "^([a-z]+)s/", 1))),
        is_container=parts[1].isNull(),
        # Any member but a user counts as a role: groups, service accounts, everybody.
        kind=f.when(member_kind == "user", Grantee.USER).otherwise(Grantee.ROLE),
        grantee="member",
        grantee_key=account.otherwise(f.lower("member")),
        condition="condition",
        condition_names="condition_names",
    )
    return facts.withColumn("object_type", f.nullif("object_type", f.lit("")))


def _decide_outcome(member_kind: Column) -> RowOutcome:
    is_ours = f.col("project").isNotNull() | f.col("parent").isNotNull()
    is_custom = ~f.col("privilege").startswith("roles/")
    has_level = f.col("bit").isNotNull()
    is_undecided = f.coalesce("state", f.lit(ConditionState.UNKNOWN)) == ConditionState.UNKNOWN
    rule = (
        f.when(~is_ours, PassRule.OTHER_SERVICE)
        .when(f.col("place").rlike(_OTHER_PART_PATTERN), PassRule.OTHER_OBJECT)
        .when(member_kind == "deleted", PassRule.DELETED_MEMBER)
        .when(f.col("state") == ConditionState.EXPIRED, PassRule.EXPIRED)
        .when(f.col("state") == ConditionState.EARLY, PassRule.NOT_YET_VALID)
        .when(f.col("state") == ConditionState.OUTSIDE, PassRule.OUTSIDE_CONDITION)
        .when(~has_level & ~is_custom, PassRule.UNLISTED_ROLE)
        .when(has_level & f.col("condition").isNotNull() & is_undecided, PassRule.UNDECIDED_CONDITION)
    )
    reason = (
        f.when(f.col("place").isNull(), "It names no object.")
        .when(f.col("privilege").isNull() | (f.col("privilege") == ""), "A binding names no role.")
        .when(f.col("member").isNull() | (f.col("member") == ""), "A binding names no member.")
        .when(rule.isNull() & ~has_level, describe_unknown_level())
        .when(rule.isNull(), f.col("condition_problem"))
    )
    is_unplaced = rule.isNull() & f.col("known_as").isNotNull() & f.col("is_known").isNull()
    unplaced = f.when(is_unplaced, f.concat(f.lit('No "hierarchy" names '), "known_as", f.lit(".")))
    return RowOutcome(f.coalesce(reason, unplaced), rule, f.lit(FactKind.GRANT))
