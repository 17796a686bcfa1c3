"""Reads the grants and members of Snowflake: what each row gives, also beside what it says.

A privilege on a schema or database lets its holder in; so an owner of one has two facts by one row. USAGE on a
database that was made from a share opens all of it, and MANAGE GRANTS everything.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, is_among, list_texts, quote_text
from catalog.warehouses import principals
from catalog.warehouses.csv_grants import MISSING_NAMES, TABLE_TYPES, build_csv_facts, mark_types
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.files.lines import LINE_COLUMNS
from catalog.warehouses.grant_facts import FACT_COLUMNS, SEPARATOR, FactKind, object_key, select_columns
from catalog.warehouses.layouts import choose_layout
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import UNKNOWN_LEVEL, RowOutcome
from catalog.warehouses.snowflake import layouts
from catalog.warehouses.snowflake.layouts import COLUMNS, DATABASE_LAYOUTS, GRANTS_TO_ROLES
from catalog.warehouses.snowflake.privileges import (
    ACCOUNT_PRIVILEGES,
    ACCOUNT_STARTS,
    ENTRIES,
    ENTRY_START,
    HARMLESS,
    IMPORTED,
    MANAGE_GRANTS,
    OTHER_TYPES,
    READING_TYPES,
)
from catalog.warehouses.warehouse import Export

_SEPARATOR = quote_text(SEPARATOR)
_DATABASE = f"substring_index(path, {_SEPARATOR}, 1)"
_SCHEMA = f"substring_index(path, {_SEPARATOR}, 2)"
#: The name of an object for people, of a role without its type.
_TYPE_START = quote_text(f"^{principals.DATABASE_ROLE}{SEPARATOR}")
_BARE_PATH = f"replace(regexp_replace(path, {_TYPE_START}, ''), {_SEPARATOR}, '.')"
#: The database of a role of one.
_ROLE_DATABASE = f"get(split(path, {_SEPARATOR}), 1)"
_ON_TABLE = f"object_type IN {list_texts(TABLE_TYPES)}"
_IS_GRANT = "NOT is_revoked AND NOT is_future"
_ON_SCOPED_ROLE = f"object_type IN {list_texts(principals.SCOPED_ROLE_TYPES)}"
_UNKNOWN_SCOPE = "'It does not say of which database the role is.'"
_GUESSED = "if it was made from a share: the export has nothing in it"


@dataclass(frozen=True, slots=True)
class _Inventory:
    """The facts that the rows of an export give together.

    `databases` are those of its objects, `imported` those that are known to be made from shares, and `guessed` those
    in which the export has nothing. `closed` are the schemas and databases of its tables, if it says who gets in.
    """

    databases: Collection[str]
    imported: Collection[str]
    guessed: Collection[str]
    closed: Collection[str]


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Snowflake. Raises BadExports."""
    frames = [_read_files(spark, folder, export, pattern) for pattern in (*export.grants, *export.members)]
    rows = reduce(DataFrame.union, frames)
    inventory = _take_inventory(rows, export)
    facts = build_csv_facts(mark_types(_spread_rows(rows, inventory)), export, _OUTCOME)
    return [facts, _close_containers(spark, export, inventory)] if inventory.closed else [facts]


def _read_files(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    rows = read_csv(spark, folder, export, pattern, ())
    layout = choose_layout(
        [name for name in rows.columns if name not in LINE_COLUMNS], export, pattern, layouts.LAYOUTS
    )
    rows = layouts.describe(rows, export, layout)
    return rows.selectExpr(*LINE_COLUMNS, *COLUMNS, f"{quote_text(layout.name)} AS layout")


def _take_inventory(rows: DataFrame, export: Export) -> _Inventory:
    """Return what rows say of schemas and databases; names are in memory, grants are not."""
    is_inside = f"({_ON_TABLE} OR object_type = 'SCHEMA')"
    is_about = f"{_IS_GRANT} AND ({is_inside} OR object_type = 'DATABASE') AND path <> ''"
    place_name = f"CASE WHEN {is_inside} THEN {_SCHEMA} ELSE path END AS place"
    is_viewed = f"layout = '{GRANTS_TO_ROLES}'"
    marks = {
        "has_tables": _ON_TABLE,
        "has_entries": f"object_type IN ('SCHEMA', 'DATABASE') AND said_rule IS NULL AND {is_viewed}",
        "is_imported": f"is_imported OR (object_type = 'DATABASE' AND privilege = '{IMPORTED}')",
        "is_viewed": is_viewed,
        "is_listed": f"layout IN {list_texts(DATABASE_LAYOUTS)}",
    }
    places = rows.filter(f"is_row AND row_problem IS NULL AND {is_about}").groupBy(f.expr(place_name))
    place_rows = places.agg(*(f.expr(f"max({mark}) AS {name}") for name, mark in marks.items())).collect()
    databases = {row["place"].split(SEPARATOR)[0] for row in place_rows}
    imported = {row["place"] for row in place_rows if row["is_imported"]} | {
        export.spell(name) for name in export.imported
    }
    filled = {row["place"].split(SEPARATOR)[0] for row in place_rows if SEPARATOR in row["place"]}
    viewed = {row["place"] for row in place_rows if row["is_viewed"] and SEPARATOR not in row["place"]}
    is_listed = any(row["is_listed"] for row in place_rows)
    has_entries = any(row["has_entries"] for row in place_rows)
    tables = {row["place"] for row in place_rows if row["has_tables"] and has_entries}
    return _Inventory(
        databases=sorted(databases),
        imported=sorted(imported),
        guessed=() if is_listed else sorted(viewed - filled - imported),
        closed=sorted({part for name in tables for part in (name, name.split(SEPARATOR)[0])}),
    )


def _close_containers(spark: SparkSession, export: Export, inventory: _Inventory) -> DataFrame:
    """Return facts of no line: not everybody gets into these schemas and databases."""
    rows = spark.createDataFrame([(name,) for name in inventory.closed], "path string")
    columns = {
        "export": quote_text(export.name),
        "has_header": "false",
        "is_counted": "false",
        "what": f"'{FactKind.ENTRY}'",
        "object": "path",
        "object_key": object_key(export, "path"),
        "object_type": f"CASE WHEN contains(path, {_SEPARATOR}) THEN 'SCHEMA' ELSE 'DATABASE' END",
        "is_container": "true",
    }
    return select_columns(rows, FACT_COLUMNS, columns)


def _spread_rows(rows: DataFrame, inventory: _Inventory) -> DataFrame:
    """Return a row for each thing that a row gives, of which the first one is counted."""
    is_entry = f"""(object_type IN ('SCHEMA', 'DATABASE') AND {_IS_GRANT} AND said_kind IS NULL AND (
        privilege IN {list_texts(ENTRIES)} OR startswith(privilege, '{ENTRY_START}')))"""
    opens = f"{is_entry} AND object_type = 'DATABASE' AND privilege IN ('USAGE', '{IMPORTED}')"
    is_known, is_guessed = (is_among("path", names) for names in (inventory.imported, inventory.guessed))
    is_opening = f"({opens} AND ({is_known} OR {is_guessed} OR privilege = '{IMPORTED}'))"
    # A role of a share opens what its provider says.
    is_shared = f"(object_type = '{principals.DATABASE_ROLE}' AND {is_among(_ROLE_DATABASE, inventory.imported)})"
    is_reading = f"((object_type IN {list_texts(READING_TYPES)} OR {is_shared}) AND {_IS_GRANT})"
    manages = f"(object_type = 'ACCOUNT' AND privilege = '{MANAGE_GRANTS}' AND {_IS_GRANT})"
    entry, grant = f"'{FactKind.ENTRY}'", f"'{FactKind.GRANT}'"
    databases = f"array({', '.join(map(quote_text, inventory.databases))})" if inventory.databases else "array('')"
    own = {
        "object_type": f"CASE WHEN {is_reading} THEN 'DATABASE' ELSE object_type END",
        "path": f"CASE WHEN NOT {is_reading} THEN path WHEN {is_shared} THEN {_ROLE_DATABASE} ELSE {_DATABASE} END",
        "privilege": f"CASE WHEN {is_opening} THEN '{IMPORTED}' ELSE privilege END",
        "said_kind": f"""CASE WHEN {is_opening} THEN {grant} WHEN is_future THEN '{FactKind.FUTURE}'
            WHEN {is_entry} AND privilege <> 'OWNERSHIP' THEN {entry} ELSE said_kind END""",
        "said_rule": f"CASE WHEN {is_reading} THEN '{PassRule.READING_OBJECT}' ELSE said_rule END",
        "condition": f"""CASE WHEN {is_reading}
            THEN concat_ws(' ', object_type, {_BARE_PATH}, 'to', grantee)
            WHEN {is_opening} AND {is_guessed} THEN {quote_text(_GUESSED)} END""",
        "is_counted": "true",
    }
    managed = {
        "object_type": "'DATABASE'",
        "path": "place",
        "privilege": f"'{MANAGE_GRANTS}'",
        "said_kind": grant,
        "said_rule": NO_TEXT,
        "condition": "'as it may give itself everything'",
        "is_counted": "number = 0",
    }
    owned = own | {"said_kind": entry, "condition": NO_TEXT, "is_counted": "false"}
    # The system itself lets a database role into its database.
    scoped = owned | {"object_type": "'DATABASE'", "path": _DATABASE}
    is_scoped = f"grantee_type = '{principals.DATABASE_ROLE}' AND {_ON_TABLE} AND {_IS_GRANT}"
    variants = f"""CASE WHEN {manages} THEN transform({databases}, (place, number) -> {_build_variant(managed)})
        WHEN {is_entry} AND privilege = 'OWNERSHIP' THEN array({_build_variant(own)}, {_build_variant(owned)})
        WHEN {is_scoped} THEN array({_build_variant(own)}, {_build_variant(scoped)})
        ELSE array({_build_variant(own)}) END"""
    others = [name for name in (*LINE_COLUMNS, *COLUMNS, "layout") if name not in own]
    return rows.selectExpr(*others, f"inline({variants})")


def _build_variant(values: dict[str, str]) -> str:
    return f"named_struct({', '.join(f'{quote_text(name)}, {value}' for name, value in values.items())})"


# -- outcomes ---------------------------------------------------------------------------------------------------------

_ON_CONTAINER = "on_container AND NOT on_all_tables"
_UNKNOWN_TYPE = "concat('Whether a ', object_type, ' shows rows of tables is not known.')"
_STARTS = " OR ".join(f"startswith(privilege, '{start}')" for start in ACCOUNT_STARTS)
_IS_ACCOUNT_PRIVILEGE = f"(privilege IN {list_texts(ACCOUNT_PRIVILEGES)} OR {_STARTS})"
_REASON = f"""CASE
    WHEN is_revoked OR said_rule IS NOT NULL THEN NULL
    WHEN {_ON_SCOPED_ROLE} AND path IS NULL THEN {_UNKNOWN_SCOPE}
    ELSE coalesce({MISSING_NAMES}, CASE
        WHEN privilege = '' THEN 'It names no privilege.'
        WHEN is_future OR on_role OR said_kind IS NOT NULL THEN NULL
        WHEN on_table AND bit IS NULL AND privilege NOT IN {list_texts(HARMLESS)} THEN {UNKNOWN_LEVEL}
        WHEN {_ON_CONTAINER} AND privilege NOT IN ('OWNERSHIP', 'REFERENCE USAGE') THEN {UNKNOWN_LEVEL}
        WHEN object_type = '' THEN 'It names no type of object.'
        WHEN object_type = 'ACCOUNT' AND NOT {_IS_ACCOUNT_PRIVILEGE} THEN {UNKNOWN_LEVEL}
        WHEN NOT on_table AND NOT on_container AND object_type NOT IN {list_texts(OTHER_TYPES)} THEN {_UNKNOWN_TYPE}
        END) END"""
# That a role is granted, to whomever, shows that it exists.
_RULE = f"""CASE
    WHEN is_revoked THEN '{PassRule.REVOKED}'
    WHEN said_rule IS NOT NULL THEN said_rule
    WHEN is_future AND (NOT on_table OR bit IS NULL) THEN '{PassRule.FUTURE_GRANT}'
    WHEN is_future OR on_role OR said_kind IS NOT NULL THEN NULL
    WHEN {_ON_CONTAINER} AND privilege <> 'OWNERSHIP' THEN '{PassRule.CONTAINER_PRIVILEGE}'
    WHEN NOT on_table AND NOT on_container THEN '{PassRule.OTHER_OBJECT}'
    WHEN bit IS NULL THEN '{PassRule.NO_DATA_PRIVILEGE}'
    WHEN NOT to_holder THEN '{PassRule.OTHER_GRANTEE}' END"""
_OUTCOME = RowOutcome(
    reason=f"coalesce({_REASON}, CASE WHEN rule IS NULL AND is_unscoped THEN {_UNKNOWN_SCOPE} END)",
    rule=_RULE,
    kind=f"""CASE
        WHEN said_kind IS NOT NULL THEN said_kind
        WHEN on_role AND privilege = 'USAGE' AND to_role THEN '{FactKind.INHERIT}'
        WHEN on_role AND privilege = 'USAGE' AND to_person THEN '{FactKind.MEMBER}'
        WHEN on_role THEN '{FactKind.ROLE}'
        ELSE '{FactKind.GRANT}' END""",
)
