"""`read_as` shows what render shows: the same rows, columns and cells, in Spark and in SQLite (DZ-52 to DZ-62)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from rest_framework.test import APIClient
from sqlglot import exp

from catalog.models import Entity
from catalog.reports.spark.session import SparkUnavailable, open_session
from catalog.spark import read_as
from catalog.spark.decisions import AccessDenied, CannotRead
from policies.authoring.services import policies, policy_drafts
from policies.engine.sql_rendering import NoVisibleColumns
from policies.identity.services import access_tokens, roles, users
from policies.pdp import authorizer, snapshot_store
from policies.propagation.invalidating_cache import process_cache
from tests.spark import frames
from tests.spark.conftest import find_java
from tests.spark.frames import allowed, part

pytestmark = pytest.mark.spark

DATASET = "a" * 24
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "Ada", "region": "EMEA", "secret": "x"},
    {"id": 2, "name": "Bo", "region": "APAC", "secret": "y"},
    {"id": 3, "name": None, "region": None, "secret": "z"},
]


@pytest.fixture(scope="module")
def people_table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Three people in Parquet files, in a folder for each region."""
    folder = tmp_path_factory.mktemp("people")
    spark.createDataFrame(pa.Table.from_pylist(ROWS)).coalesce(1).write.parquet(str(folder / "t"))
    return spark.read.parquet(str(folder / "t"))


def shown(table: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, in the order of their ids."""
    return sorted((row.asDict() for row in table.collect()), key=lambda row: row["id"])


# -- equal to render --------------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=frames.rows, several=st.lists(st.none() | frames.slices, min_size=5, max_size=5))
def test_spark_shows_what_sqlite_shows(spark: SparkSession, data: list[Any], several: list[Any]) -> None:
    table = frames.table_of(spark, data)
    expected, asked = {}, {}
    for place, restrictions in zip("abcde", several, strict=True):
        try:
            expected[place] = frames.in_sqlite(data, restrictions)
        except NoVisibleColumns:
            # Rows that are restricted by a column that is not there are noticed first.
            with pytest.raises(AccessDenied, match=r"No column is left|the table has none of that name"):
                frames.by_read_as(spark, restrictions, table)
            continue
        asked[place] = frames.by_read_as(spark, restrictions, table)
        asked[f"{place} rendered"] = frames.by_render(spark, restrictions, table)
    found = frames.collected(asked) if asked else {}
    for place, rows in expected.items():
        assert found[place] == found[f"{place} rendered"] == rows, several["abcde".index(place)]


def test_every_condition_alone(spark: SparkSession) -> None:
    """Each of the conditions that are drawn above keeps some rows and leaves out others, but for the last three."""
    drawn = [
        (1, "EMEA", "0.50", "2024-01-31", "a%b"),
        (2, "O'Hara\\", "2.50", "2024-02-01", "\\%"),
        (3, "${spark.app.name}", None, None, "😀é"),
        (None, "Zürich", "10.01", "2024-02-02", "a"),
        (4, None, "-1.00", "2024-02-02", None),
    ]
    typed = pa.Table.from_pylist([dict(zip(frames.COLUMNS, row, strict=True)) for row in drawn])
    data = typed.cast(frames.SCHEMA).to_pylist()
    table = frames.table_of(spark, data)
    kept = frames.CONDITIONS[:-3]
    found = frames.collected({row: frames.by_read_as(spark, [part(row, columns=["id"])], table) for row in kept})
    for row in kept:
        assert found[row] == frames.in_sqlite(data, [part(row, columns=["id"])]), row
        assert 0 < len(found[row]) < len(data), row


@pytest.mark.django_db
def test_the_answer_of_the_api_is_put_into_force(spark: SparkSession, people_table: DataFrame) -> None:
    """Two roles, each with its rows and columns; the query of render gives the same on both databases."""
    Entity.objects.create(urn=f"urn:li:dataset:{DATASET}", type="dataset", object_id=DATASET)
    by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
    users.create(username="jo", **by)
    for role, extra in {
        "emea": {"row_level_restrictions": ["region = 'EMEA'"], "column_level_restrictions": ["id", "NAME"]},
        "late": {"row_level_restrictions": ["id >= 2"], "column_level_restrictions": ["Id", "region", "gone"]},
    }.items():
        roles.create(identifier=role, name=role, description="", **by)
        roles.grant(urn=f"urn:li:dataHubRole:{role}", actors=["urn:li:corpuser:jo"], **by)
        statement = {"resource": f"dataset:{DATASET}", "actions": ["dataset:read"], "effect": "allow"}
        document = {
            "name": role,
            "statements": [statement | {"extra_constraints": extra}],
            "roles": [f"urn:li:dataHubRole:{role}"],
        }
        policies.create(draft=policy_drafts.PolicyInput("datazone", document), urn=f"urn:li:dataHubPolicy:{role}", **by)
    # What was looked up while the roles were given is dropped when a write commits, and here none does.
    process_cache.clear()
    snapshot_store.mark_stale()
    client = APIClient()
    token = access_tokens.create(owner="urn:li:corpuser:jo", name="test", **by)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token.text}")
    asked = {"actor": "urn:li:corpuser:jo", "resource": {"type": "dataset", "id": DATASET}}
    decision = client.post("/api/v1/authorize", asked | {"privilege": "dataset:read"}, format="json").json()
    people_table.createOrReplaceTempView("people")
    render = asked | {"table": "people", "columns": people_table.columns, "dialect": "spark"}
    rendered = client.post("/api/v1/render", render, format="json")
    assert rendered.status_code == 200, rendered.content
    query = rendered.json()["sql"]
    expected = [
        {"id": 1, "name": "Ada", "region": None},
        {"id": 2, "name": None, "region": "APAC"},
        {"id": 3, "name": None, "region": None},
    ]
    assert shown(read_as(spark, decision, people_table)) == expected
    assert shown(read_as(spark, decision, "people")) == expected
    assert shown(spark.sql(query)) == expected
    nothing = client.post("/api/v1/authorize", asked | {"privilege": "dataset:write"}, format="json").json()
    with pytest.raises(AccessDenied) as raised:
        read_as(spark, nothing, "people")
    assert raised.value.code == "implicit_deny"


# -- exactly, and nothing else ----------------------------------------------------------------------------------------


def test_dz_54_the_source_filters_and_never_hands_out_what_is_hidden(
    spark: SparkSession, people_table: DataFrame
) -> None:
    table = read_as(spark, allowed([part("region = 'EMEA'", columns=["id"])]), people_table)
    asked = table.where(f.udf(lambda _id: True, "boolean")("id"))._jdf.queryExecution()
    plan = [line.strip(" +-:") for line in asked.optimizedPlan().toString().splitlines()]
    assert plan[-1].startswith("Relation [id")
    assert plan[-2].startswith("Filter (isnotnull(region")
    assert [line.split()[0] for line in plan].index("BatchEvalPython") < len(plan) - 2
    scan = asked.executedPlan().toString()
    assert "PushedFilters: [IsNotNull(region), EqualTo(region,EMEA)]" in scan
    assert "ReadSchema: struct<id:bigint,region:string>" in scan


@pytest.mark.parametrize(
    "peek",
    [
        lambda shown, _whole: shown.select("secret"),
        lambda shown, _whole: shown.where("secret = 'x'"),
        lambda shown, whole: shown.where(whole.secret == "x"),
        lambda shown, _whole: shown.sort("secret"),
        lambda shown, whole: shown.groupBy(whole["secret"]).count(),
        lambda shown, _whole: shown.select("_metadata.file_path"),
        lambda shown, whole: shown.withColumn("seen", whole.secret),
    ],
)
def test_dz_53_hidden_columns_cannot_be_reached(
    spark: SparkSession, people_table: DataFrame, peek: Callable[[DataFrame, DataFrame], DataFrame]
) -> None:
    for restrictions in ([part(columns=["id"])], [part("id = 1", columns=["id"]), part(columns=["id", "name"])]):
        with pytest.raises(AnalysisException):
            peek(read_as(spark, allowed(restrictions), people_table), people_table).collect()


def test_no_restriction_shows_the_table(spark: SparkSession, people_table: DataFrame) -> None:
    assert shown(read_as(spark, allowed(None), people_table)) == ROWS
    twice = people_table.select("id", "id")
    assert read_as(spark, allowed(None), twice).columns == ["id", "id"]


def test_dz_51_fields_of_structures(spark: SparkSession) -> None:
    data = [{"id": 1, "Address": {"City": "Bern", "zip": "3000"}}, {"id": 2, "Address": {"City": "Biel", "zip": None}}]
    table = spark.createDataFrame(pa.Table.from_pylist(data))
    restrictions = [
        part("address.CITY = 'Bern'", columns=["id", "address.city", "address.street"]),
        part("id = 2", columns=["ID", "address"], role="s"),
        part("address.street = 'x'", role="t"),
    ]
    found = shown(read_as(spark, allowed(restrictions), table))
    assert [list(row) for row in found] == [["id", "Address", "Address.City"]] * 2
    assert [(row["Address"], row["Address.City"]) for row in found] == [
        (None, "Bern"),
        (table.where("id = 2").collect()[0]["Address"], "Biel"),
    ]


def test_the_texts_of_conditions_are_taken_as_they_are_written(spark: SparkSession) -> None:
    """Whatever a setting of the session or a quote inside would make of them."""
    texts = [
        "${spark.app.name}",
        "${x}",
        "\\${x}",
        "'",
        "\\",
        "\\'",
        '"',
        "\n",
        "a\\nb",
        "%",
        "\\u0024",
        "{x}",
        "é\u2028",
        "--",
        "",
    ]
    spark.conf.set("x", "' OR true OR '")
    table = spark.createDataFrame(pa.table({"note": texts}))
    parts = {text: [part(f"note = {exp.Literal.string(text).sql('spark')}")] for text in texts}
    found = frames.collected({text: read_as(spark, allowed(said), table) for text, said in parts.items()})
    assert found == {text: [[("note", text)]] for text in texts}


def test_what_cannot_be_shown_as_decided_is_not_shown(spark: SparkSession, people_table: DataFrame) -> None:
    restricted = allowed([part("id = 1", columns=["id"])])
    tables: dict[str, DataFrame | str] = {
        "columns.ambiguous": people_table.select("id", f.lit(1).alias("ID")),
        "table.unreadable": "nobody.knows",
    }
    for code, table in tables.items():
        with pytest.raises(CannotRead) as raised:
            read_as(spark, restricted, table)
        assert raised.value.code == code
    with pytest.raises(CannotRead) as raised:
        read_as(spark, allowed([part("id + name")]), people_table.select("id", f.struct("name").alias("name")))
    assert raised.value.code == "decision.invalid"
    with pytest.raises(CannotRead) as raised:
        read_as(spark, allowed([part("name = 1")]), people_table.select("id", f.struct("name").alias("name")))
    assert raised.value.code == "table.unreadable"
    odd = people_table.withColumn("${x}", f.lit(1))
    with pytest.raises(CannotRead) as raised:
        read_as(spark, allowed([part(columns=["id", "${x}"])]), odd)
    assert raised.value.code == "dialect.unsupported"


def test_a_session_that_reads_texts_otherwise_is_refused(spark: SparkSession, people_table: DataFrame) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        with pytest.raises(CannotRead) as raised:
            read_as(spark, allowed(None), people_table)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert raised.value.code == "session.texts"


def test_no_name_is_left_in_the_session(spark: SparkSession, people_table: DataFrame) -> None:
    read_as(spark, allowed([part("id = 1")]), people_table)
    with pytest.raises(CannotRead):
        read_as(spark, allowed([part("id = date '2024-02-01'")]), people_table)
    assert spark.catalog.listTables(pattern="shown_*") == []


# -- the session ------------------------------------------------------------------------------------------------------


def test_one_session_at_a_time(spark: SparkSession) -> None:
    with pytest.raises(SparkUnavailable, match="already"), open_session("second"):
        pass


def test_without_java_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailable, match="apt-get install default-jre-headless"), open_session("without"):
        pass


def test_it_listens_to_this_machine_only(spark: SparkSession) -> None:
    """Read from the kernel: every listening socket of Java is bound to 127.0.0.1."""
    java = Path(f"/proc/{find_java()}")
    own = {link.readlink().name for link in (java / "fd").iterdir() if link.is_symlink()}
    heard = set()
    for table in ("tcp", "tcp6"):
        for line in (java / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                heard.add(fields[1].partition(":")[0])
    assert heard
    assert heard <= {"0100007F", "0000000000000000FFFF00000100007F"}
