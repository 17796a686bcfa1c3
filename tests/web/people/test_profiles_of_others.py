"""Who may change a part of somebody's profile, or of a group's, has a form for that part and sees nothing else."""

from urllib.parse import quote

import pytest

from policies.identity.services import users
from policies.models import GroupProfile, User
from policies.pdp import authorizer
from tests.web.conftest import DOOR

pytestmark = pytest.mark.django_db

STELLA, CREW = "urn:li:corpuser:stella", "urn:li:corpGroup:crew"
PAGES = {"user": "/settings/identities/users", "group": "/settings/identities/groups"}
FIELDS = {"display_name", "title", "description", "email", "name"}


@pytest.fixture
def holder(browse, crew, write):
    """Return a client of somebody who holds these privileges on one user or group, and nothing else."""

    def make(urn, *privileges):
        resources = {"filter": {"criteria": [{"field": "URN", "values": [urn], "condition": "EQUALS"}]}}
        actors = {"users": ["urn:li:corpuser:otto"]}
        write("one", displayName="One", privileges=list(privileges), actors=actors, resources=resources)
        return browse("outsider")

    return make


def fields_of(answer):
    return FIELDS & set(answer.context["page"].form.fields)


def test_who_may_change_a_profile_has_the_profile_and_not_the_address(holder):
    users.update(urn=STELLA, email="stella@a.example", title="Pilot", by=authorizer.SYSTEM, channel=DOOR)
    client = holder(STELLA, "EDIT_USER_PROFILE")
    page = client.get(f"{PAGES['user']}/{STELLA}")
    text = page.content.decode()
    assert f"{PAGES['user']}/edit/{quote(STELLA, safe=':')}" in text
    assert "stella@a.example" not in text
    assert "Pilot" not in text
    form = client.get(f"{PAGES['user']}/edit/{STELLA}")
    assert fields_of(form) == {"display_name", "title", "description"}
    assert "stella@a.example" not in form.content.decode()
    posted = {"display_name": "Stella", "title": "Captain", "description": "", "email": "taken@a.example"}
    answer = client.post(f"{PAGES['user']}/edit/{STELLA}", posted, follow=True)
    assert answer.redirect_chain == [(f"{PAGES['user']}/{quote(STELLA, safe=':')}", 302)]
    assert answer.status_code == 200
    stella = User.objects.get(urn=STELLA)
    assert (stella.display_name, stella.title, stella.email) == ("Stella", "Captain", "stella@a.example")
    assert client.get(f"{PAGES['user']}/edit/urn:li:corpuser:ada").status_code == 403
    # One's own profile has a page of its own.
    assert client.get(f"{PAGES['user']}/edit/urn:li:corpuser:otto").status_code == 403


def test_who_may_change_the_ways_to_reach_somebody_has_the_address_alone(holder):
    client = holder(STELLA, "EDIT_CONTACT_INFO")
    assert fields_of(client.get(f"{PAGES['user']}/edit/{STELLA}")) == {"email"}
    client.post(f"{PAGES['user']}/edit/{STELLA}", {"email": "new@a.example", "title": "Captain"})
    stella = User.objects.get(urn=STELLA)
    assert (stella.email, stella.title) == ("new@a.example", "")


@pytest.mark.parametrize(
    ("privilege", "fields", "typed"),
    [
        ("EDIT_CONTACT_INFO", {"email"}, {"email": "crew@a.example"}),
        ("EDIT_ENTITY_DOCS", {"description"}, {"description": "Who sails"}),
        (
            "EDIT_ENTITY",
            {"name", "description", "email"},
            {"name": "Crew", "description": "All", "email": "c@a.example"},
        ),
    ],
)
def test_a_group_is_edited_as_far_as_somebody_may(holder, privilege, fields, typed):
    client = holder(CREW, privilege)
    address = f"{PAGES['group']}/edit/{CREW}"
    assert fields_of(client.get(address)) == fields
    answer = client.post(
        address, {"name": "Other", "description": "Other", "email": "other@a.example"} | typed, follow=True
    )
    assert answer.status_code == 200
    group = GroupProfile.objects.get(urn=CREW)
    stored = {"name": "Crew", "description": "", "email": ""} | typed
    assert {field: getattr(group, field) for field in stored} == stored


def test_a_conflict_shows_no_more_than_the_form(holder):
    client = holder(STELLA, "EDIT_USER_PROFILE")
    seen = client.get(f"{PAGES['user']}/edit/{STELLA}").context["page"].form.initial["seen"]
    users.update(urn=STELLA, email="new@a.example", title="Pilot", by=authorizer.SYSTEM, channel=DOOR)
    users.suspend(urn=STELLA, by=authorizer.SYSTEM, channel=DOOR)
    answer = client.post(
        f"{PAGES['user']}/edit/{STELLA}", {"display_name": "Stella Steward", "title": "Captain", "seen": seen}
    )
    assert [row["label"] for row in answer.context["page"].edit_conflict["rows"]] == ["Title"]
    assert "new@a.example" not in answer.content.decode()
