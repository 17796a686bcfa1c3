"""Why: questions, answers, and what is said when the question is not clear."""

import re

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies
from policies.identity.services import users
from policies.pdp import authorizer
from tests.web.conftest import DOOR

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


@pytest.fixture
def orders(world) -> None:
    described = [Proposal(DATASET, "datasetProperties", '{"name": "orders"}')]
    apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)


def ask(client, **question):
    return client.get("/why", question)


def words(response) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def timeless_words(response) -> str:
    """Return the words of a page without the age of the policies, which differs from page to page."""
    return re.sub(r"[0-9.]+ seconds ago", "", words(response))


def test_the_empty_page_asks_nothing_and_offers_an_example(browse, world):
    page = browse("outsider").get("/why")
    assert "answer" not in page.context
    assert 'href="/why?privilege=MANAGE_POLICIES"' in page.content.decode()
    assert not page.context["form"].is_bound


def test_an_allow_names_the_policy_and_links_it_for_who_may_open_it(browse, world, orders, write):
    write("taggers", displayName="Taggers", actors={"users": ["urn:li:corpuser:otto"]})
    own = ask(browse("outsider"), privilege="EDIT_ENTITY_TAGS", resource=DATASET)
    assert "Allow" in words(own)
    assert "Taggers" in words(own)
    assert "Otto Outsider is named." in words(own)
    assert 'href="/settings/permissions/' not in own.content.decode()
    other = ask(browse("root"), privilege="EDIT_ENTITY_TAGS", resource=DATASET, actor="otto")
    assert 'href="/settings/permissions/policies/urn:li:dataHubPolicy:taggers"' in other.content.decode()


def test_a_deny_names_what_came_closest_and_who_could_change_it(browse, world, orders):
    page = ask(browse("root"), privilege="EDIT_ENTITY_TAGS", resource=DATASET, actor="urn:li:corpuser:otto")
    assert page.context["answer"]["is_allowed"] is False
    nearest = page.context["answer"]["nearest"]
    text = words(page)
    policies = [row["near"].policy.rpartition(":")[2] for row in nearest]
    assert policies == ["editor-metadata-policy", "asset-owners-metadata-policy", "1"], "administrators come last"
    assert "Nothing allows it." in text
    assert "Policies that almost allow it" in text
    assert "Admin or DataHub can change that." in text


def test_policies_for_administrators_are_named_where_there_is_no_other(browse, world):
    page = ask(browse("root"), privilege="MANAGE_POLICIES", actor="urn:li:corpuser:otto")
    nearest = {row["near"].policy.rpartition(":")[2] for row in page.context["answer"]["nearest"]}
    assert nearest == {"0", "admin-platform-policy"}


def test_who_could_change_it_are_users_groups_and_roles_of_every_family(browse, world, orders, write):
    write(
        "keepers",
        displayName="Keepers",
        privileges=["MANAGE_POLICIES"],
        type="PLATFORM",
        actors={"users": ["urn:li:corpuser:stella"], "groups": ["urn:li:corpGroup:stewards"]},
    )
    page = ask(browse("root"), privilege="EDIT_ENTITY_TAGS", resource=DATASET, actor="urn:li:corpuser:otto")
    by_policy = {row["near"].policy.rpartition(":")[2]: row["near"] for row in page.context["answer"]["nearest"]}
    (lack,) = by_policy["editor-metadata-policy"].failed_conditions
    found = [urn for urn, _ in lack.remedy_actors]
    assert {"urn:li:dataHubRole:Admin", "urn:li:corpGroup:stewards", "urn:li:corpuser:stella"} <= set(found)


def test_the_implicit_policy_has_no_page_to_link(browse, world):
    page = ask(browse("root"), privilege="VIEW_ENTITY_PAGE", resource="urn:li:corpuser:otto", actor="otto")
    rows = page.context["answer"]["reasons"]
    assert [row["way"].policy_url for row in rows if "__view_self" in row["reason"].policy] == [""]


def test_tags_that_a_change_touches_count(browse, world, orders, write):
    write(
        "0-quality",
        displayName="Quality tags only",
        actors={"users": ["urn:li:corpuser:otto"]},
        resources={"privilegeConstraints": {"criteria": [{"field": "URN", "values": ["urn:li:tag:quality"]}]}},
    )
    known_tags = [
        Proposal(f"urn:li:tag:{name}", "tagProperties", f'{{"name": "{name}"}}') for name in ("quality", "pii")
    ]
    apply.apply(proposals=known_tags, by=authorizer.SYSTEM, channel=DOOR)
    client = browse("outsider")
    question = {"privilege": "EDIT_ENTITY_TAGS", "resource": DATASET}
    assert ask(client, **question, sub_resources="urn:li:tag:quality").context["answer"]["is_allowed"]
    refused = ask(client, **question, sub_resources="urn:li:tag:quality\r\n  urn:li:tag:pii  \r\n")
    assert not refused.context["answer"]["is_allowed"]
    assert "It does not allow every tag that the question touches." in words(refused)


@pytest.mark.parametrize(
    ("question", "field", "sentence"),
    [
        ({"privilege": ""}, "privilege", "Name a privilege."),
        ({"privilege": "x" * 300}, "privilege", "at most 200"),
        ({"privilege": "A\x00"}, "privilege", "Null characters"),
        ({"privilege": "A", "actor": "urn:li:corpGroup:crew"}, "actor", "groups and roles do not act by themselves"),
        ({"privilege": "A", "actor": "x" * 600}, "actor", "at most 512"),
        (
            {"privilege": "EDIT_ENTITY", "resource": "no such thing"},
            "resource",
            "Nothing in the catalog is called no such thing.",
        ),
        ({"privilege": "A", "sub_resources": "pii\n<b>"}, "sub_resources", "These lines are no URNs: pii, &lt;b&gt;."),
        ({"privilege": "A", "sub_resources": "urn:li:tag:x\n" * 5000}, "sub_resources", "at most 20000"),
        ({"privilege": "A", "sub_resources": "urn:li:tag:x\n" * 101}, "sub_resources", "At most 100 URNs"),
    ],
)
def test_what_is_not_clear_is_said_beside_its_field(browse, world, question, field, sentence):
    page = ask(browse("root"), **question)
    assert page.status_code == 200
    assert page.context["form"].errors.keys() == {field}
    assert sentence in page.content.decode()
    assert "answer" not in page.context


@pytest.mark.parametrize(
    "resource", ["urn:", "urn:li:", "urn:li:dataset:((((", "urn:x", "urn:li:dataset:(a,b,c)/../../"]
)
def test_a_strange_urn_is_said_to_be_unknown(browse, world, resource):
    page = ask(browse("root"), privilege="EDIT_ENTITY_TAGS", resource=resource)
    assert page.status_code == 200
    assert page.context["form"].errors == {"resource": [f"Nothing is known by the URN {resource}."]}
    assert "answer" not in page.context


def test_a_known_entity_is_not_called_unknown(browse, world, orders):
    client = browse("root")
    for resource in (DATASET, "urn:li:corpuser:otto", "urn:li:dataHubRole:Admin", ""):
        for tags in ("", "urn:li:allEntities:all"):
            question = {"privilege": "EDIT_ENTITY_TAGS", "resource": resource, "sub_resources": tags}
            assert ask(client, **question).context["answer"]


def test_names_that_nobody_knows_come_with_what_was_meant(browse, world, orders):
    page = ask(
        browse("root"),
        privilege="EDIT_TAGS",
        actor="ott",
        resource=DATASET.replace("orders", "ordrs"),
        sub_resources="urn:li:tag:a\nurn:li:tag:b",
    )
    assert page.context["form"].errors == {
        "actor": ["There is no user ott. Did you mean otto?"],
        "privilege": [page.context["form"].errors["privilege"][0]],
        "resource": [f"Nothing is known by the URN {DATASET.replace('orders', 'ordrs')}. Did you mean {DATASET}?"],
        "sub_resources": ["Nothing is known by urn:li:tag:a and urn:li:tag:b."],
    }
    assert page.context["form"].errors["privilege"][0].startswith("There is no privilege EDIT_TAGS. Did you mean EDIT_")
    hints = {hint["sentence"]: hint["suggestions"] for hint in page.context["hints"]}
    (found,) = hints["There is no user ott."]
    assert found["label"] == "otto"
    assert found["url"].startswith("/why?privilege=EDIT_TAGS&actor=urn%3Ali%3Acorpuser%3Aotto&resource=")
    assert f'href="{found["url"].replace("&", "&amp;")}"' in page.content.decode()


def test_a_word_is_looked_up_beside_an_unknown_privilege(browse, world, orders):
    page = ask(browse("root"), privilege="EDIT_TAGS", resource="ord")
    assert page.context["form"].errors.keys() == {"privilege", "resource"}
    assert [choice["urn"] for choice in page.context["choices"]] == [DATASET]


def test_a_word_leads_to_what_it_may_mean(browse, world, orders):
    page = ask(browse("outsider"), privilege="EDIT_ENTITY_TAGS", resource="ord", actor="")
    assert page.context["form"].errors.keys() == {"resource"}
    assert [choice["urn"] for choice in page.context["choices"]] == [DATASET]
    assert "answer" in browse("outsider").get(page.context["choices"][0]["url"]).context


def test_only_who_may_ask_about_others_does(browse, world):
    refused = ask(browse("outsider"), privilege="EDIT_ENTITY_TAGS", actor="stella")
    unknown = ask(browse("outsider"), privilege="EDIT_ENTITY_TAGS", actor="who-is-this")
    assert [refused.status_code, unknown.status_code] == [403, 403]
    assert "CHECK_ACCESS" in refused.context["form"].errors["actor"][0]
    assert words(refused).replace("stella", "") == words(unknown).replace("who-is-this", "")
    assert ask(browse("outsider"), privilege="EDIT_ENTITY_TAGS", actor="otto").status_code == 200
    assert ask(browse("steward"), privilege="EDIT_ENTITY_TAGS", actor="ada").status_code == 200


def test_under_view_authorization_nothing_hidden_is_told(browse, world, orders, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    policies.set_state(
        urn="urn:li:dataHubPolicy:view-entity-page-all", state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR
    )
    client = browse("outsider")
    pages = [
        ask(client, privilege="EDIT_ENTITY_TAGS", resource=urn)
        for urn in (DATASET, DATASET.replace("orders", "absent"))
    ]
    stored, absent = (timeless_words(page).replace("orders", "").replace("absent", "") for page in pages)
    assert "Nothing is known by the URN" in stored
    assert "Did you mean" not in stored
    assert ask(client, privilege="EDIT_ENTITY_TAGS", resource="ord").context["choices"] == []
    assert stored == absent
    assert "answer" not in ask(browse("steward"), privilege="EDIT_ENTITY_TAGS", resource=DATASET).context
    assert "Did you mean" not in words(ask(client, privilege="EDIT_ENTITY_TAGS", resource=DATASET.replace("ers", "rs")))
    asked = {"privilege": "EDIT_ENTITY_TAGS", "resource": DATASET, "actor": "otto"}
    assert ask(browse("root"), **asked).context["answer"]["nearest"]


def test_a_suspended_person_is_denied_with_that_reason(browse, world):
    users.update(urn="urn:li:corpuser:ada", state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert "The account is suspended." in words(ask(browse("root"), privilege="MANAGE_POLICIES", actor="ada"))


def test_with_policies_off_everything_is_allowed_and_permissions_are_gone(browse, world, settings):
    settings.AUTH_POLICIES_ENABLED = False
    client = browse("outsider")
    page = ask(client, privilege="MANAGE_POLICIES")
    assert "Policies are switched off, so everything is allowed." in words(page)
    assert "Policies are switched off: everybody may do everything." in words(page)
    assert 'href="/settings/permissions/' not in page.content.decode()


@pytest.mark.parametrize(
    "name",
    [
        "REST_API_AUTHORIZATION",
        "METADATA_SERVICE_AUTH_ENABLED",
        "MCP_VALIDATION_PRIVILEGE_CONSTRAINTS",
        "BOUNDED_DELEGATION",
    ],
)
def test_a_weakened_switch_shows_a_banner(browse, world, settings, name):
    client = browse("outsider")
    assert client.get("/why").context["banners"] == []
    setattr(settings, name, False)
    page = client.get("/why")
    assert len(page.context["banners"]) == 1
    assert page.context["banners"][0]["text"].replace("'", "&#x27;") in page.content.decode()
