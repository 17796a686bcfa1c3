"""Small exports as administrators make them: each kind of access is found, with what ends it, and nothing else is."""

import re
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, interpreted, role, user

#: One job about nine exports takes 50 processor seconds: the golden exports of each system are what `make test` runs.
pytestmark = [pytest.mark.spark, pytest.mark.deep]

GRANT = "owner_name,grantor_name,grantee_name,privilege_type,is_grantable"
RELATIONS = f"database_name,schema_name,relation_name,relation_kind,{GRANT}"
SCHEMAS = f"database_name,schema_name,{GRANT}"
DATABASES = f"database_name,{GRANT}"
ROLES = "role_name,is_superuser,can_login,inherits,bypasses_row_security,is_bootstrap,valid_until,dependency_count"
MEMBERS = "role_name,member_name,grantor_name,has_admin_option,inherits,can_set_role,depends_on_grantor"
SWITCHES = "permissive,has_row_security,forces_row_security"
POLICIES = f"database_name,schema_name,relation_name,policy_name,command,role_names,{SWITCHES}"
OLD_GRANTS = "grantor,grantee,table_catalog,table_schema,table_name,privilege_type,is_grantable,with_hierarchy"
SHOWN = "namespace_name,relation_name,privilege_type,identity_id,identity_name,identity_type,admin_option"
USER_ROLES = "user_id,user_name,role_id,role_name,admin_option"

PAY = "corp,hr,pay,TABLE,own,own,own,OWNER,t corp,hr,pay,TABLE,own,own,reader,SELECT,f"
IN_SCHEMA = "corp,hr,own,own,own,OWNER,t corp,hr,own,own,reader,USAGE,f"
IN_DATABASE = "corp,root,root,root,OWNER,t corp,root,root,public,CONNECT,f"
PEOPLE = "root,t,t,t,t,t,,1 own,f,t,t,f,f,,1 reader,f,f,t,f,f,,1 anna,f,t,t,f,f,,1 bob,f,t,t,f,f,,1"
OWNED = "DIRECT_USER_GRANT own has ADMIN on corp.hr.pay without any role. => -- Hand corp.hr.pay on to its right owner."


class Case(NamedTuple):
    """An export: files by their keys in exports.json (header, then rows), further keys, and its findings.

    `roles` are role | members | datasets; the first part of the name of a dataset that is sensitive is !.
    """

    form: str
    files: dict[str, list[str]]
    roles: str
    found: list[str]
    keys: dict[str, Any] = {}


CASES = {
    "spared": Case(
        "postgres",
        {
            "grants": [f"{RELATIONS} {PAY}", f"{SCHEMAS} {IN_SCHEMA}", f"{DATABASES} {IN_DATABASE}"],
            "members": [f"{ROLES} {PEOPLE}", f"{MEMBERS} reader,anna,root,f,t,t,f"],
            "policies": [f"{POLICIES} corp,hr,pay,mine,ALL,public,PERMISSIVE,t,f"],
        },
        "reader|anna|!corp.hr.pay",
        [
            OWNED,
            "POLICIES_BYPASSED No row filter in corp.hr.pay binds own; sensitive there: 1 dataset. => "
            '-- If its row filters should bind the owner, too: ALTER TABLE "hr"."pay" FORCE ROW LEVEL SECURITY;',
        ],
        {"ignored_roles": ["root"]},
    ),
    "bound": Case(
        "postgres",
        {
            "grants": [f"{RELATIONS} {PAY}", f"{SCHEMAS} {IN_SCHEMA}", f"{DATABASES} {IN_DATABASE}"],
            "members": [f"{ROLES} {PEOPLE}", f"{MEMBERS} reader,anna,root,f,t,t,f"],
            "policies": [f"{POLICIES} corp,hr,pay,mine,ALL,public,PERMISSIVE,t,t"],
        },
        "reader|anna|!corp.hr.pay",
        [OWNED],
        {"ignored_roles": ["root"]},
    ),
    "becoming": Case(
        "postgres",
        {
            "grants": [
                f"{RELATIONS} {PAY.replace('reader', 'all_hr')} {PAY.replace('pay', 'staff')}",
                f"{SCHEMAS} {IN_SCHEMA} corp,hr,own,own,all_hr,USAGE,f",
                f"{DATABASES} {IN_DATABASE}",
            ],
            "members": [
                f"{ROLES} {PEOPLE} all_hr,f,f,t,f,f,,1",
                f"{MEMBERS} reader,anna,root,f,t,t,f all_hr,reader,root,f,f,t,t",
            ],
        },
        "reader|anna|corp.hr.staff\nnobody||!corp.hr.pay",
        [
            "EXTRA_GRANT all_hr has READ on corp.hr.pay; the catalog does not say so. => "
            'REVOKE SELECT ON TABLE "hr"."pay" FROM "all_hr";',
            "EXTRA_GRANT becoming_reader has READ through all_hr (by SET ROLE only), which opens 1 dataset that the "
            'catalog does not name. => REVOKE "all_hr" FROM "reader" GRANTED BY "root";',
            "ROLE_GONE The source has no role becoming_nobody, which the catalog says opens 1 dataset. => "
            'CREATE ROLE "nobody"; GRANT USAGE ON SCHEMA "hr" TO "nobody"; '
            'GRANT SELECT ON TABLE "hr"."pay" TO "nobody";',
        ],
        {"ignored_roles": ["root", "own"]},
    ),
    # Since PostgreSQL 16 whoever makes an account holds it, to give it away.
    "made_by_admin": Case(
        "postgres",
        {
            "grants": [
                f"{RELATIONS} {PAY} corp,hr,pay,TABLE,own,own,bob,SELECT,f",
                f"{SCHEMAS} {IN_SCHEMA} corp,hr,own,own,bob,USAGE,f",
                f"{DATABASES} corp,root,root,root,OWNER,t corp,root,root,bob,CONNECT,f",
            ],
            "members": [
                f"{ROLES} {PEOPLE} admin,f,t,t,f,f,,1",
                f"{MEMBERS} reader,anna,root,f,t,t,f anna,admin,root,t,f,f,t bob,admin,root,t,f,f,t "
                "reader,admin,root,t,f,f,t",
            ],
        },
        "reader|anna|!corp.hr.pay\ngone|bob|corp.hr.pay",
        [
            "DIRECT_USER_GRANT bob has READ on corp.hr.pay without any role. => "
            'REVOKE SELECT ON TABLE "hr"."pay" FROM "bob";',
            "GRANT_MISSING made_by_admin_reader does not get into corp, where the catalog says that it opens 1 "
            'dataset. => GRANT CONNECT ON DATABASE "corp" TO "reader";',
            "ROLE_GONE The source has no role made_by_admin_gone, which the catalog says opens 1 dataset. => "
            'CREATE ROLE "gone"; GRANT CONNECT ON DATABASE "corp" TO "gone"; GRANT USAGE ON SCHEMA "hr" TO "gone"; '
            'GRANT SELECT ON TABLE "hr"."pay" TO "gone"; GRANT "gone" TO "bob";',
        ],
        {"ignored_roles": ["root", "own", "admin"]},
    ),
    "numbered": Case(
        "postgres",
        {
            "grants": [f"{OLD_GRANTS} own,reader,corp,hr,pay,SELECT,NO,YES"],
            "members": [
                "oid,roleid,member,grantor,admin_option,inherit_option,set_option 90,50,51,10,f,t,t 91,50,52,10,f,f,t "
                "92,77,52,10,f,t,t",
                "rolname,rolsuper,rolcanlogin,oid root,t,t,10 reader,f,f,50 anna,f,t,51 bob,f,t,52",
            ],
        },
        "reader|anna|!corp.hr.pay",
        [
            "EXTRA_MEMBER bob holds numbered_reader (by SET ROLE only); the catalog does not say so. => "
            'REVOKE "reader" FROM "bob" GRANTED BY "root";',
        ],
        {"ignored_roles": ["root"]},
    ),
    "ownerless": Case(
        "postgres",
        {
            "grants": [
                "grantee,table_catalog,table_schema,table_name,privilege_type reader,corp,hr,pay,SELECT "
                "bob,corp,hr,pay,SELECT"
            ],
            "members": ["roleid,member reader,anna", "rolname,rolcanlogin reader,f anna,t bob,t"],
        },
        "reader|anna|!corp.hr.pay",
        [
            "DIRECT_USER_GRANT bob has READ on corp.hr.pay without any role. => "
            '-- Unless bob owns it, which no file says: REVOKE SELECT ON TABLE "hr"."pay" FROM "bob";',
        ],
    ),
    "powers": Case(
        "redshift",
        {
            "grants": [
                f"{SHOWN} hr,pay,SELECT,1,reader,role,False hr,pay,SELECT,3,eve,user,True "
                "hr,pay,SELECT,0,public,public,False",
                "namespace_name,privilege_type,identity_id,identity_name,identity_type,admin_option,privilege_scope "
                "hr,USAGE,1,reader,role,False,SCHEMA lake,USAGE,3,eve,user,False,SCHEMA",
                "database_name,schema_name,table_name,column_name,object_type,privilege_type,identity_id,identity_name,"
                "identity_type,admin_option,privilege_scope,grantor_name "
                "corp,hr,pay,iban,COLUMN,SELECT,4,al,user,f,COLUMN,root",
                "datashare_name,privilege_type,identity_id,identity_name,identity_type,admin_option "
                "out,SHARE,9,root,user,False",
            ],
            "members": [
                f"{USER_ROLES} 1,anna,1,reader,False 8,lea,10,sys:dba,False 9,moe,11,sys:secadmin,False",
            ],
            "policies": [
                "relschema,relname,relkind,polname,grantor,grantee,granteekind,is_pol_on,is_rls_on,"
                "rls_conjunction_type hr,pay,table,mine,root,public,public,t,t,AND"
            ],
        },
        "reader|anna|!corp.hr.pay\n||!corp.lake.clicks",
        [
            "DIRECT_USER_GRANT al has READ on corp.hr.pay (only its column iban) without any role. => "
            'REVOKE SELECT ("iban") ON TABLE "hr"."pay" FROM "al";',
            "DIRECT_USER_GRANT eve has READ on corp.hr.pay without any role. => "
            "-- CASCADE also takes what eve has passed on: no view of Redshift says who has it now. "
            "-- Unless eve owns it, which no file says: "
            'REVOKE SELECT ON TABLE "hr"."pay" FROM "eve" CASCADE;',
            "DIRECT_USER_GRANT lea has WRITE on corp (as a member of sys:dba) without any role. => "
            'REVOKE ROLE "sys:dba" FROM "lea";',
            "EXTRA_GRANT public has READ on corp.hr.pay; the catalog does not say so. => "
            'REVOKE SELECT ON TABLE "hr"."pay" FROM PUBLIC;',
            "PASSED_SENSITIVE Sensitive data lies in corp.lake, and 1 row on it was not compared: on a schema that "
            "may be external, where usage opens all of it. => "
            "-- See who has access to corp.lake in this way: the report only counts it.",
            "POLICIES_BYPASSED No row filter in corp binds moe; sensitive there: 1 dataset. => "
            "-- See whether moe has to bypass the row filters in corp.",
            "SENSITIVE_OPEN corp.lake.clicks is sensitive and has grants, and no policy masks or filters it. => "
            "-- Put a mask or a row filter on corp.lake.clicks, or take its tag off.",
        ],
    ),
    "external": Case(
        "redshift",
        {
            "grants": [
                f"{SHOWN} hr,pay,SELECT,1,reader,role,False",
                "namespace_name,privilege_type,identity_id,identity_name,identity_type,admin_option "
                "hr,USAGE,1,reader,role,False lake,USAGE,3,eve,user,False",
                "database_name,schema_name,schema_owner,schema_type,schema_acl,source_database,schema_option "
                "corp,hr,100,local,,, corp,lake,100,external,,glue,{}",
            ],
            "members": [f"{USER_ROLES} 1,anna,1,reader,False"],
        },
        "reader|anna|corp.hr.pay\n||!corp.lake.clicks",
        [
            "DIRECT_USER_GRANT eve has READ on corp.lake without any role. => "
            'REVOKE USAGE ON SCHEMA "lake" FROM "eve";',
        ],
    ),
    "lakes": Case(
        "trino",
        {
            "grants": [
                "grantor,grantor_type,grantee,grantee_type,table_catalog,table_schema,table_name,privilege_type,is_grantable,"
                "with_hierarchy h,USER,reader,ROLE,corp,hr,pay,SELECT,NO, h,USER,public,ROLE,corp,hr,pay,SELECT,NO,"
            ],
            "members": [
                "role_name,grantor,grantor_type,grantee,grantee_type,is_grantable reader,,,anna,USER,NO "
                "reader,,,lead,ROLE,NO lead,,,joe,USER,NO admin,,,moe,USER,NO"
            ],
        },
        "reader|anna|!corp.hr.pay",
        [
            "DIRECT_USER_GRANT moe has ADMIN on corp (as a member of admin, by SET ROLE only) without any role. => "
            'REVOKE "admin" FROM USER "moe" IN "corp";',
            "EXTRA_GRANT public has READ on corp.hr.pay; the catalog does not say so. => "
            'REVOKE SELECT ON TABLE "corp"."hr"."pay" FROM ROLE "public";',
            "EXTRA_MEMBER joe holds lakes_reader through lead; the catalog does not say so. => "
            'REVOKE "lead" FROM USER "joe" IN "corp";',
        ],
    ),
}


def add_case(made: World, name: str, case: Case) -> dict[str, Any]:
    """Add files and catalog of a case and return its entry of exports.json."""
    entry: dict[str, Any] = {
        "name": name,
        "platform": case.form,
        "form": case.form,
        "instance": name,
        "role_prefix": f"{name}_",
        "database": "corp",
        **case.keys,
    }
    for key, texts in case.files.items():
        entry[key] = [f"{name}/{key}{number}.csv" for number in range(len(texts))]
        made.files |= {path: text.replace(" ", "\n") + "\n" for path, text in zip(entry[key], texts, strict=True)}
    opened: dict[str, list[str]] = {}
    for line in case.roles.splitlines():
        short_name, members, names = line.split("|")
        urn = role(f"{name}_{short_name}")
        if short_name:
            made.entity(urn, ROLE_TYPE=["READ"], ROLE_USER=list(map(user, members.split())))
        for one in names.split():
            opened.setdefault(one, []).extend([urn] if short_name else [])
    for one, urns in opened.items():
        tags = [PII] if one.startswith("!") else []
        made.entity(dataset(case.form, f"{name}.{one.removeprefix('!')}"), ACCESS_ROLE=urns, TAG=tags)
    return entry


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    made = World()
    for name in ("anna", "bob"):
        made.person(name)
    made.add_exports(*(add_case(made, name, case) for name, case in CASES.items()))
    with interpreted(spark):
        return made.checked(spark, tmp_path_factory.mktemp("kinds_of_access"))


def describe(finding: dict[str, Any]) -> str:
    repair = " ".join(finding["repair"].splitlines())
    return f"{finding['type']} {finding['sentence']} => {repair}"


@pytest.mark.parametrize("name", CASES)
def test_the_access_that_exists_is_found_and_nothing_else(checked: dict[str, Any], name: str) -> None:
    found = [describe(finding) for finding in checked["findings"] if finding["export"] == name]
    assert sorted(found) == sorted(CASES[name].found)


def test_rows_that_nothing_explains_are_quarantined(checked: dict[str, Any]) -> None:
    reasons = {(row["export"], row["line"], row["reason"]) for row in checked["quarantine"]}
    assert {(export, line) for export, line, _ in reasons} == {("numbered", 4)}
    assert all(re.search("numbers of roles", reason) for _, _, reason in reasons)
