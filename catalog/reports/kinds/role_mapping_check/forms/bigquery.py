"""BigQuery: IAM policies as JSON lines, and the members of groups in the plain form."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import plain
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS, read_lines
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, describe_unknown_level, select_facts
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind, Grantee, role_key, without_domain
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_BINDINGS_TYPE = "struct<bindings: array<struct<role: string, members: array<string>>>>"
_POLICY_KEYS = ("policy", "iam_policy", "iamPolicy")
_IAM_POLICY_SCHEMA = "name string, resource string, " + ", ".join(f"{key} {_BINDINGS_TYPE}" for key in _POLICY_KEYS)
_RESOURCE_PATTERN = "^//(bigquery|cloudresourcemanager)[.]googleapis[.]com/projects/[^/]+"


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of BigQuery. Raises BadExports."""
    policy_files = (read_lines(spark, folder, pattern) for pattern in export.grants)
    return [
        *(_build_binding_facts(_parse_iam_policies(lines), export) for lines in policy_files),
        *(plain.read_files(spark, folder, export, pattern) for pattern in export.members),
    ]


def _parse_iam_policies(lines: DataFrame) -> DataFrame:
    """Return a row for each resource (`place`), IAM role (`privilege`) and member; a line with a problem is one row."""
    policies = lines.withColumn("said", f.from_json("row_text", _IAM_POLICY_SCHEMA)).withColumns(
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
    places = [*LINE_COLUMNS, "place"]
    binding_rows = policies.select(*places, f.explode_outer(bindings).alias("binding"))
    rows = binding_rows.select(
        *places, f.col("binding.role").alias("privilege"), f.explode_outer("binding.members").alias("member")
    )
    whole_row = f.concat_ws(" ", "place", "privilege", "member")
    return rows.withColumn("row_text", f.when(f.col("row_problem").isNull(), whole_row).otherwise(f.col("row_text")))


def _build_binding_facts(rows: DataFrame, export: Export) -> DataFrame:
    path_parts = [f.regexp_extract("place", rf"/{part}/([^/]+)", 1) for part in ("projects", "datasets", "tables")]
    path = f.array_join(f.filter(f.array(*path_parts), lambda part: part != ""), SEPARATOR)
    member_kind, name = f.substring_index("member", ":", 1), f.regexp_replace("member", "^[A-Za-z]+:", "")
    account = f.when(member_kind == "group", role_key(export, name)).when(
        member_kind == "user", without_domain(export, name)
    )
    return select_facts(
        rows,
        export,
        _decide_outcome(member_kind),
        path=path,
        is_container=path_parts[2] == "",
        # Any member but a user counts as a role: groups, service accounts, everybody.
        kind=f.when(member_kind == "user", Grantee.USER).otherwise(Grantee.ROLE),
        grantee="member",
        grantee_key=account.otherwise(f.lower("member")),
    )


def _decide_outcome(member_kind: Column) -> RowOutcome:
    is_ours = f.col("place").rlike(_RESOURCE_PATTERN)
    is_custom = ~f.col("privilege").startswith("roles/")
    has_level = f.col("bit").isNotNull()
    reason = (
        f.when(f.col("privilege").isNull() | (f.col("privilege") == ""), "A binding names no role.")
        .when(f.col("member").isNull() | (f.col("member") == ""), "A binding names no member.")
        .when(is_ours & is_custom & ~has_level, describe_unknown_level())
    )
    rule = (
        f.when(~is_ours, PassRule.OTHER_SERVICE)
        .when(member_kind == "deleted", PassRule.DELETED_MEMBER)
        .when(~has_level, PassRule.UNLISTED_ROLE)
    )
    return RowOutcome(reason, rule, f.lit(FactKind.GRANT))
