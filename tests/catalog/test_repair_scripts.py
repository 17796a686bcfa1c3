"""Scripts of repairs: what their statements are, in which order they run, and what takes them back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.repair_script import ScriptRepair, render_script
from catalog.warehouses.repair_statements import find_phases, invert_repair, read_statement
from catalog.warehouses.scripts import FRAMES
from catalog.warehouses.snowflake.dialect import DIALECT as SNOWFLAKE
from catalog.warehouses.snowflake.source import PassedGrant, SnowflakeSource

EVIL = '"a""; DROP ROLE b; --"'
#: A statement, and what takes it back; `old` owned what it hands on.
INVERSES = """
GRANT SELECT ON TABLE "s"."t" TO "r";                           | REVOKE SELECT ON TABLE "s"."t" FROM "r";
REVOKE SELECT, INSERT ON TABLE "s"."t" FROM PUBLIC CASCADE;     | GRANT SELECT, INSERT ON TABLE "s"."t" TO PUBLIC;
REVOKE SELECT ("a, b", "c") ON TABLE "s"."t" FROM "r";          | GRANT SELECT ("a, b", "c") ON TABLE "s"."t" TO "r";
SET ROLE "g"; REVOKE SELECT ON TABLE "t" FROM "r"; RESET ROLE;  | SET ROLE "g"; GRANT SELECT ON TABLE "t" TO "r"; RESET ROLE;
REVOKE "x" FROM "y" GRANTED BY "z" CASCADE;                     | GRANT "x" TO "y" GRANTED BY "z";
GRANT ROLE "X" TO USER "Y";                                     | REVOKE ROLE "X" FROM USER "Y";
REVOKE "x" FROM ROLE "y" IN "lake";                             | GRANT "x" TO ROLE "y" IN "lake";
CREATE ROLE IF NOT EXISTS "X";                                  | DROP ROLE "X";
CREATE ROLE "x" IN "lake";                                      | DROP ROLE "x" IN "lake";
ALTER ROLE "new" RENAME TO "old";                               | ALTER ROLE "old" RENAME TO "new";
ALTER VIEW "s"."v" OWNER TO "boss";                             | ALTER VIEW "s"."v" OWNER TO "old";
ALTER TABLE "c"."s"."t" SET AUTHORIZATION ROLE "boss";          | ALTER TABLE "c"."s"."t" SET AUTHORIZATION "old";
GRANT OWNERSHIP ON TABLE "T" TO ROLE "S" COPY CURRENT GRANTS;   | GRANT OWNERSHIP ON TABLE "T" TO "old" COPY CURRENT GRANTS;
ALTER DEFAULT PRIVILEGES FOR ROLE "o" IN SCHEMA "s" REVOKE SELECT ON TABLES FROM "r"; | ALTER DEFAULT PRIVILEGES FOR ROLE "o" IN SCHEMA "s" GRANT SELECT ON TABLES TO "r";
REVOKE SELECT ON FUTURE TABLES IN SCHEMA "D"."S" FROM ROLE "R"; | GRANT SELECT ON FUTURE TABLES IN SCHEMA "D"."S" TO ROLE "R";
REVOKE IMPORTED PRIVILEGES ON DATABASE "D" FROM ROLE "R";       | GRANT IMPORTED PRIVILEGES ON DATABASE "D" TO ROLE "R";
REVOKE MANAGE GRANTS ON ACCOUNT FROM ROLE "R";                  | GRANT MANAGE GRANTS ON ACCOUNT TO ROLE "R";
GRANT SELECT FOR TABLES IN SCHEMA "s" TO ROLE "r";              | REVOKE SELECT FOR TABLES IN SCHEMA "s" FROM ROLE "r";
ALTER GROUP "g" DROP USER "u";                                  | ALTER GROUP "g" ADD USER "u";
ALTER GROUP "g" ADD USER "u";                                   | ALTER GROUP "g" DROP USER "u";
ALTER DATASHARE "d" REMOVE TABLE "s"."t";                       | ALTER DATASHARE "d" ADD TABLE "s"."t";
ALTER DATASHARE "d" SET INCLUDENEW = FALSE FOR SCHEMA "s";      | ALTER DATASHARE "d" SET INCLUDENEW = TRUE FOR SCHEMA "s";
ALTER SHARE `d` REMOVE TABLE `c`.`s`.`t`;                       | ALTER SHARE `d` ADD TABLE `c`.`s`.`t`;
REVOKE READ FILES ON EXTERNAL LOCATION `l` FROM `g`;            | GRANT READ FILES ON EXTERNAL LOCATION `l` TO `g`;
REVOKE SELECT ON ANY FILE FROM `g`;                             | GRANT SELECT ON ANY FILE TO `g`;
REVOKE `roles/x.y` ON SCHEMA `p.d` FROM "group:g@x";            | GRANT `roles/x.y` ON SCHEMA `p.d` TO "group:g@x";
gcloud identity groups memberships delete --group-email=a       | gcloud identity groups memberships add --group-email=a
gcloud projects remove-iam-policy-binding p --role=r            | gcloud projects add-iam-policy-binding p --role=r
DROP ROLE "x";                                                  | -- Nothing takes this back: DROP ROLE "x";
"""  # noqa: E501 - statements


def test_each_statement_has_one_that_takes_it_back() -> None:
    for line in INVERSES.strip().splitlines():
        statement, inverse = (cell.strip() for cell in line.split(" | "))
        assert invert_repair(statement, owner='"old"') == inverse
        if inverse.endswith(";") and not inverse.startswith("--"):
            assert read_statement(inverse), inverse


@pytest.mark.parametrize(
    "line",
    [
        *('DROP TABLE "t";', "SELECT 1;", 'GRANT SELECT ON TABLE "t" TO "r"; DROP ROLE "x";', "rm -rf x"),
        *('REVOKE SELECT ON TABLE "a', 'GRANT SELECT ON TABLE "t" TO "r" -- no end', "GRANT SELECT ON TABLE t TO r;"),
        'GRANT "a\0" TO "b";',
    ],
)
def test_a_line_of_no_known_shape_makes_its_repair_one_for_the_reader(line: str) -> None:
    assert read_statement(line) is None
    repair = ScriptRepair("It is odd.", ['REVOKE "a" FROM "b";', line, "-- A note"])
    written = "\n".join(render_script([repair], FRAMES["postgres"], header=["One."], is_inverse=False)).splitlines()
    assert all(text.startswith("--") or not text for text in written)


def test_a_name_that_is_a_statement_stays_one() -> None:
    statement = read_statement(f"REVOKE SELECT ON TABLE {EVIL}.{EVIL} FROM {EVIL};")
    assert statement
    assert (statement.privilege, statement.on, statement.whom) == ("SELECT", f"ON TABLE {EVIL}.{EVIL}", EVIL)


def test_what_others_need_comes_first_and_nothing_overtakes_its_own() -> None:
    create, grant, give = 'CREATE ROLE "a";', 'GRANT SELECT ON TABLE "t" TO "a";', 'GRANT "a" TO "b";'
    take_all, rename = 'REVOKE ALL PRIVILEGES ON TABLE "t" FROM "c";', 'ALTER ROLE "n" RENAME TO "o";'
    again = 'GRANT SELECT ON TABLE "t" TO "c";'
    assert find_phases([create, "-- Then", grant, give]) == [0, 1, 1, 1]
    assert find_phases([take_all, again, "-- Only words"]) == [2, 2, 4]
    repairs = [
        ScriptRepair("Four.", [rename]),
        ScriptRepair("Three.", [take_all, again]),
        ScriptRepair("By hand.", ["-- See who has it."]),
        ScriptRepair("One and two.", [create, grant, give]),
    ]

    def list_lines(chosen: list[ScriptRepair], *, is_inverse: bool) -> list[str]:
        lines = render_script(chosen, None, header=["From here."], is_inverse=is_inverse)
        return [line for line in lines if not line.startswith("--") and line]

    assert list_lines(repairs, is_inverse=False) == [create, grant, give, take_all, again, rename]
    inverses = [ScriptRepair(one.sentence, invert_repair("\n".join(one.lines)).split("\n")) for one in repairs]
    # The name that the others know is given back first.
    assert list_lines(inverses, is_inverse=True) == [
        'ALTER ROLE "o" RENAME TO "n";',
        'REVOKE SELECT ON TABLE "t" FROM "c";',
        'GRANT ALL PRIVILEGES ON TABLE "t" TO "c";',
        'REVOKE "a" FROM "b";',
        'REVOKE SELECT ON TABLE "t" FROM "a";',
        'DROP ROLE "a";',
    ]


@pytest.mark.parametrize(
    ("repair", "inverse"),
    [
        ('GRANT SELECT, INSERT ON TABLE "t" TO "r";', 'REVOKE INSERT ON TABLE "t" FROM "r";'),
        ('GRANT SELECT, INSERT ON TABLE "t" TO "s";', 'REVOKE SELECT, INSERT ON TABLE "t" FROM "s";'),
        ('GRANT SELECT ON TABLE "t" TO "r";', ""),
        (
            'GRANT ALL PRIVILEGES ON TABLE "t" TO "r";',
            'REVOKE ALL PRIVILEGES ON TABLE "t" FROM "r";\nGRANT SELECT ON TABLE "t" TO "r";',
        ),
    ],
)
def test_what_somebody_had_before_stays(repair: str, inverse: str) -> None:
    assert invert_repair(repair, holder='"r"', held_privileges=["SELECT"]) == inverse


def take_back(form: str, repair: str, **values: Any) -> list[str]:
    entry = {"name": "one", "platform": form, "form": form, "grants": ["a"]}
    (export,) = parse_exports(json.dumps({"exports": [entry]}))
    difference = dict.fromkeys(DIFFERENCE_COLUMNS) | {"via": "", "kind": "ROLE", "grantee": "r"} | values
    assert export.dialect
    return export.dialect.render_inverse(export, difference, repair).splitlines()


def test_what_could_be_passed_on_can_be_again_and_an_owner_gets_back_what_was_his() -> None:
    details = json.dumps([json.dumps({"is_grantable": True})])
    assert take_back("snowflake", 'REVOKE SELECT ON TABLE "T" FROM ROLE "R";', grantee="R", details=details) == [
        'GRANT SELECT ON TABLE "T" TO ROLE "R" WITH GRANT OPTION;'
    ]
    handed_on = 'GRANT OWNERSHIP ON TABLE "T" TO ROLE "SYSADMIN" COPY CURRENT GRANTS;'
    assert take_back("snowflake", handed_on, grantee="R") == [
        'GRANT OWNERSHIP ON TABLE "T" TO ROLE "R" COPY CURRENT GRANTS;'
    ]
    assert take_back("redshift", 'ALTER TABLE "s"."t" OWNER TO "boss";', kind="USER", grantee="ann") == [
        'ALTER TABLE "s"."t" OWNER TO "ann";'
    ]


def test_what_cascade_takes_on_snowflake_returns_as_a_grant_of_whoever_runs_the_script() -> None:
    path = "D\x1fS\x1fT"
    passed = [PassedGrant("SELECT", name, "ROLE", "R") for name in ("KEPT", "LOST")]
    revoked = {(path, name): frozenset({"SELECT"}) for name in ("R", "LOST")}
    dialect = replace(SNOWFLAKE, source=SnowflakeSource(passed={path: passed}, revoked=revoked))
    difference = dict.fromkeys(DIFFERENCE_COLUMNS) | {"via": "", "kind": "ROLE", "grantee": "R", "object": path}
    (export,) = parse_exports(
        json.dumps({"exports": [{"name": "one", "platform": "snowflake", "form": "snowflake", "grants": ["a"]}]})
    )
    scope = 'SELECT ON TABLE "D"."S"."T"'
    repair = f'GRANT {scope} TO ROLE "KEPT";\nREVOKE {scope} FROM ROLE "R" CASCADE;'
    assert dialect.render_inverse(export, difference, repair).splitlines() == [
        f'GRANT {scope} TO ROLE "R";',
        f'GRANT {scope} TO ROLE "LOST";',
        "-- KEPT, LOST have it from you, and no longer from R.",
    ]


#: A dialect, a statement, and the query about what it should have changed.
CHECKS = """
snowflake  | REVOKE SELECT ON TABLE "D"."S"."T" FROM ROLE "R";               | SHOW GRANTS TO ROLE "R";
snowflake  | REVOKE SELECT ON FUTURE TABLES IN SCHEMA "D"."S" FROM ROLE "R"; | SHOW FUTURE GRANTS TO ROLE "R";
snowflake  | GRANT DATABASE ROLE "D"."R" TO USER "U";                        | SHOW GRANTS OF DATABASE ROLE "D"."R";
databricks | REVOKE MODIFY ON SCHEMA `c`.`s` FROM `g`;                       | SHOW GRANTS ON SCHEMA `c`.`s`;
databricks | ALTER SCHEMA `c`.`s` OWNER TO `boss`;                           | DESCRIBE SCHEMA EXTENDED `c`.`s`;
databricks | ALTER SHARE `d` REMOVE TABLE `c`.`s`.`t`;                       | SHOW ALL IN SHARE `d`;
redshift   | GRANT SELECT ON TABLE "s"."t" TO ROLE "r";                      | SHOW GRANTS ON TABLE "s"."t";
redshift   | GRANT SELECT FOR TABLES IN SCHEMA "s" TO ROLE "r";              | SHOW GRANTS FOR ROLE "r";
redshift   | CREATE ROLE "it's";                                             | SELECT role_name FROM svv_roles WHERE role_name = 'it''s';
redshift   | ALTER DATASHARE "d" REMOVE TABLE "s"."t";                       | SELECT * FROM svv_datashare_objects WHERE share_name = 'd';
redshift   | ALTER GROUP "g" DROP USER "u";                                  | SELECT grolist FROM pg_group WHERE groname = 'g';
trino      | REVOKE SELECT ON TABLE "c"."s"."t" FROM ROLE "r";               | SHOW GRANTS ON TABLE "c"."s"."t";
trino      | CREATE ROLE "r" IN "lake";                                      | SHOW ROLES FROM "lake";
trino      | GRANT "r" TO USER "u" IN "lake";                                | SELECT grantee_type, grantee FROM "lake".information_schema.role_authorization_descriptors WHERE role_name = 'r';
trino      | ALTER VIEW "c"."s"."v" SET AUTHORIZATION ROLE "boss";           | -- No query of this system shows these:
bigquery   | GRANT `roles/x` ON TABLE `p.d.t` TO "user:a@x";                 | SELECT privilege_type, grantee FROM `p`.`region-REGION`.INFORMATION_SCHEMA.OBJECT_PRIVILEGES WHERE object_name = 't' AND object_schema = 'd';
"""  # noqa: E501 - statements


def test_the_check_asks_each_system_in_its_own_words() -> None:
    for line in CHECKS.strip().splitlines():
        dialect, statement, query = (cell.strip() for cell in line.split(" | "))
        repair = ScriptRepair("It differs.", [statement])
        lines = "\n".join(render_script([repair], FRAMES[dialect], header=[], is_inverse=False)).splitlines()
        assert query in lines[-3:], (dialect, statement, lines)
        assert any(one.startswith(("-- Gone: ", "-- There: ")) for one in lines)
