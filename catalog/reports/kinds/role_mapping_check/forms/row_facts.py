"""What a form tells of each row: exactly one of compared, quarantined with a reason, or passed by a named rule."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import (
    FACT_COLUMNS,
    FactKind,
    find_privilege,
    object_key,
    privilege_bit,
    privilege_level,
    select_columns,
)

#: Maximum length of the text of a row in a fact, in characters.
_MAX_ROW_LENGTH = 500

#: Reads the files of an export in a folder. Returns frames with FACT_COLUMNS. Raises BadExports.
FormReader = Callable[[SparkSession, str, Export], list[DataFrame]]


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """What becomes of a row, as columns; the first one that is not null counts.

    - `reason`: it is quarantined; a sentence. It may use the column `rule`, which is the next one.
    - `rule`: it is passed by this PassRule.
    - `kind`: it is compared, as a fact of this FactKind. A row without any of the three is quarantined.
    """

    reason: Column
    rule: Column
    kind: Column


def select_facts(
    rows: DataFrame, export: Export, outcome: RowOutcome, *, path: Column, **columns: Column | str
) -> DataFrame:
    """Return the facts of rows that have LINE_COLUMNS and `privilege`, by the outcome of each row.

    `path` is the object's name, its parts joined by SEPARATOR. Quarantined and passed facts have the text of the row as
    object, and keep the key. The outcome and `columns` may use the columns `bit` and `level` of the privilege. A row
    that gives several facts has `is_counted` false in all but one of them.
    """
    rows = rows.withColumn("privilege_position", find_privilege(export, "privilege"))
    position = f.col("privilege_position")
    rows = rows.withColumns({"bit": privilege_bit(export, position), "level": privilege_level(export, position)})
    rows = rows.withColumn("rule", outcome.rule).withColumn("reason", f.coalesce("row_problem", outcome.reason))
    rows = rows.withColumn(
        "what",
        f.when(~f.col("is_row"), FactKind.NO_ROW)
        .when(f.col("reason").isNotNull(), FactKind.BAD)
        .when(f.col("rule").isNotNull(), FactKind.PASSED)
        .otherwise(f.coalesce(outcome.kind, f.lit(FactKind.BAD))),
    )
    is_understood = ~f.col("what").isin(FactKind.NO_ROW, FactKind.BAD, FactKind.PASSED)
    fact_columns: dict[str, Column | str] = {
        "export": f.lit(export.name),
        "file": "row_file",
        "block": "row_block",
        "line": "row_line",
        "has_header": "has_header",
        "is_counted": f.expr("true"),
        "what": "what",
        "object": f.when(is_understood, path).otherwise(f.substring("row_text", 1, _MAX_ROW_LENGTH)),
        "object_key": object_key(export, path),
        "bit": "bit",
        "level": "level",
        "reason": f.when(f.col("what") == FactKind.BAD, f.coalesce("reason", f.lit(_NOT_KNOWN))),
        "rule": f.when(f.col("what") == FactKind.PASSED, f.col("rule")),
    }
    return select_columns(rows, FACT_COLUMNS, fact_columns | columns)


_NOT_KNOWN = "Nothing says what such a row means."


def describe_unknown_level() -> Column:
    """Return the reason of rows with a privilege without a level."""
    return f.concat(f.lit("How far "), "privilege", f.lit(' goes is not known; say it under "levels".'))
