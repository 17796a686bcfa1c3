"""Repairs of PostgreSQL, by what is known of a source: decision tables without Spark."""

import json
from dataclasses import replace
from typing import Any

import pytest

from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS, DifferenceType
from catalog.reports.kinds.role_mapping_check.repairs import render_repair
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.postgres.dialect import DIALECT, PostgresDialect
from catalog.warehouses.postgres.source import PostgresSource, SourceGrant, SourceMembership

(EXPORT,) = parse_exports(
    json.dumps({"exports": [{"name": "one", "platform": "postgres", "form": "postgres", "grants": ["a"]}]})
)
TABLE = "app\x1fshop\x1forders"
ORDER = list(EXPORT.vocabulary)
#: The server is of a release in which a membership ends with that of its grantor.
CHAIN = (
    SourceMembership("reader", "boss", "postgres", is_chained=True),
    SourceMembership("reader", "temp", "boss", is_chained=True),
    SourceMembership("reader", "kept", "boss", is_chained=True),
)


def know(**facts: Any) -> PostgresDialect:
    """Return the dialect that knows this of a source."""
    return replace(DIALECT, source=PostgresSource(**facts))


def render(dialect: PostgresDialect, difference_type: DifferenceType, **values: Any) -> list[str]:
    """Return the lines of a repair."""
    names = values.pop("privileges", ())
    bits = sum(1 << ORDER.index(name) for name in names) or None
    difference = dict.fromkeys(DIFFERENCE_COLUMNS) | {"type": difference_type, "via": "", "bits": bits} | values
    return render_repair(replace(EXPORT, dialect=dialect), difference).splitlines()


def take(dialect: PostgresDialect, grantee: str, *privileges: str, **values: Any) -> list[str]:
    about = {
        "object": TABLE,
        "entity": "urn",
        "name": "app.shop.orders",
        "grantee": grantee,
        "kind": "USER",
        "count": 1,
    }
    return render(dialect, DifferenceType.DIRECT_USER_GRANT, **about, privileges=privileges, level=2, **values)


def remove(dialect: PostgresDialect, member: str, grantor: str) -> list[str]:
    details = json.dumps([json.dumps({"grantor": grantor})])
    names = {"object": "reader", "grantee": member, "kind": "USER", "role": "reader", "actor": "urn:li:corpuser:x"}
    return render(dialect, DifferenceType.EXTRA_MEMBER, **names, details=details)


def test_nothing_is_revoked_from_an_owner() -> None:
    assert take(DIALECT, "ann", "OWNER", "SELECT", "INSERT") == ["-- Hand app.shop.orders on to its right owner."]
    level = {"object": TABLE, "entity": "urn", "name": "app.shop.orders", "grantee": "ann", "level": 3, "wanted": 1}
    assert render(DIALECT, DifferenceType.WRONG_LEVEL, **level, privileges=("OWNER",)) == [
        "-- Hand app.shop.orders on to its right owner."
    ]


def test_a_superuser_stays_one_until_somebody_has_looked() -> None:
    (line,) = take(DIALECT, "root", "SUPERUSER")
    assert line == '-- root is a superuser. If it need not be one: ALTER ROLE "root" NOSUPERUSER;'


@pytest.mark.parametrize("name", ["unknown (OID=16999)", "x" * 64, "é" * 32, "16999", "a\0b"])
def test_who_cannot_be_named_gets_words(name: str) -> None:
    for lines in (take(DIALECT, name, "SELECT"), remove(DIALECT, name, "postgres")):
        assert [line[:3] for line in lines] == ["-- "]


def test_a_name_of_63_bytes_is_named() -> None:
    assert take(DIALECT, "x" * 63, "SELECT") == [f'REVOKE SELECT ON TABLE "shop"."orders" FROM "{"x" * 63}";']


def test_everybody_is_public_and_a_role_of_that_name_is_not() -> None:
    assert take(DIALECT, "public", "SELECT") == ['REVOKE SELECT ON TABLE "shop"."orders" FROM PUBLIC;']
    assert take(DIALECT, "PUBLIC", "SELECT") == ['REVOKE SELECT ON TABLE "shop"."orders" FROM "PUBLIC";']


PASSED_ON = [
    SourceGrant("SELECT", "lead", "keeper", is_grantable=True),
    SourceGrant("SELECT", "ann", "lead", is_grantable=True),
    SourceGrant("SELECT", "eve", "ann", is_grantable=False),
    SourceGrant("SELECT", "both", "lead", is_grantable=False),
    SourceGrant("SELECT", "both", "keeper", is_grantable=False),
]


def test_what_was_passed_on_is_taken_as_who_granted_it() -> None:
    dialect = know(grants={TABLE: PASSED_ON}, owners={TABLE: "keeper"})
    assert take(dialect, "eve", "SELECT") == [
        'SET ROLE "ann"; REVOKE SELECT ON TABLE "shop"."orders" FROM "eve"; RESET ROLE;'
    ]
    assert take(dialect, "both", "SELECT") == [
        'SET ROLE "lead"; REVOKE SELECT ON TABLE "shop"."orders" FROM "both"; RESET ROLE;',
        'REVOKE SELECT ON TABLE "shop"."orders" FROM "both";',
    ]


def test_who_has_passed_a_grant_on_loses_it_with_what_came_of_it_and_the_rest_stays() -> None:
    revoked = {(TABLE, "lead"): frozenset({"SELECT"}), (TABLE, "eve"): frozenset({"SELECT"})}
    dialect = know(grants={TABLE: PASSED_ON}, owners={TABLE: "keeper"}, revoked=revoked)
    lines = take(dialect, "lead", "SELECT")
    assert sorted(line for line in lines if line.startswith("-- ")) == [
        "-- CASCADE also takes SELECT from 3 to whom it was passed on: ann, both, eve."
    ]
    # `both` has it from the owner, too, and eve is to lose it.
    assert [line for line in lines if not line.startswith("-- ")] == [
        'GRANT SELECT ON TABLE "shop"."orders" TO "ann";',
        'REVOKE SELECT ON TABLE "shop"."orders" FROM "lead" CASCADE;',
    ]
    revoked[TABLE, "ann"] = frozenset({"SELECT"})
    assert take(dialect, "ann", "SELECT") == ["-- SELECT ends with the grant of lead, who passed it on."]


def test_a_membership_is_of_its_grantor_and_takes_with_it_what_was_passed_on() -> None:
    dialect = know(memberships=CHAIN, taken_members=frozenset({("boss", "reader"), ("temp", "reader")}))
    assert remove(dialect, "boss", "postgres") == [
        "-- CASCADE also takes reader from 2 to whom it was passed on: temp, kept.",
        'GRANT "reader" TO "kept";',
        'REVOKE "reader" FROM "boss" GRANTED BY "postgres" CASCADE;',
    ]
    assert remove(dialect, "temp", "boss") == ["-- reader ends with the membership of boss, who passed it on."]


def test_before_that_release_each_membership_stands_by_itself() -> None:
    unchained = [SourceMembership(one.role, one.member, one.grantor) for one in CHAIN]
    dialect = know(memberships=unchained, taken_members=frozenset({("boss", "reader"), ("temp", "reader")}))
    assert remove(dialect, "boss", "postgres") == ['REVOKE "reader" FROM "boss" GRANTED BY "postgres";']
    assert remove(dialect, "temp", "boss") == ['REVOKE "reader" FROM "temp" GRANTED BY "boss";']
    assert remove(dialect, "temp", "unknown (OID=9)") == ['REVOKE "reader" FROM "temp";']


def test_a_role_through_others_is_taken_where_it_comes_in() -> None:
    edges = [SourceMembership(role, member, "") for role, member in (("mid", "top"), ("deep", "mid"), ("deep", "top"))]
    inherited = {"grantee": "top", "via": "deep", "role": "top", "kind": None, "level": 1, "count": 2}
    dialect = know(memberships=edges)
    lines = render(dialect, DifferenceType.EXTRA_GRANT, **inherited, privileges=("SELECT",))
    assert lines == ['REVOKE "deep" FROM "top";', 'REVOKE "mid" FROM "top";']
    dialect = know(memberships=edges, taken_roles=frozenset({("mid", "deep")}))
    lines = render(dialect, DifferenceType.EXTRA_GRANT, **inherited, privileges=("SELECT",))
    assert lines == [
        'REVOKE "deep" FROM "top";',
        "-- deep also comes through mid, from which it is taken itself.",
    ]
