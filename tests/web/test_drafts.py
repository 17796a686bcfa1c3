"""Drafts: what somebody typed is shown again, to nobody else, after a refusal, a session that ended, or a sign-in."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.conf import settings as site_settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from policies.authoring.services import policies
from policies.drafts import keeping, tasks
from policies.drafts.tickets import TICKET_FIELD, DraftTicket
from policies.http.pages.form_page import FormPage
from policies.identity.pages.forms import NewUserForm
from policies.identity.services import roles, users
from policies.models import Draft, Policy
from policies.pdp import authorizer
from tests.web.cdap.conftest import SHOP, TABLE, store_shop
from tests.web.conftest import DOOR
from tests.web.policies.writing import BASE, Builder, Form

pytestmark = pytest.mark.django_db

NEW = f"{BASE}/new"
ROLES = "/settings/permissions/roles"


def sign_in(client, username):
    client.force_login(get_user_model().objects.get(username=username), "django.contrib.auth.backends.ModelBackend")


def find_value(page, name):
    """Return the value of a hidden field of a page."""
    (value,) = re.findall(rf'name="{name}"\s+value="([^"]+)"', page.content.decode())
    return unescape(value)


def find_ticket(page):
    """Return the ticket of the form of a page."""
    return find_value(page, TICKET_FIELD)


def ticket_of(user, path=NEW):
    return DraftTicket.create(user_id=user.pk, path=path)


def keep(ticket, **fields):
    return Client().post("/drafts", {TICKET_FIELD: str(ticket), **fields})


def fill(client, path, **fields):
    """Post a form of the settings with its ticket."""
    return client.post(path, {TICKET_FIELD: find_ticket(client.get(path)), **fields})


def next_of(response):
    """Return where a sign-in leads back to."""
    address = urlsplit(response.headers["Location"])
    assert address.path == "/login"
    return parse_qs(address.query)["next"][0]


# ---- a session that ended ----


def test_a_form_posted_after_the_session_is_as_it_was_after_the_next_sign_in(browse, world):
    client = browse("root")
    builder = Builder(client, NEW)
    client.session.flush()
    refused = builder.press("next", headers={}, name="Half a policy", description="Kept & <b>safe</b>")
    back = next_of(refused)
    # Whoever signs in instead sees nothing of it.
    sign_in(client, "ada")
    assert "Half a policy" not in client.get(back).content.decode()
    assert "Half a policy" not in client.get(NEW).content.decode()
    sign_in(client, "datahub")
    page = client.get(back)
    assert page.context["work"].step == 1
    assert 'value="Half a policy"' in page.content.decode()
    assert "Kept &amp; &lt;b&gt;safe&lt;/b&gt;" in page.content.decode()
    assert "This is your draft of" in page.content.decode()
    assert page.context["is_wrong"] is False


def test_saving_after_the_session_saves_nothing_before_it_is_pressed_again(browse, world):
    client = browse("root")
    builder = Builder(client, f"{NEW}?template=domains")
    before = Policy.objects.count()
    client.session.flush()
    back = next_of(builder.press("save", headers={}, name="Not yet"))
    sign_in(client, "datahub")
    builder.response = client.get(back)
    assert Policy.objects.count() == before
    builder.press("save")
    assert Policy.objects.get(name="Not yet")
    assert not Draft.objects.exists()


def test_what_a_part_of_the_page_asks_for_is_kept_as_well(browse, world):
    client = browse("root")
    builder = Builder(client, NEW)
    client.session.flush()
    part = builder.press("refresh", headers={"HX-Request": "true", "HX-Target": "builder-aside"}, name="Typed")
    sign_in(client, "datahub")
    assert 'value="Typed"' in client.get(next_of(part)).content.decode()


@pytest.mark.parametrize("ticket", ["", "x", signing.dumps([1, NEW, "a", "b", ""])])
def test_nothing_is_kept_without_a_ticket_of_ours(world, ticket):
    refused = Client().post(NEW, {TICKET_FIELD: ticket, "name": "Theirs"})
    assert next_of(refused) == NEW
    assert Client().post("/drafts", {TICKET_FIELD: ticket, "name": "Theirs"}).status_code == 400
    assert not Draft.objects.exists()


def test_a_ticket_is_of_no_use_to_another_account(browse, world):
    foreign = ticket_of(world["root"])
    refused = browse("admin").post(NEW, {TICKET_FIELD: str(foreign), "name": "Whose?"})
    assert refused.status_code == 403
    assert "opened by another account" in refused.content.decode()


def test_a_form_older_than_the_sign_in_is_given_back(world):
    client = Client(enforce_csrf_checks=True)
    sign_in(client, "datahub")
    ticket = find_ticket(client.get(NEW))
    answer = client.post(NEW, {TICKET_FIELD: ticket, "name": "Older", "step": "1", "go": "save"})
    assert answer.status_code == 302
    assert Draft.objects.get().path == NEW
    part = client.post(NEW, {TICKET_FIELD: ticket, "name": "Older"}, headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"].startswith(f"{NEW}?draft=")
    sign_in(client, "ada")
    answer = client.post(NEW, {TICKET_FIELD: ticket, "name": "Older"})
    assert answer.status_code == 403
    assert "Somebody else has signed in" in answer.content.decode()
    client.logout()
    assert next_of(client.post(NEW, {TICKET_FIELD: ticket, "name": "Older"})).startswith(f"{NEW}?draft=")
    assert client.post(NEW, {"name": "Forged"}).status_code == 403
    assert keeping.list_drafts(user_id=world["root"].pk, path=NEW).count() == Draft.objects.count() == 1


#: Every page whose form keeps drafts: route, what it edits, and a field.
FORMS = (
    ("policy-new", (), "description"),
    ("policy-edit", ("urn:li:dataHubPolicy:stewards-ask",), "description"),
    ("datazone-new", (), "description"),
    ("guardrail-new", (), "description"),
    ("approval-rule-new", (), "name"),
    ("role-new", (), "description"),
    ("group-new", (), "description"),
    ("group-add", ("urn:li:corpGroup:team",), "reason"),
    ("role-assign", ("urn:li:dataHubRole:loaders",), "reason"),
    ("user-edit", ("urn:li:corpuser:otto",), "title"),
    ("service-account-new", (), "description"),
    ("profile-edit", (), "title"),
    ("external-role-new", (), "description"),
    ("assertions", (), "text"),
    ("entity-grants", (SHOP,), "reason"),
    ("entity-patterns", (SHOP,), "reason"),
    ("catalog-edit", ("description", TABLE), "text"),
)


def test_every_long_form_is_as_it_was_after_a_sign_in(browse, world, settings):
    settings.SHOW_ACCESS_MANAGEMENT = True
    store_shop()
    client, lost = browse("root"), []
    for route, arguments, name in FORMS:
        path = reverse(route, args=arguments)
        fields: dict[str, list[str]] = {}
        for key, value in Form(client.get(path).content.decode()).fields:
            fields.setdefault(key, []).append(value)
        assert name in fields, route
        client.session.flush()
        refused = client.post(path, fields | {name: ["Typed before"]})
        sign_in(client, "datahub")
        page = client.get(next_of(refused)).content.decode()
        if "Typed before" not in page or "This is your draft of" not in page:
            lost.append(route)
    assert lost == []


# ---- Back and reload ----


@pytest.mark.parametrize("go", ["save", "next"])
def test_a_refused_form_has_an_address_that_shows_it(browse, world, go):
    builder = Builder(browse("root"), NEW)
    builder.press(go, name="", description="Still there")
    assert builder.is_refused
    address = builder.response.request["PATH_INFO"] + "?" + builder.response.request["QUERY_STRING"]
    for page in (builder.response, builder.client.get(address)):
        assert page.status_code == 200
        assert page.context["notes"]["displayName"]["errors"] == ["This must not be blank."]
        assert "Still there" in page.content.decode()


def test_each_step_has_an_address_and_back_shows_it_as_it_was(browse, world):
    builder = Builder(browse("root"), NEW)
    first = builder.response.context["form_draft"]["address"]
    builder.press("next", name="Stepwise")
    assert builder.response.context["work"].step == 2
    builder.press("next", privileges=["EDIT_ENTITY_TAGS"])
    second = f"{NEW}?step=2&draft={builder.response.context['form_draft']['id']}"
    assert builder.response.context["work"].step == 3
    back = builder.client.get(second)
    assert back.context["work"].step == 2
    assert back.context["document"]["privileges"] == ["EDIT_ENTITY_TAGS"]
    assert 'value="Stepwise"' in builder.client.get(first).content.decode()


def test_what_saving_was_refused_for_is_still_said_after_a_reload(browse, world):
    builder = Builder(browse("root"), f"{NEW}?template=domains")
    builder.press("save", is_sure=False)
    address = builder.response.request["PATH_INFO"] + "?" + builder.response.request["QUERY_STRING"]
    page = builder.client.get(address)
    assert page.context["work"].questions
    assert "Save anyway" in page.content.decode()


def test_a_draft_over_an_older_version_says_so(browse, world, write):
    policy = write("shared", displayName="Shared")
    mine = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    mine.press("next", description="Mine")
    Builder(browse("admin"), f"{BASE}/edit/{policy.urn}").press("save", name="Shared by Ada")
    page = mine.client.get(f"{BASE}/edit/{policy.urn}?draft={Draft.objects.get(user=world['root']).pk}")
    assert "Somebody else saved version 2 in the meantime" in page.content.decode()
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    page = mine.client.get(f"{BASE}/edit/{policy.urn}?draft={Draft.objects.get(user=world['root']).pk}")
    assert "This policy was deleted" in page.content.decode()
    assert "Mine" in page.content.decode()


def test_the_form_of_a_role_is_kept_with_its_errors(browse, world):
    client = browse("root")
    address = fill(client, f"{ROLES}/new", name="", description="A role").headers["Location"]
    page = client.get(address).content.decode()
    assert "A role" in page
    assert "Nothing was saved. Please look at the marked fields." in page
    client.post(
        f"{ROLES}/new", {TICKET_FIELD: find_ticket(client.get(address)), "name": "Made", "description": "A role"}
    )
    assert not Draft.objects.exists()


def test_a_changed_role_is_compared_when_its_draft_is_opened(browse, world):
    root, ada = browse("root"), browse("admin")
    root.post(f"{ROLES}/new", {"name": "Team", "identifier": "team"})
    edit = f"{ROLES}/edit/urn:li:dataHubRole:team"
    seen = find_value(root.get(edit), "seen")
    ticket = find_ticket(root.get(edit))
    ada.post(edit, {"name": "Team", "description": "Theirs", "seen": seen})
    keep_answer = root.post("/drafts", {TICKET_FIELD: ticket, "name": "Team", "description": "Mine", "seen": seen})
    page = root.get(f"{edit}?draft={keep_answer.json()['draft']}").content.decode()
    assert "Both versions" in page
    assert "Theirs" in page
    assert f'value="{seen}"' not in page


def test_what_was_typed_about_a_role_that_was_removed_is_shown(browse, world):
    client, urn = browse("root"), "urn:li:dataHubRole:team"
    client.post(reverse("role-new"), {"name": "Team", "identifier": "team"})
    path = reverse("role-edit", args=[urn])
    page = client.get(path)
    fields = {TICKET_FIELD: find_ticket(page), "seen": find_value(page, "seen"), "name": "Team", "description": "Mine"}
    kept_address = f"{path}?draft={client.post('/drafts', fields).json()['draft']}"
    roles.delete(urn=urn, by=authorizer.SYSTEM, channel=DOOR)
    for address in (kept_address, client.post(path, fields).headers["Location"]):
        text = client.get(address).content.decode()
        assert "Mine</textarea>" in text
        assert "It was removed in the meantime." in text
    assert client.get(path).status_code == 404


def test_refused_assertions_are_shown_with_their_problems(browse, world):
    client, path = browse("root"), reverse("assertions")
    refused = fill(client, path, text="- name: odd", seen="0")
    page = client.get(refused.headers["Location"]).content.decode()
    assert "Nothing was saved." in page
    assert "- name: odd</textarea>" in page
    # Somebody else saves in the meantime, which is said; who has seen it may replace it.
    client.post(path, {"text": "# Theirs", "seen": "0"})
    draft = client.get(refused.headers["Location"])
    assert "Version 1 was saved after this draft was begun" in draft.content.decode()
    assert find_value(draft, "seen") == "1"


def test_a_changed_entity_is_compared_when_its_draft_is_shown(browse, world):
    store_shop()
    client, path = browse("root"), reverse("catalog-edit", args=["description", TABLE])
    ticket = find_ticket(client.get(path))
    client.post(path, {"text": "Theirs", "seen": ""})
    refused = client.post(path, {TICKET_FIELD: ticket, "text": "Mine", "seen": ""})
    page = client.get(refused.headers["Location"]).content.decode()
    assert "Somebody else changed this in the meantime." in page
    assert "<li>Theirs</li>" in " ".join(page.split()).replace("<li> ", "<li>").replace(" </li>", "</li>")
    assert "Mine</textarea>" in page


def test_a_pattern_that_was_asked_about_and_a_refused_grant_have_addresses(browse, world):
    store_shop()
    client, path = browse("root"), reverse("entity-patterns", args=[SHOP])
    shown = fill(
        client, path, kind="stream", start="cl", reason="For March", valid_until="2099-01-01T00:00", preview="yes"
    )
    page = client.get(shown.headers["Location"]).content.decode()
    assert "stands for" in page
    assert "For March" in page
    refused = fill(client, reverse("entity-grants", args=[SHOP]), reason="For April")
    page = client.get(refused.headers["Location"]).content.decode()
    assert "Choose who gets it." in page
    assert "For April" in page


def test_what_waits_for_changes_of_a_form_is_not_replaced_by_its_own_answer():
    """With the element its timer would go, and what is changed during an answer would never be asked for."""
    texts = [file.read_text(encoding="utf-8") for file in (site_settings.BASE_DIR / "templates").rglob("*.html")]
    waiting = [tag for text in texts for tag in re.findall(r"<div[^<]*delay:\d+ms from:#[^<]*", text)]
    assert len(waiting) == 3
    assert all('hx-swap="innerHTML"' in tag for tag in waiting)


# ---- whose they are, how many, how long ----


def test_a_draft_is_kept_during_typing_also_without_a_session(world):
    root = world["root"]
    client, ticket = Client(), ticket_of(root)
    answer = keep(ticket, name="One")
    assert answer.json() == {
        "draft": str(ticket.draft_id),
        "at": f"{Draft.objects.get().changed_at:%H:%M} UTC",
        "is_signed_in": False,
    }
    client.force_login(root, "django.contrib.auth.backends.ModelBackend")
    answer = client.post("/drafts", {TICKET_FIELD: str(ticket), "name": "Two", "csrfmiddlewaretoken": "secret"})
    assert answer.json()["is_signed_in"] is True
    assert Draft.objects.get().fields == urlencode({"name": "Two"})
    assert "There is a draft of this" in client.get(NEW).content.decode()


def test_two_pages_of_one_draft_do_not_overwrite_each_other(world):
    root = world["root"]
    first = ticket_of(root)
    keep(first, name="First")
    # A second page opens the draft, and both type on.
    second = DraftTicket.create(user_id=root.pk, path=NEW, draft_id=first.draft_id, previous=first.page)
    keep(second, name="Second")
    keep(first, name="First again")
    answer = keep(first, name="First once more")
    kept = {str(draft.pk): draft.fields for draft in Draft.objects.all()}
    assert kept == {str(first.draft_id): "name=Second", answer.json()["draft"]: "name=First+once+more"}
    keeping.delete_saved_draft(first)
    assert Draft.objects.get().fields == "name=Second"


def test_pages_opened_side_by_side_have_a_draft_each(browse, world):
    one, other = Builder(browse("root"), NEW), Builder(browse("root"), NEW)
    one.press("save", description="One")
    other.press("save", description="Other")
    page = one.client.get(NEW).content.decode()
    assert page.count(">Continue</a>") == 2
    one.press("save", name="Saved", privileges=["EDIT_ENTITY_TAGS"])
    assert "Other" in "".join(Draft.objects.values_list("fields", flat=True))


def test_a_draft_is_discarded_by_its_owner_alone(browse, world):
    ticket = ticket_of(world["root"])
    keep(ticket, name="Mine")
    body = {"draft": str(ticket.draft_id)}
    assert browse("admin").post("/drafts/discard", body).status_code == 404
    assert Draft.objects.exists()
    assert browse("root").post("/drafts/discard", body).headers["Location"] == NEW
    assert not Draft.objects.exists()
    assert browse("root").post("/drafts/discard", {"draft": "x"}).status_code == 404


def test_drafts_are_few_short_and_for_a_time(world, monkeypatch, settings):
    monkeypatch.setattr(keeping, "MAX_DRAFTS", 2)
    root = world["root"]
    for number in range(3):
        keep(ticket_of(root), name=str(number))
    assert set(Draft.objects.values_list("fields", flat=True)) == {"name=1", "name=2"}
    monkeypatch.setattr(keeping, "MAX_DRAFT_LENGTH", 100)
    assert keep(ticket_of(root), name="x" * 100).status_code == 422
    settings.DRAFT_DAYS = 3
    old = Draft.objects.get(fields="name=1")
    Draft.objects.filter(pk=old.pk).update(changed_at=timezone.now() - timedelta(days=4))
    assert keeping.find_draft(user_id=root.pk, path=NEW, draft_id=old.pk) is None
    assert tasks.forget_drafts() == 1
    assert Draft.objects.get().fields == "name=2"


def test_a_form_that_is_too_long_to_be_kept_is_answered_at_once(browse, world, monkeypatch):
    monkeypatch.setattr(keeping, "MAX_DRAFT_LENGTH", 10)
    response = fill(browse("root"), f"{ROLES}/new", name="", description="Too long for a draft")
    assert response.status_code == 422
    assert "Too long for a draft" in response.content.decode()


def test_nobody_keeps_anything_for_who_may_not_act_and_drafts_go_with_their_user(world):
    otto = world["outsider"]
    keep(ticket_of(otto), name="Mine")
    users.suspend(urn=otto.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert keep(ticket_of(otto), name="More").status_code == 422
    assert Draft.objects.get().fields == "name=Mine"
    users.remove(urn=otto.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert not Draft.objects.exists()


def test_no_form_with_a_password_keeps_drafts(world):
    request = RequestFactory().get("/")
    request.user = world["root"]
    with pytest.raises(ImproperlyConfigured, match="password"):
        FormPage(request, NewUserForm, keeps_draft=True)
