"""Repairs at a real PostgreSQL: all or none, and for everybody what the preview said, whoever else is at work."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import psycopg
import pytest
import servers

from catalog.warehouses.connector import AccessFact, AccessOutcome, ConnectorProblem, StatementRefused
from catalog.warehouses.connectors import CONNECTORS

CONNECTOR = CONNECTORS["postgres"]
EVIL = 'a""; DROP ROLE bystander; --'
SETUP = f"""
CREATE ROLE reader; CREATE ROLE owner LOGIN; CREATE ROLE bystander LOGIN; CREATE ROLE ann LOGIN; CREATE ROLE "{EVIL}";
CREATE ROLE boss LOGIN SUPERUSER; CREATE ROLE weak LOGIN; CREATE SCHEMA shop AUTHORIZATION owner;
CREATE TABLE shop.orders (id int); CREATE TABLE shop.people (id int); ALTER TABLE shop.orders OWNER TO owner;
GRANT USAGE ON SCHEMA shop TO reader, bystander, weak; GRANT SELECT ON shop.orders TO bystander, reader, ann, "{EVIL}";
GRANT reader TO ann; ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT ON TABLES TO ann;
"""
REVOKE_ANN = 'REVOKE SELECT ON TABLE "shop"."orders" FROM "ann";'
REVOKE_READER = 'REVOKE SELECT ON TABLE "shop"."orders" FROM "reader";'
REVOKE_EVIL = f'REVOKE SELECT ON TABLE "shop"."orders" FROM "{EVIL}";'
GRANT_PEOPLE = 'GRANT SELECT ON TABLE "shop"."people" TO "reader";'
END_DEFAULT = 'ALTER DEFAULT PRIVILEGES FOR ROLE "owner" REVOKE SELECT ON TABLES FROM "ann";'
#: Who may do what, in words of this test.
ASKED = """
SELECT role.rolname || ' ' || privilege || ' ' || relname FROM pg_roles AS role, pg_class,
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
WHERE relnamespace = 'shop'::regnamespace AND has_table_privilege(role.oid, pg_class.oid, privilege)
"""


class Target:
    """A database of its own on a server, and what changes it."""

    def __init__(self, server: servers.Server) -> None:
        self.server = server
        self.port = urlsplit(server.address).port or 0
        ((self.identity,),) = self.run(
            "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid FROM pg_database "
            "WHERE datname = current_database()"
        )

    def dsn(self, role: str = "boss") -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/postgres"

    def run(self, statements: str) -> list[Any]:
        with psycopg.connect(self.server.address, autocommit=True) as connection:
            cursor = connection.execute(statements.encode())
            return cursor.fetchall() if cursor.description else []

    def ask(self) -> set[str]:
        return {row[0] for row in self.run(ASKED)}

    def preview(self, *statements: str, role: str = "boss") -> AccessOutcome:
        return CONNECTOR.try_statements(self.dsn(role), statements, identity=self.identity, seconds=20)

    def apply(self, *statements: str, expected: AccessOutcome, **more: Any) -> list[int]:
        progress: list[int] = []
        options = {"identity": self.identity, "seconds": 20, **more}
        report = options.pop("report_progress", lambda _, position, __: progress.append(position))
        CONNECTOR.apply_statements(self.dsn(), statements, expected=expected, report_progress=report, **options)
        return progress


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    with servers.postgres_server() as server:
        yield server


@pytest.fixture
def target(server: servers.Server) -> Iterator[Target]:
    target = Target(server)
    target.run(SETUP)
    yield target
    target.run("DROP SCHEMA shop CASCADE; DROP ROLE IF EXISTS fresh")
    for name in ("reader", "owner", "bystander", "ann", EVIL, "boss", "weak"):
        target.run(f'DROP OWNED BY "{name}"')
        target.run(f'DROP ROLE "{name}"')


def test_a_preview_changes_nothing_and_what_is_applied_is_what_it_said(target: Target) -> None:
    before = target.ask()
    statements = (GRANT_PEOPLE, REVOKE_ANN, REVOKE_EVIL, END_DEFAULT, 'CREATE ROLE "fresh";', 'GRANT "fresh" TO "ann";')
    preview = target.preview(*statements)
    assert target.ask() == before
    assert preview.gained == (
        AccessFact("ann", "MEMBER", "role fresh"),
        # By the role that it is in.
        AccessFact("ann", "SELECT", "shop.people"),
        AccessFact("fresh", "CONNECT", "database postgres"),
        AccessFact("fresh", "EXISTS", "the server"),
        AccessFact("fresh", "TEMPORARY", "database postgres"),
        AccessFact("fresh", "USAGE", "schema public"),
        AccessFact("reader", "SELECT", "shop.people"),
    )
    # ann still reads orders, by that role.
    name = EVIL.replace('""', '"')
    assert preview.lost == (
        AccessFact(name, "SELECT", "shop.orders"),
        AccessFact("ann", "SELECT", "what owner makes (r)"),
    )
    assert target.apply(*statements, expected=preview) == list(range(6))
    lost, gained = before - target.ask(), target.ask() - before
    assert lost == {f"{name} SELECT orders"}
    assert gained == {"ann SELECT people", "reader SELECT people"}
    # Who may pass something on is compared, too.
    target.run("GRANT SELECT ON shop.people TO weak WITH GRANT OPTION; GRANT reader TO weak WITH ADMIN OPTION")
    lost_facts = target.preview(
        'REVOKE SELECT ON TABLE "shop"."people" FROM "weak";', 'REVOKE "reader" FROM "weak";'
    ).lost
    assert {fact.privilege for fact in lost_facts} >= {"SELECT WITH GRANT OPTION", "ADMIN OPTION", "MEMBER"}
    # A second time there is nothing left to revoke.
    assert target.preview(REVOKE_EVIL) == AccessOutcome((), ())


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ('REVOKE SELECT ON TABLE "shop"."orders" FROM "gone";', 'role "gone" does not exist'),
        ('REVOKE "boss" FROM "ann";', "does not do what it says"),
        ('DROP ROLE "bystander";', "no statement of a repair"),
        ('GRANT SELECT ON TABLE "shop"."orders" TO "a"; DROP TABLE "shop"."people";', "no statement of a repair"),
        ('REVOKE SELECT ON TABLE "shop"."orders" FROM "x', "no statement of a repair"),
        ("GRANT SELECT ON TABLE shop.orders TO ann -- ;", "no statement of a repair"),
        ('GRANT SELECT ON TABLE "shop"."orders" TO "ann"', "does not end"),
        ('GRANT SELECT ON TABLE "shop"."orders" TO "ann" WITH GRANT OPTION;', "no statement of a repair"),
        ('GRANT EXECUTE ON FUNCTION "shop"."f" () TO "ann";', "no statement of a repair"),
        ('ALTER ROLE "ann" SUPERUSER;', "no statement of a repair"),
    ],
)
def test_the_first_failure_takes_everything_back(target: Target, statement: str, sentence: str) -> None:
    before = target.ask()
    with pytest.raises(ConnectorProblem, match=sentence):
        target.apply(REVOKE_READER, statement, expected=AccessOutcome((), ()))
    assert target.ask() == before


def test_a_role_that_may_not_grant_fails_and_says_so(target: Target) -> None:
    before = target.ask()
    for statement, sentence in ((REVOKE_ANN, "permission denied for table orders"), ('CREATE ROLE "fresh";', "denied")):
        with pytest.raises(StatementRefused, match=sentence) as caught:
            target.preview(statement, role="weak")
        assert caught.value.position == 0
    assert target.ask() == before


def test_what_changed_since_the_preview_is_not_applied(target: Target) -> None:
    preview = target.preview(REVOKE_ANN, REVOKE_READER)
    target.run("GRANT SELECT ON shop.orders TO PUBLIC")
    before = target.ask()
    with pytest.raises(ConnectorProblem, match=r"changed since the preview.*Nothing was changed"):
        target.apply(REVOKE_ANN, REVOKE_READER, expected=preview)
    assert target.ask() == before


def test_a_role_that_was_dropped_meanwhile_stops_it(target: Target) -> None:
    statements = (REVOKE_READER, 'REVOKE "reader" FROM "ann";')
    preview = target.preview(*statements)
    target.run("DROP OWNED BY ann; DROP ROLE ann")
    before = target.ask()
    with pytest.raises(StatementRefused, match='role "ann" does not exist'):
        target.apply(*statements, expected=preview)
    assert target.ask() == before
    target.run("CREATE ROLE ann LOGIN")


def test_two_at_once_are_one_and_a_refusal(target: Target) -> None:
    preview = target.preview(REVOKE_READER)

    def apply_too(*_: Any) -> None:
        with pytest.raises(ConnectorProblem, match="Other repairs are being applied"):
            target.apply(REVOKE_READER, expected=preview)

    target.apply(REVOKE_READER, expected=preview, report_progress=apply_too)
    assert "reader SELECT orders" not in target.ask()


def test_a_server_that_ends_the_session_has_nothing_of_it(target: Target) -> None:
    statements = (REVOKE_READER, REVOKE_EVIL)
    preview, before = target.preview(*statements), target.ask()

    def end_session(_: str, position: int, __: int) -> None:
        if position == 1:
            target.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'authzsite'")

    with pytest.raises(ConnectorProblem, match="went away in the middle"):
        target.apply(*statements, expected=preview, report_progress=end_session)
    assert target.ask() == before


class EndingSession(tuple[AccessFact, ...]):
    """What is expected, and ends the session of who compares with it: then there is only the COMMIT left."""

    __slots__ = ()
    end_session: ClassVar[Callable[[], object]]

    def __iter__(self) -> Iterator[AccessFact]:
        type(self).end_session()
        return super().__iter__()


def test_a_server_that_goes_away_at_the_end_is_no_success(target: Target) -> None:
    preview, before = target.preview(REVOKE_READER), target.ask()
    question = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'authzsite'"
    EndingSession.end_session = lambda: target.run(question)
    with pytest.raises(ConnectorProblem, match="not known whether the statements are in force"):
        target.apply(REVOKE_READER, expected=replace(preview, lost=EndingSession(preview.lost)))
    assert target.ask() == before


def test_another_place_than_that_of_the_snapshot_is_not_changed(target: Target) -> None:
    with pytest.raises(ConnectorProblem, match="another database than the snapshot is of"):
        CONNECTOR.try_statements(target.dsn(), [REVOKE_READER], identity="1/2", seconds=20)


def test_a_repair_is_read_line_by_line(target: Target) -> None:
    assert target
    repair = f'-- A note; DROP TABLE x;\n{REVOKE_EVIL}\n\nSET ROLE "a"; {REVOKE_ANN} RESET ROLE;'
    assert CONNECTOR.split_repair(repair) == repair.split("\n")[1::2]
    with pytest.raises(ConnectorProblem, match="no statement"):
        CONNECTOR.split_repair('GRANT "a" TO "b\n"; DROP TABLE "c";')
