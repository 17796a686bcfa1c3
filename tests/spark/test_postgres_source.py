"""A real PostgreSQL: exported by the printed script, compared, repaired by the proposed statements, and compared again.

Every statement is run in the order of the findings, and taken back: none may fail or change nothing. Then a connection
applies them, and everybody has what its preview said, and the access that is written here, in words of this test and
not of the report.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest
import servers
from psycopg import sql
from pyspark.sql import SparkSession

from catalog.warehouses.connector import AccessOutcome
from catalog.warehouses.connectors import CONNECTORS
from catalog.warehouses.repair_script import ScriptRepair, render_script
from catalog.warehouses.scripts import FRAMES, SCRIPTS
from tests.spark.drift_world import PII, World, dataset, interpreted, role, user

pytestmark = pytest.mark.spark

DATABASE = "corp"
SCHEMA = """
CREATE SCHEMA shop; CREATE SCHEMA hr; CREATE SCHEMA closed;
CREATE ROLE reader; CREATE ROLE writer; CREATE ROLE pay_reader; CREATE ROLE ledger_reader; CREATE ROLE viewer;
CREATE ROLE idle; CREATE ROLE clerks; CREATE ROLE lead; CREATE ROLE mid; CREATE ROLE deep; CREATE ROLE ghost;
CREATE ROLE "Data"; CREATE ROLE "a""; DROP ROLE reader; --";
CREATE USER keeper; CREATE USER owner; CREATE USER ann; CREATE USER "bob@x.example"; CREATE USER carl; CREATE USER dora;
CREATE USER eve; CREATE USER finn; CREATE USER jane NOINHERIT; CREATE USER kim BYPASSRLS; CREATE USER root2 SUPERUSER;
CREATE TABLE shop.customers (id int, name text); CREATE TABLE shop.orders (id int); CREATE TABLE hr.pay (id int, amount int);
CREATE TABLE closed.ledger (id int); CREATE TABLE closed.audit (id int);
CREATE VIEW shop.recent AS SELECT * FROM shop.orders; CREATE MATERIALIZED VIEW shop.sales AS SELECT count(*) FROM shop.orders;
CREATE MATERIALIZED VIEW hr.sums AS SELECT sum(amount) FROM hr.pay; CREATE TABLE shop.events (id int);
GRANT USAGE ON SCHEMA shop, hr, closed TO keeper;
GRANT USAGE ON SCHEMA shop TO reader, writer, viewer, lead, owner, clerks, finn, eve, "Data", "a""; DROP ROLE reader; --";
GRANT USAGE ON SCHEMA hr TO pay_reader, deep, ann, "Data", clerks;
ALTER TABLE shop.customers OWNER TO keeper; ALTER TABLE shop.orders OWNER TO keeper; ALTER TABLE hr.pay OWNER TO keeper;
ALTER VIEW shop.recent OWNER TO keeper; ALTER MATERIALIZED VIEW shop.sales OWNER TO keeper;
ALTER MATERIALIZED VIEW hr.sums OWNER TO keeper; ALTER TABLE closed.ledger OWNER TO keeper;
ALTER TABLE closed.audit OWNER TO keeper; ALTER TABLE shop.events OWNER TO owner;
GRANT SELECT ON shop.customers, shop.orders, shop.recent, shop.sales TO reader; GRANT UPDATE ON shop.customers TO reader;
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON shop.orders TO writer;
GRANT SELECT ON closed.ledger TO ledger_reader; GRANT SELECT ON closed.audit TO ghost; GRANT ghost TO finn;
GRANT SELECT ON hr.pay TO ann, "Data"; GRANT SELECT ON hr.sums TO clerks, deep; GRANT SELECT (amount) ON hr.pay TO dora;
GRANT USAGE ON SCHEMA hr TO dora; GRANT SELECT ON shop.orders TO PUBLIC, "a""; DROP ROLE reader; --";
GRANT SELECT ON shop.recent TO lead WITH GRANT OPTION; SET ROLE lead; GRANT SELECT ON shop.recent TO viewer, eve; RESET ROLE;
GRANT reader TO ann, "bob@x.example", kim; GRANT writer TO carl; GRANT clerks TO dora; GRANT pay_reader TO jane;
GRANT pg_read_all_data TO dora; GRANT deep TO mid; GRANT mid TO writer;
GRANT SELECT, INSERT ON shop.orders TO finn; GRANT pg_write_all_data TO finn;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper IN SCHEMA shop GRANT SELECT ON TABLES TO finn, reader;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper GRANT SELECT ON TABLES TO PUBLIC;
ALTER TABLE hr.pay ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON hr.pay FOR SELECT TO pay_reader USING (true);
"""  # noqa: E501 - statements
#: role | type | users | datasets that name it; `gone` and hr.old are in the catalog alone.
CATALOG = """
reader        | READ  | ann bob    | shop.customers shop.orders shop.recent shop.sales hr.old
writer        | WRITE | carl       | shop.orders
pay_reader    | READ  | carl       | hr.pay hr.sums
ledger_reader | READ  | eve nobody | closed.ledger
viewer        | READ  | -          | shop.recent
gone          | READ  | carl       | closed.audit shop.orders
idle          | READ  | -          | -
clerks        | READ  | dora       | -
"""
DATASETS = ("shop.customers", "shop.orders", "shop.recent", "shop.sales", "shop.events", "hr.pay", "hr.sums")
SENSITIVE = ("hr.pay", "hr.sums", "closed.ledger")
#: Who reads what in the end: names of tables, - for none. `owner` keeps what is theirs.
READS = """
ann           | shop.customers shop.orders shop.recent shop.sales
bob@x.example | shop.customers shop.orders shop.recent shop.sales
carl          | shop.orders hr.pay hr.sums closed.audit
dora          | -
eve           | closed.ledger
finn          | -
jane          | -
kim           | -
keeper        | shop.customers shop.orders shop.recent shop.sales hr.pay hr.sums closed.ledger closed.audit
owner         | shop.events
"""
WRITES = {"carl": {"shop.orders"}, "keeper": {*DATASETS, "closed.ledger", "closed.audit"} - {"shop.events"}}
Tables = dict[str, Any]


class Source:
    """A server with the roles and tables of SCHEMA."""

    def __init__(self, address: str) -> None:
        self.port = urlsplit(address).port or 0
        self._run("postgres", f"CREATE DATABASE {DATABASE}")
        self._run(DATABASE, SCHEMA)

    def connect(self, database: str = DATABASE, name: str = "postgres") -> psycopg.Connection:
        """Return a connection as a role."""
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname=database, user=name, autocommit=True)

    def _run(self, database: str, statements: str) -> None:
        with self.connect(database) as connection:
            connection.execute(statements.encode())

    def export(self, folder: Path) -> dict[str, str]:
        """Return the files that psql makes of the printed script."""
        script = folder / "export.sql"
        script.write_text(SCRIPTS["postgres"].render(), encoding="utf-8")
        program = servers.postgres_folder()
        assert program
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", DATABASE)
        subprocess.run([program / "psql", "-X", "-q", *address, "-f", script], cwd=folder, check=True)
        return {f"corp/{path.name}": path.read_text(encoding="utf-8") for path in folder.glob("*.csv")}

    def try_each(self, statements: list[str]) -> list[str]:
        """Return the statements that fail or change nothing when all are run in their order, and take them back."""
        wrong = []
        with self.connect() as connection, connection.transaction(force_rollback=True):
            for statement in statements:
                before = read_state(connection)
                try:
                    with connection.transaction():
                        connection.execute(statement.encode())
                except psycopg.Error as error:
                    wrong.append(f"{statement} fails: {error}")
                    continue
                if read_state(connection) == before:
                    wrong.append(f"{statement} changes nothing")
        return wrong

    def apply(self, statements: list[str]) -> AccessOutcome:
        """Apply statements as a connection does, and return its preview."""
        dsn = f"postgresql://postgres@127.0.0.1:{self.port}/{DATABASE}"
        with self.connect() as connection:
            question = (
                "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid FROM pg_database "
                "WHERE datname = current_database()"
            )
            ((identity,),) = connection.execute(question).fetchall()
        connector = CONNECTORS["postgres"]
        preview = connector.try_statements(dsn, statements, identity=identity, seconds=60)
        connector.apply_statements(
            dsn, statements, identity=identity, seconds=60, expected=preview, report_progress=lambda *_: None
        )
        return preview

    def run_script(self, tables: Tables, *, is_inverse: bool) -> list[str]:
        """Run the script of all repairs, or the one that takes them back, and return what its check shows."""
        column = "inverse" if is_inverse else "repair"
        repairs = [ScriptRepair(row["sentence"], (row[column] or "").split("\n")) for row in tables["findings"]]
        script = "\n".join(render_script(repairs, FRAMES["postgres"], header=["All."], is_inverse=is_inverse))
        program = servers.postgres_folder()
        assert program
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", DATABASE)
        options = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
        done = subprocess.run(
            [program / "psql", *options, *address], input=script, capture_output=True, text=True, check=False
        )
        return [*done.stderr.splitlines(), *done.stdout.splitlines()]

    def read_all(self) -> set[tuple[str, ...]]:
        """Return every grant, membership, owner and role."""
        with self.connect() as connection:
            return set(connection.execute(STATE.encode()).fetchall())

    def list_access(self) -> set[tuple[str, str, str]]:
        """Return account, privilege and table of all that anybody but a superuser may do."""
        question = """
            SELECT role.rolname, privilege, relation.oid::regclass::text
            FROM pg_roles AS role, pg_class AS relation,
                unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
            WHERE NOT role.rolsuper AND relation.relkind IN ('r', 'v', 'm')
                AND relation.relnamespace::regnamespace::text IN ('shop', 'hr', 'closed')
                AND has_table_privilege(role.oid, relation.oid, privilege)
        """
        with self.connect() as connection:
            return set(connection.execute(question).fetchall())

    def list_readable(self, name: str) -> set[str]:
        """Return the tables that an account reads when it tries."""
        readable = set()
        with self.connect(name=name) as connection:
            for table in (*DATASETS, "closed.ledger", "closed.audit"):
                try:
                    connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 0").format(sql.Identifier(*table.split("."))))
                    readable.add(table)
                except psycopg.errors.InsufficientPrivilege:
                    continue
        return readable

    def list_writable(self, name: str) -> set[str]:
        """Return the tables that an account may change."""
        tables = (*DATASETS, "closed.ledger", "closed.audit")
        with self.connect() as connection:
            question = "SELECT name FROM unnest(%s::text[]) AS name WHERE has_table_privilege(%s, name, 'UPDATE')"
            return {row[0] for row in connection.execute(question, [list(tables), name])}


def read_state(connection: psycopg.Connection) -> str:
    """Return all that a statement about access can change."""
    tables = (
        "pg_class",
        "pg_namespace",
        "pg_attribute",
        "pg_auth_members",
        "pg_default_acl",
        "pg_authid",
        "pg_database",
    )
    parts = " UNION ALL ".join(f"SELECT row::text AS part FROM {name} AS row" for name in tables)
    row = connection.execute(f"SELECT md5(string_agg(part, '' ORDER BY part)) FROM ({parts}) AS parts".encode())
    return str(row.fetchone())


#: All grants with who gave them, memberships, owners, and roles by their names.
_GRANTS = (
    "granted.grantor::regrole::text, CASE granted.grantee WHEN 0 THEN 'public' ELSE granted.grantee::regrole::text END"
    ", granted.privilege_type, granted.is_grantable::text"
)
STATE = f"""
SELECT relation.oid::regclass::text, {_GRANTS}
FROM pg_class AS relation, aclexplode(coalesce(relacl, acldefault('r', relowner))) AS granted
WHERE relkind IN ('r', 'v', 'm') AND relnamespace::regnamespace::text IN ('shop', 'hr', 'closed')
UNION ALL SELECT attrelid::regclass || '.' || attname, {_GRANTS}
FROM pg_attribute, aclexplode(attacl) AS granted
UNION ALL SELECT nspname, {_GRANTS}
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS granted
UNION ALL SELECT defaclrole::regrole || ' ' || defaclnamespace, {_GRANTS}
FROM pg_default_acl, aclexplode(defaclacl) AS granted
UNION ALL SELECT roleid::regrole::text, grantor::regrole::text, member::regrole::text, 'MEMBER', admin_option::text
FROM pg_auth_members
UNION ALL SELECT oid::regclass::text, '', relowner::regrole::text, 'OWNER', '' FROM pg_class
WHERE relnamespace::regnamespace::text IN ('shop', 'hr', 'closed')
UNION ALL SELECT rolname, '', '', 'EXISTS', '' FROM pg_roles
"""


def make_world(files: dict[str, str]) -> World:
    made = World()
    for name in ("ann", "bob", "carl", "dora", "eve", "finn", "jane", "kim", "root2", "nobody"):
        made.person(name)
    opened: dict[str, list[str]] = {name: [] for name in (*DATASETS, *SENSITIVE, "hr.old", "closed.audit")}
    for line in CATALOG.strip().splitlines():
        name, kind, users, datasets = (cell.strip() for cell in line.split("|"))
        made.entity(role(f"pg_{name}"), ROLE_TYPE=[kind], ROLE_USER=[user(one) for one in users.split() if one != "-"])
        for one in datasets.replace("-", "").split():
            opened[one].append(role(f"pg_{name}"))
    for name, roles in opened.items():
        made.entity(dataset("postgres", f"corp.{name}"), ACCESS_ROLE=roles, TAG=[PII] if name in SENSITIVE else [])
    made.files |= files
    listed = {
        "members": ["corp/roles.csv", "corp/role_members.csv"],
        "policies": ["corp/row_policies.csv"],
        "grants": sorted({*files} - {"corp/roles.csv", "corp/role_members.csv", "corp/row_policies.csv"}),
    }
    entry = {"name": "corp", "platform": "postgres", "form": "postgres", "database": "corp", "role_prefix": "pg_"}
    names = {"email_domain": "x.example", "ignored_roles": ["postgres", "keeper"]}
    made.add_exports(entry | names | listed)
    return made


def list_statements(tables: Tables) -> list[str]:
    """Return the statements of findings, in their order."""
    lines = (line for finding in tables["findings"] for line in finding["repair"].splitlines())
    return [line for line in lines if not line.startswith("--")]


def list_sentences(tables: Tables, *types: str) -> list[str]:
    return [finding["sentence"] for finding in tables["findings"] if finding["type"] in types]


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    with servers.postgres() as address:
        yield Source(address)


class Applied(NamedTuple):
    """What was applied: its preview, and who may do what before and after."""

    preview: AccessOutcome
    before: set[tuple[str, str, str]]
    after: set[tuple[str, str, str]]


class ScriptRun(NamedTuple):
    """What the checks of both scripts show, and all grants before, between and after them."""

    shown: list[str]
    shown_back: list[str]
    before: set[tuple[str, ...]]
    between: set[tuple[str, ...]]
    after: set[tuple[str, ...]]


def run_scripts(source: Source, tables: Tables) -> ScriptRun:
    """Run the script of all repairs, then the one that takes them back."""
    before = source.read_all()
    shown = source.run_script(tables, is_inverse=False)
    between = source.read_all()
    shown_back = source.run_script(tables, is_inverse=True)
    return ScriptRun(shown, shown_back, before, between, source.read_all())


@pytest.fixture(scope="module")
def applied() -> list[Applied]:
    """What was applied, by the fixture below."""
    return []


@pytest.fixture(scope="module")
def scripts() -> list[ScriptRun]:
    """What the scripts did, by the fixture below."""
    return []


@pytest.fixture(scope="module")
def rounds(
    spark: SparkSession,
    source: Source,
    applied: list[Applied],
    scripts: list[ScriptRun],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Tables, list[str], Tables]:
    """What is found, the statements that fail or change nothing, and what is found when all are applied."""
    found: list[Tables] = []
    wrong: list[str] = []
    with interpreted(spark):
        for number in range(2):
            folder = tmp_path_factory.mktemp(f"round{number}")
            found.append(make_world(source.export(folder)).checked(spark, folder))
            if not number:
                statements = list_statements(found[0])
                scripts.append(run_scripts(source, found[0]))
                wrong, before = source.try_each(statements), source.list_access()
                applied.append(Applied(source.apply(statements), before, source.list_access()))
    return found[0], wrong, found[1]


def test_every_statement_runs_and_changes_something(rounds: tuple[Tables, list[str], Tables]) -> None:
    first, wrong, _ = rounds
    assert len(list_statements(first)) > 20
    assert wrong == []


def test_one_script_does_it_all_and_another_one_takes_it_back(
    rounds: tuple[Tables, list[str], Tables], scripts: list[ScriptRun]
) -> None:
    assert rounds
    (run,) = scripts
    # No statement fails, and the checks show nothing.
    assert (run.shown, run.shown_back) == ([], [])
    assert len(run.before ^ run.between) > 30
    # Also who granted what, and who may pass it on.
    assert run.after == run.before


def test_the_preview_of_the_repairs_is_what_becomes_of_everybody(
    rounds: tuple[Tables, list[str], Tables], applied: list[Applied]
) -> None:
    assert rounds
    ((preview, before, after),) = applied
    lost, gained = (
        {
            (fact.holder, fact.privilege, fact.on)
            for fact in facts
            if "." in fact.on and not fact.privilege.endswith(("columns", "GRANT OPTION"))
        }
        for facts in (preview.lost, preview.gained)
    )
    assert (lost, gained) == (before - after, after - before)
    assert len(lost) > 10
    assert gained
    # Owners lose nothing on what is theirs, and superusers nothing at all.
    concerned = {(fact.holder, fact.on) for fact in preview.lost}
    owned = {("owner", "shop.events"), *(("keeper", name) for name in (*DATASETS, "closed.ledger", "closed.audit"))}
    assert concerned.isdisjoint(owned)
    assert {"root2", "postgres"}.isdisjoint({holder for holder, _ in concerned})


def test_everybody_has_what_the_catalog_says_and_owners_keep_what_is_theirs(
    rounds: tuple[Tables, list[str], Tables], source: Source
) -> None:
    assert rounds
    expected = {
        name: set(tables.replace("-", "").split())
        for name, tables in ((cell.strip() for cell in line.split("|")) for line in READS.strip().splitlines())
    }
    assert {name: source.list_readable(name) for name in expected} == expected
    expected_writes = {name: WRITES.get(name, set()) for name in expected} | {"owner": {"shop.events"}}
    assert {name: source.list_writable(name) for name in expected} == expected_writes


def test_nothing_is_left_to_be_repaired(rounds: tuple[Tables, list[str], Tables]) -> None:
    _, _, second = rounds
    assert list_statements(second) == []
    # Only people decide about these.
    assert sorted(list_sentences(second, "EXTRA_GRANT", "DIRECT_USER_GRANT", "POLICIES_BYPASSED")) == [
        "No row filter in corp binds kim; sensitive there: 1 dataset.",
        "owner has ADMIN on corp.shop.events without any role.",
        "root2 has ADMIN on corp (as a superuser) without any role.",
    ]


def test_access_that_is_no_grant_on_a_table_is_found(rounds: tuple[Tables, list[str], Tables]) -> None:
    first, _, _ = rounds
    sentences = list_sentences(first, "DIRECT_USER_GRANT", "EXTRA_GRANT", "EXTRA_MEMBER", "FUTURE_GRANT")
    for sentence in (
        "dora has READ on corp (as a member of pg_read_all_data) without any role.",
        "dora has READ on corp.hr.pay (only its column amount) without any role.",
        "root2 has ADMIN on corp (as a superuser) without any role.",
        "jane holds pg_pay_reader (by SET ROLE only); the catalog does not say so.",
        "public has READ on corp.shop.orders; the catalog does not say so.",
        "pg_clerks has READ on corp.hr.sums; the catalog does not say so.",
        "pg_writer has READ through deep, which opens 1 dataset that the catalog does not name.",
        "public gets READ on every table that is made in corp.",
    ):
        assert sentence in sentences
    assert "pg_ledger_reader does not get into corp.closed, where the catalog says that it opens 1 dataset." in (
        list_sentences(first, "GRANT_MISSING")
    )


def test_a_grant_in_a_schema_that_nobody_gets_into_is_passed(rounds: tuple[Tables, list[str], Tables]) -> None:
    first, _, second = rounds
    assert "ghost" not in " ".join(one["sentence"] for one in (*first["findings"], *second["findings"]))
    (passed,) = [row for row in first["passed"] if row["rule"] == "closed_container"]
    assert passed["count"] == 1


def test_rows_add_up_and_nothing_is_hidden(rounds: tuple[Tables, list[str], Tables]) -> None:
    (export,) = rounds[0]["exports"]
    assert export["rows"] == export["compared"] + export["passed"]
    assert (export["quarantined"], export["limits"]) == (0, None)
