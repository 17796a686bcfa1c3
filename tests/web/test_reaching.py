"""Why, turned round: what somebody can do here, who can do this here, what somebody can use it on."""

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies
from policies.identity.services import users
from policies.pdp import authorizer
from tests.costs import compare_costs
from tests.web.conftest import DOOR, client_of, write_policy
from tests.web.test_why import words

PLACE = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
ORDERS = PLACE.format("orders")
OTTO = "urn:li:corpuser:otto"


@pytest.fixture
def lake(world) -> None:
    store_lake()


def store_lake() -> None:
    described = [
        Proposal(PLACE.format(name), "datasetProperties", f'{{"name": "{name}"}}')
        for name in ("orders", "customers", *(f"table_{number:02}" for number in range(40)))
    ]
    tagged = [Proposal(ORDERS, "globalTags", '{"tags": [{"tag": "urn:li:tag:pii"}]}')]
    apply.apply(proposals=described + tagged, by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def taggers(lake, write):
    return write(
        "taggers",
        displayName="Taggers of <pii>",
        actors={"users": [OTTO], "groups": ["urn:li:corpGroup:crew"], "roles": ["urn:li:dataHubRole:Editor"]},
        resources={"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:pii"]}]}},
    )


def privileges(page) -> dict[str, list[str]]:
    return {
        row["privilege"].name: [policy["name"] for policy in row["policies"]]
        for section in page.context["answer"]["sections"]
        for row in section["rows"]
    }


def test_what_somebody_can_do_names_the_policy_that_gives_each(browse, taggers):
    held = privileges(browse("outsider").get("/why/can", {"resource": ORDERS}))
    assert held["EDIT_ENTITY_TAGS"] == ["Taggers of <pii>"]
    assert "MANAGE_POLICIES" not in held
    assert "EDIT_ENTITY_TAGS" not in privileges(
        browse("outsider").get("/why/can", {"resource": PLACE.format("customers")})
    )
    page = browse("root").get("/why/can", {"resource": ORDERS, "actor": "otto"})
    assert privileges(page) == held
    assert f'href="/settings/permissions/policies/{taggers.urn}">Taggers of &lt;pii&gt;<' in page.content.decode()


def test_on_the_platform_the_steward_has_what_the_table_gives_her(browse, world):
    page = browse("steward").get("/why/can", {"actor": ""})
    assert privileges(page)["CHECK_ACCESS"] == ["Stewards ask about others"]
    assert "the platform" in words(page)


def test_who_lists_everybody_a_policy_names_and_links_them(browse, taggers):
    page = browse("root").get("/why/who", {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS})
    listed = {(row["label"], row["urn"]) for row in page.context["rows"]}
    assert {("User", OTTO), ("Group", "urn:li:corpGroup:crew"), ("Role", "urn:li:dataHubRole:Editor")} <= listed
    body = page.content.decode()
    assert f'href="/settings/identities/users/{OTTO}">Otto Outsider' in body.replace("\n", "").replace("  ", "")
    nobody = browse("root").get("/why/who", {"privilege": "dataset:read"})
    assert "Nobody may." in words(nobody)


def test_who_is_for_those_who_may_ask_about_others(browse, taggers):
    client = browse("outsider")
    assert client.get("/why/who", {"privilege": "EDIT_ENTITY_TAGS"}).status_code == 403
    assert "/why/who" not in client.get("/why").content.decode()
    assert "/why/who" in browse("steward").get("/why").content.decode()
    steward = browse("steward").get("/why/who", {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS})
    assert {row["url"] for row in steward.context["rows"]} == {""}


def test_all_users_are_said_to_be_all_users(browse, world):
    assert "All users may." in words(
        browse("root").get("/why/who", {"privilege": "VIEW_ENTITY_PAGE", "resource": OTTO})
    )


def test_names_that_nobody_knows_are_said_to_be_unknown(browse, taggers):
    client = browse("root")
    wrong = {"privilege": "EDIT_ENTTY_TAGS", "actor": "ott", "type": "datset", "resource": ORDERS.replace("ers", "es")}
    said = {
        "privilege": "There is no privilege EDIT_ENTTY_TAGS. Did you mean EDIT_ENTITY_TAGS",
        "actor": "There is no user ott. Did you mean otto?",
        "type": "There is no type datset. Did you mean dataset",
        "resource": f"Nothing is known by the URN {wrong['resource']}. Did you mean {ORDERS}?",
    }
    for path, names in (
        ("/why", {"privilege", "actor", "resource"}),
        ("/why/who", {"privilege", "resource"}),
        ("/why/what", {"privilege", "actor", "type"}),
        ("/why/can", {"actor", "resource"}),
        ("/why/restrictions", {"actor", "resource"}),
    ):
        page = client.get(path, wrong)
        errors = {name: error.removesuffix("?") for name, (error,) in page.context["form"].errors.items()}
        assert errors.keys() == names, path
        assert all(error.startswith(said[name].removesuffix("?")) for name, error in errors.items()), errors
        assert "answer" not in page.context
        right = client.get(
            path, {"privilege": "EDIT_ENTITY_TAGS", "actor": "otto", "resource": ORDERS, "type": "stream"}
        )
        assert not right.context["form"].errors
        assert right.context["answer"] or path == "/why/restrictions"


def test_an_action_is_about_its_own_type(browse, taggers):
    client = browse("root")
    page = client.get("/why", {"privilege": "view:read", "resource": ORDERS})
    assert page.context["form"].errors == {"privilege": ["view:read is for view, but the question is about dataset."]}
    assert client.get("/why/who", {"privilege": "view:read", "resource": ORDERS}).context["form"].errors
    other = client.get("/why/what", {"privilege": "view:read", "type": "dataset"})
    said = "view:read is for view, but the question is about dataset. Did you mean view?"
    assert other.context["form"].errors == {"type": [said]}
    assert not client.get("/why/what", {"privilege": "view:read", "type": "view"}).context["form"].errors


def test_results_are_counted_in_the_plural(browse, taggers, write):
    write("more", displayName="More", privileges=["EDIT_ENTITY_DOCS"], actors={"users": [OTTO]})
    client = browse("outsider")
    assert "1 result Who" in words(client.get("/why/what", {"privilege": "EDIT_ENTITY_TAGS"}))
    assert "42 results" in words(client.get("/why/what", {"privilege": "EDIT_ENTITY_DOCS", "type": "dataset"}))


def test_what_lists_what_policies_cover_a_page_at_a_time(browse, taggers, write):
    client = browse("outsider")
    page = client.get("/why/what", {"privilege": "EDIT_ENTITY_TAGS"})
    assert [row["named"].urn for row in page.context["rows"]] == [ORDERS]
    write("more", displayName="More", privileges=["EDIT_ENTITY_DOCS"], actors={"users": [OTTO]})
    question = {"privilege": "EDIT_ENTITY_DOCS", "type": "dataset"}
    first = client.get("/why/what", question)
    assert first.context["answer"]["count"] == "42"
    assert len(first.context["rows"]) == 25
    second = client.get(first.context["answer"]["next_url"])
    assert len(second.context["rows"]) == 17
    assert second.context["answer"]["next_url"] == ""
    assert client.get(second.context["answer"]["previous_url"]).context["rows"] == first.context["rows"]
    assert [row["named"].name for row in client.get("/why/what", {**question, "q": "cust"}).context["rows"]] == [
        "customers"
    ]
    assert client.get("/why/what", {**question, "page": "-1"}).context["rows"] == first.context["rows"]
    assert client.get("/why/what", {**question, "page": "9" * 40}).status_code == 200
    assert client.get("/why/what", {**question, "page": "400"}).context["rows"] == []


def test_under_view_authorization_nothing_hidden_is_listed_or_counted(browse, lake, write, settings):
    write("docs", displayName="Docs", privileges=["EDIT_ENTITY_DOCS"], actors={"users": [OTTO]})
    settings.VIEW_AUTHORIZATION_ENABLED = True
    policies.set_state(
        urn="urn:li:dataHubPolicy:view-entity-page-all", state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR
    )
    question = {"privilege": "EDIT_ENTITY_DOCS", "type": "dataset", "actor": "otto"}
    hidden = browse("outsider").get("/why/what", question)
    assert (hidden.context["rows"], hidden.context["answer"]["count"]) == ([], "0")
    asking = browse("steward").get("/why/what", question)
    assert asking.context["answer"]["count"] == "42", "whoever may ask about others is told about the actor"
    assert b"You may ask about others, so the list is complete" in asking.content
    assert {row["url"] for row in asking.context["rows"]} == {""}, "pages that would be 404 are not linked"
    assert b"only what you may view yourself" in hidden.content
    assert browse("root").get("/why/what", question).context["answer"]["count"] == "42"


@pytest.mark.parametrize("path", ["/why/can", "/why/what"])
def test_only_who_may_ask_about_others_does(browse, world, path):
    question = {"privilege": "EDIT_ENTITY_TAGS", "actor": "stella"}
    refused = browse("outsider").get(path, question)
    assert refused.status_code == 403
    assert "CHECK_ACCESS" in refused.context["form"].errors["actor"][0]
    assert browse("outsider").get(path, {**question, "actor": "otto"}).status_code == 200


@pytest.mark.parametrize("path", ["/why/can", "/why/who", "/why/what"])
def test_bad_input_is_said_beside_its_field(browse, world, path):
    client = browse("root")
    for name, value in (("actor", "x" * 600), ("resource", "x" * 600), ("privilege", "A\x00"), ("q", "x" * 300)):
        page = client.get(path, {"privilege": "EDIT_ENTITY", "actor": "", "resource": "", name: value})
        assert page.status_code == 200
        form = page.context["form"]
        assert form.errors.keys() == {name} & form.fields.keys()


def test_a_word_leads_to_what_it_may_mean(browse, lake):
    page = browse("root").get("/why/who", {"privilege": "EDIT_ENTITY_TAGS", "resource": "orders"})
    assert [choice["urn"] for choice in page.context["choices"]] == [ORDERS]
    assert page.context["choices"][0]["url"].startswith("/why/who?")


def test_tabs_carry_what_was_typed(browse, lake):
    page = browse("root").get("/why", {"privilege": "EDIT_ENTITY_TAGS", "actor": "otto", "resource": ORDERS})
    urls = {tab["label"]: tab["url"] for tab in page.context["tabs"]}
    assert urls["What can somebody use it on?"] == "/why/what?actor=otto&privilege=EDIT_ENTITY_TAGS"
    for url in urls.values():
        assert "answer" in browse("root").get(url).context


def test_the_suspended_hold_nothing_and_with_policies_off_everybody_holds_everything(browse, world, settings):
    users.update(urn=OTTO, state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert privileges(browse("root").get("/why/can", {"actor": "otto"})) == {}
    settings.AUTH_POLICIES_ENABLED = False
    page = browse("steward").get("/why/can", {"actor": ""})
    assert "Policies are switched off" in words(page)
    assert "MANAGE_POLICIES" in privileges(page)
    assert "Policies are switched off" in words(browse("steward").get("/why/what", {"privilege": "X"}))


PAGES = [
    ("/why/can", (("actor", "otto"), ("resource", ORDERS))),
    ("/why/who", (("privilege", "EDIT_ENTITY_TAGS"), ("resource", ORDERS))),
    ("/why/what", (("privilege", "EDIT_ENTITY_TAGS"), ("actor", "otto"))),
    ("/settings/status", ()),
]


@pytest.fixture(scope="module")
def costs_of_pages(ladder_of_module, module_transaction):
    """The queries of each page with five policies and people, and with fifty."""
    assert module_transaction

    def fill(first, last):
        if first == 0:
            store_lake()
        for number in range(first, last):
            actors = {"users": [OTTO, f"urn:li:corpuser:u{number}"]}
            users.create(username=f"u{number}", by=authorizer.SYSTEM, channel=DOOR)
            write_policy(f"p{number}", displayName=f"P{number}", actors=actors)

    return compare_costs(client_of("root"), PAGES, fill=fill, few=5, many=50)


@pytest.mark.parametrize(("path", "question"), PAGES)
def test_a_page_costs_the_same_with_many_rows(costs_of_pages, db, path, question):
    few, many = costs_of_pages[path, question]
    # Fewer when the first page of many holds one kind of names only.
    assert many <= few
