"""Row conditions in each dialect, executed: Spark, PostgreSQL and SQLite show the rows that the condition itself gives.

What is right is what Spark makes of the condition as it was written. A dialect refuses a condition, or its database
does, or it shows these rows; it shows fewer only where a column is of another kind than the condition takes it for.
"""

import random
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache

import psycopg
import pytest
import servers
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from catalog.spark import read_as
from policies.engine.families import datazone_row_conditions
from policies.engine.families.vocabulary import read_table
from policies.engine.restrictions import RoleSlice
from policies.engine.sql_rendering import RenderError, build_view, render_select
from tests.spark import sql_cells
from tests.spark.frames import allowed, part

pytestmark = pytest.mark.spark

#: The ids of rows that a query shows; None if it is refused.
Ids = tuple[int, ...] | None
Show = Callable[[str], Ids]

#: How many conditions are drawn from all of them.
SAMPLE_SIZE = 100
#: `make test-all` tries all of them, in so many tests.
SHARES = 8

#: Conditions that are rendered in every dialect, and show the same rows everywhere.
EVERYWHERE = (
    """
TRUE
FALSE
ok
NOT ok
ok AND NOT fine
ok OR fine AND id > 3
ok = TRUE
ok IS NOT TRUE
coalesce(ok, TRUE)
id = 2
id <> 2
id IN (2, 9)
id NOT IN (2, 9)
big BETWEEN 1 AND 9
big NOT BETWEEN 1 AND 9
amount > 2
amount = 2.5
amount = 1e0
amount = 2.5D
amount <=> 2
-amount > 1
abs(amount) = 2.5
price >= 2.5
price IN (2, 2.5)
price IS DISTINCT FROM 2
ratio <> 0.1
coalesce(amount, 0) = 0
nullif(price, 2) IS NULL
name = 'ada'
name <> 'ada'
name = 'a\\'b'
name = '\\101da'
name = 'a' 'da'
name = 'now'
name <> 'today'
name > 'a'
name BETWEEN 'B' AND 'a'
name IN ('ada', 'B')
name NOT IN ('ada', '2')
name IS NULL
NOT (name <=> 'ada')
(name = 'ada') IS NOT TRUE
name LIKE 'a%'
name NOT LIKE '%a%'
name LIKE 'a\\\\\\\\_b'
name LIKE '[ab]'
name LIKE 'a*b'
code <> '02'
code > '2'
length(name) > 2
trim(name) = 'Ada'
substring(name, 2) = 'da'
concat(name, 'x') = 'x'
name || code = 'ada2'
CASE WHEN ok THEN id = 1 ELSE id > 5 END
CASE name WHEN 'ada' THEN FALSE WHEN 'B' THEN ok END
IF(ok, amount, 0) <> 0
day >= DATE '2024-02-01'
day IN (DATE '2024-02-01')
DATE '2024-02-01' <> day
""".strip()
    .replace("\\\\", "\\")
    .splitlines()
)


@cache
def _render(condition: str, dialect: str) -> str | None:
    """Return the query that shows the ids of rows that meet a condition, or None if the dialect has none."""
    view = build_view([RoleSlice("r", (condition,), ("id",), None)], table_columns=sql_cells.COLUMNS)
    try:
        return render_select(view, table="cells", dialect=dialect, table_columns=sql_cells.COLUMNS)
    except RenderError as error:
        if error.code != "dialect.unsupported":
            raise
        return None


@pytest.fixture(scope="module")
def in_spark(spark: SparkSession) -> Show:
    spark.sql(sql_cells.write_inline_table()).createOrReplaceTempView("cells")

    def show(query: str) -> Ids:
        try:
            return tuple(sorted(row[0] for row in spark.sql(query).collect()))
        except PySparkException:
            return None

    return show


@pytest.fixture(scope="module")
def in_postgres() -> Iterator[Show]:
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    columns = ", ".join(
        f"{name} {kind}" for name, kind in zip(sql_cells.COLUMNS, sql_cells.POSTGRES_TYPES, strict=True)
    )
    places = ", ".join(["%s"] * len(sql_cells.COLUMNS))
    with servers.postgres() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE cells ({columns})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO cells VALUES ({places})", [list(row.values()) for row in sql_cells.ROWS])

        def show(query: str) -> Ids:
            try:
                return tuple(sorted(row[0] for row in connection.execute(query.encode())))
            except psycopg.Error:
                return None

        yield show


@pytest.fixture(scope="module")
def in_sqlite() -> Iterator[Show]:
    database = sql_cells.open_sqlite()

    def show(query: str) -> Ids:
        try:
            return tuple(sorted(row[0] for row in database.execute(query)))
        except sqlite3.Error:
            return None

    yield show
    database.close()


def _draw(request: pytest.FixtureRequest, share: int | None) -> list[str]:
    """Return a share of all conditions, or some that are drawn from them."""
    forms = [form for form in sql_cells.list_forms() if datazone_row_conditions.find_problem(form) is None]
    seed = request.config.getoption("hypothesis_seed")
    return forms[share::SHARES] if share is not None else random.Random(seed).sample(forms, SAMPLE_SIZE)


@pytest.mark.parametrize("share", [None, *(pytest.param(share, marks=pytest.mark.deep) for share in range(SHARES))])
def test_no_dialect_shows_a_row_that_the_condition_does_not_give(
    request: pytest.FixtureRequest, in_spark: Show, in_postgres: Show, in_sqlite: Show, share: int | None
) -> None:
    wrong = []
    for form in _draw(request, share):
        given = in_spark(f"SELECT id FROM cells AS t WHERE ({form})")
        query = _render(form, "spark")
        if query is not None and in_spark(query) != given:
            wrong.append(("spark", form))
        for dialect, show in (("postgres", in_postgres), ("sqlite", in_sqlite)):
            query = _render(form, dialect)
            # SQLite stores truths as numbers and dates as texts: it cannot know of all conditions that Spark refuses.
            if query is None or (given is None and dialect == "sqlite"):
                continue
            if not set(show(query) or ()) <= set(given or ()):
                wrong.append((dialect, form))
    assert wrong == []


def test_what_every_dialect_has_shows_the_same_rows(in_spark: Show, in_postgres: Show, in_sqlite: Show) -> None:
    wrong = []
    for condition in EVERYWHERE:
        given = in_spark(f"SELECT id FROM cells AS t WHERE ({condition})")
        assert given is not None, condition
        for dialect, show in (("spark", in_spark), ("postgres", in_postgres), ("sqlite", in_sqlite)):
            query = _render(condition, dialect)
            if query is None or show(query) != given:
                wrong.append((dialect, condition, query))
    assert wrong == []


def test_every_node_has_a_form() -> None:
    """What the parser lets in is executed here, each node in a column, a comparison and beside constants."""
    nodes = {
        node.__name__ for node in (*datazone_row_conditions._PREDICATE_NODES, *datazone_row_conditions._OPERAND_NODES)
    }
    parts = {"Identifier", "Literal", "DataType", "DataTypeParam"}
    assert nodes - parts <= set(sql_cells.list_forms().values())


@pytest.mark.parametrize("is_by_name", [True, False])
def test_a_bare_word_restricts_a_table_of_one_column(spark: SparkSession, is_by_name: bool) -> None:
    spark.sql("SELECT * FROM VALUES (TRUE), (FALSE), (NULL) AS t (ok)").createOrReplaceTempView("one")
    table: DataFrame | str = "one" if is_by_name else spark.table("one")
    for condition, shown in {"ok": [True], "(ok)": [True], "`OK`": [True], "FALSE": [], "NOT ok": [False]}.items():
        for columns in (None, ["ok"]):
            frame = read_as(spark, allowed([part(condition, columns=columns)]), table)
            assert [row[0] for row in frame.collect()] == shown, condition
    assert len(read_as(spark, allowed([part("TRUE")]), table).collect()) == 3


@pytest.mark.parametrize("count", [20, pytest.param(None, marks=pytest.mark.deep)])
def test_words_of_spark_are_names(request: pytest.FixtureRequest, spark: SparkSession, count: int | None) -> None:
    """Quoted where it has to be; all of them in one query keep its parser busy for a minute."""
    words = {row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()}
    names = sorted(words | set(read_table("reserved_words")["spark"]))
    if count is not None:
        names = random.Random(request.config.getoption("hypothesis_seed")).sample(names, count)
    columns = ", ".join(f"{number} AS `{name}`" for number, name in enumerate(names))
    spark.sql(f"SELECT {columns}").createOrReplaceTempView("words")
    condition = tuple(f"`{name}` = {number}" for number, name in enumerate(names))
    view = build_view([RoleSlice("r", condition, tuple(names), None)], table_columns=names)
    (row,) = spark.sql(render_select(view, table="words", dialect="spark", table_columns=names)).collect()
    assert list(row) == list(range(len(names)))


def test_a_column_that_is_gone_is_nothing_of_the_session(in_spark: Show) -> None:
    """Even between backticks `user` is the user of the session where the table has no such column."""
    for name in ("user", "current_date"):
        view = build_view([RoleSlice("r", (f"`{name}` IS NOT NULL",), None, None)])
        assert in_spark(f"SELECT * FROM cells WHERE `{name}` IS NOT NULL")
        assert in_spark(render_select(view, table="cells", dialect="spark")) is None


def test_a_field_is_no_column_of_a_table_of_that_name(spark: SparkSession) -> None:
    spark.sql("SELECT named_struct('city', 'x') AS address, 'y' AS city").createOrReplaceTempView("address")
    columns = ("address", "address.city", "city")
    for condition, shown in {"address.city = 'y'": [], "address.city = 'x'": ["x"]}.items():
        view = build_view([RoleSlice("r", (condition,), ("address.city",), None)], table_columns=columns)
        query = render_select(view, table="address", dialect="spark", table_columns=columns)
        assert [row[0] for row in spark.sql(query).collect()] == shown
