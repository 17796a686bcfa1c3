"""Exports in the layouts of Databricks, Redshift, PostgreSQL and Trino: what becomes of each row, and what is found."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.spark.drift_world import PII, World, dataset, group, role, user

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).with_name("golden_exports")
FORMS = ("databricks", "redshift", "postgres", "trino")
DATASETS = {
    **{f"d:{name.split('.')[-1]}": dataset("databricks", f"main.{name}") for name in ("shop.sales", "shop.orders")},
    **{f"d:{name.split('.')[-1]}": dataset("databricks", f"main.{name}") for name in ("hr.people", "hr.pay")},
    **{
        f"{short}:{name.split('.')[-1]}": dataset(platform, f"{database}.{name}")
        for short, platform, database in (("r", "redshift", "dev"), ("p", "postgres", "app"), ("t", "trino", "lake"))
        for name in ("shop.sales", "shop.orders", "hr.people")
    },
}
#: role | type | users | groups | datasets that name it
CATALOG = """
dbx_shop_reader | READ  | ann  | crew | d:sales d:orders
dbx_shop_writer | WRITE | bob  | -    | d:orders
dbx_hr_reader   | READ  | ann  | -    | d:people d:pay
dbx_stewards    | ADMIN | -    | -    | d:sales
rs_reader       | READ  | ann  | -    | r:sales r:orders
rs_writer       | WRITE | bob  | -    | r:orders
rs_analysts     | READ  | carl bob | - | r:sales r:orders
rs_hr           | READ  | -    | -    | r:people
pg_reader       | READ  | ann  | -    | p:sales p:orders
pg_writer       | WRITE | bob  | -    | p:orders
pg_hr           | READ  | -    | -    | p:people
trino_reader    | READ  | ann  | -    | t:sales
trino_writer    | WRITE | bob  | -    | t:orders
trino_hr        | READ  | -    | -    | t:people
"""


def expected() -> list[list[str]]:
    """Return the rows of the table of findings."""
    text = Path(__file__).with_name("vendor_forms.md").read_text(encoding="utf-8")
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|", 5)] for line in lines[2:]]


def world() -> World:
    made = World()
    for name in ("ann", "bob", "carl"):
        made.person(name)
    for name in ("dora", "eve"):
        made.person(name, "crew")
    opened: dict[str, list[str]] = {}
    for line in CATALOG.strip().splitlines():
        name, kind, users, groups, opens = (cell.strip().replace("-", "") for cell in line.split("|"))
        members = {"ROLE_USER": list(map(user, users.split())), "ROLE_GROUP": list(map(group, groups.split()))}
        made.entity(role(name), ROLE_TYPE=[kind], **members)
        for one in opens.split():
            opened.setdefault(one, []).append(role(name))
    for short, urn in DATASETS.items():
        made.entity(urn, ACCESS_ROLE=opened.get(short, []), TAG=[PII] if short[2:] in ("people", "pay") else [])
    for form in FORMS:
        made.files |= {
            f"{form}/{path.name}": path.read_text(encoding="utf-8") for path in (GOLDEN / form).glob("*.csv")
        }
    made.files["exports.json"] = json.dumps({"exports": [read_export(form) for form in FORMS]})
    return made


def read_export(form: str) -> dict[str, Any]:
    """Return the export of a case, its files being in the folder of the case."""
    export: dict[str, Any]
    (export,) = json.loads((GOLDEN / form / "exports.json").read_text(encoding="utf-8"))["exports"]
    listed = ("grants", "members", "policies", "denies")
    moved: dict[str, Any] = {key: [f"{form}/{name}" for name in export[key]] for key in listed if key in export}
    if "hierarchy" in export:
        moved["hierarchy"] = f"{form}/{export['hierarchy']}"
    return export | moved


@pytest.fixture(scope="module")
def checked(vendor_check: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return vendor_check[1]


def short(finding: dict[str, Any]) -> list[str]:
    """Return a finding as a line of the table says it."""
    datasets = {urn: name for name, urn in DATASETS.items()}
    actor = re.sub("^urn:li:corpuser:|^urn:li:corpGroup:", "", finding["actor"] or "-")
    return [
        *(finding["type"], finding["severity"], (finding["role"] or "-").removeprefix("urn:li:role:")),
        *(datasets.get(finding["entity"] or "", "-"), actor, finding["repair"].replace("\n", " ")),
    ]


def test_every_planted_difference_is_found_and_nothing_else(checked: dict[str, Any]) -> None:
    assert sorted(map(short, checked["findings"])) == sorted(expected())


def test_a_quoted_table_of_postgres_is_not_one_of_the_catalog(checked: dict[str, Any]) -> None:
    samples = {one["rule"]: one["sample"] for one in checked["passed"] if one["export"] == "shop"}
    assert samples["unknown_container"] == "postgres/plain.csv:3 app.Hr to quoted"
    # A column of "Hr".people is none of hr.people.
    assert "postgres/column_privileges.csv:3 app.Hr.people to reader" in samples["unknown_table"]


def test_a_privilege_on_a_column_is_one_where_the_table_has_none(checked: dict[str, Any]) -> None:
    sentences = [one["sentence"] for one in checked["findings"] if one["export"] == "shop"]
    assert "pg_reader has READ on app.hr.people (only its column name); the catalog does not say so." in sentences
    samples = {one["rule"]: one["sample"] for one in checked["passed"] if one["export"] == "shop"}
    assert samples["repeated"] == "postgres/column_privileges.csv:4 keeper,reader,app,shop,sales,total,SELECT,NO"


def test_masks_and_row_filters_are_listed(checked: dict[str, Any]) -> None:
    datasets = {urn: name for name, urn in DATASETS.items()}
    assert [(datasets[one["dataset"]], one["kind"], one["policy"]) for one in checked["policies"]] == [
        ("d:people", "MASK", "last_four"),
        ("d:people", "ROWS", "own_country"),
        ("p:orders", "ROWS", "own_orders"),
        ("r:people", "MASK", "last_four"),
        ("r:people", "ROWS", "own_team"),
    ]


def test_rows_of_each_export_add_up(checked: dict[str, Any]) -> None:
    counts = {one["export"]: [one[name] for name in ("rows", "passed", "quarantined")] for one in checked["exports"]}
    assert counts == {"lake": [48, 15, 4], "dwh": [31, 7, 1], "shop": [36, 14, 1], "query": [15, 1, 2]}
    limits = {one["export"]: one["limits"] or "" for one in checked["exports"]}
    assert limits["shop"].startswith("information_schema has no materialized views, ")
    assert all(limits.values())
    denied = {one["export"]: one["count"] for one in checked["passed"] if one["rule"] == "denied"}
    # Three denials, and the grants that they take: from a member of a group, and from everybody.
    assert denied == {"lake": 5}
    unknown = {one["export"]: one["count"] for one in checked["passed"] if one["rule"] == "unknown_table"}
    assert unknown == {"lake": 1, "dwh": 1, "shop": 3, "query": 1}
