"""A difference between the catalog and a source, as the comparison writes it down."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export


class DifferenceType(StrEnum):
    """What can be wrong."""

    GRANT_MISSING = "GRANT_MISSING"
    EXTRA_GRANT = "EXTRA_GRANT"
    WRONG_LEVEL = "WRONG_LEVEL"
    ROLE_GONE = "ROLE_GONE"
    ROLE_WITHOUT_DATASETS = "ROLE_WITHOUT_DATASETS"
    SENSITIVE_WITHOUT_ROLE = "SENSITIVE_WITHOUT_ROLE"
    MEMBER_MISSING = "MEMBER_MISSING"
    EXTRA_MEMBER = "EXTRA_MEMBER"
    DIRECT_USER_GRANT = "DIRECT_USER_GRANT"


class DifferenceSeverity(StrEnum):
    """How bad it is, the worst first: access that nobody meant to give comes before access that somebody lacks."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


#: The columns of a difference. `object` is the place in the source's own words (parts with SEPARATOR between them),
#: `name` the same in the catalog's; `via` the role through which somebody has it, '' when directly; `bits` and
#: `level` what there is, `wanted` the level that should be; `count` how many datasets it is about.
DIFFERENCE_COLUMNS = {
    "type": "string",
    "severity": "string",
    "export": "string",
    "role": "string",
    "role_urn": "string",
    "entity": "string",
    "actor": "string",
    "kind": "string",
    "grantee": "string",
    "object": "string",
    "name": "string",
    "via": "string",
    "bits": "bigint",
    "level": "int",
    "wanted": "int",
    "count": "bigint",
}

ROLE_COLUMNS = ["export", "role"]

#: Writes an intermediate table down under a name and returns it, so that nobody computes it twice and what is joined to
#: it stays easy to plan.
Stage = Callable[[str, DataFrame], DataFrame]

#: What stands for everybody in one source or another.
EVERYBODY_NAMES = ("PUBLIC", "allUsers", "allAuthenticatedUsers")


def select_difference_columns(rows: DataFrame, **columns: Column | str) -> DataFrame:
    """Return rows with COLUMNS: those that are named, the others null."""
    selected_columns = [
        (f.col(column) if isinstance(column := columns.get(name, f.lit(None)), str) else column)
        .cast(type_name)
        .alias(name)
        for name, type_name in DIFFERENCE_COLUMNS.items()
    ]
    return rows.select(*selected_columns)


def excess_severity(is_sensitive: Column) -> Column:
    """Return how bad it is when somebody can do more than is meant."""
    return f.when(is_sensitive, DifferenceSeverity.CRITICAL).otherwise(DifferenceSeverity.HIGH)


def same_named_columns(*names: str) -> dict[str, Column | str]:
    """Return columns that are called the same in the rows at hand."""
    return {name: name for name in names}


def is_named_role(exports: Sequence[Export], names: Callable[[Export], Iterable[str]]) -> Column:
    """Whether the role of a row is one of those that are named in the words of its export."""
    condition = f.expr("false")
    for export in exports:
        identifiers = [
            identifier for name in names(export) for identifier in (export.role_identifier(name), name.lower())
        ]
        condition |= (f.col("export") == export.name) & f.col("role").isin(identifiers)
    return condition
