"""What an export says, whatever form it has: one table of facts, each read from one row of one file.

A row that cannot be understood is kept as a fact too, BAD, with the reason: nothing that a file holds is lost.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from catalog.reports.kinds.role_mapping_check.exports import Export

#: What stands between the parts of a name in `object`: any other character may be in one of them.
SEPARATOR = "\x1f"

#: Longest piece of a bad row that is kept, in characters.
_MOST_OF_A_ROW = 500


class What(StrEnum):
    """What a fact says.

    GRANT: `grantee` has a privilege on `object`. INHERIT: the role `grantee` has all that the role `object` has.
    MEMBER: `grantee` holds the role `object`. ROLE: the role `object` exists. PASSED: nothing about the data of tables
    or about roles. BAD: not understood; `object` is the row.
    """

    GRANT = "GRANT"
    INHERIT = "INHERIT"
    MEMBER = "MEMBER"
    ROLE = "ROLE"
    PASSED = "PASSED"
    BAD = "BAD"


class Grantee(StrEnum):
    """Who has it: a role (or what stands for one), a user, or a group."""

    ROLE = "ROLE"
    USER = "USER"
    GROUP = "GROUP"


#: Names as the source writes them, and `…_key` as they are compared with the catalog's; `bit` is one privilege of the
#: form's vocabulary, `level` how far it goes; `is_container` when the object is not one table but holds some.
SCHEMA = StructType(
    [
        StructField("export", StringType()),
        StructField("file", StringType()),
        StructField("what", StringType()),
        StructField("object", StringType()),
        StructField("object_key", StringType()),
        StructField("is_container", BooleanType()),
        StructField("bit", LongType()),
        StructField("level", IntegerType()),
        StructField("kind", StringType()),
        StructField("grantee", StringType()),
        StructField("grantee_key", StringType()),
        StructField("reason", StringType()),
    ]
)


def role_key(export: Export, name: Column) -> Column:
    """Return `Export.identifier` of a column."""
    bare = without_domain(export, name)
    key: Column = f.concat(f.lit(export.role_prefix.lower()), bare)
    for known, identifier in export.roles.items():
        key = f.when(bare == export.bare(known), f.lit(identifier.lower())).otherwise(key)
    return key


def without_domain(export: Export, name: Column) -> Column:
    """Return `Export.bare` of a column."""
    lowered = f.lower(name)
    if not export.email_domain:
        return lowered
    ending = f"@{export.email_domain.lower()}"
    cut = f.substring(lowered, f.lit(1), f.length(lowered) - len(ending))
    return f.when(lowered.endswith(ending), cut).otherwise(lowered)


def object_key(export: Export, path: Column) -> Column:
    """Return a name of several parts as it is compared with the names of datasets."""
    dotted = f.translate(path, SEPARATOR, ".")
    return dotted if export.spelling == "exact" else f.lower(dotted)


def bit_of(export: Export, privilege: Column) -> Column:
    """Return the bit of a privilege, null for one that does not reach data."""
    return _among({name: 1 << place for place, name in enumerate(export.vocabulary)}, privilege).cast("long")


def level_of(export: Export, privilege: Column) -> Column:
    """Return how far a privilege goes, null for one that does not reach data."""
    return _among(export.vocabulary, privilege).cast("int")


def _among(values: Mapping[str, int], privilege: Column) -> Column:
    choices = [(privilege == name, f.lit(value)) for name, value in values.items()]
    first, *others = choices
    return reduce(lambda chain, one: chain.when(*one), others, f.when(*first))


def privileges_of(export: Export, bits: int) -> list[str]:
    """Return the privileges that a number of bits stands for, in the order of the vocabulary."""
    return [name for place, name in enumerate(export.vocabulary) if bits >> place & 1]


def shaped(rows: DataFrame, export: Export, **columns: Column) -> DataFrame:
    """Return rows as facts of an export: the columns that are named, the others null.

    Whatever has a reason is BAD or, when `what` says so, PASSED; a bad row's object is the row, cut where it is long.
    """
    given = {"export": f.lit(export.name), **columns}
    chosen = [given.get(field.name, f.lit(None)).cast(field.dataType).alias(field.name) for field in SCHEMA.fields]
    return rows.select(*chosen)


def cut(row: Column) -> Column:
    """Return as much of a bad row as is kept."""
    return f.substring(row, 1, _MOST_OF_A_ROW)
