"""The layouts of Unity Catalog's `information_schema`, of our queries (`queries/`), and of SHOW GRANTS."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.csv_grants import CONTAINER_TYPES, TABLE_TYPES
from catalog.warehouses.databricks.privileges import (
    ALL_FILES,
    ANY_FILE,
    ANY_FILE_PRIVILEGES,
    FILE_PRIVILEGES,
    READ_FILES,
    SHARED,
    WRITE_FILES,
)
from catalog.warehouses.files.lines import LINE_COLUMNS
from catalog.warehouses.grant_facts import SEPARATOR, Grantee, PolicyKind
from catalog.warehouses.layouts import Layout, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.principals import RECIPIENT, SHARE, join_name
from catalog.warehouses.published import read_published
from catalog.warehouses.sql_names import normalize_word, split_name
from catalog.warehouses.warehouse import Export

TABLE_PRIVILEGES, SCHEMA_PRIVILEGES, CATALOG_PRIVILEGES = "table_privileges", "schema_privileges", "catalog_privileges"
TABLE_SHARES, SCHEMA_SHARES, RECIPIENTS = "table_share_usage", "schema_share_usage", "share_recipient_privileges"
LOCATION_GRANTS, SHOWN_GRANTS, TABLES = "location_grants", "SHOW GRANTS", "tables"

_TABLE = ("table_catalog", "table_schema", "table_name")
_NAMED_TABLE = ("catalog_name", "schema_name", "table_name")
_SCHEMA, _CATALOG = ("catalog_name", "schema_name"), ("catalog_name",)
_LOCATION_NAME = "external_location_name"
#: What holds no rows of tables, by the columns that name it.
_OTHER_OBJECTS = {
    "routine_privileges": ("routine_catalog", "routine_schema", "routine_name"),
    "volume_privileges": ("volume_catalog", "volume_schema", "volume_name"),
    **{f"{name}_privileges": (f"{name}_name",) for name in ("connection", "storage_credential", "credential")},
    "metastore_privileges": ("metastore_id",),
}
_PUBLISHED = read_published(__package__)
_LOCATION_TYPE = "EXTERNAL LOCATION"
#: Types of tables that have another word here.
_STREAMING_TABLE = "STREAMING TABLE"
#: Types of tables that have a word of their own in statements.
VIEW_TYPES = ("VIEW", "MATERIALIZED VIEW")
_FILE_WORDS = (READ_FILES, WRITE_FILES, "ALL PRIVILEGES", "MANAGE", "OWN", "OWNERSHIP")
_LOCATION_PROBLEM = f"The tables that have their files there are not in it; {LOCATION_GRANTS}.sql says so."


def _describe_grantee(name: str, privilege: str) -> dict[str, str]:
    """Return privilege and grantee; only people are named by addresses."""
    grantee_type = f"CASE WHEN contains({name}, '@') THEN '{Grantee.USER}' ELSE '{Grantee.ROLE}' END"
    return {"privilege": privilege, "grantee_type": grantee_type, "grantee": name}


def _describe_privileges(object_type: str, parts: tuple[str, ...]) -> layouts.DescribeRows:
    """Return the function for rows of privileges on objects of a type, held there or inherited from a container."""

    def describe(rows: DataFrame, _: Export) -> dict[str, str]:
        origin = normalize_word("inherited_from") if "inherited_from" in rows.columns else "''"
        is_own = f"{origin} IN ('', 'NONE', '{object_type}')"
        # What is inherited was granted on the container, where it can be revoked, and reaches all that is in it.
        from_schema = f"{origin} = 'SCHEMA'" if len(parts) > 2 else "false"
        is_known = "true" if object_type == "OTHER" else f"{is_own} OR {from_schema} OR {origin} = 'CATALOG'"
        return {
            "object_type": f"CASE WHEN {is_own} THEN '{object_type}' ELSE {origin} END",
            "path": f"""CASE WHEN {is_own} THEN {join_path(*parts)} WHEN {from_schema} THEN {join_path(*parts[:2])}
                ELSE {join_path(parts[0])} END""",
            **_describe_grantee("grantee", normalize_word("privilege_type")),
            "said_rule": f"'{PassRule.OTHER_OBJECT}'" if object_type == "OTHER" else NO_TEXT,
            "said_problem": f"""CASE WHEN NOT ({is_known})
                THEN concat('Nothing is inherited from a ', {origin}, '.') END""",
        }

    return describe


def _describe_owner(object_type: str, parts: tuple[str, ...], owner: str) -> layouts.DescribeRows:
    """Return the function for rows of objects with their owners, who have every privilege or can take it."""

    def describe(rows: DataFrame, _export: Export) -> dict[str, str]:
        grantee = _describe_grantee(owner, "'OWNERSHIP'")
        table_type = normalize_word("table_type") if "table_type" in rows.columns else NO_TEXT
        words = f"CASE WHEN {table_type} IN {list_texts(VIEW_TYPES)} THEN {table_type} ELSE '{object_type}' END"
        return {"object_type": words, "path": join_path(*parts), **grantee}

    return describe


def _describe_location(privilege: str, grantee: str) -> layouts.DescribeRows:
    """Return the function for rows of who has what on a location, which say nothing of the tables in it."""
    is_file_word = f"{privilege} IN {list_texts(_FILE_WORDS)}"

    def describe(_rows: DataFrame, _export: Export) -> dict[str, str]:
        return {
            "object_type": f"'{_LOCATION_TYPE}'",
            "path": _LOCATION_NAME,
            **_describe_grantee(grantee, privilege),
            "said_problem": f"CASE WHEN {is_file_word} THEN {quote_text(_LOCATION_PROBLEM)} END",
        }

    return describe


def _describe_location_grant(_rows: DataFrame, _export: Export) -> dict[str, str]:
    """Return the columns of who may read the files of a table in a location."""
    privilege = normalize_word("privilege_type")
    is_named = f"{privilege} IN {list_texts(FILE_PRIVILEGES[:2])}"
    named_privilege = f"CASE WHEN {is_named} THEN {privilege} ELSE '{ALL_FILES}' END"
    return {
        "object_type": "'TABLE'",
        "path": join_path(*_TABLE),
        **_describe_grantee("grantee", named_privilege),
        "condition": f"concat('its files in the location ', {_LOCATION_NAME})",
        "details": f"to_json(named_struct('location', {_LOCATION_NAME}, 'privilege', {privilege}))",
        "said_problem": f"""CASE WHEN NOT {privilege} IN {list_texts(_FILE_WORDS)}
            THEN concat('Whether ', {privilege}, ' reaches files is not known.') END""",
    }


def _describe_shared(object_type: str, parts: tuple[str, ...]) -> layouts.DescribeRows:
    """Return the function for rows of what is in shares."""

    def describe(_rows: DataFrame, _export: Export) -> dict[str, str]:
        share = join_name(f"'{SHARE}'", "share_name")
        grantee = {"privilege": f"'{SHARED}'", "grantee_type": f"'{SHARE}'", "grantee": share}
        return {"object_type": f"'{object_type}'", "path": join_path(*parts), **grantee}

    return describe


def _describe_recipient(_rows: DataFrame, _export: Export) -> dict[str, str]:
    """Return the columns of recipients: they have what a share has."""
    recipient = join_name(f"'{RECIPIENT}'", "recipient_name")
    columns = layouts.describe_membership(join_name(f"'{SHARE}'", "share_name"), recipient, f"'{RECIPIENT}'")
    return {
        **columns,
        "object_type": "'ROLE'",
        "said_problem": f"""CASE WHEN {normalize_word("privilege_type")} <> 'SELECT'
            THEN concat('What ', privilege_type, ' on a share gives is not known.') END""",
    }


def _describe_shown(_: DataFrame, export: Export) -> dict[str, str]:
    """Return object, privilege and grantee of SHOW GRANTS; a name without a catalog is in the export's database."""
    shown_type, privilege = normalize_word("objecttype"), normalize_word("actiontype")
    # All names of Unity Catalog are in lower case, however somebody wrote them.
    path = f"lower({split_name(export, 'objectkey', '`')})"
    missing_parts = f"""CASE WHEN {shown_type} IN ('SCHEMA', 'DATABASE') THEN 2
        WHEN {shown_type} = 'CATALOG' THEN 1 ELSE 3 END"""
    is_partial = f"size(split({path}, {quote_text(SEPARATOR)})) < {missing_parts}" if export.database else "false"
    is_any_file = f"{shown_type} = '{ANY_FILE}'"
    # Who may read a share is outside of the account, and has what the share has.
    is_share = f"({shown_type} = 'SHARE' AND {privilege} = 'SELECT')"
    share, recipient = join_name(f"'{SHARE}'", path), join_name(f"'{RECIPIENT}'", "principal")
    words = f"regexp_replace({privilege}, '^DENIED ', '')"
    known_types = (
        *TABLE_TYPES,
        *CONTAINER_TYPES,
        *_PUBLISHED.words["other_types"],
        _STREAMING_TABLE,
        _LOCATION_TYPE,
        ANY_FILE,
    )
    named_privilege = f"""CASE WHEN {is_any_file} THEN concat({words}, ' {ANY_FILE}') WHEN {is_share} THEN 'MEMBER'
        ELSE {words} END"""
    grantee = _describe_grantee("principal", named_privilege)
    any_file_words = [name.removesuffix(f" {ANY_FILE}") for name in ANY_FILE_PRIVILEGES]
    return {
        "object_type": f"""CASE WHEN {is_share} THEN 'ROLE'
            ELSE CASE {shown_type} WHEN '{ANY_FILE}' THEN 'CATALOG' WHEN '{_STREAMING_TABLE}' THEN 'TABLE'
            WHEN 'DATABASE' THEN 'SCHEMA' ELSE {shown_type} END END""",
        # What it is about is every catalog, and is put in its place (`grants.py`).
        "path": f"""CASE WHEN {is_any_file} THEN '{ANY_FILE}' WHEN {is_share} THEN {share}
            WHEN {is_partial} THEN {join_path(quote_text(export.database), path)}
            WHEN {shown_type} = 'METASTORE' AND {path} = '' THEN 'metastore' ELSE {path} END""",
        **grantee,
        "grantee_type": f"CASE WHEN {is_share} THEN '{RECIPIENT}' ELSE {grantee['grantee_type']} END",
        "grantee": f"CASE WHEN {is_share} THEN {recipient} ELSE principal END",
        "said_rule": f"CASE WHEN startswith({privilege}, 'DENIED ') THEN '{PassRule.DENIED}' END",
        "said_problem": f"""CASE WHEN NOT {shown_type} IN {list_texts(known_types)}
                THEN concat('Nobody knows what a ', {shown_type}, ' holds.')
            WHEN {shown_type} = '{_LOCATION_TYPE}' AND {words} IN {list_texts(_FILE_WORDS)}
                THEN {quote_text(_LOCATION_PROBLEM)}
            WHEN {is_any_file} AND NOT {words} IN {list_texts(any_file_words)}
                THEN concat('What ', {words}, ' on any file gives is not known.') END""",
    }


_DESCRIBERS: Mapping[str, layouts.DescribeRows] = {
    TABLE_PRIVILEGES: _describe_privileges("TABLE", _TABLE),
    SCHEMA_PRIVILEGES: _describe_privileges("SCHEMA", _SCHEMA),
    CATALOG_PRIVILEGES: _describe_privileges("CATALOG", _CATALOG),
    **{name: _describe_privileges("OTHER", parts) for name, parts in _OTHER_OBJECTS.items()},
    LOCATION_GRANTS: _describe_location_grant,
    "external_location_privileges": _describe_location(normalize_word("privilege_type"), "grantee"),
    "external_locations": _describe_location("'OWNERSHIP'", "external_location_owner"),
    SHOWN_GRANTS: _describe_shown,
    TABLES: _describe_owner("TABLE", _TABLE, "table_owner"),
    "schemata": _describe_owner("SCHEMA", _SCHEMA, "schema_owner"),
    "catalogs": _describe_owner("CATALOG", _CATALOG, "catalog_owner"),
    TABLE_SHARES: _describe_shared("TABLE", _NAMED_TABLE),
    SCHEMA_SHARES: _describe_shared("SCHEMA", _SCHEMA),
    RECIPIENTS: _describe_recipient,
}
LAYOUTS = tuple(
    Layout(header.needed, _DESCRIBERS[name], name, header.further)
    for name, header in _PUBLISHED.headers.items()
    if name in _DESCRIBERS
)
#: Masks and row filters; `information_schema` names the table in either way.
POLICY_LAYOUTS = tuple(
    build_policy_layout(kind, table, f"{word}_name", *others, further=_PUBLISHED.headers[layout].further)
    for table in (_NAMED_TABLE, _TABLE)
    for kind, word, layout, others in (
        (PolicyKind.MASK, "mask", "column_masks", ("column_name",)),
        (PolicyKind.ROWS, "filter", "row_filters", ()),
    )
)


def find_layout_name(columns: Sequence[str]) -> str:
    """Return the name of the layout of a file with these columns, "" for none."""
    names = [name for name in columns if name not in LINE_COLUMNS]
    return next((layout.name for layout in LAYOUTS if not any(layout.header.find_misfit(names))), "")
