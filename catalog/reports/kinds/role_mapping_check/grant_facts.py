"""Facts of exports in one table, whatever their form: each fact comes from one line of one file.

Every line gives at least one fact: a row that cannot be understood a BAD one with its reason, a row that is passed over
a PASSED one with its rule, so that no row of a file is lost.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import principals
from catalog.reports.kinds.role_mapping_check.exports import Export

#: Separator of the parts of a name in `object`; any printable character may be in a part.
SEPARATOR = principals.SEPARATOR


class FactKind(StrEnum):
    """The kinds of facts.

    GRANT: `grantee` has a privilege on `object`. INHERIT: the role `grantee` has all that the role `object` has.
    MEMBER: `grantee` holds the role `object`. ROLE: the role `object` exists. POLICY: the policy `grantee`, of a
    PolicyKind, stands before the data of `object`. PASSED: passed by `rule`. BAD: not
    understood, for a `reason`. In both, `object` is the text of the row. NO_ROW: a blank line or a header.
    """

    GRANT = "GRANT"
    INHERIT = "INHERIT"
    MEMBER = "MEMBER"
    ROLE = "ROLE"
    POLICY = "POLICY"
    PASSED = "PASSED"
    BAD = "BAD"
    NO_ROW = "NO_ROW"


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
#: file has to begin with a header; `is_counted` is false in all but one of the facts of a row. Names as in the source,
#: and `…_key` for comparison with the catalog; `bit` is one privilege of the form's vocabulary, `level` its level;
#: `is_container` when the object contains tables.
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
    "is_container": "boolean",
    "bit": "bigint",
    "level": "int",
    "kind": "string",
    "grantee": "string",
    "grantee_key": "string",
    "reason": "string",
    "rule": "string",
}


def role_key(export: Export, name: Column) -> Column:
    """Return `Export.role_identifier` of a column."""
    bare_name = without_domain(export, principals.dotted_name(name))
    key: Column = f.concat(f.lit(export.role_prefix.lower()), bare_name)
    for source_name, identifier in export.roles.items():
        key = f.when(bare_name == export.normalize(source_name), f.lit(identifier.lower())).otherwise(key)
    return key


def without_domain(export: Export, name: Column) -> Column:
    """Return `Export.normalize` of a column."""
    lowercase_name = f.lower(name)
    if not export.email_domain:
        return lowercase_name
    ending = f"@{export.email_domain.lower()}"
    bare_name = lowercase_name.substr(f.lit(1), f.length(lowercase_name) - len(ending))
    return f.when(lowercase_name.endswith(ending), bare_name).otherwise(lowercase_name)


def object_key(export: Export, path: Column) -> Column:
    """Return a name of several parts for comparison with dataset names: dotted, in lower case unless exact."""
    dotted_path = f.translate(path, SEPARATOR, ".")
    return dotted_path if export.spelling == "exact" else f.lower(dotted_path)


def privilege_bit(export: Export, privilege: Column) -> Column:
    """Return the bit of a privilege, null for one that does not reach data."""
    return _map_privilege({name: 1 << index for index, name in enumerate(export.vocabulary)}, privilege).cast("long")


def privilege_level(export: Export, privilege: Column) -> Column:
    """Return the level of a privilege, null for one that does not reach data."""
    return _map_privilege(export.vocabulary, privilege).cast("int")


def _map_privilege(values: Mapping[str, int], privilege: Column) -> Column:
    choices = [(privilege == name, f.lit(value)) for name, value in values.items()]
    first_choice, *other_choices = choices
    return reduce(lambda chain, choice: chain.when(*choice), other_choices, f.when(*first_choice))


def list_privileges(export: Export, bits: int) -> list[str]:
    """Return the privileges of a bit set, in the order of the vocabulary."""
    return [name for index, name in enumerate(export.vocabulary) if bits >> index & 1]


def select_columns(rows: DataFrame, types: Mapping[str, str], columns: Mapping[str, Column | str]) -> DataFrame:
    """Return rows with columns of these types; columns that are not given are null."""
    values = {name: columns.get(name, f.lit(None)) for name in types}
    return rows.select(
        *(
            (f.col(value) if isinstance(value, str) else value).cast(types[name]).alias(name)
            for name, value in values.items()
        )
    )
