"""Masks and row filters of Snowflake: ACCOUNT_USAGE.POLICY_REFERENCES as CSV."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import list_texts
from catalog.warehouses import policy_layouts
from catalog.warehouses.csv_grants import TABLE_TYPES
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.layouts import Layout, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import describe_policy
from catalog.warehouses.snowflake.privileges import PUBLISHED
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.warehouse import Export

_OBJECT = ("ref_database_name", "ref_schema_name", "ref_entity_name")
#: What Snowflake calls the policies that decide which rows and values of a table somebody sees.
_KINDS: Mapping[str, PolicyKind] = {
    **dict.fromkeys(("MASKING POLICY", "PROJECTION POLICY"), PolicyKind.MASK),
    **dict.fromkeys(("ROW ACCESS POLICY", "AGGREGATION POLICY"), PolicyKind.ROWS),
}


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return policy_layouts.read_policies(spark, folder, export, _LAYOUTS)


def _describe_reference(rows: DataFrame, _: Export) -> dict[str, str]:
    """Return table, kind, name and rule of rows of POLICY_REFERENCES; policies on tags and accounts are passed."""
    choices = " ".join(f"WHEN '{name}' THEN '{kind}'" for name, kind in _KINDS.items())
    kind = f"CASE {normalize_word('policy_kind')} {choices} END"
    is_on_table = f"{normalize_word('ref_entity_domain')} IN {list_texts(TABLE_TYPES)}"
    status = normalize_word("policy_status") if "policy_status" in rows.columns else "'ACTIVE'"
    rule = f"""CASE WHEN NOT {is_on_table} OR {kind} IS NULL THEN '{PassRule.OTHER_OBJECT}'
        WHEN NOT {status} IN ('ACTIVE', '') THEN '{PassRule.INACTIVE_POLICY}' END"""
    return {**describe_policy(kind, join_path(*_OBJECT), "policy_name"), "said_rule": rule}


_HEADER = PUBLISHED.headers["policy_references"]
_LAYOUTS = (Layout(_HEADER.needed, _describe_reference, "policy_references", _HEADER.further),)
