"""The history of access of the exports: one row for each line of its files, whatever its layout.

A line is a USE of one or more objects, PASSED by a named rule, BAD for a reason, or NO_ROW (a header or a blank
line, which is not counted), so that the rows of a file add up. docs/grants-exports.md describes the layouts.
"""

from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, quote_text
from catalog.warehouses.grant_facts import object_key, person_key, role_key, select_columns
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.row_facts import LONG_NAME, MAX_NAME_LENGTH
from catalog.warehouses.sql_names import parse_time
from catalog.warehouses.warehouse import Export

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
#: BAD line; `person` and `role` are names as in the source, and `…_key` for comparison with the catalog; `person_key`
#: is '' for a program of the system, which nobody signs in as. Who `acts_as_role` needs a role alone, and is nobody to
#: give one to.
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
    "acts_as_role": "boolean",
    "role": "string",
    "role_key": "string",
    "objects": "array<struct<key: string, level: int, is_direct: boolean>>",
}


@dataclass(frozen=True, slots=True)
class LineReading:
    """The reading of a line by a layout, as expressions of SQL.

    `used_at` is a text or a timestamp, `objects` has OBJECTS_TYPE; `role` is null where the layout names none. Of a
    line that `is_program` the system itself is the person: a task or a page, which acts as its role, and so does the
    account of a program on one that `is_service`. `rule` and `problem` are null unless they apply.
    """

    used_at: str
    person: str
    objects: str
    role: str = NO_TEXT
    is_program: str = "false"
    is_service: str = "false"
    rule: str = NO_TEXT
    problem: str = NO_TEXT


def build_history(lines: DataFrame, export: Export, reading: LineReading) -> DataFrame:
    """Return HISTORY_COLUMNS of lines with `forms.lines.LINE_COLUMNS`, as a layout reads them."""
    values = {
        "used_at": parse_time(reading.used_at),
        "person": f"trim({reading.person})",
        "role": f"nullif(trim({reading.role}), '')",
        "objects": f"CAST({reading.objects} AS {OBJECTS_TYPE})",
        "is_program": f"coalesce({reading.is_program}, false)",
        "is_service": f"coalesce({reading.is_service}, false)",
        "rule": reading.rule,
        "problem": reading.problem,
    }
    read_lines = lines.withColumns({name: f.expr(value) for name, value in values.items()})
    problem = f"""coalesce(row_problem, problem, CASE
        WHEN used_at IS NULL THEN 'It has no time that can be read.'
        WHEN used_at > current_timestamp() + INTERVAL 1 DAY THEN 'Its time lies in the future.'
        WHEN rule IS NOT NULL THEN NULL
        WHEN coalesce(person, '') = '' THEN 'It names nobody.'
        WHEN exists(objects, used -> coalesce(used.path, '') = '') THEN 'It does not name the object.'
        WHEN length(person) > {MAX_NAME_LENGTH} OR length(role) > {MAX_NAME_LENGTH}
            OR exists(objects, used -> length(used.path) > {MAX_NAME_LENGTH}) THEN {quote_text(LONG_NAME)} END)"""
    rule = f"coalesce(rule, CASE WHEN coalesce(size(objects), 0) < 1 THEN '{HistoryRule.NO_TABLE}' END)"
    judged_lines = read_lines.withColumns({"problem": f.expr(problem), "rule": f.expr(rule)})
    kind = f"""CASE WHEN NOT is_row THEN '{HistoryRowKind.NO_ROW}'
        WHEN problem IS NOT NULL THEN '{HistoryRowKind.BAD}'
        WHEN rule IS NOT NULL THEN '{HistoryRowKind.PASSED}'
        ELSE '{HistoryRowKind.USE}' END"""
    reason = f"CASE what WHEN '{HistoryRowKind.BAD}' THEN problem WHEN '{HistoryRowKind.PASSED}' THEN rule END"
    text = f"""CASE WHEN what IN ('{HistoryRowKind.BAD}', '{HistoryRowKind.PASSED}')
        THEN substring(row_text, 1, {_MAX_TEXT_LENGTH}) END"""
    key = object_key(export, "used.path")
    objects = f"""transform(objects, used ->
        named_struct('key', {key}, 'level', used.level, 'is_direct', used.is_direct))"""
    return select_columns(
        judged_lines.withColumn("what", f.expr(kind)),
        HISTORY_COLUMNS,
        {
            **{name: name for name in ("has_header", "what", "used_at", "person", "role")},
            **{name: f"row_{name}" for name in ("file", "block", "line")},
            "export": quote_text(export.name),
            "reason": reason,
            "text": text,
            "person_key": f"CASE WHEN is_program THEN '' ELSE {person_key(export, 'person')} END",
            "acts_as_role": "is_program OR is_service",
            # Grants to accounts of programs have their whole name as key.
            "role_key": f"""CASE WHEN startswith(role, '{PROGRAM_PREFIX}') THEN lower(role)
                ELSE {role_key(export, "role")} END""",
            "objects": f"CASE WHEN what = '{HistoryRowKind.USE}' THEN {objects} END",
        },
    )
