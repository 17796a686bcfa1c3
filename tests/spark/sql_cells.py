"""A table with cells that databases read differently, and every form of condition over its columns.

`FORMS` has a line for every node that `datazone_row_conditions` lets in, each with every kind of column that it could
be about, the wrong kinds too: what Spark refuses must show nothing anywhere.
"""

import re
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

Row = dict[str, Any]

COLUMNS = ("id", "big", "name", "code", "amount", "price", "ratio", "ok", "fine", "day", "at")
SPARK_TYPES = (
    *("int", "bigint", "string", "string", "double", "decimal(10, 2)", "float"),
    *("boolean", "boolean", "date", "timestamp"),
)
POSTGRES_TYPES = (
    *("integer", "bigint", "text", "text", "double precision", "numeric(10, 2)", "real"),
    *("boolean", "boolean", "date", "timestamp"),
)
SQLITE_TYPES = (
    *("INTEGER", "INTEGER", "TEXT", "TEXT", "REAL", "NUMERIC", "REAL"),
    *("BOOLEAN", "BOOLEAN", "TEXT", "TEXT"),
)

NAMES = [
    *(
        None,
        "Ada",
        "ada",
        "ADA",
        "Zoë",
        "ZOË",
        "straße",
        "STRASSE",
        "İzmir",
        "date",
        "a%b",
        "a_b",
        "a*b",
        "a?b",
        "[ab]",
    ),
    *(
        "axb",
        "",
        " ",
        " Ada ",
        "\tAda",
        "true",
        "now",
        "today",
        "2",
        "é",
        "e\u0301",
        "😀",
        "a\\b",
        "a'b",
        'a"b',
        "a\nb",
    ),
    *("Ωmega", "B", "a", "b"),
]
#: Numbers as texts: each can be cast to an integer.
CODES = [None, "1", "2", "02", " 2 ", "9", "10", "-3", "100", "+2"]
AMOUNTS = [None, 0.0, -0.0, 1.4, 1.5, 2.0, 2.5, -2.5, 100.0, 1e7, 0.1, 2.4999999999999996, -1.5, 1.45, 9.0]
PRICES = [None, "0.00", "1.40", "1.50", "2.00", "2.50", "-2.50", "100.00", "0.10", "-0.01", "3.00"]
#: What a float of 32 bits keeps of a tenth.
SHORT_TENTH = struct.unpack("f", struct.pack("f", 0.1))[0]
DAYS = [None, "2024-02-01", "2024-01-31", "2023-12-31", "2024-02-29", "1999-01-01"]
TIMES = [None, "2024-02-01T00:00:00", "2024-02-01T10:30:00", "2024-01-31T23:59:59", "1999-01-01T00:00:01"]


def _make_rows() -> Iterator[Row]:
    for place, name in enumerate(NAMES):
        price, at = PRICES[place % 11], TIMES[place % 5]
        yield {
            "id": place,
            "big": None if place == 7 else place * 3 - 9,
            "name": name,
            "code": CODES[place % 10],
            "amount": AMOUNTS[place % 15],
            "price": None if price is None else Decimal(price),
            "ratio": None if place == 3 else [SHORT_TENTH, 2.0, 2.5, -1.5][place % 4],
            "ok": [True, False, None][place % 3],
            "fine": [True, True, False, None][place % 4],
            "day": None if DAYS[place % 6] is None else date.fromisoformat(str(DAYS[place % 6])),
            "at": None if at is None else datetime.fromisoformat(at),
        }


ROWS = list(_make_rows())

_KINDS = {
    "N": ["id", "big", "amount", "price", "ratio"],
    "T": ["name", "code"],
    "B": ["ok", "fine"],
    "D": ["day", "at"],
    "C": ["id", "name", "code", "amount", "price", "ratio", "ok", "day", "at"],
}

#: Templates: {C} stands for a column of any kind, {N} for a number, {T} a text, {B} a truth, {D} a day or time.
#: The first part of each is the node of the parser that it is there for.
TEMPLATES = r"""
Boolean | TRUE
Boolean | FALSE
Boolean | (TRUE)
Boolean | NOT FALSE
Boolean | TRUE = TRUE
Null | NOT NULL
Null | {B} AND NULL
Null | {B} OR NULL
Null | {C} = NULL
Null | {C} <=> NULL
Column | {C}
Column | ({C})
Column | (({C}))
Column | `{C}`
Not | NOT {C}
Not | NOT ({C})
Not | !{B}
Not | NOT NOT {B}
And | {B} AND {B}
And | {B} AND id > 3
Or | {B} OR {B}
Or | {B} OR NOT fine AND id > 3
And | ({B} OR id = 1) AND (NOT {B})
EQ | {N} = 2
EQ | {C} = 2
EQ | {C} == 2
EQ | 2 = {C}
EQ | {N} = 2.5
EQ | {N} = 0.1
EQ | {N} = 1e0
EQ | {N} = 100L
EQ | {N} = 2.5D
EQ | {N} = 1.5BD
EQ | {N} = -2.5
EQ | {N} = - 2.5
EQ | {C} = 'ada'
EQ | {C} = '2'
EQ | {C} = '02'
EQ | {C} = '2.0'
EQ | {C} = 'true'
EQ | {C} = 'tr'
EQ | {C} = 'on'
EQ | {C} = 'now'
EQ | {C} = 'today'
EQ | {C} = '2024-02-01'
EQ | {C} = '20240201'
EQ | {C} = 'Feb 1 2024'
EQ | {C} = '2024-02-01 10:30:00'
EQ | {C} = ''
EQ | {C} = TRUE
EQ | {B} = FALSE
EQ | {B} = (id > 3)
EQ | {C} = {C}
EQ | {N} = {N}
EQ | 1 = 1
EQ | 1 = '1'
EQ | 'a' = 'A'
EQ | '1' = 1.0
EQ | (id = 1) = (name = 'ada')
EQ | {T} = 'a' 'da'
EQ | {T} = '\101da'
EQ | {T} = '\u0041da'
EQ | {T} = 'a\\b'
EQ | {T} = 'a\qb'
EQ | {T} = 'a\'b'
EQ | {T} = "a'b"
EQ | {T} = 'a"b'
EQ | {T} = 'a\nb'
EQ | {T} = 'a%b'
EQ | {T} = 'a\%b'
EQ | {T} = 'a\_b'
EQ | {T} = 'a''b'
EQ | {T} = r'a\b'
EQ | {T} = '😀'
EQ | {T} = 'é'
EQ | {T} = '\Z'
EQ | {T} = '\0'
NEQ | {N} <> 2
NEQ | {N} != 2
NEQ | {C} <> 2
NEQ | {C} <> 'ada'
NEQ | {C} <> '2'
NEQ | {C} <> '02'
NEQ | {C} <> '2.0'
NEQ | {C} <> ' 2'
NEQ | {C} <> 'true'
NEQ | {C} <> 'on'
NEQ | {C} <> 'yesterday'
NEQ | {C} <> '2024-02-01'
NEQ | {C} <> TRUE
NEQ | {C} <> {C}
NEQ | NOT {C} = 'ada'
NEQ | NOT ({C} = 2)
NEQ | NOT ({C} = '02')
NEQ | ({C} = '2') IS NULL
NEQ | ({C} = 'ada') IS NOT TRUE
GT | {C} > 2
GT | {C} > 'a'
GT | {C} > 'B'
GT | {C} > 'é'
GT | {C} > '2'
GT | {C} > '2024-01-31'
GT | {C} > '1'
GT | {C} > {C}
GT | 'a' > 'B'
GT | TRUE > {C}
GTE | {C} >= 2
GTE | {C} >= 9
GTE | {C} >= 2.5
GTE | {C} >= DATE '2024-02-01'
GTE | DATE '2024-02-01' >= {C}
GTE | {C} >= TIMESTAMP '2024-02-01 00:00:00'
GTE | {C} >= TIMESTAMP '2024-02-01'
GTE | {C} >= {C}
LT | {C} < 2
LT | {N} < -1
LT | {C} < 'b'
LT | {C} < ''
LT | {C} < DATE '2024-02-01'
LT | {C} < DATE'2024-2-1'
LT | {C} < DATE '2024'
LT | {C} < CURRENT_DATE
LT | {C} < current_date()
LT | {C} < CURRENT_TIMESTAMP
LT | {C} < current_timestamp()
LTE | {C} <= 2
LTE | {C} <= 'a'
LTE | {C} <= DATE '2024-02-01'
NullSafeEQ | {C} <=> 2
NullSafeEQ | {C} <=> 'ada'
NullSafeEQ | NOT ({C} <=> 'ada')
NullSafeEQ | NOT ({C} <=> '02')
NullSafeEQ | {C} <=> {C}
NullSafeEQ | {C} IS NOT DISTINCT FROM 2
NullSafeNEQ | {C} IS DISTINCT FROM 2
NullSafeNEQ | {C} IS DISTINCT FROM 'ada'
NullSafeNEQ | {C} IS DISTINCT FROM {C}
Is | {C} IS NULL
Is | {C} IS NOT NULL
Is | NOT {C} IS NULL
Is | {C} IS TRUE
Is | {C} IS FALSE
Is | {C} IS NOT TRUE
Is | {C} IS NOT FALSE
Is | {C} IS UNKNOWN
Is | (id > 3 AND {B}) IS TRUE
Is | (id > 3 AND {B}) IS NULL
Is | ({C} = 2) IS NULL
Is | {C} = 2 IS NULL
Is | {C} IS {C}
Is | isnull({C})
In | {C} IN (2)
In | {C} IN (2, 9)
In | {N} IN (2, 2.5)
In | {C} IN ('ada', 'B')
In | {C} IN ('2', '02')
In | {C} IN ('2')
In | {C} IN ('now', 'true')
In | {C} IN (2, NULL)
In | {C} NOT IN (2)
In | {C} NOT IN (2, NULL)
In | {C} NOT IN ('ada', '2')
In | {C} NOT IN ('02')
In | NOT {C} IN (2)
In | {C} IN (DATE '2024-02-01')
In | {C} IN ({C})
In | 2 IN ({C}, id)
In | id IN (TRUE)
In | {B} IN (TRUE, NULL)
In | id = big IN (TRUE)
In | (id = 2) IN (TRUE)
Between | {C} BETWEEN 1 AND 9
Between | {C} NOT BETWEEN 1 AND 9
Between | {N} BETWEEN 0.1 AND 2.5
Between | {C} BETWEEN 'a' AND 'c'
Between | {C} BETWEEN 'B' AND 'a'
Between | {C} NOT BETWEEN 'B' AND 'a'
Between | {C} BETWEEN '1' AND '3'
Between | {C} BETWEEN DATE '2024-01-01' AND DATE '2024-02-01'
Between | 2 BETWEEN id AND {N}
Between | {B} = id BETWEEN 1 AND 5
Between | {N} BETWEEN 9 AND 1
Like | {C} LIKE 'a%'
Like | {C} LIKE 'A%'
Like | {C} LIKE 'a_b'
Like | {C} LIKE 'a\\_b'
Like | {C} LIKE 'a\_b'
Like | {C} LIKE 'a\\%b'
Like | {C} LIKE 'a\\\\b'
Like | {C} LIKE 'a\\b'
Like | {C} LIKE 'a\\xb'
Like | {C} LIKE '%\\'
Like | {C} LIKE '[ab]'
Like | {C} LIKE 'a*b'
Like | {C} LIKE 'a?b'
Like | {C} LIKE '_'
Like | {C} LIKE '%'
Like | {C} LIKE ''
Like | {C} LIKE '2%'
Like | {C} LIKE '%.0'
Like | {C} NOT LIKE 'a%'
Like | {C} NOT LIKE '%.0'
Like | NOT {C} LIKE '%a%'
Like | ({C} LIKE '%.50') IS NULL
Like | like({T}, 'a%')
ILike | {C} ILIKE 'a%'
ILike | {C} ILIKE 'zoË'
ILike | {C} NOT ILIKE 'stra%'
RegexpLike | {C} RLIKE '^a'
RegexpLike | {C} RLIKE '\\\\d'
RegexpLike | NOT {C} RLIKE '(?i)ADA'
RegexpLike | regexp_like({T}, 'a$')
StartsWith | startswith({C}, 'a')
StartsWith | NOT startswith({C}, 'a')
StartsWith | startswith({C}, '')
StartsWith | startswith({T}, {T})
StartsWith | startswith({T}, '2')
EndsWith | endswith({C}, 'a')
EndsWith | NOT endswith({C}, '0')
Contains | contains({C}, 'a')
Contains | contains({C}, '')
Contains | NOT contains({C}, '.0')
Dot | name.part = 'x'
Case | CASE WHEN {B} THEN id = 1 ELSE id > 5 END
Case | CASE WHEN {B} THEN id = 1 END
Case | CASE WHEN {C} = 2 THEN FALSE ELSE TRUE END
Case | CASE WHEN {C} > 2 THEN FALSE ELSE TRUE END
Case | CASE WHEN {C} = '02' THEN FALSE ELSE TRUE END
Case | CASE {C} WHEN 2 THEN TRUE ELSE FALSE END
Case | CASE {C} WHEN '02' THEN FALSE ELSE TRUE END
Case | CASE {C} WHEN 'ada' THEN FALSE WHEN 'B' THEN {B} END
Case | CASE WHEN id > 3 THEN 'x' ELSE 'y' END = 'x'
Case | CASE WHEN {B} THEN {N} ELSE 0 END > 1
Case | CASE WHEN {B} THEN {C} END = 'ada'
Case | CASE WHEN {B} THEN {C} ELSE 2 END = 2
Case | CASE WHEN {B} THEN 2 ELSE '2' END = 2
If | IF({B}, id > 3, FALSE)
If | if({B}, {N}, 0) <> 0
If | if({C}, TRUE, FALSE)
If | iff({B}, TRUE, FALSE)
Coalesce | coalesce({B}, TRUE)
Coalesce | coalesce({C}, FALSE)
Coalesce | coalesce({N}, 0) < 2
Coalesce | coalesce({C}, 0) = 0
Coalesce | coalesce({C}, '') = ''
Coalesce | coalesce({C}, 'now') <> 'now'
Coalesce | coalesce({C}, 'ada') = 'ada'
Coalesce | coalesce({C}, {C}) = 2
Coalesce | coalesce({C}, DATE '2024-02-01') = DATE '2024-02-01'
Coalesce | coalesce({C} = 2, TRUE)
Coalesce | coalesce({C} > 2, TRUE)
Coalesce | nvl({N}, 5) = 5
Coalesce | ifnull({T}, 'x') = 'x'
Coalesce | coalesce(NULL, {N}) > 1
Coalesce | coalesce({C}) IS NULL
Nullif | nullif({C}, 2) IS NULL
Nullif | nullif({C}, 'ada') IS NULL
Nullif | nullif({N}, 0) > 1
Nullif | nullif({C}, '02') IS NOT NULL
Neg | -{C} > 1
Neg | -({N}) = 2.5
Neg | -(-{N}) = 2
Neg | {N} = -(2)
Add | {C} + 1 = 3
Add | {N} + 0.5 > 2
Add | {N} + {N} = 4
Add | 1 + 1 = {N}
Add | {N} + 0.2 = 0.3
Add | {N} + 0.2 <> 0.3
Sub | {C} - 1 > 1
Sub | {C} - {C} = 0
Sub | {N} - 0.1 = 0
Mul | {N} * 2 = 5
Mul | {N} * {N} > 4
Mul | {N} * 0.1 = 0.2
Mul | {N} * 3 <> 0.3
Div | {N} / 2 = 1
Div | {N} / 2 > 1
Div | {N} / 3 * 3 = {N}
Div | id / 2 = 1.5
Div | 7 / 2 = 3.5
Div | 1 / 3 = 0.333333
Mod | {N} % 2 = 1
Mod | {N} % 2 = -1
Mod | mod({N}, 2) = 0
Mod | -7 % 3 = -1
Cast | cast({N} AS int) = 2
Cast | cast({C} AS string) = '2'
Cast | cast({C} AS string) <> '100.0'
Cast | cast({C} AS string) = 'true'
Cast | cast({C} AS string) <> '2024-02-01'
Cast | cast({N} AS bigint) = 2
Cast | cast({N} AS double) = 2.5
Cast | cast({N} AS double) = 0.1
Cast | cast({N} AS decimal) = 2
Cast | cast({N} AS decimal(10, 1)) = 1.5
Cast | cast({N} AS decimal(10, 1)) <> 1.4
Cast | cast(code AS int) = 2
Cast | cast(code AS double) = 2
Cast | cast(code AS decimal(5, 1)) > 2
Cast | cast({T} AS varchar(2)) = 'Ad'
Cast | cast({T} AS varchar(2)) <> 'Ad'
Cast | cast({N} AS boolean)
Cast | NOT cast({N} AS boolean)
Cast | cast({B} AS int) = 1
Cast | cast({B} AS string) = 'true'
Cast | cast({D} AS date) = DATE '2024-02-01'
Cast | cast({D} AS string) = '2024-02-01'
Cast | cast({D} AS timestamp) > TIMESTAMP '2024-02-01 00:00:00'
Cast | cast('2' AS int) = {N}
Cast | cast(2.5 AS int) = {N}
Cast | cast('true' AS boolean) = {B}
Cast | cast('2024-02-01' AS date) = {D}
Cast | cast('2024-02-01 10:30:00' AS timestamp) = {D}
Cast | cast(1 AS string) = '1'
Cast | int({N}) = 2
Cast | {N}::int = 2
TryCast | try_cast({N} AS int) = 2
TryCast | try_cast({C} AS int) = 2
TryCast | try_cast(name AS int) IS NULL
TryCast | try_cast(name AS date) IS NULL
Lower | lower({C}) = 'ada'
Lower | lower({T}) = 'zoë'
Lower | lower({T}) <> 'ωmega'
Lower | lower('A') = 'a'
Upper | upper({C}) = 'ADA'
Upper | upper({T}) <> 'ZOË'
Upper | upper({T}) = 'STRASSE'
Upper | upper('ß') = 'SS'
Trim | trim({C}) = 'Ada'
Trim | trim({T}) = ''
Trim | trim({T}) <> 'Ada'
Trim | trim('a' FROM {T}) = 'b'
Trim | trim(BOTH 'A' FROM {T}) = 'd'
Trim | trim({T}, 'A') = 'd'
Trim | trim(LEADING 'a' FROM {T}) = 'da'
Trim | ltrim({T}) = 'Ada '
Trim | rtrim({T}) = ' Ada'
Trim | ltrim('A', {T}) = 'da'
Trim | trim({C}) = '2'
Length | length({C}) = 1
Length | length({T}) > 2
Length | length({T}) = '3'
Length | length({T}) <> '3'
Length | len({T}) = 2
Length | char_length({T}) = 3
Length | length('😀') = 1
Length | length({C}) = 3
Substring | substring({T}, 1, 2) = 'Ad'
Substring | substring({T}, 2) = 'da'
Substring | substring({T}, 0, 2) = 'Ad'
Substring | substring({T}, 0, 2) <> 'A'
Substring | substring({T}, -2) <> 'da'
Substring | substring({T}, -2, 1) = 'd'
Substring | substring({T}, 1, 0) = ''
Substring | substring({T}, 1, -1) = ''
Substring | substring({C}, 1, 1) = '2'
Substring | substring({C}, 1, 4) <> '2024'
Substring | substring({T}, id, 1) = 'a'
Substring | substr({T}, 2, 100) = 'da'
Substring | substring({T} FROM 2 FOR 1) = 'd'
Concat | concat({T}, 'x') = 'adax'
Concat | concat({T}, 'x') = 'x'
Concat | concat({C}, '') <> '100.0'
Concat | concat({C}, '') = '2'
Concat | concat({C}, '') <> '2024-02-01'
Concat | concat({T}, {T}) <> 'adaada'
Concat | concat({T}, {C}) = 'ada2'
Concat | concat({T}) = 'ada'
Concat | concat('a', 'b') = 'ab'
Concat | concat({C}, 1) = '21'
Concat | concat_ws('-', {T}, 'x') = 'ada-x'
Concat | concat_ws('-', {T}, 'x') = 'x'
DPipe | {T} || 'x' = 'adax'
DPipe | {C} || '' <> '100.0'
DPipe | {T} || {T} = 'adaada'
DPipe | 1 || 2 = '12'
DPipe | id + 1 || '' = '3'
Abs | abs({N}) = 2.5
Abs | abs({C}) > 2
Abs | abs({N}) < 2
Round | round({N}) = 2
Round | round({N}, 1) = 1.5
Round | round({N}, -1) = 0
Round | round(2.5) = 3
Year | year({C}) = 2024
Year | year(DATE '2024-02-01') = 2024
Month | month({D}) = 2
Day | day({D}) = 1
Day | dayofmonth({D}) <> 1
TsOrDsToDate | to_date({D}) = DATE '2024-02-01'
TsOrDsToDate | date({C}) = DATE '2024-02-01'
TsOrDsToDate | to_date('2024-02-01') = {D}
TsOrDsToDate | to_date(code, 'dd') > DATE '1970-01-01'
CurrentDate | CURRENT_DATE > DATE '2024-02-01'
CurrentTimestamp | CURRENT_TIMESTAMP > TIMESTAMP '2024-02-01 00:00:00'
Paren | ((({N}))) = 2
Paren | ({C}) = (2)
Chain | {B} = id > 3
Chain | id = 1 = {B}
Chain | NOT id = 1 = {B}
Chain | {B} <> ok IS NULL
Chain | id < 3 < TRUE
Chain | id = 1 IN (TRUE, FALSE)
Chain | {B} = name LIKE 'a%'
Chain | ok = fine = {B}
Chain | {B} = NOT fine
Chain | NOT {B} = fine
Chain | NOT {B} IS NULL
Chain | NOT {B} AND fine
Chain | NOT ok OR {B} AND id > 3
Chain | - id + 5 = 3
Chain | 2 + id * 2 = 8
Chain | (2 + id) * 2 = 8
Chain | 10 - id - 2 = 3
Chain | id % 3 * 2 = 4
Chain | name = 'ada' OR name = 'B' AND {B}
Chain | id BETWEEN 1 AND 5 AND {B}
""".strip().splitlines()  # fmt: skip

_HOLE = re.compile(r"\{([A-Z])\}")


def list_forms() -> dict[str, str]:
    """Return every condition, with the node that it is there for."""
    found: dict[str, str] = {}
    for line in TEMPLATES:
        node, _, template = line.partition(" | ")
        holes = _HOLE.findall(template)
        for columns in product(*(_KINDS[hole] for hole in holes)):
            if len(holes) < 2 or len(set(columns)) > 1 or columns[0] in ("ok", "id"):
                found.setdefault(_fill(template, columns), node)
    return found


def _fill(template: str, columns: Sequence[str]) -> str:
    filler = iter(columns)
    return _HOLE.sub(lambda _: next(filler), template)


def write_inline_table() -> str:
    """Return the rows as VALUES of Spark: what is asked of them needs no job."""
    rows = ", ".join(f"({', '.join(map(_write_literal, row.values()))})" for row in ROWS)
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(COLUMNS, SPARK_TYPES, strict=True))
    return f"SELECT {casts} FROM VALUES {rows} AS t ({', '.join(COLUMNS)})"


def _write_literal(value: Any) -> str:
    match value:
        case None | bool():
            return "NULL" if value is None else str(value).upper()
        case str():
            return "'" + "".join(f"\\U{ord(letter):08x}" for letter in value) + "'"
        case float():
            return f"{value!r}D"
        case _:
            return f"'{_plain(value)}'"


def open_sqlite() -> sqlite3.Connection:
    """Return a database with the table `cells`."""
    database = sqlite3.connect(":memory:")
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, SQLITE_TYPES, strict=True))
    database.execute(f"CREATE TABLE cells ({columns})")
    places = ", ".join("?" * len(COLUMNS))
    database.executemany(
        f"INSERT INTO cells VALUES ({places})", [[_plain(value) for value in row.values()] for row in ROWS]
    )
    return database


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value) if isinstance(value, date | Decimal) else value
