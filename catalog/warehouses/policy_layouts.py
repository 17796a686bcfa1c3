"""Masks of columns and filters of rows, as warehouses list them: which policy stands before the data of which table."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import FactKind, PolicyKind
from catalog.warehouses.layouts import Layout, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import RowOutcome, select_facts
from catalog.warehouses.sql_names import normalize_word, split_name
from catalog.warehouses.warehouse import Export


def read_policies(
    spark: SparkSession, folder: str, export: Export, policy_layouts: Sequence[Layout]
) -> list[DataFrame]:
    """Return the facts of the policies of an export, whose files have these layouts or the plain one.

    Raises BadExports.
    """
    choices = (*policy_layouts, _PLAIN)
    frames = (layouts.describe_file(spark, folder, export, pattern, choices) for pattern in export.policies)
    return [build_policy_facts(rows, export) for rows in frames]


def read_plain_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export in the plain layout. Raises BadExports."""
    return read_policies(spark, folder, export, ())


def build_policy_facts(rows: DataFrame, export: Export) -> DataFrame:
    """Return the facts of rows with the columns of `describe_policy`, `said_rule` and `said_problem`."""
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
        **({"details": "details"} if "details" in rows.columns else {}),
    )


def describe_policy(kind: str, path: str, name: str) -> dict[str, str]:
    """Return the columns of a policy of a kind and a name on a table."""
    return {"path": path, "grantee_type": kind, "grantee": name}


def build_policy_layout(
    kind: PolicyKind,
    table: Sequence[str],
    name: str,
    *others: str,
    switches: Sequence[str] = (),
    owner_switch: str | None = None,
    layout: str = "",
    further: tuple[str, ...] | None = None,
) -> Layout:
    """Return a layout of policies of a kind; a table of two parts is in the database of the export.

    A policy is in force unless one of the columns `switches` that is there says no. It spares owners unless the column
    `owner_switch` says yes; None where it does not ask who owns a table. `layout` is the name of the layout, and
    `further` are its other columns.
    """

    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        path = join_path(*table) if len(table) > 2 else join_path(quote_text(export.database), *table)
        conditions = [f"lower(trim({switch})) IN ('f', 'false', '0')" for switch in switches if switch in rows.columns]
        said_rule = f"CASE WHEN {' OR '.join(conditions)} THEN '{PassRule.INACTIVE_POLICY}' END"
        binds_owner = f"lower(trim({owner_switch})) IN ('t', 'true', '1')" if owner_switch in rows.columns else "false"
        spares_owner = f"to_json(named_struct('spares_owner', NOT coalesce({binds_owner}, false)))"
        return {
            **describe_policy(f"'{kind}'", path, name),
            **({"said_rule": said_rule} if conditions else {}),
            **({"details": spares_owner} if owner_switch is not None else {}),
        }

    return Layout((*table, name, *others), describe, layout, further)


def _describe_plain(_: DataFrame, export: Export) -> dict[str, str]:
    kind = normalize_word("kind")
    return {
        **describe_policy(kind, split_name(export, "object"), "policy"),
        "said_problem": f"""CASE WHEN NOT {kind} IN {list_texts(PolicyKind)}
            THEN concat('No policy is of the kind ', {kind}, '.') END""",
    }


_PLAIN = Layout(("object", "kind", "policy"), _describe_plain, "the plain form", ())
