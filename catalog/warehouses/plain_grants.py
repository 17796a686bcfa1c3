"""The plain form: CSV with object_type, object, privilege, grantee_type and grantee."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, quote_text
from catalog.warehouses.csv_grants import (
    MISSING_NAMES,
    build_csv_facts,
    mark_types,
)
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.files.headers import Header
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.principals import GROUP, join_name
from catalog.warehouses.row_facts import UNKNOWN_LEVEL, RowOutcome
from catalog.warehouses.sql_names import fold_name, normalize_word, split_name
from catalog.warehouses.warehouse import Export

#: The columns of the form.
HEADER = Header(
    ("object_type", "object", "privilege", "grantee_type", "grantee"), "the plain form", further=("created_on",)
)

#: The end of a name that stands for everything in a container, and the parts of names in which a star is only a letter.
_WILDCARD_ENDING, _QUOTED_PART = r"(?<=[^.])([.][*])+$", r'"([^"]|"")*"'


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export in the plain form. Raises BadExports."""
    return [read_files(spark, folder, export, pattern) for pattern in (*export.grants, *export.members)]


def read_files(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the facts of files in the plain form. Raises BadExports."""
    columns = {name: normalize_word(name) for name in ("object_type", "privilege", "grantee_type")}
    columns["grantee"] = fold_name(export, "grantee")
    rows = read_csv(spark, folder, export, pattern, [HEADER])
    rows = mark_types(rows.withColumns({name: f.expr(text) for name, text in columns.items()}))
    resolved_columns = _resolve_wildcards(export) | _resolve_groups()
    rows = mark_types(rows.withColumns({name: f.expr(text) for name, text in resolved_columns.items()}))
    return build_csv_facts(rows, export, _OUTCOME)


def _resolve_wildcards(export: Export) -> dict[str, str]:
    """Return `path`, `has_stray_wildcard` and `object_type`: a name that ends with .* is all tables of a container."""
    wildcard = quote_text(_WILDCARD_ENDING)
    stem = f"regexp_replace(object, {wildcard}, '')"
    bare_stem = f"regexp_replace({stem}, {quote_text(_QUOTED_PART)}, '')"
    return {
        "path": f"CASE WHEN on_role THEN {fold_name(export, 'object')} ELSE {split_name(export, stem)} END",
        "has_stray_wildcard": f"NOT on_role AND contains({bare_stem}, '*')",
        "object_type": f"""CASE WHEN NOT on_role AND object RLIKE {wildcard} AND on_table THEN 'SCHEMA'
            ELSE object_type END""",
    }


def _resolve_groups() -> dict[str, str]:
    """Return `grantee_type` and `grantee`: a group that has a privilege itself counts as a role, as in all forms."""
    is_holder = f"NOT on_role AND grantee_type = '{Grantee.GROUP}' AND trim(grantee) <> ''"
    group = join_name(quote_text(GROUP), "grantee")
    return {
        "grantee_type": f"CASE WHEN {is_holder} THEN '{Grantee.ROLE}' ELSE grantee_type END",
        "grantee": f"CASE WHEN {is_holder} THEN {group} ELSE grantee END",
    }


_OUTCOME = RowOutcome(
    reason=f"""coalesce({MISSING_NAMES}, CASE
        WHEN privilege = '' AND NOT on_role THEN 'It names no privilege.'
        WHEN NOT to_role AND NOT to_person THEN concat('Nobody is a ', grantee_type, '.')
        WHEN NOT on_role AND NOT on_table AND NOT on_container
            THEN concat('There is no ', object_type, ' to grant on.')
        WHEN has_stray_wildcard THEN 'A * can only stand for all that follows in a name: database.schema.*'
        WHEN NOT on_role AND bit IS NULL THEN {UNKNOWN_LEVEL} END)""",
    rule=NO_TEXT,
    kind=f"""CASE
        WHEN on_role AND privilege IN ('USAGE', 'MEMBER', '') AND to_role THEN '{FactKind.INHERIT}'
        WHEN on_role AND privilege IN ('USAGE', 'MEMBER', '') THEN '{FactKind.MEMBER}'
        WHEN on_role THEN '{FactKind.ROLE}'
        ELSE '{FactKind.GRANT}' END""",
)
