"""What the golden exports of vendors come to beside a catalog: each kind of grant has a planted difference."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.known_exports import check_known
from catalog.reports.kinds.role_mapping_check.run_inputs import UnreadableExports
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.grant_facts import role_key
from tests.spark.drift_world import PII, World, dataset, interpreted, role, user
from tests.spark.test_vendor_forms import read_export

pytestmark = [pytest.mark.spark, pytest.mark.drawn(2, "findings of vendors")]

GOLDEN = Path(__file__).with_name("golden_exports")

# role in the catalog | type | users | datasets that name it
SNOWFLAKE = """
snow_orders_reader | READ  | ann   | sales.core.orders lake.fresh.stock
snow_casey         | READ  | casey | sales.core.casey
snow_sales.reader  | READ  | -     | sales.core.orders sales.hr.people
snow_crm.reader    | READ  | ann   | crm.core.leads
snow_lake.reader   | READ  | -     | lake.raw.events
snow_analyst       | READ  | -     | sales.core.orders
snow_crm_owner     | ADMIN | -     | crm.core.leads
snow_daily         | WRITE | theo  | sales.core.daily sales.core.recap
"""
BIGQUERY = """
auditors | READ  | - | pier-ships.logs.events pier-ships.crew.people pier-docks.tides.levels pier-tests.trial.runs pier-tests.trial.runs_v
harbour  | WRITE | - | pier-docks.tides.levels
readers  | READ  | - | pier-ships.logs.events pier-docks.tides.levels pier-tests.trial.runs pier-tests.trial.runs_v
writers  | WRITE | - | pier-ships.logs.events
hr       | READ  | - | pier-ships.crew.people
"""  # noqa: E501 - a table
DATABRICKS = """
dx_readers | READ | ann       | delta.shop.sales delta.shop.live delta.fresh.stock
dx_hr      | READ | carl      | delta.hr.pay delta.hr.plans
dx_gone    | READ | ann theo  | delta.shop.sales delta.shop.recap
"""
SENSITIVE = {"delta.hr.pay", "sales.hr.people", "pier-ships.crew.people"}
FURTHER = {"snowflake": ["sales.core.orders_v", "market.public.quotes"], "bigquery": [], "databricks": []}
#: What the catalog says that datasets are.
SUBTYPES = {"sales.core.recap": ["VIEW"], "pier-ships.crew.people": ["VIEW"]}

FOUND = {
    "snowflake": """
DIRECT_USER_GRANT | CRITICAL | -                  | sales.hr.people     | carl | REVOKE SELECT ON TABLE "SALES"."HR"."PEOPLE" FROM USER "CARL";
EXTRA_GRANT       | CRITICAL | -                  | -                   | -    | REVOKE MANAGE GRANTS ON ACCOUNT FROM ROLE "WARDEN";
EXTRA_GRANT       | CRITICAL | -                  | sales.hr.people     | -    | REVOKE SELECT ON TABLE "SALES"."HR"."PEOPLE" FROM APPLICATION "LENS";
EXTRA_GRANT       | CRITICAL | -                  | sales.hr.people     | -    | REVOKE SELECT ON TABLE "SALES"."HR"."PEOPLE" FROM SHARE "PARTNERS";
EXTRA_GRANT       | HIGH     | -                  | -                   | -    | -- The schema LAKE.RAW has managed access: run this as LAKE_LOADER, or with MANAGE GRANTS. GRANT OWNERSHIP ON SCHEMA "LAKE"."RAW" TO ROLE "SYSADMIN" COPY CURRENT GRANTS;
EXTRA_GRANT       | HIGH     | -                  | -                   | -    | REVOKE IMPORTED PRIVILEGES ON DATABASE "MARKET" FROM ROLE "BUYER";
EXTRA_GRANT       | HIGH     | -                  | crm.core.leads      | -    | -- The schema CRM.CORE has managed access: run this as CRM_OWNER, or with MANAGE GRANTS. REVOKE SELECT ON VIEW "CRM"."CORE"."LEADS" FROM APPLICATION ROLE "CRM"."VIEWER";
EXTRA_GRANT       | HIGH     | -                  | sales.core.casey    | -    | REVOKE SELECT ON TABLE "SALES"."CORE"."CASEY" FROM ROLE "casey";
EXTRA_GRANT       | HIGH     | -                  | sales.core.daily    | -    | -- CASCADE also takes SELECT from SUB, to whom it was passed on. -- CASCADE also takes SELECT from ANALYST, to whom it was passed on. REVOKE SELECT ON DYNAMIC TABLE "SALES"."CORE"."DAILY" FROM ROLE "LEAD" CASCADE;
EXTRA_GRANT       | HIGH     | -                  | sales.core.daily    | -    | -- SELECT ends with the grant of LEAD, who passed it on.
EXTRA_GRANT       | HIGH     | snow_analyst       | -                   | -    | REVOKE DATABASE ROLE "CRM"."READER" FROM ROLE "ANALYST"; REVOKE DATABASE ROLE "SALES"."READER" FROM ROLE "ANALYST"; -- SELECT ends with the grant of LEAD, who passed it on.
EXTRA_GRANT       | HIGH     | snow_orders_reader | sales.core.orders_v | -    | REVOKE SELECT ON VIEW "SALES"."CORE"."ORDERS_V" FROM ROLE "ORDERS_READER";
EXTRA_GRANT       | HIGH     | snow_sales.reader  | -                   | -    | GRANT OWNERSHIP ON SCHEMA "SALES"."CORE" TO ROLE "SYSADMIN" COPY CURRENT GRANTS;
EXTRA_MEMBER      | HIGH     | snow_sales.reader  | -                   | carl | REVOKE DATABASE ROLE "SALES"."READER" FROM USER "CARL";
FUTURE_GRANT      | MEDIUM   | snow_sales.reader  | -                   | -    | REVOKE SELECT ON FUTURE VIEWS IN DATABASE "SALES" FROM DATABASE ROLE "SALES"."READER";
GRANT_MISSING     | MEDIUM   | snow_casey         | -                   | -    | GRANT USAGE ON DATABASE "SALES" TO ROLE "CASEY";
GRANT_MISSING     | MEDIUM   | snow_casey         | -                   | -    | GRANT USAGE ON SCHEMA "SALES"."CORE" TO ROLE "CASEY";
GRANT_MISSING     | MEDIUM   | snow_crm.reader    | -                   | -    | GRANT USAGE ON SCHEMA "CRM"."CORE" TO DATABASE ROLE "CRM"."READER";
GRANT_MISSING     | MEDIUM   | snow_daily         | sales.core.daily    | -    | GRANT SELECT ON DYNAMIC TABLE "SALES"."CORE"."DAILY" TO ROLE "DAILY"; -- Nobody writes a dynamic table: SALES.CORE.DAILY can only be read.
GRANT_MISSING     | MEDIUM   | snow_daily         | sales.core.recap    | -    | GRANT SELECT ON VIEW "SALES"."CORE"."RECAP" TO ROLE "DAILY"; -- Nobody writes a view: SALES.CORE.RECAP can only be read.
GRANT_MISSING     | MEDIUM   | snow_orders_reader | lake.fresh.stock    | -    | GRANT USAGE ON SCHEMA "LAKE"."FRESH" TO ROLE "ORDERS_READER"; GRANT SELECT ON TABLE "LAKE"."FRESH"."STOCK" TO ROLE "ORDERS_READER";
GRANT_MISSING     | MEDIUM   | snow_orders_reader | -                   | -    | GRANT USAGE ON DATABASE "LAKE" TO ROLE "ORDERS_READER";
GRANT_MISSING     | MEDIUM   | snow_sales.reader  | -                   | -    | GRANT USAGE ON SCHEMA "SALES"."HR" TO DATABASE ROLE "SALES"."READER";
GRANT_MISSING     | MEDIUM   | snow_sales.reader  | sales.hr.people     | -    | GRANT SELECT ON TABLE "SALES"."HR"."PEOPLE" TO DATABASE ROLE "SALES"."READER";
MEMBER_MISSING    | MEDIUM   | snow_crm.reader    | -                   | ann  | GRANT DATABASE ROLE "CRM"."READER" TO USER "ANN";
MEMBER_MISSING    | MEDIUM   | snow_daily         | -                   | theo | GRANT ROLE "DAILY" TO USER "theo@sales.example";
PASSED_SENSITIVE  | HIGH     | -                  | -                   | -    | -- See who has access to SALES in this way: the report only counts it.
ROLE_GONE         | HIGH     | snow_lake.reader   | -                   | -    | CREATE DATABASE ROLE IF NOT EXISTS "LAKE"."READER"; GRANT USAGE ON DATABASE "LAKE" TO DATABASE ROLE "LAKE"."READER"; GRANT USAGE ON SCHEMA "LAKE"."RAW" TO DATABASE ROLE "LAKE"."READER"; -- The schema LAKE.RAW has managed access: run this as LAKE_LOADER, or with MANAGE GRANTS. GRANT SELECT ON TABLE "LAKE"."RAW"."EVENTS" TO DATABASE ROLE "LAKE"."READER";
WRONG_LEVEL       | HIGH     | snow_analyst       | sales.core.orders   | -    | REVOKE DATABASE ROLE "SALES"."READER" FROM ROLE "ANALYST"; GRANT SELECT ON TABLE "SALES"."CORE"."ORDERS" TO ROLE "ANALYST";
WRONG_LEVEL       | HIGH     | snow_sales.reader  | sales.core.orders   | -    | GRANT OWNERSHIP ON SCHEMA "SALES"."CORE" TO ROLE "SYSADMIN" COPY CURRENT GRANTS;
""",  # noqa: E501 - a table
    "bigquery": """
GRANT_MISSING     | MEDIUM   | auditors | pier-docks.tides.levels | -    | GRANT `roles/bigquery.dataViewer` ON TABLE `pier-docks.tides.levels` TO "group:auditors@pier.example"; -- If it is a view: ON VIEW.
EXTRA_GRANT       | CRITICAL | harbour  | -                       | -    | gcloud resource-manager folders remove-iam-policy-binding 81 --member=group:harbour@pier.example --role=roles/bigquery.dataEditor --condition=None
EXTRA_GRANT       | CRITICAL | -        | -                       | -    | REVOKE `roles/bigquery.dataViewer` ON PROJECT `pier-ships` FROM "serviceAccount:bot@pier-ships.iam.gserviceaccount.com";
EXTRA_GRANT       | HIGH     | -        | -                       | -    | -- Holders of roles/owner on the project pier-ships have this: see who they are there. A dataset that they should not reach need not name projectOwner:pier-ships.
EXTRA_GRANT       | HIGH     | -        | -                       | -    | -- Holders of roles/editor on the project pier-ships have this: see who they are there. A dataset that they should not reach need not name projectEditor:pier-ships.
EXTRA_GRANT       | HIGH     | -        | -                       | -    | -- Holders of roles/viewer on the project pier-ships have this: see who they are there. A dataset that they should not reach need not name projectViewer:pier-ships.
EXTRA_GRANT       | CRITICAL | -        | pier-ships.crew.people  | -    | REVOKE `roles/bigquery.dataViewer` ON VIEW `pier-ships.crew.people` FROM "specialGroup:allUsers";
EXTRA_GRANT       | CRITICAL | -        | pier-ships.crew.people  | -    | -- Take roles/bigquery.dataViewer on pier-ships.crew.people from principalSet://iam.googleapis.com/locations/global/workforcePools/pool/*.
DIRECT_USER_GRANT | CRITICAL | -        | -                       | ines | -- user:ines@pier.example owns the project. If somebody else does, too, and it should not: gcloud projects remove-iam-policy-binding pier-ships --member=user:ines@pier.example --role=roles/owner --condition=None
PASSED_SENSITIVE  | HIGH     | -        | -                       | -    | -- See who has access to pier-ships in this way: the report only counts it.
PASSED_SENSITIVE  | HIGH     | -        | -                       | -    | -- See who has access to pier-ships.crew in this way: the report only counts it.
EXTRA_GRANT       | HIGH     | -        | pier-tests.trial.runs_v | -    | REVOKE `roles/bigquery.dataViewer` ON VIEW `pier-tests.trial.runs_v` FROM "group:contractors@pier.example";
DIRECT_USER_GRANT | CRITICAL | -        | -                       | mara | gcloud resource-manager folders remove-iam-policy-binding 81 --member=user:mara@pier.example --role=roles/bigquery.dataViewer --condition=None
DIRECT_USER_GRANT | HIGH     | -        | pier-tests.trial.runs   | mara | REVOKE `roles/bigquery.dataEditor` ON TABLE `pier-tests.trial.runs` FROM "user:mara@pier.example";
""",  # noqa: E501 - a table
    "databricks": """
EXTRA_GRANT       | CRITICAL | -          | -                | - | -- Hand delta.hr on to its right owner.
EXTRA_GRANT       | CRITICAL | -          | -                | - | REVOKE SELECT ON ANY FILE FROM `robots`;
EXTRA_GRANT       | CRITICAL | -          | -                | - | REVOKE SELECT ON SHARE `partners` FROM RECIPIENT `acme`;
EXTRA_GRANT       | CRITICAL | -          | delta.hr.pay     | - | -- Hand EXTERNAL LOCATION `raw` on to its right owner.
EXTRA_GRANT       | CRITICAL | -          | delta.hr.pay     | - | ALTER SHARE `partners` REMOVE TABLE `delta`.`hr`.`pay`;
EXTRA_GRANT       | CRITICAL | -          | delta.hr.pay     | - | REVOKE ALL PRIVILEGES ON EXTERNAL LOCATION `raw` FROM `loaders`; REVOKE READ FILES ON EXTERNAL LOCATION `raw` FROM `loaders`;
EXTRA_GRANT       | CRITICAL | -          | delta.hr.pay     | - | REVOKE ALL PRIVILEGES ON TABLE `delta`.`hr`.`pay` FROM `pay_admins`;
GRANT_MISSING     | MEDIUM   | dx_readers | delta.fresh.stock | - | GRANT USE SCHEMA ON SCHEMA `delta`.`fresh` TO `readers`; GRANT SELECT ON TABLE `delta`.`fresh`.`stock` TO `readers`;
GRANT_MISSING     | MEDIUM   | dx_hr      | -                | - | GRANT USE CATALOG ON CATALOG `delta` TO `hr`;
GRANT_MISSING     | MEDIUM   | dx_hr      | -                | - | GRANT USE SCHEMA ON SCHEMA `delta`.`hr` TO `hr`;
ROLE_GONE         | HIGH     | dx_gone    | -                | - | -- Make the group gone in the account: databricks account groups create --display-name gone -- Its members are ann@x.example, theo. GRANT USE CATALOG ON CATALOG `delta` TO `gone`; GRANT USE SCHEMA ON SCHEMA `delta`.`shop` TO `gone`; GRANT SELECT ON VIEW `delta`.`shop`.`recap` TO `gone`; GRANT SELECT ON TABLE `delta`.`shop`.`sales` TO `gone`;
""",  # noqa: E501 - a table
}


def cells(text: str, size: int) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|", size - 1)] for line in text.strip().splitlines()]


#: Of each platform its catalog and the folder of its export.
CASES = {
    "snowflake": (SNOWFLAKE, "snowflake_kinds"),
    "bigquery": (BIGQUERY, "bigquery_places"),
    "databricks": (DATABRICKS, "databricks_entries"),
}


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tables of one check of all platforms, each of which has its own datasets and roles."""
    made = World()
    for name in ("ann", "carl", "casey", "mara", "ines", "theo", "mia"):
        made.person(name)
    for platform, (catalog, case) in CASES.items():
        opened: dict[str, list[str]] = {name: [] for name in FURTHER[platform]}
        for name, kind, users, opens in cells(catalog, 4):
            made.entity(role(name), ROLE_TYPE=[kind], ROLE_USER=[user(one) for one in users.split() if one != "-"])
            for one in opens.split():
                opened.setdefault(one, []).append(role(name))
        for name, roles in opened.items():
            facts = {"TAG": [PII] if name in SENSITIVE else [], "SUBTYPE": SUBTYPES.get(name, [])}
            made.entity(dataset(platform, name), ACCESS_ROLE=roles, **facts)
        made.files |= {f"{case}/{file.name}": file.read_text(encoding="utf-8") for file in (GOLDEN / case).iterdir()}
    made.files["exports.json"] = json.dumps({"exports": [read_export(case) for _, case in CASES.values()]})
    with interpreted(spark):
        return made.checked(spark, tmp_path_factory.mktemp("findings"))


def short(finding: dict[str, Any]) -> list[str]:
    """Return a finding as a line of the table says it."""
    name = re.sub(r"^urn:li:dataset:\(urn:li:dataPlatform:\w+,(.*),PROD\)$", r"\1", finding["entity"] or "-")
    return [
        finding["type"],
        finding["severity"],
        (finding["role"] or "-").removeprefix("urn:li:role:"),
        name,
        (finding["actor"] or "-").removeprefix("urn:li:corpuser:"),
        finding["repair"].replace("\n", " "),
    ]


def test_quoted_and_unquoted_names_of_roles_are_mapped_each_by_itself(spark: SparkSession) -> None:
    roles = {"CASEY": "large", "casey": "small", "other": "third"}
    export = {"name": "a", "platform": "snowflake", "form": "snowflake", "grants": ["a"], "role_prefix": "s_"}
    (parsed,) = parse_exports(json.dumps({"exports": [export | {"roles": roles}]}))
    names = ["CASEY", "casey", "Casey", "OTHER", "PLAIN"]
    with interpreted(spark):
        (row,) = spark.range(1).selectExpr(*(role_key(parsed, f"'{name}'") for name in names)).collect()
    assert list(row) == ["large", "small", 's_"Casey"', "third", "s_plain"]


def test_a_prefix_is_only_that_of_roles(spark: SparkSession) -> None:
    export = {"name": "a", "platform": "snowflake", "form": "snowflake", "grants": ["a"], "role_prefix": "s_"}
    exports = parse_exports(json.dumps({"exports": [export]}))
    rows = [
        ("a", "s_share partners", "SHARE\x1fPARTNERS"),
        ("a", "s_public", "PUBLIC"),
        ("a", "serviceaccount:bot@x", "serviceAccount:bot@x"),
    ]
    known = spark.createDataFrame([("t_reader",)], "role string")
    schema = "export string, role string, role_name string"
    with interpreted(spark):
        grants = spark.createDataFrame([], "export string, object string, number int")
        check_known(spark.createDataFrame(rows, schema), grants, known, exports)
        with pytest.raises(UnreadableExports, match="role_prefix 's_'; one of them would be s_reader"):
            check_known(spark.createDataFrame([*rows, ("a", "s_reader", "READER")], schema), grants, known, exports)


@pytest.mark.parametrize("platform", CASES)
def test_every_kind_of_grant_is_found_with_its_repair(checked: dict[str, Any], platform: str) -> None:
    (export,) = (one["export"] for one in checked["exports"] if one["platform"] == platform)
    findings = [one for one in checked["findings"] if one["export"] == export]
    assert sorted(map(short, findings)) == sorted(cells(FOUND[platform], 6))
    for one in findings:
        for line in one["repair"].splitlines():
            if not line.startswith(("-- ", "gcloud ")):
                assert sqlglot.parse(line, read=platform)


def test_every_finding_is_of_an_export(checked: dict[str, Any]) -> None:
    assert len(checked["findings"]) == sum(len(cells(text, 6)) for text in FOUND.values())
