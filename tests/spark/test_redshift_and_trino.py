"""Redshift and Trino as our queries export them: what becomes of the rows, what is found, and with which repair."""

import json
import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, interpreted, role, user
from tests.spark.test_vendor_forms import GOLDEN, read_export

pytestmark = [pytest.mark.spark, pytest.mark.drawn(2, "findings of vendors")]

DATASETS = {
    "redshift": ("dev.shop.orders", "dev.shop.sales", "dev.hr.people", "dev.lake.clicks"),
    "trino": ("hive.shop.sales", "hive.shop.recent", "lake.shop.sales"),
}
SENSITIVE = ("dev.hr.people", "lake.shop.sales")
#: role | users | names of datasets that it opens
CATALOG = """
rk_reader       | ann bob | dev.shop.orders dev.shop.sales dev.lake.clicks
rk_gone         | ann zed | dev.hr.people dev.lake.clicks
tk_analyst      | ann     | hive.shop.sales
tk_lake.analyst | ann     | lake.shop.sales
tk_gone         | bob     | hive.shop.recent
"""
FORMS = ("redshift_kinds", "trino_kinds")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tables of one check of both systems."""
    made = World()
    for name in ("ann", "bob", "dora", "zed"):
        made.person(name)
    opened: dict[str, list[str]] = {}
    for name, people, opens in map(cells, CATALOG.strip().splitlines()):
        made.entity(role(name), ROLE_TYPE=["READ"], ROLE_USER=[user(one) for one in people.split()])
        for one in opens.split():
            opened.setdefault(one, []).append(role(name))
    for platform, names in DATASETS.items():
        for name in names:
            tags = [PII] if name in SENSITIVE else []
            made.entity(dataset(platform, name), ACCESS_ROLE=opened.get(name, []), TAG=tags)
    for form in FORMS:
        made.files |= {
            f"{form}/{path.name}": path.read_text(encoding="utf-8") for path in (GOLDEN / form).glob("*.csv")
        }
    made.files["exports.json"] = json.dumps({"exports": [read_export(form) for form in FORMS]})
    with interpreted(spark):
        return made.checked(spark, tmp_path_factory.mktemp("kinds"))


def shorten(finding: dict[str, Any]) -> str:
    """Return a finding as a line of FINDINGS."""
    about = (finding["role"] or "").removeprefix("urn:li:role:") or re.sub(
        "^urn:li:corpuser:", "", finding["actor"] or ""
    )
    return f"{finding['type']} {finding['severity']} {about or '-'}: {finding['repair']}"


FINDINGS = {
    "kinds": [
        'DIRECT_USER_GRANT CRITICAL dora: REVOKE SELECT ON TABLE "hr"."people" FROM "dora";',
        'DIRECT_USER_GRANT CRITICAL sam: REVOKE ROLE "sys:superuser" FROM "sam";',
        "DIRECT_USER_GRANT CRITICAL theo: -- theo is a superuser. "
        'If it need not be one: ALTER USER "theo" NOCREATEUSER;',
        "DIRECT_USER_GRANT HIGH etl: -- Hand dev.shop.orders on to its right owner.",
        "EXTRA_GRANT CRITICAL -: -- partner_share is a datashare: its consumers are other clusters and accounts.\n"
        'ALTER DATASHARE "partner_share" REMOVE TABLE "hr"."people";',
        'EXTRA_GRANT CRITICAL rk_reader: REVOKE SELECT ("name") ON TABLE "hr"."people" FROM ROLE "reader";',
        'EXTRA_GRANT HIGH -: REVOKE USAGE ON SCHEMA "lake" FROM GROUP "crew";',
        'FUTURE_GRANT MEDIUM -: ALTER DATASHARE "partner_share" SET INCLUDENEW = FALSE FOR SCHEMA "hr";',
        'FUTURE_GRANT MEDIUM dora: ALTER DEFAULT PRIVILEGES FOR USER "root" IN SCHEMA "hr" '
        'REVOKE SELECT ON TABLES FROM "dora";',
        'FUTURE_GRANT MEDIUM dora: ALTER DEFAULT PRIVILEGES FOR USER "root" REVOKE DELETE ON TABLES FROM "dora";',
        "GRANT_MISSING MEDIUM rk_reader: -- lake is an external schema: USAGE opens all of its tables, which have no "
        "grants of their own.\n"
        'GRANT USAGE ON SCHEMA "lake" TO ROLE "reader";',
        "MEMBER_MISSING MEDIUM rk_reader: -- The export names no account of bob: make it, then give it reader.",
        'ROLE_GONE HIGH rk_gone: CREATE ROLE "gone";\n'
        'GRANT USAGE ON SCHEMA "hr" TO ROLE "gone";\n'
        "-- lake is an external schema: USAGE opens all of its tables, which have no grants of their own.\n"
        'GRANT USAGE ON SCHEMA "lake" TO ROLE "gone";\n'
        'GRANT SELECT ON TABLE "hr"."people" TO ROLE "gone";\n'
        'GRANT ROLE "gone" TO "ann";\n'
        "-- The export names no account of zed: make it, then give it gone.",
    ],
    "catalogs": [
        'DIRECT_USER_GRANT HIGH dora: REVOKE "admin" FROM USER "dora" IN "hive";',
        'DIRECT_USER_GRANT HIGH etl: ALTER VIEW "hive"."shop"."recent" SET AUTHORIZATION ROLE "keepers";',
        'EXTRA_GRANT HIGH -: REVOKE SELECT ON TABLE "hive"."shop"."sales" FROM ROLE "ann@x.example";',
        'EXTRA_MEMBER HIGH tk_analyst: REVOKE "analyst" FROM USER "bob" IN "hive";',
        'EXTRA_MEMBER HIGH tk_lake.analyst: REVOKE "analyst" FROM USER "dora" IN "lake";',
        'MEMBER_MISSING MEDIUM tk_analyst: GRANT "analyst" TO USER "ann" IN "hive";',
        'ROLE_GONE HIGH tk_gone: CREATE ROLE "gone" IN "hive";\n'
        'GRANT SELECT ON TABLE "hive"."shop"."recent" TO ROLE "gone";\n'
        'GRANT "gone" TO USER "bob" IN "hive";',
    ],
}


@pytest.mark.parametrize("export", ["kinds", "catalogs"])
def test_all_access_is_found_with_what_ends_it(checked: dict[str, Any], export: str) -> None:
    found = [shorten(finding) for finding in checked["findings"] if finding["export"] == export]
    assert sorted(found) == sorted(FINDINGS[export])
