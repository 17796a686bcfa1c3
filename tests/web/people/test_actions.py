"""What is done to people through the pages: it takes effect at once, and what was typed wrongly comes back."""

import html
import re

import pytest
from django.test import Client
from django.utils import timezone

from catalog.ingest import apply
from policies.changes.pages.net_change_wording import NOBODY
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens, groups, invitations, password_resets, roles, users
from policies.models import AccessToken, ChangeEvent, InviteToken, ResetToken, User
from policies.pdp import actor_resolution, authorizer, display_names
from tests.web.conftest import DOOR, PASSWORD
from tests.web.people.table import GROUPS, ROLES, SERVICES, USERS

SYSTEM = authorizer.SYSTEM
NEW = "another horse battery"
ADA, ADMIN = "urn:li:corpuser:ada", "urn:li:dataHubRole:Admin"


def signed_in(username, password=PASSWORD):
    client = Client()
    assert client.post("/login", {"username": username, "password": password}).status_code == 302
    return client


def is_in(client):
    return client.get("/profile").status_code == 200


def bearer(text):
    return Client().get("/api/v1/roles/", headers={"Authorization": f"Bearer {text}"}).status_code


@pytest.mark.parametrize("act", ["suspend", "remove"])
def test_suspending_and_removing_end_sessions_and_tokens_at_once(browse, person, act):
    jo = person("jo", password=PASSWORD)
    session, token = signed_in("jo"), access_tokens.create(owner=jo.urn, name="t", by=SYSTEM, channel=DOOR).text
    assert is_in(session)
    assert bearer(token) == 200
    root = browse("root")
    question = root.get(f"{USERS}/{act}/{jo.urn}")
    assert "Every session" in question.content.decode()
    assert is_in(session), "asking changes nothing"
    assert root.post(f"{USERS}/{act}/{jo.urn}").status_code == 302
    assert not is_in(session)
    assert bearer(token) == 401
    if act == "suspend":
        root.post(f"{USERS}/activate/{jo.urn}")
        assert bearer(token) == 200
        assert not is_in(session), "an ended session stays ended"


def test_removing_says_what_will_be_lost(browse, crew):
    access_tokens.create(owner="urn:li:corpuser:otto", name="t", by=SYSTEM, channel=DOOR)
    page = browse("root").get(f"{USERS}/remove/urn:li:corpuser:otto").content.decode()
    for loss in (
        "2 group memberships end",
        "1 role is no longer",
        "1 access token stops",
        "Grants on single entities are",
    ):
        assert loss in page


def test_the_root_user_stays(browse, world):
    root = "urn:li:corpuser:datahub"
    for act in ("suspend", "remove"):
        assert browse("admin").post(f"{USERS}/{act}/{root}").status_code == 403
    assert users_groups_roles.get_user(urn=root).is_active


def test_a_person_is_made_with_groups_and_roles(browse, crew):
    typed = {
        "username": "new",
        "display_name": "New One",
        "groups": crew["group"].urn,
        "roles_pasted": crew["role"].urn,
    }
    response = browse("root").post(f"{USERS}/new", typed)
    assert response.headers["Location"] == f"{USERS}/urn:li:corpuser:new"
    made = users_groups_roles.get_user(urn="urn:li:corpuser:new")
    assert (made.group_names, made.role_names, made.has_usable_password()) == (["Crew"], ["Data Steward"], False)


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({}, {"username"}),
        ({"username": "a,b"}, {"username"}),
        ({"username": "x" * 201}, {"username"}),
        ({"username": "datahub"}, {"username"}),
        ({"username": "__datahub_system"}, {"username"}),
        ({"username": "otto"}, {"username"}),
        ({"username": "new", "display_name": "x" * 256, "email": "x" * 321}, {"display_name", "email"}),
        ({"username": "new", "password": "short"}, {"password"}),
        ({"username": "new", "display_name": "nul\x00"}, {"display_name"}),
    ],
)
def test_wrong_fields_of_a_new_user_are_named_and_kept(browse, world, typed, wrong):
    response = browse("root").post(f"{USERS}/new", {"title": "kept <i>", **typed})
    assert response.status_code == 422
    form = response.context["page"].form
    assert form.errors.keys() == wrong
    assert form["title"].value() == "kept <i>"
    page = response.content.decode()
    assert "kept &lt;i&gt;" in page
    assert page.count("site-field-error") >= len(wrong)
    assert not User.objects.filter(username="new").exists()


def test_a_long_paste_is_taken_and_a_wrong_one_comes_back(browse, crew):
    User.objects.bulk_create(
        User(username=f"p{number}", urn=f"urn:li:corpuser:p{number}", created_by="x") for number in range(5000)
    )
    address = f"{GROUPS}/add/{crew['group'].urn}"
    lines = "\r\n".join(f"urn:li:corpuser:p{number}" for number in range(900))
    client = browse("root")
    refused = client.post(address, {"members_pasted": f"{lines}\nurn:li:corpuser:nobody\nurn:li:corpGroup:hr\n"})
    assert refused.status_code == 422
    picker = refused.context["page"].pickers[0]
    assert picker.errors == ["Each must begin with urn:li:corpuser:, unlike urn:li:corpGroup:hr."]
    assert "urn:li:corpuser:p899" in refused.content.decode()
    unknown = client.post(address, {"members_pasted": f"{lines}\nnobody"})
    assert unknown.context["page"].pickers[0].errors == ["There is no user 'urn:li:corpuser:nobody'."]
    assert client.post(address, {"members_pasted": lines}).status_code == 302
    assert credentials.count_members(groups=[crew["group"]])[crew["group"].urn] == 902
    many = "\n".join(f"u{number}" for number in range(1_001))
    assert "At most 1,000" in client.post(address, {"members_pasted": many}).content.decode()


def test_who_chooses_nobody_is_told_so(browse, crew):
    client = browse("root")
    group, role, otto = crew["group"].urn, crew["role"].urn, "urn:li:corpuser:otto"
    for address in (f"{GROUPS}/add/{group}", f"{ROLES}/assign/{role}", f"{USERS}/groups/{otto}"):
        refused = client.post(address, {})
        assert refused.status_code == 422, address
        assert refused.context["page"].pickers[0].errors == ["Choose at least one."]
        assert "Choose at least one." in refused.content.decode()


def test_unknown_lines_of_a_long_paste_are_counted(browse, crew):
    lines = "\n".join(f"nobody{number}" for number in range(500))
    refused = browse("root").post(f"{ROLES}/assign/{crew['role'].urn}", {"actors_pasted": lines})
    assert refused.status_code == 422
    lines = "\n".join(f"urn:li:corpuser:nobody{number}" for number in range(500))
    refused = browse("root").post(f"{ROLES}/assign/{crew['role'].urn}", {"actors_pasted": lines})
    errors = refused.context["page"].pickers[0].errors
    assert len(errors) == 6
    assert errors[-1] == "And at least 95 more like these."


def test_external_groups_refuse_manual_members_and_say_why(browse, crew):
    client, urn = browse("root"), crew["external"].urn
    page = client.get(f"{GROUPS}/{urn}").content.decode()
    assert "come from its identity source" in page
    assert "Add members" not in page
    assert "Remove from the group" not in page
    refused = client.post(f"{GROUPS}/add/{urn}", {"members": "urn:li:corpuser:stella"})
    assert refused.status_code == 422
    assert "come from its identity source" in refused.content.decode()
    assert client.post(f"{GROUPS}/take/{urn}", {"member": "urn:li:corpuser:otto"}).status_code == 409
    joined = client.post(f"{USERS}/groups/urn:li:corpuser:stella", {"groups": [urn, crew["group"].urn]})
    assert joined.status_code == 422
    assert "come from its identity source" in joined.context["page"].pickers[0].errors[0]


def test_members_come_and_go(browse, crew, person):
    person("jo")
    client, urn = browse("root"), crew["group"].urn
    client.post(f"{GROUPS}/add/{urn}", {"members_pasted": "jo"})
    assert "urn:li:corpuser:jo" in users_groups_roles.load_member_urns(groups=[urn])[urn]
    take = f"{GROUPS}/take/{urn}?member=urn%3Ali%3Acorpuser%3Ajo"
    assert f'href="{take}"' in client.get(f"{GROUPS}/{urn}").content.decode()
    question = client.get(take).content.decode()
    assert "Remove jo from Crew?" in question
    assert "No one&#x27;s access changes today" in question
    assert "urn:li:corpuser:jo" in users_groups_roles.load_member_urns(groups=[urn])[urn]
    assert client.get(f"{GROUPS}/take/{urn}").status_code == 404
    client.post(take)
    assert "urn:li:corpuser:jo" not in users_groups_roles.load_member_urns(groups=[urn])[urn]
    client.post(f"{USERS}/groups/urn:li:corpuser:jo", {"groups": urn})
    assert users_groups_roles.get_user(urn="urn:li:corpuser:jo").group_names == ["Crew"]


def test_several_roles_are_held_and_taken(browse, crew, person):
    jo, client = person("jo"), browse("root")
    reader = "urn:li:dataHubRole:Reader"
    client.post(f"{USERS}/roles/{jo.urn}", {"roles": [reader, crew["role"].urn]})
    assert users_groups_roles.get_user(urn=jo.urn).role_urns == sorted([reader, crew["role"].urn])
    take = f"{ROLES}/take/{reader}?actor=urn%3Ali%3Acorpuser%3Ajo"
    assert f'href="{take}"' in client.get(f"{ROLES}/{reader}").content.decode()
    question = client.get(take).content.decode()
    assert "Remove the role Reader from " in question
    assert "Readers - Metadata Policy" in question
    assert len(users_groups_roles.get_user(urn=jo.urn).role_urns) == 2
    client.post(take)
    assert users_groups_roles.get_user(urn=jo.urn).role_urns == [crew["role"].urn]
    client.post(f"{GROUPS}/roles/{crew['group'].urn}", {})
    assert users_groups_roles.get_group(urn=crew["group"].urn).role_urns == []
    wrong = client.post(f"{USERS}/roles/{jo.urn}", {"roles": "urn:li:dataHubRole:none"})
    assert wrong.status_code == 422
    assert users_groups_roles.get_user(urn=jo.urn).role_urns == [crew["role"].urn]


def test_roles_that_come_with_the_product_are_fixed(browse, crew):
    client, admin = browse("root"), "urn:li:dataHubRole:Admin"
    page = client.get(f"{ROLES}/{admin}").content.decode()
    assert f"{ROLES}/edit/" not in page
    assert f"{ROLES}/delete/" not in page
    for address in (f"{ROLES}/edit/{admin}", f"{ROLES}/delete/{admin}"):
        assert client.post(address, {"name": "Mine"}).status_code == 403
    assert client.post(f"{ROLES}/delete/{crew['role'].urn}").headers["Location"] == ROLES


def test_a_role_that_a_policy_names_stays(browse, crew, write):
    write("named", displayName="Names it", actors={"roles": [crew["role"].urn]})
    client = browse("root")
    assert "Names it" in client.get(f"{ROLES}/delete/{crew['role'].urn}").content.decode()
    assert client.post(f"{ROLES}/delete/{crew['role'].urn}").status_code == 409
    assert "Names it" in client.get(ROLES).content.decode()


EDITS = {
    "role": (ROLES, lambda urn: roles.update(urn=urn, name="Theirs", by=SYSTEM, channel=DOOR), "name"),
    "group": (GROUPS, lambda urn: groups.update(urn=urn, name="Theirs", by=SYSTEM, channel=DOOR), "name"),
    "service": (
        SERVICES,
        lambda urn: users.update(urn=urn, display_name="Theirs", by=SYSTEM, channel=DOOR),
        "display_name",
    ),
}


@pytest.mark.parametrize("kind", EDITS)
def test_the_second_of_two_who_edit_is_told_and_may_go_on(browse, crew, kind):
    place, change, field = EDITS[kind]
    client, address = browse("root"), f"{place}/edit/{crew[kind].urn}"
    seen = client.get(address).context["page"].form["seen"].value()
    change(crew[kind].urn)
    typed = {field: "Mine", "description": "mine", "seen": seen}
    told = client.post(address, typed)
    assert told.status_code == 412
    assert "Somebody else changed this" in told.content.decode()
    form = told.context["page"].form
    assert form[field].value() == "Mine"
    rows = {row["label"]: row for row in told.context["page"].edit_conflict["rows"]}
    name = rows[form.fields[field].label]
    assert (name["before"], name["theirs"], name["yours"]) == (crew[kind].name, "Theirs", "Mine")
    assert rows[form.fields["description"].label]["yours"] == "mine"
    assert told.context["page"].edit_conflict["by"] == "The system"
    shown = html.unescape(told.content.decode())
    assert f"<td>{crew[kind].name}</td>" in shown
    assert "<td>Theirs</td>" in shown
    assert client.post(address, {**typed, "seen": form["seen"].value()}).status_code == 302
    assert "Mine" in display_names.load_names(urns=[crew[kind].urn]).values()


def test_a_change_of_what_the_form_does_not_show_is_told_too(browse, person):
    jo = person("jo")
    client, address = browse("root"), f"{USERS}/edit/{jo.urn}"
    seen = client.get(address).context["page"].form["seen"].value()
    users.suspend(urn=jo.urn, by=actor_resolution.load_actor(urn=ADA), channel=DOOR)
    told = client.post(address, {"display_name": "Jo", "seen": seen})
    overtaken = told.context["page"].edit_conflict
    assert (told.status_code, overtaken["by"], overtaken["at"] is None) == (412, "Ada Admin", False)
    assert [(row["label"], row["before"], row["theirs"], row["yours"]) for row in overtaken["rows"]] == [
        ("Display name", "", "", "Jo"),
        ("State", "ACTIVE", "SUSPENDED", None),
    ]


def test_without_a_record_of_what_an_edit_began_with_both_versions_are_shown(browse, crew):
    client, address = browse("root"), f"{GROUPS}/edit/{crew['group'].urn}"
    told = client.post(address, {"name": "Mine", "seen": "0" * 32})
    overtaken = told.context["page"].edit_conflict
    assert (told.status_code, overtaken["knows_before"]) == (412, False)
    assert [(row["theirs"], row["yours"]) for row in overtaken["rows"]] == [("Crew", "Mine")]


@pytest.mark.parametrize("kind", EDITS)
def test_what_was_removed_meanwhile_is_said_and_what_was_typed_stays(browse, crew, kind):
    place, _, field = EDITS[kind]
    client = browse("root")
    assert client.post(f"{place}/delete/{crew[kind].urn}").status_code == 302
    gone = client.post(f"{place}/edit/{crew[kind].urn}", {field: "Typed"})
    assert gone.status_code == 404
    assert "removed in the meantime" in gone.content.decode()
    assert gone.context["page"].form[field].value() == "Typed"


def test_a_name_that_is_taken_stands_beside_its_field(browse, crew):
    client = browse("root")
    for place, identifier in ((ROLES, "steward"), (GROUPS, "crew")):
        response = client.post(f"{place}/new", {"name": "Again", "identifier": identifier})
        assert response.status_code == 422
        assert response.context["page"].form.errors.keys() == {"identifier"}


def secret_of(response):
    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    found = re.search(r'id="secret"\s+type="text"\s+value="([^"]+)"', response.content.decode())
    assert found
    return found[1]


def test_a_token_is_shown_once_and_revoked(browse, crew):
    client = browse("outsider")
    text = secret_of(client.post("/settings/tokens/new", {"name": "mine", "duration": "ONE_HOUR"}))
    assert bearer(text) != 401
    listed = client.get("/settings/tokens").content.decode()
    assert text not in listed
    assert text[:8] in listed
    token = AccessToken.objects.get(name="mine")
    assert "used on" in client.get(f"/settings/tokens/revoke/{token.pk}").content.decode()
    assert client.post(f"/settings/tokens/revoke/{token.pk}").headers["Location"] == "/settings/tokens"
    assert bearer(text) == 401
    wrong = client.post("/settings/tokens/new", {"name": "", "duration": "FOR_EVER"})
    assert wrong.context["page"].form.errors.keys() == {"name", "duration"}


def test_tokens_of_others_are_for_who_manages_them(browse, crew, person):
    jo, client = person("jo"), browse("outsider")
    token = access_tokens.create(owner=jo.urn, name="private name", by=SYSTEM, channel=DOOR).token
    for address in (
        f"/settings/tokens/revoke/{token.pk}",
        f"/settings/tokens/new?owner={jo.urn}",
        f"/settings/tokens?owner={jo.urn}",
        "/settings/tokens?whose=ALL",
    ):
        refused = client.get(address)
        assert refused.status_code == 403
        assert "private name" not in refused.content.decode()
        assert "MANAGE_ACCESS_TOKENS" in refused.content.decode()
    assert "private name" in browse("root").get("/settings/tokens?owner=jo").content.decode()
    assert (
        bearer(
            secret_of(browse("root").post(f"/settings/tokens/new?owner={jo.urn}", {"name": "n", "duration": "ONE_DAY"}))
        )
        == 200
    )


def test_a_reset_link_works_once_and_ends_sessions(browse, person):
    jo = person("jo", password=PASSWORD)
    session = signed_in("jo")
    root = browse("root")
    first = secret_of(root.post(f"{USERS}/reset/{jo.urn}"))
    link = secret_of(root.post(f"{USERS}/reset/{jo.urn}"))
    assert Client().get(first).status_code == 404, "a new link ends the one before"
    assert is_in(session), "the old password works until the link is used"
    weak = Client().post(link, {"password": "password", "again": "password"})
    assert weak.status_code == 422
    differing = Client().post(link, {"password": NEW, "again": "other"})
    assert differing.context["form"].errors.keys() == {"again"}
    assert Client().post(link, {"password": NEW, "again": NEW}).headers["Location"] == "/login"
    assert not is_in(session)
    assert is_in(signed_in("jo", NEW))
    assert Client().post(link, {"password": PASSWORD, "again": PASSWORD}).status_code == 404


@pytest.mark.parametrize("end", ["expire", "suspend", "own password", "remove"])
def test_a_reset_link_dies_with_what_it_was_for(person, end):
    jo = person("jo", password=PASSWORD)
    text = password_resets.create(urn=jo.urn, by=SYSTEM, channel=DOOR).text
    assert Client().get(f"/reset?reset_token={text}").status_code == 200
    if end == "expire":
        old = timezone.now() - password_resets.LIFETIME * 2
        ResetToken.objects.update(created_at=old, expires_at=old + password_resets.LIFETIME)
    elif end == "suspend":
        users.suspend(urn=jo.urn, by=SYSTEM, channel=DOOR)
    elif end == "remove":
        users.remove(urn=jo.urn, by=SYSTEM, channel=DOOR)
    else:
        signed_in("jo").post("/profile/password", {"old": PASSWORD, "password": NEW, "again": NEW})
    assert Client().get(f"/reset?reset_token={text}").status_code == 404


def test_the_own_password_asks_for_the_old_one_and_ends_sessions_elsewhere(person):
    person("jo", password=PASSWORD)
    here, elsewhere = signed_in("jo"), signed_in("jo")
    wrong = here.post("/profile/password", {"old": "wrong", "password": "short", "again": "short"})
    assert wrong.status_code == 422
    assert wrong.context["page"].form.errors.keys() == {"old", "password"}
    assert here.post("/profile/password", {"old": PASSWORD, "password": NEW, "again": NEW}).status_code == 302
    assert is_in(here)
    assert not is_in(elsewhere)


def test_the_own_profile_holds_names_and_not_the_address(browse, crew):
    client = browse("outsider")
    client.post("/profile/edit", {"display_name": "Otto O.", "title": "Lead", "email": "root@site.example"})
    otto = users_groups_roles.get_user(urn="urn:li:corpuser:otto")
    assert (otto.display_name, otto.title, otto.email) == ("Otto O.", "Lead", "")
    page = client.get("/profile").content.decode()
    for shown in ("Otto O.", "Crew", "From HR", "Data Steward", "through Crew"):
        assert shown in page


SIGN_UP = {"username": "newcomer", "display_name": "New Comer", "password": NEW, "again": NEW}


def test_an_invitation_makes_an_account_with_its_role(browse, crew):
    link = secret_of(browse("root").post(f"{USERS}/invite", {"role": crew["role"].urn, "duration": "ONE_DAY"}))
    client = Client()
    assert "Data Steward" in client.get(link).content.decode()
    assert client.post(link, SIGN_UP).headers["Location"] == "/"
    assert is_in(client)
    made = users_groups_roles.get_user(urn="urn:li:corpuser:newcomer")
    assert (made.role_names, made.created_by) == (["Data Steward"], made.urn)
    again = Client().post(link, SIGN_UP)
    assert again.status_code == 422
    assert "already exists" in str(again.context["form"].errors["username"])
    assert not any("azi_" in str(event.after) for event in ChangeEvent.objects.all())


@pytest.mark.parametrize("username", ["datahub", "__datahub_system", "a,b", "", " otto", "x" * 201])
def test_nobody_signs_up_as_somebody_else(crew, username):
    text = invitations.create(role=None, by=SYSTEM, channel=DOOR).text
    refused = Client().post(f"/signup?invite_token={text}", {**SIGN_UP, "username": username})
    assert refused.status_code == 422
    assert "username" in refused.context["form"].errors
    assert refused.context["form"]["display_name"].value() == "New Comer"


def test_a_new_link_ends_the_one_before_for_the_same_role_only(browse, crew):
    root = browse("root")

    def make(role):
        return secret_of(root.post(f"{USERS}/invite", {"role": role, "duration": "ONE_DAY"}))

    first, other, nothing = make(crew["role"].urn), make("urn:li:dataHubRole:Reader"), make("")
    second = make(crew["role"].urn)
    assert [Client().get(link).status_code for link in (first, second, other, nothing)] == [404, 200, 200, 200]
    live = InviteToken.objects.get(role__isnull=True)
    assert root.post(f"{USERS}/invite/end/{live.pk}").status_code == 302
    assert Client().get(nothing).status_code == 404
    old = timezone.now() - invitations.LIFETIMES["ONE_YEAR"]
    InviteToken.objects.update(created_at=old, expires_at=old + invitations.LIFETIMES["ONE_DAY"])
    assert Client().get(second).status_code == 404
    assert Client().post(second, SIGN_UP).status_code == 404


def test_accepting_replaces_the_roles_and_says_so_first(browse, crew):
    client = browse("outsider")
    text = invitations.create(role="urn:li:dataHubRole:Reader", by=SYSTEM, channel=DOOR).text
    question = client.get(f"/signup?invite_token={text}").content.decode()
    assert "replaces the roles you hold now: Data Steward" in question
    assert users_groups_roles.get_user(urn="urn:li:corpuser:otto").role_names == ["Data Steward"]
    client.post(f"/signup?invite_token={text}")
    assert users_groups_roles.get_user(urn="urn:li:corpuser:otto").role_names == ["Reader"]
    bare = invitations.create(role=None, by=SYSTEM, channel=DOOR).text
    assert "removes these: Reader" in client.get(f"/signup?invite_token={bare}").content.decode()
    client.post(f"/signup?invite_token={bare}")
    assert users_groups_roles.get_user(urn="urn:li:corpuser:otto").role_names == []


def test_a_service_account_has_tokens_and_no_password(browse, crew):
    client = browse("root")
    made = client.post(f"{SERVICES}/new", {"display_name": "Loader", "description": "Loads"}).headers["Location"]
    urn = made.removeprefix(f"{SERVICES}/")
    assert re.fullmatch(r"urn:li:corpuser:service_[0-9a-f-]{36}", urn)
    text = secret_of(client.post(f"/settings/tokens/new?owner={urn}", {"name": "t", "duration": "ONE_DAY"}))
    assert bearer(text) == 200
    assert client.post(f"{USERS}/reset/{urn}").status_code == 404
    client.post(f"{SERVICES}/state/{urn}")
    assert bearer(text) == 401
    client.post(f"{SERVICES}/state/{urn}")
    assert bearer(text) == 200
    assert client.post(f"{SERVICES}/delete/{urn}").headers["Location"] == SERVICES
    assert bearer(text) == 401
    assert client.post(f"{SERVICES}/new", {"display_name": "  "}).status_code == 422


def test_users_are_found_by_beginnings_of_words_and_paged_by_choice(browse, crew, person):
    for number in range(30):
        person(f"many{number}", display_name=f"Many Persons {number}", email=f"m{number}@site.example")
    client = browse("root")
    assert len(client.get(f"{USERS}?q=pers+man").context["rows"]) == 25
    assert len(client.get(f"{USERS}?q=pers&size=10").context["rows"]) == 10
    assert [row["user"].username for row in client.get(f"{USERS}?q=m7@site").context["rows"]] == ["many7"]
    assert client.get(f"{USERS}?q=ersons").context["rows"] == []
    assert client.get(f"{USERS}?state=SUSPENDED").context["rows"] == []
    wrong = client.get(f"{USERS}?size=7&state=GONE")
    assert (wrong.status_code, wrong.context["page"].paginator.per_page) == (200, 25)
    assert wrong.context["form"].errors.keys() == {"state"}


def test_how_many_rows_a_page_shows_is_chosen_and_goes_with_the_rest(browse, crew, person):
    for number in range(30):
        person(f"many{number}", display_name=f"Many Persons {number}")
        groups.create(identifier=f"group{number}", name=f"Many {number}", by=SYSTEM, channel=DOOR)
        roles.create(identifier=f"role{number}", name=f"Many {number}", by=SYSTEM, channel=DOOR)
    client = browse("root")
    for place, rest in ((USERS, "q=many"), (GROUPS, "q=many"), (ROLES, "q=many")):
        page = client.get(f"{place}?{rest}&size=10&page=2")
        assert len(page.context["rows"]) == 10, place
        shown = html.unescape(page.content.decode())
        assert f'href="?{rest}&size=50"' in shown, "another size begins at the first page"
        assert f'href="?{rest}&size=10&page=3"' in shown
        assert re.search(r'<input type="hidden" name="size" value="10" form="\w+-filters">', shown)
    assert "per page" not in client.get(f"{USERS}?q=many7").content.decode()


def test_the_picker_answers_a_few_and_says_that_there_are_more(browse, crew, person):
    for number in range(25):
        person(f"many{number}", display_name=f"Many {number}")
    client = browse("root")
    options = client.get("/settings/identities/options?kind=holder&name=actors&q=man")
    assert len(options.context["options"]) == 20
    assert "type more to narrow them" in options.content.decode()
    found = client.get("/settings/identities/options?kind=holder&name=actors&q=crew").context["options"]
    assert [one["urn"] for one in found] == ["urn:li:corpGroup:crew"]
    assert client.get("/settings/identities/options?kind=anything").status_code == 404
    assert browse("outsider").get("/settings/identities/options?kind=user").status_code == 403


@pytest.mark.parametrize(
    ("address", "posted"),
    [
        (f"{USERS}/suspend/{ADA}", {}),
        (f"{USERS}/remove/{ADA}", {}),
        (f"{USERS}/roles/{ADA}", {}),
        (f"{ROLES}/take/{ADMIN}", {"actor": ADA}),
    ],
)
def test_the_last_who_can_manage_policies_stays(browse, world, address, posted):
    users.set_password(urn=ADA, password=PASSWORD, by=SYSTEM, channel=DOOR)
    world["root"].set_unusable_password()
    world["root"].save()
    refused = browse("root").post(address, posted)
    assert refused.status_code == (422 if "/roles/" in address and USERS in address else 409)
    assert "Nobody who can sign in could manage policies" in html.unescape(refused.content.decode())
    ada = users_groups_roles.get_user(urn=ADA)
    assert (ada.is_active, ada.role_urns) == (True, [ADMIN])


def put_away(*urns):
    proposals = [apply.Proposal(urn, "status", '{"removed": true}') for urn in urns]
    apply.apply(proposals=proposals, by=SYSTEM, channel=DOOR)


def test_nobody_is_offered_to_change_who_is_put_away(browse, crew, person):
    jo, group = person("jo").urn, crew["group"].urn
    put_away(jo, group)
    root = browse("root")
    addresses = [f"{USERS}/{part}/{jo}" for part in ("edit", "roles", "groups", "suspend", "reset")]
    addresses += [f"{GROUPS}/{part}/{group}" for part in ("edit", "add", "roles")]
    addresses.append(f"/settings/tokens/new?owner={jo}")
    assert {address: root.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 404)


def test_who_was_put_away_meanwhile_gets_nothing_and_what_was_typed_stays(browse, crew, person):
    jo, group = person("jo").urn, crew["group"].urn
    put_away(group)
    told = browse("root").post(f"{GROUPS}/add/{group}", {"members": jo})
    assert told.status_code == 404
    assert "removed in the meantime" in told.content.decode()
    assert jo not in users_groups_roles.load_member_urns(groups=[group])[group]


OTTO = "urn:li:corpuser:otto"


def test_a_deletion_says_who_loses_what_and_who_keeps_it(browse, crew, write):
    group, client = crew["group"].urn, browse("root")
    write("crew", displayName="Crew may", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"groups": [group]})
    write("otto", displayName="Otto may", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": [OTTO]})
    question = client.get(f"{GROUPS}/delete/{group}").context
    assert "2 members leave it." in question["losses"]
    assert [line for line in question["effect"] if "platform" in line] == [
        "Stella Steward loses the platform privilege Manage Tags."
    ]
    removal = client.get(f"{USERS}/remove/{OTTO}").context
    assert any(line.startswith("Otto Outsider loses") and "Manage Tags" in line for line in removal["effect"])
    external = client.get(f"{GROUPS}/delete/{crew['external'].urn}").context
    assert external["effect"] == [NOBODY]


def test_deleting_a_role_says_what_its_holders_lose_or_why_it_stays(browse, crew, write):
    client, role = browse("root"), crew["role"].urn
    assert client.get(f"{ROLES}/delete/{role}").context["effect"] == [NOBODY]
    write("named", displayName="Names it", actors={"roles": [role]})
    (refusal,) = client.get(f"{ROLES}/delete/{role}").context["effect"]
    assert refusal.startswith("Data Steward is named by 1 policies")
    service = client.get(f"{SERVICES}/delete/{crew['service'].urn}").context
    assert any(line.startswith("Nightly load loses") for line in service["effect"])
