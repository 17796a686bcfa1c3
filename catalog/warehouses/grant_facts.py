"""Facts of exports in one table, whatever their form: each fact comes from one line of one file.

Every line gives at least one fact: a row that cannot be understood a BAD one with its reason, a row that is passed over
a PASSED one with its rule, so that no row of a file is lost.
"""

from collections.abc import Mapping
from enum import StrEnum

from pyspark.sql import DataFrame

from catalog.sql_text import quote_name, quote_text
from catalog.warehouses import principals
from catalog.warehouses.warehouse import Export

#: Separator of the parts of a name in `object`; any printable character may be in a part.
SEPARATOR = principals.SEPARATOR


class FactKind(StrEnum):
    """The kinds of facts.

    GRANT: `grantee` has a privilege on `object`. INHERIT: the role `grantee` has all that the role `object` has.
    MEMBER: `grantee` holds the role `object`. ROLE: the role `object` exists. POLICY: the policy `grantee`, of a
    PolicyKind, stands before the data of `object`. PASSED: passed by `rule`. BAD: not
    understood, for a `reason`. In both, `object` is the text of the row. NO_ROW: a blank line or a header.
    PLACE: all of the container `grantee_key` is in the place `object_key`. DENIAL: `grantee` uses none of the
    privileges `bit` in the container or place `object`. EXEMPT: but for `grantee`; such facts have the `object_type` of
    the denial. A row that
    is PASSED by the rule `denied` takes the privilege `bit` on `object` from `grantee`. ENTRY: `grantee` gets into the
    container `object`, without which no grant in it opens anything; with a condition others may get in, too. FUTURE:
    `grantee` will have a privilege on all tables that are made in the container `object`. BYPASS: no row filter in the
    container `object` holds for `grantee`.
    """

    GRANT = "GRANT"
    INHERIT = "INHERIT"
    MEMBER = "MEMBER"
    ROLE = "ROLE"
    POLICY = "POLICY"
    PASSED = "PASSED"
    BAD = "BAD"
    NO_ROW = "NO_ROW"
    PLACE = "PLACE"
    DENIAL = "DENIAL"
    EXEMPT = "EXEMPT"
    ENTRY = "ENTRY"
    FUTURE = "FUTURE"
    BYPASS = "BYPASS"


class PolicyKind(StrEnum):
    """The kinds of policies: some values of columns are masked, or some rows are left out."""

    MASK = "MASK"
    ROWS = "ROWS"


class Grantee(StrEnum):
    """The kinds of grantees: a role (or its equivalent), a user, or a group."""

    ROLE = "ROLE"
    USER = "USER"
    GROUP = "GROUP"


#: `file` is the path in the folder of exports, `block` and `line` the place in it (`forms.lines`); `has_header`: the
#: file has to begin with a header, and the line is not blank; `is_counted` is false in all but one of the facts of a
#: row. Names as in the source (`principals`), and `…_key` for comparison with the catalog; `object_type` is SQL's word
#: for the object, null for the usual one; `bit` is one privilege of the form's vocabulary, `level` its level;
#: `is_container`: the object contains tables; `condition` is what the grant depends on, `condition_names` the pattern
#: of the tables for which it holds; `granted_at` is when it was granted, where the layout says so, `grant_time` the
#: same in the words of the file, and `granted_by` the name of who granted it; `layout` is the name of the layout;
#: `details` is JSON of what the dialect of repairs has to know of the grant beside.
FACT_COLUMNS = {
    "export": "string",
    "file": "string",
    "block": "bigint",
    "line": "bigint",
    "has_header": "boolean",
    "is_counted": "boolean",
    "what": "string",
    "object": "string",
    "object_key": "string",
    "object_type": "string",
    "is_container": "boolean",
    "bit": "bigint",
    "level": "int",
    "kind": "string",
    "grantee": "string",
    "grantee_key": "string",
    "condition": "string",
    "condition_names": "string",
    "granted_at": "timestamp",
    "grant_time": "string",
    "granted_by": "string",
    "layout": "string",
    "details": "string",
    "reason": "string",
    "rule": "string",
}


def role_key(export: Export, name: str) -> str:
    """Return the identifier, in lower case, of the role URN for the name of a role in the source."""
    return dotted_role_key(export, principals.dotted_name(name))


def dotted_role_key(export: Export, source_name: str) -> str:
    """Return `role_key` of a name as `principals.dotted_name` returns it."""
    bare_key = _fold_key(
        export, _strip_domain(export, source_name) if export.warehouse.has_role_addresses else source_name
    )
    key = f"concat({quote_text(export.role_prefix.lower())}, {bare_key})"
    # A name as it stands goes before one in other letters: CASEY and "casey" may both be named.
    choices = [
        f"WHEN {value} = {quote_text(known_value)} THEN {quote_text(export.roles[name].lower())}"
        for value, known_names in (
            (source_name, {name: name for name in export.roles}),
            (bare_key, {name: export.normalize_role(name) for name in export.roles}),
        )
        for name, known_value in reversed(known_names.items())
    ]
    return f"CASE {' '.join(choices)} ELSE {key} END" if choices else key


def name_key(export: Export, name: str) -> str:
    """Return a name in the source for comparison with `Export.normalize` of names of the catalog.

    Where SQL folds names, the catalog's name stands for the one without quotation marks: any other keeps its letters,
    and marks around it.
    """
    return _fold_key(export, _strip_domain(export, name))


def _fold_key(export: Export, bare_name: str) -> str:
    if export.spelling == "exact" or export.warehouse.has_directory_names:
        return f"lower({bare_name})"
    is_unquoted = f"{bare_name} = {spell(export, bare_name)}"
    return f"CASE WHEN {is_unquoted} THEN lower({bare_name}) ELSE concat('\"', {bare_name}, '\"') END"


def person_key(export: Export, name: str) -> str:
    """Return `name_key` of an account, which some systems tell from others as logins, in any letters."""
    return without_domain(export, name) if export.warehouse.has_login_names else name_key(export, name)


def without_domain(export: Export, name: str) -> str:
    """Return `Export.normalize` of a name."""
    return f"lower({_strip_domain(export, name)})"


def _strip_domain(export: Export, name: str) -> str:
    if not export.email_domain:
        return name
    ending = f"@{export.email_domain.lower()}"
    bare_name = f"substring({name}, 1, char_length({name}) - {len(ending)})"
    return f"CASE WHEN endswith(lower({name}), {quote_text(ending)}) THEN {bare_name} ELSE {name} END"


def spell(export: Export, name: str) -> str:
    """Return `Export.spell` of a name."""
    return {"upper": f"upper({name})", "lower": f"lower({name})"}.get(export.spelling, name)


def object_key(export: Export, path: str) -> str:
    """Return a name of several parts for comparison with `spell` of names of the catalog.

    Some dialects tell quoted names with capitals from others; what else writes names in lower case has no such tables.
    """
    dotted_path = f"replace({path}, {quote_text(SEPARATOR)}, '.')"
    tells_quoted_tables = export.dialect is not None and export.dialect.tells_quoted_tables
    return f"lower({dotted_path})" if export.spelling == "lower" and not tells_quoted_tables else dotted_path


def find_privilege(export: Export, privilege: str) -> str:
    """Return the position of a privilege in the vocabulary; null if it does not reach data."""
    choices = (f"WHEN {quote_text(name)} THEN {position}" for position, name in enumerate(export.vocabulary))
    return f"CASE {privilege} {' '.join(choices)} END"


def privilege_bit(export: Export, position: str) -> str:
    """Return the bit of a privilege with this position."""
    return f"get(array({', '.join(f'{1 << index}L' for index in range(len(export.vocabulary)))}), {position})"


def privilege_level(export: Export, position: str) -> str:
    """Return the level of a privilege with this position."""
    return f"get(array({', '.join(map(str, export.vocabulary.values()))}), {position})"


def list_privileges(export: Export, bits: int) -> list[str]:
    """Return the privileges of a bit set, in the order of the vocabulary."""
    return [name for index, name in enumerate(export.vocabulary) if bits >> index & 1]


def select_columns(rows: DataFrame, types: Mapping[str, str], columns: Mapping[str, str]) -> DataFrame:
    """Return rows with columns of these types, given as expressions of SQL; columns that are not given are null."""
    return rows.selectExpr(
        *(
            f"CAST({columns.get(name, 'NULL')} AS {type_name}) AS {quote_name(name)}"
            for name, type_name in types.items()
        )
    )
