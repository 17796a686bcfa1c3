"""The account of each row by a layout: compared, quarantined with a reason, or passed by a named rule."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import (
    FACT_COLUMNS,
    FactKind,
    find_privilege,
    object_key,
    privilege_bit,
    privilege_level,
    select_columns,
)
from catalog.warehouses.warehouse import Export

#: Maximum length of the text of a row in a fact, in characters.
MAX_ROW_LENGTH = 500

#: Maximum length of a name, in characters: names stand in sentences, statements and tables.
MAX_NAME_LENGTH = 2_000
#: The reason of rows with a longer one.
LONG_NAME = f"A name in it has more than {MAX_NAME_LENGTH:,} characters."

#: The reason of rows with a privilege without a level, as SQL.
UNKNOWN_LEVEL = """concat('How far ', privilege, ' goes is not known; say it under "levels".')"""


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The fate of a row, as expressions of SQL; the first one that is not null counts.

    - `reason`: it is quarantined; a sentence. It may use the column `rule`, which is the next one.
    - `rule`: it is passed by this PassRule.
    - `kind`: it is compared, as a fact of this FactKind. A row without any of the three is quarantined.
    """

    reason: str
    rule: str
    kind: str


def select_facts(rows: DataFrame, export: Export, outcome: RowOutcome, *, path: str, **columns: str) -> DataFrame:
    """Return the facts of rows that have LINE_COLUMNS and `privilege`, by the outcome of each row.

    `path` is the object's name, its parts joined by SEPARATOR; it and `columns` are expressions of SQL. Quarantined and
    passed facts have the text of the row as object, and keep the key. The outcome and `columns` may use the columns
    `bit` and `level` of the privilege. A row that gives several facts has `is_counted` false in all but one of them.
    """
    rows = rows.withColumn("privilege_position", f.expr(find_privilege(export, "privilege")))
    rows = rows.withColumns(
        {
            "bit": f.expr(privilege_bit(export, "privilege_position")),
            "level": f.expr(privilege_level(export, "privilege_position")),
        }
    )
    rows = rows.withColumn("rule", f.expr(outcome.rule))
    is_long = " OR ".join(f"length({name}) > {MAX_NAME_LENGTH}" for name in (path, columns.get("grantee", "''")))
    long_name = f"CASE WHEN {is_long} THEN {quote_text(LONG_NAME)} END"
    rows = rows.withColumn("reason", f.expr(f"coalesce(row_problem, {long_name}, {outcome.reason})"))
    kind = f"""CASE WHEN NOT is_row THEN '{FactKind.NO_ROW}' WHEN reason IS NOT NULL THEN '{FactKind.BAD}'
        WHEN rule IS NOT NULL THEN '{FactKind.PASSED}' ELSE coalesce({outcome.kind}, '{FactKind.BAD}') END"""
    fact_columns = {
        "export": quote_text(export.name),
        "file": "row_file",
        "block": "row_block",
        "line": "row_line",
        "has_header": "has_header",
        "is_counted": "true",
        "what": "what",
        "object": f"""CASE WHEN NOT what IN ('{FactKind.NO_ROW}', '{FactKind.BAD}', '{FactKind.PASSED}') THEN {path}
            ELSE substring(row_text, 1, {MAX_ROW_LENGTH}) END""",
        "object_key": object_key(export, path),
        "bit": "bit",
        "level": "level",
        "reason": f"""CASE WHEN what = '{FactKind.BAD}'
            THEN coalesce(reason, 'Nothing says what such a row means.') END""",
        "rule": f"CASE WHEN what = '{FactKind.PASSED}' THEN rule END",
    }
    return select_columns(rows.withColumn("what", f.expr(kind)), FACT_COLUMNS, fact_columns | columns)
