"""Tables for the tests, as Spark has them and as SQLite has them, and what a decision shows of each."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.spark import read_as
from policies.engine.restrictions import RoleSlice
from policies.engine.sql_rendering import build_view, render_select

Row = dict[str, Any]
Json = dict[str, Any]
#: Rows in any order, each with its columns in theirs.
Shown = list[list[tuple[str, Any]]]

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("Region", pa.string()),
        ("Betrag in €", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("select", pa.string()),
    ]
)
COLUMNS = tuple(SCHEMA.names)
REGIONS = [None, "EMEA", "emea", "Zürich", "東京", "O'Hara\\", "${spark.app.name}", ""]
NOTES = [None, "a", "a%b", "A_b", "[ab]", '"', "\\%", "😀é", "${x}", "tab\t"]
CONDITIONS = [
    "region = 'EMEA'",
    "REGION IS NULL OR `betrag in €` > 10",
    "`Betrag in €` BETWEEN 0.5 AND 9.99",
    "-`BETRAG IN €` <= -2.5",
    "day >= date '2024-02-01'",
    "id IN (1, 3)",
    "id = 1 OR id = 2",
    "NOT (region <=> 'Zürich')",
    "region <> 'O\\'Hara\\\\'",
    "region = '${spark.app.name}'",
    "coalesce(id, 0) < 2",
    "`select` LIKE 'a%'",
    "`Select` LIKE '%\\\\%%'",
    "length(`select`) = 2",
    "CASE WHEN id = 1 THEN true ELSE day IS NULL END",
    "gone = 1",
    "1 = 1",
    "1 = 2",
]
LISTS: list[list[str] | None] = [
    None,
    ["ID"],
    ["id", "region", "gone"],
    ["betrag IN €", "Select"],
    ["DAY", "id", "betrag in €"],
    ["gone"],
    [],
    ["select", "day", "BETRAG in €", "region", "id"],
]


def _cents(number: int) -> Decimal:
    return Decimal(number).scaleb(-2)


rows = st.lists(
    st.tuples(
        st.none() | st.integers(0, 4),
        st.sampled_from(REGIONS),
        st.none() | st.integers(-100, 2000).map(_cents),
        st.none() | st.dates(date(2024, 1, 30), date(2024, 2, 2)),
        st.sampled_from(NOTES),
    ),
    max_size=6,
).map(lambda drawn: [dict(zip(COLUMNS, row, strict=True)) for row in drawn])
slices = st.lists(
    st.fixed_dictionaries(
        {
            "rows": st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True),
            "columns": st.sampled_from(LISTS),
        }
    ),
    max_size=3,
).map(lambda drawn: [{"role": f"urn:li:dataHubRole:r{place}", **one} for place, one in enumerate(drawn)])


def allowed(restrictions: list[Json] | None) -> Json:
    """Return a decision as the API sends it."""
    return {
        "decision": "ALLOW",
        "policy_version": 7,
        "reasons": [],
        "code": "allowed",
        "missing": [],
        "restrictions": restrictions,
        "resultant": [],
    }


def part(*conditions: str, columns: Sequence[str] | None = None, role: str = "r") -> Json:
    """Return one slice as the API sends it."""
    return {"role": role, "rows": list(conditions), "columns": None if columns is None else list(columns)}


def table_of(spark: SparkSession, data: Iterable[Row]) -> DataFrame:
    """Return the rows as a table of Spark."""
    return spark.createDataFrame(pa.Table.from_pylist(list(data), schema=SCHEMA))


def by_read_as(spark: SparkSession, restrictions: list[Json] | None, table: DataFrame) -> DataFrame:
    """Return what a decision with these restrictions shows."""
    return read_as(spark, allowed(restrictions), table)


def by_render(spark: SparkSession, restrictions: list[Json] | None, table: DataFrame) -> DataFrame:
    """Return what the query shows that render writes for Spark."""
    name = f"t{uuid4().hex}"
    table.createTempView(name)
    found = spark.sql(rendered(restrictions, table=name, dialect="spark"))
    spark.catalog.dropTempView(name)
    return found


def rendered(restrictions: list[Json] | None, *, table: str, dialect: str) -> str:
    """Return the query that render writes for a table with these restrictions."""
    said = (
        None
        if restrictions is None
        else [
            RoleSlice(one["role"], tuple(one["rows"]), None if one["columns"] is None else tuple(one["columns"]), None)
            for one in restrictions
        ]
    )
    return render_select(build_view(said, table_columns=COLUMNS), table=table, dialect=dialect, table_columns=COLUMNS)


def collected(frames: Mapping[str, DataFrame]) -> dict[str, Shown]:
    """Return the rows of several tables, fetched in one go."""
    tagged = [
        frame.select(
            f.lit(name).alias("name"),
            f.to_json(f.struct("*"), {"ignoreNullFields": "false"}).alias("row"),
        )
        for name, frame in frames.items()
    ]
    whole = tagged[0]
    for one in tagged[1:]:
        whole = whole.union(one)
    found: dict[str, Shown] = {name: [] for name in frames}
    for name, text in whole.collect():
        found[name].append(list(json.loads(text, parse_float=Decimal).items()))
    return {name: sorted(shown, key=repr) for name, shown in found.items()}


def in_sqlite(data: Iterable[Row], restrictions: list[Json] | None) -> Shown:
    """Return what the query shows that render writes for SQLite, of the same rows."""
    database = sqlite3.connect(":memory:")
    kinds = {"id": "integer", "Betrag in €": "numeric"}
    columns = ", ".join(f'"{name}" {kinds.get(name, "text")}' for name in COLUMNS)
    database.execute(f"CREATE TABLE t ({columns})")
    places = ", ".join("?" * len(COLUMNS))
    database.executemany(
        f"INSERT INTO t VALUES ({places})", [[_plain(value) for value in row.values()] for row in data]
    )
    cursor = database.execute(rendered(restrictions, table="t", dialect="sqlite"))
    names = [column[0] for column in cursor.description]
    found = [[(name, _exact(name, value)) for name, value in zip(names, row, strict=True)] for row in cursor]
    database.close()
    return sorted(found, key=repr)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, date | Decimal) else value


def _exact(name: str, value: Any) -> Any:
    """Give a number the two decimals that Spark gives it."""
    return round(Decimal(str(value)), 2) if name == "Betrag in €" and value is not None else value
