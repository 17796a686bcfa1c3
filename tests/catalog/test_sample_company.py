"""The sample company: the same bytes every time, and everything the README's tour counts on is in it."""

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from catalog.assertions import parser
from catalog.sample import __main__ as sample

FOLDER = Path(sample.__file__).parent
PRODUCT = FOLDER / "sample_catalog.json.gz"
GRANTS = FOLDER / "sample_grants"

Document = dict[str, Any]
Catalog = dict[str, dict[str, Document]]

JENNY, JAMES = "urn:li:corpuser:jenny", "urn:li:corpuser:james"
SHOP_PIPELINE = "urn:li:dataFlow:(airflow,shop_daily,prod)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,eu.fernweh_core.shop.fct_orders,PROD)"
DAILY_TRADING = "urn:li:dashboard:(looker,sales.daily_trading)"
PARENTS = {
    "domain": ("domainProperties", "parentDomain"),
    "glossaryNode": ("glossaryNodeInfo", "parentNode"),
    "glossaryTerm": ("glossaryTermInfo", "parentNode"),
    "container": ("container", "container"),
}


@pytest.fixture(scope="module")
def proposals() -> list[Document]:
    listed: list[Document] = json.loads(gzip.decompress(PRODUCT.read_bytes()))
    return listed


@pytest.fixture(scope="module")
def catalog(proposals: list[Document]) -> Catalog:
    by_urn: Catalog = defaultdict(dict)
    for one in proposals:
        by_urn[one["entityUrn"]][one["aspectName"]] = one["aspect"]["json"]
    return dict(by_urn)


@pytest.fixture(scope="module")
def policies(catalog: Catalog) -> dict[str, Document]:
    return {
        urn.rpartition(":")[2]: aspects["dataHubPolicyInfo"]
        for urn, aspects in catalog.items()
        if urn.startswith("urn:li:dataHubPolicy:")
    }


def kind(urn: str) -> str:
    return urn.split(":")[2]


def of_kind(catalog: Catalog, name: str) -> list[str]:
    return [urn for urn in catalog if kind(urn) == name]


def chain(catalog: Catalog, urn: str) -> list[str]:
    """The URN and everything above it."""
    aspect, key = PARENTS[kind(urn)]
    parent = catalog[urn].get(aspect, {}).get(key)
    return [urn, *(chain(catalog, parent) if parent else [])]


def criteria(policy: Document) -> list[Document]:
    listed: list[Document] = policy.get("resources", {}).get("filter", {}).get("criteria", [])
    return listed


def test_the_command_writes_the_same_files_again(tmp_path: Path) -> None:
    sample.main([str(tmp_path / "first")])
    sample.main([str(tmp_path / "elsewhere")])
    first, second = list_files(tmp_path / "first"), list_files(tmp_path / "elsewhere")

    assert first == second
    # Another build of zlib may pack the same text differently.
    assert gzip.decompress(first.pop(PRODUCT.name)) == gzip.decompress(PRODUCT.read_bytes())
    assert first == list_files(GRANTS, of=FOLDER)


def list_files(folder: Path, *, of: Path | None = None) -> dict[str, bytes]:
    """Return the content of every file below a folder by its path, beginning at `of`."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(of or folder)): path.read_bytes() for path in paths}


def test_it_stays_small(proposals: list[Document]) -> None:
    assert len(proposals) <= 15_000
    assert PRODUCT.stat().st_size < 1_500_000


def test_every_proposal_is_an_upsert_in_the_form_of_the_file_sink(proposals: list[Document]) -> None:
    keys = {"entityType", "entityUrn", "changeType", "aspectName", "aspect", "systemMetadata"}

    assert {frozenset(one) for one in proposals} == {frozenset(keys)}
    assert {one["changeType"] for one in proposals} == {"UPSERT"}
    assert all(one["entityType"] == kind(one["entityUrn"]) and set(one["aspect"]) == {"json"} for one in proposals)
    assert max(Counter((one["entityUrn"], one["aspectName"]) for one in proposals).values()) == 1


def test_the_company_has_its_size(catalog: Catalog) -> None:
    counts = Counter(map(kind, catalog))
    platforms = {urn.split(",")[0].rpartition(":")[2] for urn in of_kind(catalog, "dataset")}

    assert 1_900 <= counts["dataset"] <= 2_100
    assert platforms == {"snowflake", "bigquery", "postgres", "kafka"}
    assert (counts["corpuser"], counts["corpGroup"]) == (60, 12)
    assert (counts["glossaryTerm"], counts["role"]) == (40, 21)
    assert counts["domain"] >= 20
    assert counts["tag"] >= 15
    assert min(counts[name] for name in ("dashboard", "chart", "dataFlow", "dataJob", "dataProduct", "query")) >= 10


@pytest.mark.parametrize(("name", "depth"), [("domain", 3), ("glossaryNode", 3), ("glossaryTerm", 4), ("container", 2)])
def test_hierarchies_are_whole_and_as_deep_as_promised(catalog: Catalog, name: str, depth: int) -> None:
    assert max(len(chain(catalog, urn)) for urn in of_kind(catalog, name)) == depth


def test_every_container_of_a_dataset_is_a_schema_in_a_database(catalog: Catalog) -> None:
    for urn in of_kind(catalog, "dataset"):
        if ":kafka," in urn:
            assert "container" not in catalog[urn]
        else:
            assert len(chain(catalog, catalog[urn]["container"]["container"])) == 2


def test_labels_and_groups_that_are_used_are_also_described(catalog: Catalog) -> None:
    used: set[str] = set()
    for aspects in catalog.values():
        used |= {one["tag"] for one in aspects.get("globalTags", {}).get("tags", [])}
        used |= {one["urn"] for one in aspects.get("glossaryTerms", {}).get("terms", [])}
        used |= set(aspects.get("domains", {}).get("domains", []))
        used |= {one["typeUrn"] for one in aspects.get("ownership", {}).get("owners", [])}
        used |= set(aspects.get("groupMembership", {}).get("groups", []))
        used |= set(aspects.get("nativeGroupMembership", {}).get("nativeGroups", []))

    assert used <= set(catalog)


def test_children_come_before_their_parents_but_members_after_their_groups(proposals: list[Document]) -> None:
    place = {(one["entityUrn"], one["aspectName"]): number for number, one in enumerate(proposals)}
    early = [
        one["entityUrn"]
        for one in proposals
        if one["aspectName"] == "container"
        and place[one["entityUrn"], "container"] < place[one["aspect"]["json"]["container"], "containerProperties"]
    ]
    last_group = max(number for (_, name), number in place.items() if name == "corpGroupInfo")
    first_member = min(number for (_, name), number in place.items() if name.endswith("GroupMembership"))

    assert len(early) > 50
    assert last_group < first_member


def test_owners_are_people_groups_and_somebody_who_left(catalog: Catalog) -> None:
    owners = [one for aspects in catalog.values() for one in aspects.get("ownership", {}).get("owners", [])]
    unknown = {one["owner"] for one in owners} - set(catalog)

    assert {kind(one["owner"]) for one in owners} == {"corpuser", "corpGroup"}
    assert unknown == {"urn:li:corpuser:carla.mendes"}
    assert "urn:li:ownershipType:data_product_owner" in {one["typeUrn"] for one in owners}


def test_memberships_of_both_kinds_and_one_suspended_person(catalog: Catalog) -> None:
    people = [catalog[urn] for urn in of_kind(catalog, "corpuser")]
    suspended = [one for one in people if one["corpUserStatus"]["status"] == "SUSPENDED"]
    roles = {urn: one["roleMembership"]["roles"][0] for urn, one in catalog.items() if "roleMembership" in one}

    assert sum("groupMembership" in one for one in people) > 20
    assert sum("nativeGroupMembership" in one for one in people) > 10
    assert [one["corpUserInfo"]["active"] for one in suspended] == [False]
    assert {role.rpartition(":")[2] for role in roles.values()} == {"Admin", "Editor", "Reader"}
    assert {kind(urn) for urn in roles} == {"corpuser", "corpGroup"}


def test_external_roles_have_members_links_and_their_gaps(catalog: Catalog) -> None:
    roles = {urn: catalog[urn] for urn in of_kind(catalog, "role")}
    named = {one["urn"] for aspects in catalog.values() for one in aspects.get("access", {}).get("roles", [])}

    assert {one["roleProperties"]["type"] for one in roles.values()} == {"READ", "WRITE", "ADMIN"}
    assert sum("requestUrl" in one["roleProperties"] for one in roles.values()) == 19
    assert sum("actors" not in one for one in roles.values()) == 2
    assert named - set(roles) == {"urn:li:role:legacy_dwh_all"}


def test_policies_show_every_kind_of_filter(policies: dict[str, Document]) -> None:
    tests = [one for policy in policies.values() for one in criteria(policy)]
    resources = [policy["resources"] for policy in policies.values() if "resources" in policy]
    actors = [policy["actors"] for policy in policies.values()]

    assert {one["condition"] for one in tests} == {"EQUALS", "STARTS_WITH", "NOT_EQUALS"}
    assert {one["field"] for one in tests} == {
        *("TYPE", "URN", "OWNER", "DOMAIN", "CONTAINER", "GLOSSARY", "TAG"),
        *("DATA_PLATFORM_INSTANCE", "GROUP_MEMBERSHIP"),
    }
    assert {kind(value) for one in tests if one["field"] == "GLOSSARY" for value in one["values"]} == {
        "glossaryNode",
        "glossaryTerm",
    }
    assert any("privilegeConstraints" in one for one in resources)
    assert {one["allResources"] for one in resources if "filter" not in one} == {True, False}
    assert {policy["state"] for policy in policies.values()} == {"ACTIVE", "INACTIVE"}
    assert {policy["type"] for policy in policies.values()} == {"PLATFORM", "METADATA"}
    for key in ("users", "groups", "roles", "resourceOwners", "resourceOwnersTypes", "allUsers", "allGroups"):
        assert any(one.get(key) for one in actors), key


def test_policies_speak_of_things_that_exist(catalog: Catalog, policies: dict[str, Document]) -> None:
    spoken: set[str] = set()
    for policy in policies.values():
        spoken |= {one for key in ("users", "groups") for one in policy["actors"].get(key, [])}
        spoken |= set(policy["actors"].get("resourceOwnersTypes", []))
        spoken |= set(policy.get("resources", {}).get("resources", []))
        for one in criteria(policy):
            if one["field"] != "TYPE" and one["condition"] != "STARTS_WITH":
                spoken |= set(one["values"])

    assert spoken <= set(catalog)


@pytest.mark.parametrize("prefix", ["bigquery,fernweh-open-data.", "kafka,delivery."])
def test_the_prefixes_of_policies_cover_some_datasets(
    catalog: Catalog, policies: dict[str, Document], prefix: str
) -> None:
    whole = f"urn:li:dataset:(urn:li:dataPlatform:{prefix}"

    assert whole in criteria(policies["open-data-for-everybody"])[0]["values"]
    assert sum(urn.startswith(whole) for urn in catalog) > 5


def reaching(catalog: Catalog, policies: dict[str, Document], urn: str) -> dict[str, set[str]]:
    """The active policies that may speak to a person, with what they grant beyond looking."""
    aspects = catalog[urn]
    groups = {
        *aspects.get("groupMembership", {}).get("groups", []),
        *aspects.get("nativeGroupMembership", {}).get("nativeGroups", []),
    }
    held = {role for one in (urn, *groups) for role in catalog[one].get("roleMembership", {}).get("roles", [])}
    owned = [
        one
        for aspects in catalog.values()
        for one in aspects.get("ownership", {}).get("owners", [])
        if one["owner"] in {urn, *groups}
    ]
    found = {}
    for name, policy in policies.items():
        actors = policy["actors"]
        is_named = urn in actors.get("users", []) or groups & set(actors.get("groups", []))
        is_counted = actors["allUsers"] or (actors["allGroups"] and groups) or held & set(actors.get("roles", []))
        granted = {one for one in policy["privileges"] if not one.startswith(("VIEW_", "EXISTS_"))}
        if policy["state"] == "ACTIVE" and granted and (is_named or is_counted or (actors["resourceOwners"] and owned)):
            found[name] = granted
    return found


def test_jenny_tags_dashboards_and_nothing_else(catalog: Catalog, policies: dict[str, Document]) -> None:
    assert reaching(catalog, policies, JENNY) == {"jenny-tags-dashboards": {"EDIT_ENTITY_TAGS"}}
    assert criteria(policies["jenny-tags-dashboards"])[0]["values"] == ["dashboard"]


def test_james_edits_the_links_of_one_pipeline(catalog: Catalog, policies: dict[str, Document]) -> None:
    assert reaching(catalog, policies, JAMES) == {"james-links-shop-pipeline": {"EDIT_ENTITY_DOC_LINKS"}}
    assert [SHOP_PIPELINE] in [one["values"] for one in criteria(policies["james-links-shop-pipeline"])]


def test_owners_describe_but_do_not_tag(policies: dict[str, Document]) -> None:
    for_owners = [one for one in policies.values() if one["actors"]["resourceOwners"] and one["state"] == "ACTIVE"]

    assert policies["owners-describe-datasets"] in for_owners
    assert not {"EDIT_ENTITY_TAGS", "EDIT_ENTITY"} & {name for one in for_owners for name in one["privileges"]}
    assert policies["asset-owners-metadata-policy"]["state"] == "INACTIVE"


def test_the_platform_team_runs_the_catalog(policies: dict[str, Document]) -> None:
    policy = policies["data-platform-runs-the-catalog"]

    assert policy["type"] == "PLATFORM"
    assert policy["actors"]["groups"] == ["urn:li:corpGroup:data-platform"]
    assert set(policy["privileges"]) == {"MANAGE_USERS_AND_GROUPS", "VIEW_ANALYTICS", "MANAGE_POLICIES"}


def test_the_things_the_tour_opens(catalog: Catalog) -> None:
    orders = catalog[ORDERS]
    place = orders["domains"]["domains"][0]
    access = [one["urn"].rpartition(":")[2] for one in orders["access"]["roles"]]

    assert orders["ownership"]["owners"][0]["owner"] == "urn:li:corpGroup:sales-analytics"
    assert "urn:li:tag:BusinessCritical" in [one["tag"] for one in orders["globalTags"]["tags"]]
    assert chain(catalog, place)[1:] == ["urn:li:domain:sales", "urn:li:domain:commerce"]
    assert access == ["snowflake_shop_reader"]
    assert catalog[DAILY_TRADING]["domains"]["domains"] == ["urn:li:domain:online-shop"]
    assert any("logicalParent" in aspects for aspects in catalog.values())
    assert any(aspects.get("status", {}).get("removed") for aspects in catalog.values())
    assert any("deprecation" in aspects for aspects in catalog.values())


def test_what_the_company_asserts_can_be_read_and_names_what_it_has(catalog: Catalog) -> None:
    text = (FOLDER / "sample_assertions.yaml").read_text(encoding="utf-8")
    assert len(parser.parse(text)) == 6
    urns = set(re.findall(r"urn:li:(?!dataHubRole)[A-Za-z]+:(?:\([^\"]+\)|[\w.-]+)", text)) - {
        "urn:li:corpuser:datahub"
    }
    assert len(urns) > 10
    assert urns <= catalog.keys()
