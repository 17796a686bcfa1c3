"""External roles on pages: the Access tab, the list, one role, its forms, and what somebody holds."""

from urllib.parse import quote

import pytest
from django.urls import reverse

from catalog.access import aspect_documents
from tests.web.catalog.conftest import (
    ANALYSTS,
    BOARD,
    ORDERS,
    OUTSIDER,
    OWNER,
    READER,
    SALES,
    STEWARD,
    WRITER,
    store,
)
from tests.web.test_markup import HOSTILE, check


def said(urn, aspect):
    found = aspect_documents.load_aspect(urn=urn, name=aspect)
    return None if found is None else found.value


def access(client, query=""):
    return client.get(f"/catalog/{quote(ORDERS, safe='')}", {"show": "access", "q": query})


def place(urn, verb=""):
    return f"/external-roles/{verb}{quote(urn, safe='')}"


NEW = {
    "urn": "urn:li:role:new",
    "name": "New role",
    "type": "ADMIN",
    "description": "All of it",
    "request_url": "https://access.example/new",
    "users": [OUTSIDER],
    "groups": [ANALYSTS],
    "datasets_pasted": f"{ORDERS}\n{BOARD}",
}


@pytest.mark.parametrize(
    ("name", "mine"), [("outsider", False), ("owner", True), ("steward", True)]
)  # the owner is named herself, the steward is in a group that is
def test_granted_or_request(shelves, name, mine):
    answer = access(shelves(name))
    rows = {row.role.urn: row for row in answer.context["rows"]}
    assert rows[READER].role.is_mine is mine
    text = answer.content.decode()
    assert ("You already have access" in text) is mine
    assert (f"{reverse('request-new')}?external_role={quote(READER)}" in text) is not mine
    # The address of the role is a step of the trail, once a request for it is approved.
    assert "https://access.example/reader" not in text
    assert rows[WRITER].request_url != ""
    assert "javascript:" not in text


def test_long_descriptions_are_cut_and_unfold(shelves):
    row = next(row for row in access(shelves("outsider")).context["rows"] if row.role.urn == READER)
    assert (len(row.short_description), row.short_description + row.remaining_description) == (
        150,
        "Reads the shop. " * 12,
    )
    assert "read more" in access(shelves("outsider")).content.decode()


def test_search_on_the_tab(shelves):
    client = shelves("outsider")
    assert [row.role.urn for row in access(client, "WRITER").context["rows"]] == [WRITER]
    assert "No roles match" in access(client, "nothing").content.decode()


def test_the_tab_is_where_roles_are_kept(shelves):
    client = shelves("outsider")
    for urn, has in ((ORDERS, True), (BOARD, True), ("urn:li:container:shop", True), (SALES, False), (READER, False)):
        tabs = [tab["label"] for tab in client.get(f"/catalog/{quote(urn, safe='')}").context["tabs"]]
        assert ("Access" in tabs) is has, urn


def test_list_search_and_filters(shelves):
    client = shelves("steward")

    def urns(**query):
        return [row.role.urn for row in client.get("/external-roles", query).context["rows"]]

    assert urns() == [READER, WRITER]
    assert urns(q="wri") == [WRITER]
    assert urns(type="READ") == [READER]
    assert urns(held="on") == [READER]
    assert urns(q="none") == []
    assert client.get("/external-roles", {"type": "COLOUR"}).context["form"].errors["type"] == ["No such type."]


def test_one_role(shelves):
    answer = shelves("outsider").get(place(READER))
    assert [one.name for one in answer.context["users"]] == ["Olga Owner"]
    assert [one.name for one in answer.context["groups"]] == ["Analysts"]
    assert [row["name"] for row in answer.context["rows"]] == ["orders", "salaries"]
    assert not answer.context["may_edit"]
    assert shelves("root").get(place(READER)).context["may_edit"]


@pytest.mark.parametrize(
    ("urn", "found"), [(OWNER, [READER]), (STEWARD, [READER]), (ANALYSTS, [READER]), (OUTSIDER, [])]
)
def test_what_somebody_holds(shelves, urn, found):
    client = shelves("outsider")
    answer = client.get(place(urn, "held/"))
    assert [row.role.urn for row in answer.context["rows"]] == found
    assert "<html" not in client.get(place(urn, "held/"), headers={"HX-Request": "true"}).content.decode()


def test_the_pages_of_people_lead_to_what_they_hold(shelves, settings):
    pages = (
        ("root", reverse("user", args=[OWNER]), OWNER),
        ("root", reverse("group", args=[ANALYSTS]), ANALYSTS),
        ("owner", reverse("profile"), OWNER),
    )
    for name, address, urn in pages:
        client, held = shelves(name), reverse("external-roles-held", args=[urn])
        text = client.get(address).content.decode()
        assert f'hx-get="{held}"' in text
        assert f'<a href="{held}">' in text, "without scripts a link leads there"
        alone, part = client.get(held), client.get(held, headers={"HX-Request": "true"})
        assert (
            [row.role.urn for row in alone.context["rows"]]
            == [row.role.urn for row in part.context["rows"]]
            == [READER]
        )
        assert "<html" in alone.content.decode()
    settings.SHOW_ACCESS_MANAGEMENT = False
    for name, address, _ in pages:
        assert "external-roles-held" not in shelves(name).get(address).content.decode()


def test_how_many_rows_the_lists_show_is_chosen(shelves):
    more = {(f"urn:li:role:more{number}", "roleProperties"): {"name": f"More {number}"} for number in range(30)}
    store(more | {(f"urn:li:tag:more{number}", "tagProperties"): {"name": f"More {number}"} for number in range(30)})
    for address, form in (("/catalog", "entities-filters"), ("/external-roles", "external-roles-filters")):
        answer = shelves("root").get(address, {"q": "more", "size": "10"})
        assert len(answer.context["rows"]) == 10
        text = answer.content.decode()
        assert 'href="?q=more&amp;size=50"' in text
        assert f'<input type="hidden" name="size" value="10" form="{form}">' in text
        assert len(shelves("root").get(address, {"q": "more", "size": "1000"}).context["rows"]) == 25


def test_the_list_of_what_somebody_holds_pages_on_its_own_page(shelves):
    store({(f"urn:li:role:more{number}", "actors"): {"users": [{"user": OWNER}], "groups": []} for number in range(30)})
    held = reverse("external-roles-held", args=[OWNER])
    part = shelves("owner").get(held, headers={"HX-Request": "true"}).content.decode()
    assert f'href="{held}?page=2"' in part, "not the second page of the profile it is drawn into"
    assert shelves("owner").get(f"{held}?page=2").context["page"].number == 2


def test_the_life_of_one(shelves):
    client = shelves("root")
    answer = client.post("/external-roles/new", NEW, follow=True)
    assert [str(message) for message in answer.context["messages"]] == ["New role saved."]
    assert said("urn:li:role:new", "roleProperties")["requestUrl"] == NEW["request_url"]
    assert said("urn:li:role:new", "actors") == {"users": [{"user": OUTSIDER}], "groups": [{"group": ANALYSTS}]}
    assert said(BOARD, "access") == {"roles": [{"urn": "urn:li:role:new"}]}
    form = client.get(place("urn:li:role:new", "edit/"))
    assert [[chip["urn"] for chip in picker["chosen"]] for picker in form.context["pickers"]] == [
        [OUTSIDER],
        [ANALYSTS],
        sorted([ORDERS, BOARD]),
    ]
    changed = {"name": "Newer", "type": "READ", "users": [OUTSIDER], "datasets": [ORDERS]}
    assert client.post(place("urn:li:role:new", "edit/"), changed).status_code == 302
    assert said(BOARD, "access") == {"roles": []}
    assert "requestUrl" not in said("urn:li:role:new", "roleProperties")
    asked = client.get(place("urn:li:role:new", "delete/"))
    assert "Delete Newer?" in asked.content.decode()
    assert asked.context["losses"][1] == "It is removed from the Access tab of 1 entity."
    assert client.post(place("urn:li:role:new", "delete/")).status_code == 302
    assert client.get(place("urn:li:role:new")).status_code == 404
    assert {entry["urn"] for entry in said(ORDERS, "access")["roles"]} == {READER, WRITER}


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"name": ""}, 422, "This field is required."),
        ({"name": "x" * 300}, 422, "at most 255 characters"),
        ({"request_url": "javascript:alert(1)"}, 422, "begins with http:// or https://"),
        ({"urn": READER}, 422, "There is already an external role"),
        ({"urn": "urn:li:tag:x"}, 422, "This is the URN of a tag, not of a role."),
        ({"users_pasted": "urn:li:corpuser:none"}, 422, "There is no urn:li:corpuser:none."),
        ({"datasets_pasted": SALES}, 422, "is not the URN of one of the datasets"),
        ({"name": HOSTILE[:255], "type": ""}, 422, "This field is required."),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(shelves, change, status, sentence):
    answer = shelves("root").post("/external-roles/new", {**NEW, **change})
    assert answer.status_code == status
    assert sentence in answer.content.decode()
    assert answer.context["form"]["description"].value() == NEW["description"]
    assert said("urn:li:role:new", "roleProperties") is None
    if "javascript" not in str(change):
        check(answer)


def test_writing_is_refused_to_others(shelves):
    client = shelves("outsider")
    assert client.post("/external-roles/new", NEW).status_code == 403
    assert client.post(place(READER, "edit/"), NEW).status_code == 403
    assert client.post(place(READER, "delete/")).status_code == 403
    assert said(READER, "roleProperties")["name"] == "Shop reader"


def test_naming_a_role_on_what_one_may_not_edit_is_said_above_the_form(shelves, write):
    write(
        "role-keepers",
        displayName="Keepers of roles",
        privileges=["EDIT_ENTITY"],
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": [{"field": "TYPE", "values": ["role"]}]}},
    )
    client = shelves("outsider")
    answer = client.post("/external-roles/new", NEW)
    assert answer.status_code == 403
    assert "EDIT_ENTITY" in answer.content.decode()
    assert [chip["urn"] for chip in answer.context["pickers"][2]["chosen"]] == [ORDERS, BOARD]
    assert said("urn:li:role:new", "roleProperties") is None


def test_undescribed_roles_are_called_by_their_urn(shelves):
    store({(BOARD, "access"): {"roles": [{"urn": "urn:li:role:unheard"}]}})
    answer = shelves("outsider").get(f"/catalog/{quote(BOARD, safe='')}", {"show": "access"})
    assert [row.role.name for row in answer.context["rows"]] == ["urn:li:role:unheard"]


def test_who_may_only_delete_is_offered_that_and_may(shelves, write):
    write(
        "deleters",
        displayName="Deleters",
        privileges=["VIEW_ENTITY_PAGE", "DELETE_ENTITY"],
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [READER]}]}},
    )
    client = shelves("outsider")
    page = client.get(place(READER)).content.decode()
    assert reverse("external-role-delete", args=[READER]) in page
    assert reverse("external-role-edit", args=[READER]) not in page
    assert client.get(place(READER, "delete/")).status_code == 200
    assert client.post(place(READER, "delete/")).status_code == 302


def test_a_type_that_only_deleted_roles_have_is_no_filter(shelves):
    client = shelves("root")
    assert ("WRITE", "WRITE") in client.get("/external-roles").context["form"].fields["type"].choices
    client.post(place(WRITER, "delete/"))
    assert ("WRITE", "WRITE") not in client.get("/external-roles").context["form"].fields["type"].choices
