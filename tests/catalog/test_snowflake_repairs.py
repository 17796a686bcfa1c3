"""Statements for Snowflake where the golden exports have no row for them, and files of no layout."""

import json
from typing import Any

import pytest

from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.layouts import choose_layout
from catalog.warehouses.principals import INSTANCE_ROLE
from catalog.warehouses.snowflake.description import find_coverage
from catalog.warehouses.snowflake.dialect import DIALECT, SnowflakeDialect
from catalog.warehouses.snowflake.layouts import GRANTS_TO_ROLES, LAYOUTS
from catalog.warehouses.snowflake.source import PassedGrant, SnowflakeSource
from catalog.warehouses.warehouse import BadExports, Export

(EXPORT,) = parse_exports(
    json.dumps({"exports": [{"name": "s", "platform": "snowflake", "form": "snowflake", "grants": ["a.csv"]}]})
)
T = "DB\x1fS\x1fT"


def bits(*names: str) -> int:
    return sum(1 << list(EXPORT.vocabulary).index(name) for name in names)


def difference(**values: Any) -> dict[str, Any]:
    row = dict.fromkeys(DIFFERENCE_COLUMNS) | {"type": "EXTRA_GRANT", "name": "db.s.t", "via": "", "grantee": "LEAD"}
    return row | {"object": T, "entity": "urn", "bits": bits("SELECT"), "level": 1} | values


def knowing(**facts: Any) -> SnowflakeDialect:
    return DIALECT.__class__(**{**DIALECT.__dict__, "source": SnowflakeSource(**facts)})


def test_a_grant_that_was_passed_on_is_revoked_with_what_depends_on_it_and_what_stays_is_granted_first() -> None:
    chain = [PassedGrant("SELECT", "MID", "ROLE", "LEAD"), PassedGrant("SELECT", "DEEP", "ROLE", "MID")]
    dialect = knowing(passed={T: chain}, revoked={(T, "LEAD"): {"SELECT"}, (T, "DEEP"): {"SELECT"}})
    assert dialect.revoke_access(EXPORT, difference()).splitlines() == [
        "-- CASCADE also takes SELECT from MID, to whom it was passed on.",
        'GRANT SELECT ON TABLE "DB"."S"."T" TO ROLE "MID";',
        "-- CASCADE also takes SELECT from DEEP, to whom it was passed on.",
        'REVOKE SELECT ON TABLE "DB"."S"."T" FROM ROLE "LEAD" CASCADE;',
    ]
    assert dialect.revoke_access(EXPORT, difference(grantee="MID")).startswith("-- SELECT ends with the grant of LEAD")


def test_the_grant_option_alone_asks_for_cascade() -> None:
    details = json.dumps([json.dumps({"grantor": "SYSADMIN", "is_grantable": True})])
    assert DIALECT.revoke_access(EXPORT, difference(details=details)).endswith('FROM ROLE "LEAD" CASCADE;')


@pytest.mark.parametrize(
    ("values", "statement"),
    [
        ({"bits": bits("OWNERSHIP"), "grantee": "SYSADMIN"}, "-- SYSADMIN owns DB.S.T."),
        ({"bits": bits("OWNERSHIP")}, 'GRANT OWNERSHIP ON TABLE "DB"."S"."T" TO ROLE "SYSADMIN" COPY CURRENT GRANTS;'),
        ({"grantee": f"{INSTANCE_ROLE}\x1fA.B.C\x1fR"}, ""),
        ({"grantee": "R" * 256}, ""),
        ({"grantee": 'a"; DROP'}, 'REVOKE SELECT ON TABLE "DB"."S"."T" FROM ROLE "a""; DROP";'),
        (
            {"bits": bits("IMPORTED PRIVILEGES"), "object": "DB", "object_type": "DATABASE", "entity": None},
            'REVOKE IMPORTED PRIVILEGES ON DATABASE "DB" FROM ROLE "LEAD";',
        ),
    ],
)
def test_an_owner_keeps_what_is_theirs_and_nobody_is_named_whom_sql_cannot_name(
    values: dict[str, Any], statement: str
) -> None:
    assert DIALECT.revoke_access(EXPORT, difference(**values)) == statement


def test_a_grant_is_on_the_object_that_there_is_as_it_is_written_there() -> None:
    asked = difference(type="GRANT_MISSING", object=None, object_type="VIEW", grantee="R", role="r", wanted=1)
    dialect = knowing(objects={"DB.S.T": ("DB\x1fS\x1ft", "MATERIALIZED VIEW")}, managed={"DB\x1fS": "KEEPER"})
    assert dialect.grant_access(EXPORT, asked).splitlines() == [
        "-- The schema DB.S has managed access: run this as KEEPER, or with MANAGE GRANTS.",
        'GRANT SELECT ON MATERIALIZED VIEW "DB"."S"."t" TO ROLE "R";',
    ]
    imported = knowing(imported=frozenset({"DB"})).grant_access(EXPORT, asked)
    assert imported == 'GRANT IMPORTED PRIVILEGES ON DATABASE "DB" TO ROLE "R";'
    writing = DIALECT.change_level(EXPORT, asked | {"type": "WRONG_LEVEL", "wanted": 2})
    assert writing == "-- Nobody writes a view: give R the type READ."


def test_nobody_is_given_a_role_under_a_guessed_name() -> None:
    missing = difference(type="MEMBER_MISSING", object=None, grantee=None, actor="urn:li:corpuser:ann", role="r")
    assert DIALECT.add_member(EXPORT, missing).startswith("-- The export names no account of ann")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["privilege", "granted_on", "name", "grantee_name", "colour"], "show_grants (not with colour)"),
        (["role", "granted_to"], "lack the column grantee_name"),
        (["event", "shape"], "no known layout"),
    ],
)
def test_a_file_of_no_layout_is_refused_with_those_that_come_close(columns: list[str], sentence: str) -> None:
    with pytest.raises(BadExports) as raised:
        choose_layout(columns, EXPORT, "a.csv", LAYOUTS)
    assert sentence in str(raised.value)


def test_what_an_export_lacks_is_said_with_where_it_is() -> None:
    limits = find_coverage(frozenset({GRANTS_TO_ROLES})).limits
    assert {
        name: any(name in limit for limit in limits) for name in ("SHOW FUTURE GRANTS", "USERS", "SHOW GRANTS")
    } == {
        "SHOW FUTURE GRANTS": True,
        "USERS": True,
        "SHOW GRANTS": True,
    }
    names = frozenset(layout.name for layout in LAYOUTS)
    assert find_coverage(names).limits == ()


def test_roles_have_no_addresses() -> None:
    export: Export = EXPORT.__class__(
        **{name: getattr(EXPORT, name) for name in EXPORT.__slots__} | {"email_domain": "x.example"}
    )
    assert (export.role_name("gone"), export.account_name("ann")) == ("GONE", "ANN@x.example")
