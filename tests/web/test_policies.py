"""The list of policies and the page of one."""

import re
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, reverse

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.pdp import authorizer
from policies.urls import urlpatterns
from tests.web.conftest import DOOR, document_of, write_policies

LIST = "/settings/permissions/policies"
HTMX = {"HX-Request": "true"}
TOKEN = re.compile(r'(?<=name="csrfmiddlewaretoken" value=")\w+')


def names(response) -> list[str]:
    return [row["policy"].name for row in response.context["rows"]]


@pytest.fixture
def some(world, write):
    """Four policies that differ in everything the list filters by."""
    write(
        "w",
        displayName="West",
        description="Where the sun sets",
        privileges=["EDIT_ENTITY_DOCS"],
        actors={"allUsers": True},
    )
    write("n", displayName="North", state="INACTIVE", actors={"groups": ["urn:li:corpGroup:crew"], "allUsers": False})
    write(
        "e", displayName="East", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": ["urn:li:corpuser:otto"]}
    )
    write(
        "s", displayName="South", state="DRAFT", actors={"roles": ["urn:li:dataHubRole:Reader"], "resourceOwners": True}
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=sun+sets", ["West"]),
        ("q=NORTH", ["North"]),
        ("state=INACTIVE", ["North"]),
        ("state=DRAFT", ["South"]),
        ("type=PLATFORM&q=East", ["East"]),
        ("privilege=MANAGE_TAGS&actor=otto", ["East"]),
        ("actor=urn:li:corpuser:otto", ["East"]),
        ("actor=urn:li:corpGroup:crew", ["North"]),
        ("actor=crew", []),
        ("privilege=EDIT_ENTITY_DOCS&q=West&state=ACTIVE&type=METADATA", ["West"]),
        ("q=%25", []),
        ("q=%00", None),
        ("state=BOGUS&q=West", ["West"]),
        ("type=BOGUS&actor=" + "x" * 600 + "&q=West", ["West"]),
    ],
)
def test_filters_narrow_and_wrong_ones_are_named(browse, some, query, expected):
    response = browse("root").get(f"{LIST}?{query}")
    assert response.status_code == 200
    if expected is None:
        assert response.context["form"].errors.keys() == {"q"}
    else:
        assert names(response) == expected
    if "BOGUS" in query:
        assert "site-field-error" in response.content.decode()
        assert "There is no such" in response.content.decode()


def test_a_misspelt_privilege_is_helped(browse, world):
    response = browse("root").get(f"{LIST}?privilege=EDIT_TAGS&sort=-name")
    assert "No policies match" in response.content.decode()
    url = f"{LIST}?privilege=EDIT_ENTITY_TAGS&amp;sort=-name"
    assert f'href="{url}"' in response.content.decode()


@pytest.mark.parametrize("sort", ["name", "-name", "type", "-state", "--name", "password", ""])
def test_sorting_is_by_what_a_heading_offers(browse, some, sort):
    response = browse("root").get(LIST, {"sort": sort, "q": "t"})
    column = sort.removeprefix("-")
    if column in {"name", "type", "state"}:
        shown = [getattr(row["policy"], column) for row in response.context["rows"]]
        assert shown == sorted(shown, reverse=sort.startswith("-"))
        direction = "descending" if sort.startswith("-") else "ascending"
        assert f'aria-sort="{direction}"' in response.content.decode()
    else:
        assert response.context["order"] == "name"


def test_a_heading_keeps_the_filters_and_turns_round(browse, some):
    columns = browse("root").get(LIST, {"q": "t", "sort": "name", "page": "1"}).context["columns"]
    assert columns[0]["sort_url"] == f"{LIST}?q=t&sort=-name"
    assert columns[1]["sort_url"] == f"{LIST}?q=t&sort=type"
    assert "sort_url" not in columns[2]


@pytest.mark.parametrize(
    ("page", "shown"), [("1", 1), ("2", 2), ("99", 2), ("-1", 2), ("x", 1), ("0", 2), ("9" * 5000, 1)]
)
def test_a_page_that_is_not_there_becomes_one_that_is(browse, world, write, page, shown):
    for number in range(20):
        write(f"many-{number}", displayName=f"Many {number}")
    response = browse("root").get(LIST, {"page": page})
    assert response.status_code == 200
    assert response.context["page"].number == shown


def test_htmx_gets_the_list_alone_and_caches_keep_them_apart(browse, world):
    client = browse("root")
    whole, part = client.get(LIST), client.get(LIST, headers=HTMX)
    assert "<html" in whole.content.decode()
    assert "<html" not in part.content.decode()
    # The token against forged posts is masked anew for every answer.
    inside, around = (TOKEN.sub("", one.content.decode()).strip() for one in (part, whole))
    assert inside in around
    for response in (whole, part):
        assert "HX-Request" in response.headers["Vary"]
        assert "no-store" in response.headers["Cache-Control"]
    restored = client.get(LIST, headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert "<html" in restored.content.decode()


def test_the_list_costs_the_same_whatever_its_length(browse, world, write):
    client = browse("root")
    costs = []
    for size in (5, 50):
        documents = {}
        for number in range(size):
            named = {
                "users": [f"urn:li:corpuser:p{number}"],
                "groups": [f"urn:li:corpGroup:g{number}"],
                "roles": [f"urn:li:dataHubRole:r{number}"],
            }
            documents[f"cost-{size}-{number}"] = {"displayName": f"0 {number}", "actors": named}
        write_policies(documents)
        client.get(LIST)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(LIST).context["page"].paginator.count >= size
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 30


def test_the_page_of_a_policy_costs_the_same_whatever_it_names(browse, world, write):
    client = browse("root")
    costs, pages = [], []
    for size in (1, 700):
        tags = {"field": "TAG", "values": [f"urn:li:tag:t{number}" for number in range(size)]}
        people = {"users": [f"urn:li:corpuser:p{number}" for number in range(size)]}
        policy = write(f"wide-{size}", resources={"filter": {"criteria": [tags]}}, actors=people)
        client.get(f"{LIST}/{policy.urn}")
        with CaptureQueriesContext(connection) as queries:
            pages.append(client.get(f"{LIST}/{policy.urn}").content.decode())
        costs.append(len(queries))
    assert costs[0] == costs[1]
    assert pages[1].count("And 188 more, in the document below.") == 2


def test_the_banner_stands_while_everybody_manages_policies(browse, world, write):
    client = browse("root")
    assert "Everybody who can sign in may manage policies" not in client.get(LIST).content.decode()
    policy = write("open", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"allUsers": True})
    assert "Everybody who can sign in may manage policies" in client.get(LIST).content.decode()
    policies.set_state(urn=policy.urn, state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR)
    assert "Everybody who can sign in may manage policies" not in client.get(LIST).content.decode()


def test_while_policies_are_switched_off_their_pages_are_not_there(browse, world, write, settings):
    """Every address below Permissions, whatever it is asked with; nothing is written, and nothing links there."""
    policy, client = write("one", displayName="One"), browse("root")
    words = {"urn": policy.urn, "number": 1, "field": "users"}
    routes = [
        one
        for one in urlpatterns
        if isinstance(one, URLPattern) and str(one.pattern).startswith("settings/permissions/")
    ]
    assert len(routes) > 20
    settings.AUTH_POLICIES_ENABLED = False
    for route in routes:
        named = {name: words[name] for name in route.pattern.converters}
        address = reverse(route.name or "", kwargs=named)
        assert client.get(address).status_code == 404, address
        assert client.post(address, {"state": "INACTIVE"}).status_code == 404, address
    assert policy_queries.get_policy(urn=policy.urn).state == "ACTIVE"
    for page in ("users/urn:li:corpuser:ada", "groups", "users"):
        text = client.get(f"/settings/identities/{page}").content.decode()
        assert "/settings/permissions/" not in text
    text = client.get("/settings/audit/policies").content.decode()
    assert "One" in text
    assert "/settings/permissions/" not in text
    settings.AUTH_POLICIES_ENABLED = True
    assert client.get(LIST).status_code == 200


@pytest.mark.parametrize(
    "identifier", ["a/b", "a(b,c)[d]", "50%", "a%2Fb", "a?b#c", "a&b=c;d", "a b", "äöü€", "a//b", "a+b"]
)
def test_any_urn_has_a_page(browse, world, write, identifier):
    policy = write(identifier, displayName="The one")
    client = browse("root")
    url = client.get(LIST, {"q": "The one"}).context["rows"][0]["url"]
    page = client.get(url)
    assert page.status_code == 200
    assert page.context["policy"].urn == policy.urn


@pytest.mark.parametrize(
    "urn", ["nope", "urn:li:dataHubPolicy:", "%00", "%ED%A0%80", "x" * 3000, "urn:li:corpuser:datahub"]
)
def test_a_policy_that_is_not_there_is_not_found(browse, world, urn):
    page = browse("root").get(f"{LIST}/{urn}")
    assert page.status_code == 404
    assert "There is nothing at this address" in page.content.decode()


def test_an_outsider_reads_what_is_missing_and_where_to_ask_why(browse, world):
    page = browse("outsider").get(LIST)
    text = page.content.decode()
    assert page.status_code == 403
    assert "MANAGE_POLICIES" in text
    assert "Manage Policies" in text
    assert 'href="/why?privilege=MANAGE_POLICIES"' in text
    assert 'href="/settings/permissions' not in text


def test_the_page_of_a_policy_says_everything_it_holds(browse, world, write):
    policy = write(
        "full",
        displayName="Everything",
        description="Said once",
        privileges=["EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS"],
        actors={
            "users": ["urn:li:corpuser:otto"],
            "groups": ["urn:li:corpGroup:crew"],
            "roles": ["urn:li:dataHubRole:Reader"],
            "resourceOwners": True,
            "resourceOwnersTypes": ["urn:li:ownershipType:__system__data_steward"],
        },
        resources={
            "filter": {
                "criteria": [
                    {"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"},
                    {"field": "URN", "values": ["urn:li:dataset:(hive"], "condition": "STARTS_WITH"},
                    {"field": "TAG", "values": ["urn:li:tag:pii"], "condition": "NOT_EQUALS"},
                    {"field": "DOMAIN", "values": []},
                ]
            },
            "privilegeConstraints": {"criteria": [{"field": "URN", "values": ["urn:li:tag:quality"]}]},
        },
    )
    client = browse("root")
    policies.set_state(urn=policy.urn, state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR)
    text = client.get(f"{LIST}/{policy.urn}").content.decode()
    visible = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))
    for words in (
        "Otto Outsider",
        "urn:li:corpGroup:crew",
        "Reader",
        "__system__data_steward",
        "Type is one of",
        "URN begins with",
        "Tag is none of",
        "Domain is one of nothing",
        "Tags that may be added or removed",
        "Edit Tags",
        "EDIT_ENTITY_DOCS",
        "Deactivated by the system",
        "Created by the system",
        "Inactive",
    ):
        assert words in visible
    assert visible.partition("Document as stored")[0].count("Said once") == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}, "A platform policy applies to no resource."),
        ({}, "Every resource, and questions without a resource."),
        ({"resources": {"filter": {"criteria": []}}}, "Every resource."),
        ({"resources": {"type": "dataset", "allResources": True}}, "Resources that meet all of these."),
        ({"resources": {"resources": [], "allResources": False}}, "Resources that meet all of these."),
        ({"privileges": []}, "No privileges: this policy grants nothing."),
        ({"actors": {"allUsers": True, "allGroups": True}}, "All groups"),
        ({"actors": {"resourceOwners": True}}, "Yes, of any type"),
        ({"actors": {"resourceOwners": True, "resourceOwnersTypes": []}}, "Of no type: nobody"),
    ],
)
def test_each_shape_of_a_document_has_its_sentence(browse, world, write, changes, sentence):
    policy = write("shape", **changes)
    assert sentence in browse("root").get(f"{LIST}/{policy.urn}").content.decode()


def test_long_lists_of_privileges_come_folded(browse, world):
    client = browse("root")
    assert '<details class="site-fold" open>' not in re.sub(
        r"\s+", " ", client.get(f"{LIST}/urn:li:dataHubPolicy:1").content.decode()
    )
    groups = client.get(f"{LIST}/urn:li:dataHubPolicy:1").context["privileges"]
    assert len(groups) > 3
    assert not any(group["is_open"] for group in groups)


def test_history_shows_the_newest_changes_and_says_so(browse, world, write):
    policy = write("busy")
    for number in range(25):
        draft = policy_drafts.PolicyInput("datahub", document_of(description=str(number)))
        policies.update(urn=policy.urn, draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    page = browse("root").get(f"{LIST}/{policy.urn}")
    assert [row["event"].version for row in page.context["history"]] == list(range(26, 21, -1))
    assert "All changes in detail" in page.content.decode()


def test_a_policy_that_was_deleted_meanwhile_is_not_found(browse, world, write):
    client = browse("root")
    policy = write("gone")
    url = f"{LIST}/{quote(policy.urn)}"
    assert client.get(url).status_code == 200
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert client.get(url).status_code == 404
