"""Addresses of DataHub's web pages, and addresses with a slash at the end, lead to the pages of ours."""

from urllib.parse import quote

import pytest

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
CATALOG = f"/catalog/{DATASET}"
POLICIES, ROLES = "/settings/permissions/policies", "/settings/permissions/roles"
USERS = "/settings/identities/users"


def location(client, address, method="get"):
    return getattr(client, method)(address).headers.get("Location")


@pytest.mark.parametrize(
    ("address", "page"),
    [
        (f"/dataset/{DATASET}", CATALOG),
        (f"/dataset/{quote(DATASET, safe='')}", CATALOG),
        (f"/dataset/{DATASET}/Schema?is_lineage_mode=false", CATALOG),
        (f"/dataset/{DATASET}/Quality/List", CATALOG),
        (f"/dataset/{DATASET}/", CATALOG),
        (
            "/dataset/urn:li:dataset:(urn:li:dataPlatform:s3,a/B/c,PROD)",
            "/catalog/urn:li:dataset:(urn:li:dataPlatform:s3,a/B/c,PROD)",
        ),
        ("/pipelines/urn:li:dataFlow:(airflow,daily,PROD)/Tasks", "/catalog/urn:li:dataFlow:(airflow,daily,PROD)"),
        ("/domain/urn:li:domain:sales/Entities", "/catalog/urn:li:domain:sales"),
        ("/tag/urn:li:tag:pii", "/catalog/urn:li:tag:pii"),
        ("/glossaryTerm/urn:li:glossaryTerm:Sales.Revenue/Related Terms", "/catalog/urn:li:glossaryTerm:Sales.Revenue"),
        ("/role/urn:li:role:reader", "/external-roles/urn:li:role:reader"),
        ("/user/urn:li:corpuser:ada/owner of", f"{USERS}/urn:li:corpuser:ada/owner%20of"),
        ("/user/urn:li:corpuser:ada", f"{USERS}/urn:li:corpuser:ada"),
        ("/group/urn:li:corpGroup:stewards/Members", "/settings/identities/groups/urn:li:corpGroup:stewards"),
        ("/search?query=orders&page=1&unionType=0", "/catalog?q=orders"),
        ("/search?query=%2A", "/catalog"),
        ("/search/datasets?query=a b", "/catalog?q=a+b"),
        ("/domains", "/catalog/browse/domains"),
        ("/settings", POLICIES),
        ("/settings/permissions", POLICIES),
        ("/settings/identities", USERS),
        ("/identities", USERS),
        ("/settings/personal", "/profile"),
    ],
)
def test_an_address_of_datahub_leads_to_the_page_of_ours(browse, address, page):
    assert location(browse("root"), address) == page


def test_settings_lead_to_the_first_page_that_the_caller_may_use(browse):
    assert location(browse("outsider"), "/settings") == "/settings/tokens"
    assert location(browse("outsider"), "/settings/permissions") == "/settings/tokens"


def test_settings_lead_to_no_page_of_policies_while_these_are_switched_off(browse, settings):
    settings.AUTH_POLICIES_ENABLED = False
    assert location(browse("root"), "/settings/permissions") == USERS


def test_whoever_is_not_signed_in_is_led_there_after_signing_in(client):
    assert location(client, "/dataset/urn:li:dataset:x") == "/login?next=/dataset/urn%3Ali%3Adataset%3Ax"


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/settings/status/", "/settings/status"),
        (f"{POLICIES}/?q=a%20b&page=2", f"{POLICIES}?q=a%20b&page=2"),
        ("/catalog///", "/catalog"),
        ("/login/", "/login"),
        ("/health/ready/", "/health/ready"),
        (f"{CATALOG}/", CATALOG),
    ],
)
def test_a_slash_at_the_end_is_taken_away(browse, address, page):
    answer = browse("root").get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, page)


def test_a_post_with_a_slash_at_the_end_keeps_its_method(browse):
    answer = browse("root").post("/settings/status/refresh/")
    assert (answer.status_code, answer.headers["Location"]) == (307, "/settings/status/refresh")


@pytest.mark.parametrize("address", ["/nothing/", "//example.org/", "//example.org/settings/", "/admin/nothing/"])
def test_an_address_that_is_nowhere_stays_a_404(browse, address):
    assert browse("root").get("/", PATH_INFO=address).status_code == 404


def test_no_redirect_leaves_the_site(browse):
    client = browse("root")
    found = [client.get("/", PATH_INFO=f"{start}login/").headers.get("Location", "") for start in ("//", "///", "/\\")]
    assert not [address for address in found if address.startswith(("//", "/\\", "http"))]
