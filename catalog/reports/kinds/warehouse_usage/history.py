"""The history of access of the exports: one row for each line of its files, whatever its layout.

A line is a USE of one or more objects, PASSED by a named rule, BAD for a reason, or NO_ROW (a header or a blank
line, which is not counted), so that the rows of a file add up. docs/grants-exports.md describes the layouts.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS
from catalog.reports.kinds.role_mapping_check.forms.sql_names import parse_time
from catalog.reports.kinds.role_mapping_check.grant_facts import name_key, object_key, role_key, select_columns
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

#: Maximum length of the text of a line that is kept, in characters.
_MAX_TEXT_LENGTH = 500

#: Accessed objects of a line: parts of the name joined by SEPARATOR, the level of the access, and whether the statement
#: names the object itself, and does not only reach it through a view.
OBJECTS_TYPE = "array<struct<path: string, level: int, is_direct: boolean>>"


#: Beginning of the name of an account of a program of BigQuery, which holds grants as a role does.
PROGRAM_PREFIX = "serviceAccount:"


class HistoryRowKind(StrEnum):
    """The kinds of lines."""

    USE = "USE"
    PASSED = "PASSED"
    BAD = "BAD"
    NO_ROW = "NO_ROW"


#: `block`, `line` and `has_header` are those of `forms.lines`; `reason` is the rule of a PASSED and the problem of a
#: BAD line; `person` and `role` are names as in the source, and `…_key` for comparison with the catalog.
HISTORY_COLUMNS = {
    "export": "string",
    "file": "string",
    "block": "bigint",
    "line": "bigint",
    "has_header": "boolean",
    "what": "string",
    "reason": "string",
    "text": "string",
    "used_at": "timestamp",
    "person": "string",
    "person_key": "string",
    "role": "string",
    "role_key": "string",
    "objects": "array<struct<key: string, level: int, is_direct: boolean>>",
}


@dataclass(frozen=True, slots=True)
class LineReading:
    """What a layout reads of a line, as columns of the lines.

    `used_at` is a text or a timestamp, `objects` has OBJECTS_TYPE; `role` is null where the layout names none. `rule`
    and `problem` are null unless they apply.
    """

    used_at: Column
    person: Column
    objects: Column
    role: Column = field(default_factory=lambda: f.lit(None).cast("string"))
    rule: Column = field(default_factory=lambda: f.lit(None).cast("string"))
    problem: Column = field(default_factory=lambda: f.lit(None).cast("string"))


def build_history(lines: DataFrame, export: Export, reading: LineReading) -> DataFrame:
    """Return HISTORY_COLUMNS of lines with LINE_COLUMNS, as a layout reads them."""
    read_lines = lines.select(
        *LINE_COLUMNS,
        parse_time(reading.used_at).alias("used_at"),
        f.trim(reading.person).alias("person"),
        f.nullif(f.trim(reading.role), f.lit("")).alias("role"),
        reading.objects.cast(OBJECTS_TYPE).alias("objects"),
        reading.rule.alias("rule"),
        reading.problem.alias("problem"),
    )
    problem = (
        f.when(f.col("row_problem").isNotNull(), f.col("row_problem"))
        .when(f.col("problem").isNotNull(), f.col("problem"))
        .when(f.col("used_at").isNull(), "It has no time that can be read.")
        .when(f.col("used_at") > f.current_timestamp() + f.expr("INTERVAL 1 DAY"), "Its time lies in the future.")
        .when(f.col("rule").isNotNull(), None)
        .when(f.coalesce("person", f.lit("")) == "", "It names nobody.")
        .when(f.exists("objects", lambda used: f.coalesce(used.path, f.lit("")) == ""), "It does not name the object.")
    )
    rule = f.coalesce("rule", f.when(f.coalesce(f.size("objects"), f.lit(0)) < 1, HistoryRule.NO_TABLE))
    judged_lines = read_lines.withColumn("problem", problem).withColumn("rule", rule)
    kind = (
        f.when(~f.col("is_row"), HistoryRowKind.NO_ROW)
        .when(f.col("problem").isNotNull(), HistoryRowKind.BAD)
        .when(f.col("rule").isNotNull(), HistoryRowKind.PASSED)
        .otherwise(HistoryRowKind.USE)
    )
    objects = f.transform(
        "objects",
        lambda used: f.struct(
            object_key(export, used.path).alias("key"), used.level.alias("level"), used.is_direct.alias("is_direct")
        ),
    )
    return select_columns(
        judged_lines.withColumn("what", kind),
        HISTORY_COLUMNS,
        {
            **{name: name for name in ("has_header", "what", "used_at", "person", "role")},
            **{name: f"row_{name}" for name in ("file", "block", "line")},
            "export": f.lit(export.name),
            "reason": f.when(f.col("what") == HistoryRowKind.BAD, f.col("problem")).when(
                f.col("what") == HistoryRowKind.PASSED, f.col("rule")
            ),
            "text": f.when(
                f.col("what").isin(HistoryRowKind.BAD, HistoryRowKind.PASSED),
                f.substring("row_text", 1, _MAX_TEXT_LENGTH),
            ),
            "person_key": name_key(export, f.col("person")),
            # Grants to accounts of programs have their whole name as key.
            "role_key": f.when(f.col("role").startswith(PROGRAM_PREFIX), f.lower("role")).otherwise(
                role_key(export, f.col("role"))
            ),
            "objects": f.when(f.col("what") == HistoryRowKind.USE, objects),
        },
    )
