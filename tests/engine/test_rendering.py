"""The query for a table, run for real: rows, cells and columns are exactly those that slices show (DZ-52 to DZ-62)."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policies.engine.restrictions import DIALECTS, RoleSlice
from policies.engine.sql_rendering import MissingColumns, NoVisibleColumns, RenderError, build_view, render_select
from tests import oracle_datazone as oracle

Row = dict[str, Any]
Run = Callable[[str], list[Row]]

KNOWN = ("id", "Region", "amount", "order", "note")
TABLE: list[Row] = [
    {"id": 1, "Region": "EMEA", "amount": 5, "order": "x", "note": "a%b"},
    {"id": 2, "Region": "emea", "amount": 15, "order": None, "note": "A_b"},
    {"id": 3, "Region": "APAC", "amount": None, "order": "y", "note": "[ab]"},
    {"id": 4, "Region": None, "amount": 25, "order": "x", "note": "a*b"},
]

#: Conditions and what they mean of one row: written a second time, by hand.
CONDITIONS: dict[str, Callable[[Row], Any]] = {
    "region = 'EMEA'": lambda row: row["Region"] == "EMEA",
    "REGION IS NULL OR amount > 10": lambda row: row["Region"] is None or (row["amount"] or 0) > 10,
    "NOT region IN ('EMEA', 'x')": lambda row: row["Region"] not in (None, "EMEA"),
    "region <= 'EMEA'": lambda row: row["Region"] in ("EMEA", "APAC"),
    "`order` = 'x'": lambda row: row["order"] == "x",
    "coalesce(amount, 0) BETWEEN 5 AND 15": lambda row: 5 <= (row["amount"] or 0) <= 15,
    "id IN (1, 3)": lambda row: row["id"] in (1, 3),
    "note LIKE 'a%b'": lambda row: row["note"].startswith("a") and row["note"].endswith("b"),
    "note LIKE 'a\\\\%b'": lambda row: row["note"] == "a%b",
    "note LIKE '[%'": lambda row: row["note"].startswith("["),
    "note LIKE '_*_'": lambda row: len(row["note"]) == 3 and row["note"][1] == "*",
    "NOT (amount <=> NULL)": lambda row: row["amount"] is not None,
    "-amount < -7": lambda row: (row["amount"] or 0) > 7,
    "concat(region, 'x') = 'EMEAx'": lambda row: row["Region"] == "EMEA",
    "CASE WHEN id = 1 THEN TRUE ELSE amount = 25 END": lambda row: row["id"] == 1 or row["amount"] == 25,
    "nullif(id, 2) IS NULL": lambda row: row["id"] == 2,
    "(amount > 10) IS NULL": lambda row: row["amount"] is None,
    "length(trim(note)) = 4": lambda row: len(row["note"]) == 4,
    "1 = 1": lambda _row: True,
    "1 = 2": lambda _row: False,
}
LISTS: list[tuple[str, ...] | None] = [None, ("id",), ("ID", "region"), ("amount", "order"), ("nothing", "note"), KNOWN]


@contextmanager
def sqlite() -> Iterator[Run]:
    """Run queries on a table in SQLite."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    database.execute('CREATE TABLE "Sales of 2024" (id integer, Region text, amount integer, "order" text, note text)')
    rows = [tuple(row.values()) for row in TABLE]
    database.executemany('INSERT INTO "Sales of 2024" VALUES (?, ?, ?, ?, ?)', rows)
    yield lambda query: [dict(row) for row in database.execute(query)]
    database.close()


def shown(slices: Sequence[RoleSlice] | None, run: Run, dialect: str, wanted: Sequence[str] | None = None) -> list[Row]:
    """Return the rows that the query for these slices returns."""
    view = build_view(slices, table_columns=KNOWN, requested_columns=wanted)
    query = render_select(view, table="Sales of 2024", dialect=dialect, table_columns=KNOWN)
    return sorted(run(query), key=repr)


def expected(slices: Sequence[RoleSlice] | None) -> list[Row]:
    """Return what the oracle says is visible."""
    said = None
    if slices is not None:
        said = [
            {"rows": list(one.rows), "columns": None if one.columns is None else {name.lower() for name in one.columns}}
            for one in slices
        ]
    found = oracle.visible(said, TABLE, lambda condition, row: bool(CONDITIONS[condition](row)))
    return sorted(found, key=repr)


def slices_of(data: list[tuple[list[str], tuple[str, ...] | None]]) -> tuple[RoleSlice, ...]:
    """Return slices of roles r0, r1 …"""
    return tuple(
        RoleSlice(f"r{index}", tuple(dict.fromkeys(rows)), columns, None) for index, (rows, columns) in enumerate(data)
    )


some_slices = st.lists(
    st.tuples(st.lists(st.sampled_from(sorted(CONDITIONS)), max_size=2), st.sampled_from(LISTS)), min_size=1, max_size=3
).map(slices_of)


@settings(max_examples=300, deadline=None)
@given(some_slices)
def test_sqlite_shows_what_the_oracle_says(slices: tuple[RoleSlice, ...]) -> None:
    with sqlite() as run:
        assert shown(slices, run, "sqlite") == expected(slices)


@pytest.mark.django_db
def test_postgresql_shows_what_the_oracle_says() -> None:
    """The same on PostgreSQL, where the tests run on it: every condition alone, and pairs of slices."""
    from django.db import connection

    if connection.vendor != "postgresql":
        pytest.skip("the tests run on SQLite")
    columns = 'id integer, "Region" text, amount integer, "order" text, note text'
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE TEMPORARY TABLE "Sales of 2024" ({columns})')
        for row in TABLE:
            cursor.execute('INSERT INTO "Sales of 2024" VALUES (%s, %s, %s, %s, %s)', list(row.values()))

        def run(query: str) -> list[Row]:
            cursor.execute(query.replace("%", "%%"), [])
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        for condition in CONDITIONS:
            for listed in LISTS:
                slices = slices_of([([condition], listed), (["id IN (1, 3)"], ("id", "region"))])
                assert shown(slices[:1], run, "postgres") == expected(slices[:1]), condition
                assert shown(slices, run, "postgres") == expected(slices), condition


def test_dz_62_one_slice_reads_like_the_source() -> None:
    rows = ("country = 'USA'", "department = 'Sales'")
    for dialect in DIALECTS:
        whole = render_select(build_view([RoleSlice("r", rows, None, None)]), table="dataset", dialect=dialect)
        assert whole == "SELECT * FROM dataset WHERE (country = 'USA') AND (department = 'Sales')"
        some = render_select(
            build_view([RoleSlice("r", rows[:1], ("id", "name"), None)]), table="dataset", dialect=dialect
        )
        assert some == "SELECT id, name FROM dataset WHERE (country = 'USA')"
        assert render_select(build_view(None), table="dataset", dialect=dialect) == "SELECT * FROM dataset"


def test_dz_52_conditions_are_joined_each_in_brackets() -> None:
    rows = ("a = 1 OR b = 2", "c = 3")
    found = render_select(build_view([RoleSlice("r", rows, None, None)]), table="t", dialect="spark")
    assert found == "SELECT * FROM t WHERE (a = 1 OR b = 2) AND (c = 3)"


def test_dz_53_dz_54_other_columns_are_absent_and_conditions_may_use_them() -> None:
    with sqlite() as run:
        found = shown([RoleSlice("r", ("region = 'EMEA'",), ("amount",), None)], run, "sqlite")
    assert found == [{"amount": 5}]


def test_dz_56_cells_that_nobody_granted_are_null() -> None:
    slices = [
        RoleSlice("r", ("id = 1",), ("id", "amount"), None),
        RoleSlice("s", ("id IN (1, 3)",), ("id", "note"), None),
    ]
    with sqlite() as run:
        found = shown(slices, run, "sqlite")
    assert found == [{"id": 1, "amount": 5, "note": "a%b"}, {"id": 3, "amount": None, "note": "[ab]"}]
    query = render_select(build_view(slices), table="t", dialect="spark")
    assert query == (
        "SELECT id, CASE WHEN (id = 1) THEN amount END AS amount, CASE WHEN (id IN (1, 3)) THEN note END AS note "
        "FROM t WHERE (id = 1) OR (id IN (1, 3))"
    )


def test_dz_56_a_slice_without_conditions_shows_its_columns_everywhere() -> None:
    slices = [RoleSlice("r", (), ("id",), None), RoleSlice("s", ("id = 1",), ("id", "note"), None)]
    query = render_select(build_view(slices), table="t", dialect="sqlite")
    assert query == "SELECT id, CASE WHEN (id = 1) THEN note END AS note FROM t"


def test_dz_57_nothing_left_is_nothing() -> None:
    with pytest.raises(NoVisibleColumns):
        build_view([RoleSlice("r", (), ("nothing",), None)], table_columns=KNOWN)
    with pytest.raises(NoVisibleColumns):
        build_view([RoleSlice("r", (), ("id",), None)], table_columns=KNOWN, requested_columns=["note"])


def test_dz_51_a_condition_on_a_column_that_is_not_there_grants_nothing() -> None:
    gone = RoleSlice("r", ("gone = 1 AND id = 1 OR Lost",), None, None)
    with pytest.raises(MissingColumns, match="restricted by columns Lost, gone, and"):
        build_view([gone], table_columns=KNOWN)
    with pytest.raises(NoVisibleColumns, match="No column is left"):
        build_view([gone, RoleSlice("s", (), ("nothing",), None)], table_columns=KNOWN)
    view = build_view([gone, RoleSlice("s", ("id = 1",), ("id",), None)], table_columns=KNOWN)
    assert render_select(view, table="t", dialect="spark", table_columns=KNOWN) == "SELECT id FROM t WHERE (id = 1)"


def test_dz_51_case_and_nested_fields() -> None:
    known = ("id", "address", "address.city", "address.zip")
    view = build_view([RoleSlice("r", ("ADDRESS.City = 'Bern'",), ("ID", "Address.City"), None)], table_columns=known)
    query = render_select(view, table="t", dialect="spark", table_columns=known)
    assert query == "SELECT id, address.city AS `address.city` FROM t WHERE (address.city = 'Bern')"
    whole = build_view([RoleSlice("r", (), ("address", "address.zip"), None)], table_columns=known)
    assert render_select(whole, table="t", dialect="spark", table_columns=known) == "SELECT address FROM t"
    part = [RoleSlice("r", ("id = 1",), ("address.city",), None), RoleSlice("s", ("id = 2",), ("address",), None)]
    query = render_select(build_view(part, table_columns=known), table="t", dialect="spark", table_columns=known)
    assert "CASE WHEN (id = 2) THEN address END AS address" in query


def test_dz_51_a_field_that_a_column_has_not_grants_nothing() -> None:
    known = ("id", "address", "address.city")
    view = build_view([RoleSlice("r", (), ("id", "address.street"), None)], table_columns=known)
    assert render_select(view, table="t", dialect="spark", table_columns=known) == "SELECT id FROM t"
    for gone in (
        RoleSlice("r", ("address.street = 'x'",), None, None),
        RoleSlice("r", (), ("address.street", "id.x"), None),
    ):
        with pytest.raises(NoVisibleColumns):
            build_view([gone], table_columns=(*known, "id.y"))
    unopened = build_view(
        [RoleSlice("r", ("address.street = 'x'",), ("address.street",), None)], table_columns=("id", "address")
    )
    assert render_select(unopened, table="t", dialect="spark") == (
        "SELECT address.street AS `address.street` FROM t WHERE (address.street = 'x')"
    )
    with pytest.raises(NoVisibleColumns):
        build_view([RoleSlice("r", ("id = 1",), None, None)], table_columns=())


def test_spark_puts_no_setting_for_a_text() -> None:
    """Spark replaces `${name}` by a setting of its session wherever it stands, so whoever sets it would decide."""
    condition = "a = '${x} $ {y} \\\\${z}'"
    view = build_view([RoleSlice("r", (condition,), None, None)])
    assert render_select(view, table="t", dialect="spark") == (
        r"SELECT * FROM t WHERE (a = '$\u007bx} $ {y} \\$\u007bz}')"
    )
    query = render_select(view, table="t", dialect="postgres")
    assert query == r"SELECT * FROM t WHERE (a = CAST('${x} $ {y} \${z}' AS TEXT))"
    for slices in ([RoleSlice("r", ("`${x}` = 1",), None, None)], [RoleSlice("r", (), ("${x}",), None)]):
        with pytest.raises(RenderError) as raised:
            render_select(build_view(slices), table="t", dialect="spark")
        assert (raised.value.code, raised.value.pointer) == ("dialect.unsupported", "/dialect")


def test_dz_59_only_columns_that_are_wanted() -> None:
    with sqlite() as run:
        assert shown(None, run, "sqlite", wanted=["NOTE", "id", "gone"])[0].keys() == {"id", "note"}
        slices = [RoleSlice("r", ("id = 1",), ("id", "note"), None), RoleSlice("s", ("id = 2",), None, None)]
        assert shown(slices, run, "sqlite", wanted=["order", "id"]) == [
            {"id": 1, "order": None},
            {"id": 2, "order": None},
        ]


def test_several_slices_need_the_names_of_the_columns() -> None:
    slices = [RoleSlice("r", ("id = 1",), None, None), RoleSlice("s", ("id = 2",), ("id",), None)]
    with pytest.raises(RenderError) as raised:
        build_view(slices)
    assert (raised.value.code, raised.value.pointer) == ("columns.needed", "/columns")


@pytest.mark.parametrize("name", ["", "a.b.c.d", "a..b", ".", "a\x00b", "x" * 600, "a\nb"])
def test_a_name_of_a_table(name: str) -> None:
    with pytest.raises(RenderError) as raised:
        render_select(build_view(None), table=name, dialect="spark")
    assert (raised.value.code, raised.value.pointer) == ("table.invalid", "/table")


@pytest.mark.parametrize(
    ("name", "spark", "postgres"),
    [
        ("sales", "sales", "sales"),
        ("lake.sales", "lake.sales", "lake.sales"),
        ("Sales", "Sales", '"Sales"'),
        ("order", "`order`", '"order"'),
        ("user", "`user`", '"user"'),
        ("my table", "`my table`", '"my table"'),
        ("a`b", "`a``b`", '"a`b"'),
        ('a"b', '`a"b`', '"a""b"'),
        ("x; DROP TABLE y", "`x; DROP TABLE y`", '"x; DROP TABLE y"'),
        ("x -- y", "`x -- y`", '"x -- y"'),
        ("1st", "`1st`", '"1st"'),
    ],
)
def test_names_are_quoted_where_they_must_be(name: str, spark: str, postgres: str) -> None:
    assert render_select(build_view(None), table=name, dialect="spark") == f"SELECT * FROM {spark}"
    assert render_select(build_view(None), table=name, dialect="postgres") == f"SELECT * FROM {postgres}"


@given(st.text(min_size=1, max_size=12), st.sampled_from(DIALECTS))
def test_a_name_never_becomes_anything_else(name: str, dialect: str) -> None:
    assume("." not in name or dialect == "spark")
    assume(dialect != "spark" or "${" not in name)
    view = build_view([RoleSlice("r", (), (name,), None)])
    query = render_select(view, table="t", dialect=dialect)
    if dialect == "sqlite" and "\x00" not in name and name.isprintable():
        database = sqlite3.connect(":memory:")
        quoted = name.replace('"', '""')
        database.execute(f'CREATE TABLE t ("{quoted}" text)')
        database.execute("INSERT INTO t VALUES ('seven')")
        assert database.execute(query).fetchall() == [("seven",)]
        database.close()


def test_sqlite_never_takes_an_unknown_name_for_a_text() -> None:
    """Between double quotes SQLite would; `order` is not there, so the condition must fail and not hold."""
    query = render_select(
        build_view([RoleSlice("r", ("`order x` = 'order x'",), None, None)]), table="t", dialect="sqlite"
    )
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a)")
    database.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(query)


@pytest.mark.parametrize(
    ("condition", "dialects"),
    [
        ("a RLIKE 'x'", {"sqlite", "postgres"}),
        ("a ILIKE 'x'", {"sqlite", "postgres"}),
        ("lower(a) = 'x'", {"sqlite", "postgres"}),
        ("upper(a) = 'X'", {"sqlite", "postgres"}),
        ("round(a) = 2", {"sqlite", "postgres"}),
        ("a + 1 = 2", {"sqlite", "postgres"}),
        ("a / 2 = 1", {"sqlite", "postgres"}),
        ("cast(a AS int) = 1", {"sqlite", "postgres"}),
        ("cast(a AS string) = '1'", {"sqlite", "postgres"}),
        ("try_cast(a AS date) IS NULL", {"sqlite", "postgres"}),
        ("to_date(a) = date '2024-01-01'", {"sqlite", "postgres"}),
        ("concat_ws('-', a, 'x') = 'x'", {"sqlite", "postgres"}),
        ("substring(a, -2) <> 'da'", {"sqlite", "postgres"}),
        ("substring(a, 0, 2) <> 'da'", {"sqlite", "postgres"}),
        ("trim('x' FROM a) = 'y'", {"sqlite", "postgres"}),
        ("endswith(a, 'x')", {"sqlite", "postgres"}),
        ("contains(a, 'x')", {"sqlite", "postgres"}),
        ("a.b = 1", {"sqlite", "postgres"}),
        ("a = b IN (TRUE)", {"sqlite", "postgres"}),
        ("a LIKE 'x\\\\y'", {"sqlite", "postgres"}),
        ("length(a) <> '2'", {"sqlite", "postgres"}),
        ("a > '2024-01-01'", {"sqlite", "postgres"}),
        ("coalesce(a, 0.1) = 0.1", {"postgres"}),
        ("a = 12345678901234567", {"sqlite"}),
        ("a <> '2024-01-01'", {"sqlite"}),
        ("a < b", {"sqlite"}),
        ("year(a) = 2024", {"sqlite"}),
        ("startswith(a, 'x')", {"sqlite"}),
        ("a < timestamp '2024-01-01 10:00:00'", {"sqlite"}),
        ("a < current_date", {"sqlite"}),
        ("a < date '2024-01-01'", set()),
        ("a = '2024-01-01'", set()),
        ("a OR NOT b", set()),
        ("a = 100L AND b = 2.5D", set()),
    ],
)
def test_what_a_dialect_has_no_equal_of_is_refused(condition: str, dialects: set[str]) -> None:
    for dialect in DIALECTS:
        view = build_view([RoleSlice("r", (condition,), None, None)])
        if dialect in dialects:
            with pytest.raises(RenderError) as raised:
                render_select(view, table="t", dialect=dialect)
            assert (raised.value.code, raised.value.pointer) == ("dialect.unsupported", "/dialect")
            assert dialect in str(raised.value)
        else:
            assert render_select(view, table="t", dialect=dialect)


@pytest.mark.parametrize("text", ["now", " TODAY ", "on", "inf", "2.50", "20240201", "Feb 1 2024", "{1}", "0x10"])
def test_postgresql_reads_no_text_as_the_type_of_a_column(text: str) -> None:
    """A literal without a type would be the current date in a column of dates."""
    view = build_view([RoleSlice("r", (f"a <> '{text}'",), None, None)])
    assert render_select(view, table="t", dialect="postgres") == f"SELECT * FROM t WHERE (a <> CAST('{text}' AS TEXT))"


def test_texts_are_ordered_byte_by_byte_in_postgresql() -> None:
    view = build_view([RoleSlice("r", ("a BETWEEN 'a' AND 'c'",), None, None)])
    query = render_select(view, table="t", dialect="postgres")
    assert query == """SELECT * FROM t WHERE (a COLLATE "C" BETWEEN 'a' AND 'c')"""


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("a > 10", [15, 20.5]),
        ("NOT a <= 10", [15, 20.5]),
        ("a <> 15", [20.5]),
        ("a IS DISTINCT FROM 15", [20.5, None]),
        ("coalesce(a > 10, TRUE)", [15, 20.5, None]),
        ("a <> 'x'", ["9", "abc", "2024-01-15"]),
        ("NOT a LIKE 'a%'", ["9", "2024-01-15"]),
        ("(a LIKE '1%') IS NOT TRUE", ["9", "abc", "2024-01-15", None]),
        ("a < date '2024-02-01'", ["2024-01-15"]),
        ("NOT a", []),
    ],
)
def test_sqlite_leaves_out_values_of_another_kind(condition: str, shown: list[object]) -> None:
    """SQLite compares everything with everything: to it `'9' > 10`, and a text is greater than any number."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a)")
    database.executemany("INSERT INTO t VALUES (?)", [("9",), ("abc",), ("2024-01-15",), (15,), (20.5,), (None,)])
    query = render_select(build_view([RoleSlice("r", (condition,), None, None)]), table="t", dialect="sqlite")
    assert [value for (value,) in database.execute(query)] == shown


def test_spark_reads_no_column_as_something_of_the_session_or_of_the_table() -> None:
    def render(condition: str, table: str) -> str:
        view = build_view([RoleSlice("r", (condition,), ("id", "orders.state"), None)])
        return render_select(view, table=table, dialect="spark")

    assert render("`user` = 'jo'", "t") == (
        "SELECT id, orders.state AS `orders.state` FROM t AS shown_rows WHERE (shown_rows.`user` = 'jo')"
    )
    assert render("orders.state = 'x' AND shown_rows.id = 1", "lake.Orders") == (
        "SELECT id, shown_rows_.orders.state AS `orders.state` FROM lake.Orders AS shown_rows_ "
        "WHERE (shown_rows_.orders.state = 'x' AND shown_rows.id = 1)"
    )


@pytest.mark.parametrize(("name", "dialect"), [("oid", "sqlite"), ("ROWID", "sqlite"), ("ctid", "postgres")])
def test_columns_that_a_database_has_besides_are_refused(name: str, dialect: str) -> None:
    for slices in ([RoleSlice("r", (f"{name} = 1",), None, None)], [RoleSlice("r", (), (name,), None)]):
        with pytest.raises(RenderError) as raised:
            render_select(build_view(slices), table="t", dialect=dialect)
        assert raised.value.code == "dialect.unsupported"
        assert render_select(build_view(slices), table="t", dialect=dialect, table_columns=[name])


def test_spark_reads_no_condition_as_a_name_of_the_table() -> None:
    """Behind the name of a table `WHERE (ok)` would be another name for it, with names of its columns."""
    for condition in ("ok", "`ok`", "(ok)", "TRUE", "FALSE"):
        query = render_select(build_view([RoleSlice("r", (condition,), None, None)]), table="t", dialect="spark")
        assert query == f"SELECT * FROM t WHERE (({condition.strip('`()')}))"


def test_dates_are_dates_in_sqlite() -> None:
    query = render_select(
        build_view([RoleSlice("r", ("a < date '2024-02-01'",), None, None)]), table="t", dialect="sqlite"
    )
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a text)")
    database.executemany("INSERT INTO t VALUES (?)", [("2024-01-15",), ("2024-02-15",), ("2023-12-31",)])
    assert database.execute(query).fetchall() == [("2024-01-15",), ("2023-12-31",)]


def test_reserved_words_of_sqlite() -> None:
    """Every word works as a column and as a table: quoted where it has to be."""
    from policies.engine.families.vocabulary import read_table

    database = sqlite3.connect(":memory:")
    for word in sorted({word for words in read_table("reserved_words").values() for word in words}):
        database.execute(f'CREATE TABLE "{word}" ("{word}" integer)')
        database.execute(f'INSERT INTO "{word}" VALUES (7)')
        slices = [
            RoleSlice("r", (f"`{word}` = 7",), (word,), None),
            RoleSlice("s", ("1 = 2",), (word, "nothing"), None),
        ]
        view = build_view(slices, table_columns=(word,))
        assert database.execute(render_select(view, table=word, dialect="sqlite")).fetchall() == [(7,)], word


@pytest.mark.django_db
def test_reserved_words_of_postgresql() -> None:
    from django.db import connection

    from policies.engine.families.vocabulary import read_table

    if connection.vendor != "postgresql":
        pytest.skip("the tests run on SQLite")
    with connection.cursor() as cursor:
        cursor.execute("SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')")
        assert {word for (word,) in cursor.fetchall()} <= set(read_table("reserved_words")["postgres"])


def test_a_table_of_ten_thousand_columns_is_no_work() -> None:
    known = [f"column_{number}" for number in range(10_000)]
    nested = [f"{name}.field" for name in known]
    slices = [
        RoleSlice("r", ("column_1 = 1",), tuple(known[::2]), None),
        RoleSlice("s", ("column_2 = 1",), tuple(nested), None),
        RoleSlice("t", ("column_3 = 1",), tuple(reversed(known)), None),
    ]
    view = build_view(slices, table_columns=[*known, *nested])
    assert view.columns is not None
    assert len(view.columns) == 20_000
    assert view.columns[0].rows == (("column_1 = 1",), ("column_3 = 1",))
    assert view.columns[-1].rows == (("column_2 = 1",), ("column_3 = 1",))
