"""People in a real browser: invited, signed up, given a role, found by a picker, suspended; a token is seen once."""

import re

import pytest
from playwright.sync_api import expect

from policies.authoring.services import policies, policy_drafts
from policies.identity.queries import users_groups_roles
from policies.identity.services import (
    access_tokens,
    groups,
    invitations,
    password_resets,
    roles,
    service_accounts,
    users,
)
from policies.models import User
from policies.pdp import authorizer
from tests.journeys.browsing import barriers, problems, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

USERS, GROUPS = "/settings/identities/users", "/settings/identities/groups"
ROLES, SERVICES = "/settings/permissions/roles", "/settings/identities/service-accounts"
PASSWORD = "correct horse battery"
DOOR = "test"
ROOT = ("datahub", "datahub")
JANE = "urn:li:corpuser:jane"


@pytest.fixture
def site(installation: str) -> str:
    """Serve a bootstrapped installation with people, groups, a role, a service account and links."""
    by = authorizer.SYSTEM
    users.create(
        username="jane", display_name="Jane Doe", email="jane@site.example", password=PASSWORD, by=by, channel=DOOR
    )
    for number in range(30):
        users.create(username=f"reader{number:02}", display_name=f"Reader {number:02}", by=by, channel=DOOR)
    groups.create(
        identifier="crew", name="Crew", description="Keeps the lights on", members=[JANE], by=by, channel=DOOR
    )
    groups.create(identifier="hr", name="From HR", origin="EXTERNAL", members=[JANE], by=by, channel=DOOR)
    steward = roles.create(
        identifier="steward", name="Data Steward", description="Looks after data", by=by, channel=DOOR
    )
    roles.grant(urn=steward.urn, actors=[JANE, "urn:li:corpGroup:crew"], by=by, channel=DOOR)
    service = service_accounts.create(display_name="Nightly load", description="Loads at night", by=by, channel=DOOR)
    access_tokens.create(owner=service.urn, name="loader", by=by, channel=DOOR)
    access_tokens.create(owner="urn:li:corpuser:datahub", name="laptop", description="For the CLI", by=by, channel=DOOR)
    return installation


def test_invited_signed_up_given_a_role_and_suspended(site, opened):
    root = opened()
    sign_in(root, f"{site}{USERS}", *ROOT)
    root.get_by_role("link", name="Invite users").click()
    dialog = root.get_by_role("dialog")
    dialog.get_by_label("Role").select_option(label="Data Steward")
    dialog.get_by_role("button", name="Create the link").click()
    link = root.get_by_label("Invitation link").input_value()
    root.goto(f"{site}{USERS}/invite")
    assert link not in root.content()

    newcomer = opened()
    newcomer.goto(link)
    expect(newcomer.get_by_text("You are invited as")).to_contain_text("Data Steward")
    newcomer.get_by_label("User name").fill("nina")
    newcomer.get_by_label("Full name").fill("Nina New")
    newcomer.get_by_label("Password", exact=True).fill(PASSWORD)
    newcomer.get_by_label("Password again").fill("something else")
    newcomer.get_by_role("button", name="Sign up").click()
    expect(newcomer.get_by_text("The two are not the same.")).to_be_visible()
    expect(newcomer.get_by_label("Full name")).to_have_value("Nina New")
    newcomer.get_by_label("Password", exact=True).fill(PASSWORD)
    newcomer.get_by_label("Password again").fill(PASSWORD)
    newcomer.get_by_role("button", name="Sign up").click()
    newcomer.goto(f"{site}/profile")
    expect(newcomer.get_by_role("heading", level=1)).to_have_text("Nina New")
    expect(newcomer.get_by_role("region", name="Roles")).to_contain_text("Data Steward")

    root.goto(f"{site}{USERS}?q=nina")
    root.get_by_role("link", name="Suspend").click()
    root.get_by_role("dialog").get_by_role("button", name="Suspend user").click()
    expect(root.get_by_text("Nina New is suspended.")).to_be_visible()
    newcomer.reload()
    expect(newcomer).to_have_url(re.compile("/login"))
    newcomer.get_by_label("Username").fill("nina")
    newcomer.get_by_label("Password").fill(PASSWORD)
    newcomer.get_by_role("button", name="Sign in").click()
    expect(newcomer.get_by_text("This account is suspended")).to_be_visible()


def test_a_token_is_seen_once_and_revoked(site, opened):
    page = opened()
    sign_in(page, f"{site}/settings/tokens", *ROOT)
    page.get_by_role("link", name="New token").click()
    page.get_by_label("Name").fill("Build server")
    page.get_by_label("Valid for").select_option(label="1 day")
    page.get_by_role("button", name="Create token").click()
    secret = page.get_by_role("textbox", name="Access token").input_value()
    assert re.fullmatch("azs_[A-Za-z0-9_-]{43}", secret)
    page.get_by_role("link", name="Done").click()
    assert secret not in page.content()
    row = page.get_by_role("row", name=re.compile("Build server"))
    expect(row).to_contain_text("Never")
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
    expect(page.get_by_text("Build server is revoked.")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Build server"))).to_have_count(0)


def test_people_are_picked_by_search_and_put_into_a_group(site, opened):
    page = opened()
    sign_in(page, f"{site}{GROUPS}/urn:li:corpGroup:crew", *ROOT)
    page.get_by_role("link", name="Add members").click()
    page.get_by_role("searchbox").fill("read 17")
    page.get_by_role("checkbox", name=re.compile("Reader 17")).check()
    page.get_by_role("searchbox").fill("reader")
    expect(page.locator("#members-options")).to_contain_text("The first 20; type more to narrow them.")
    page.get_by_role("checkbox", name=re.compile("Reader 03")).check()
    page.get_by_role("button", name="Add members").click()
    expect(page.get_by_text("Added 2 members.")).to_be_visible()
    assert users_groups_roles.load_member_urns(groups=["urn:li:corpGroup:crew"])["urn:li:corpGroup:crew"] == [
        JANE,
        "urn:li:corpuser:reader03",
        "urn:li:corpuser:reader17",
    ]


def test_everything_works_without_scripts(site, opened):
    page = opened(java_script_enabled=False)
    sign_in(page, f"{site}{USERS}?q=jane", *ROOT)
    page.get_by_role("link", name="Remove").click()
    expect(page.get_by_role("heading", name="Remove Jane Doe?")).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Add to groups").click()
    page.get_by_text("Paste URNs").click()
    page.get_by_label("Groups: URNs, one a line").fill("urn:li:corpGroup:hr")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("come from its identity source")).to_be_visible()
    assert page.get_by_label("Groups: URNs, one a line").input_value() == "urn:li:corpGroup:hr"
    page.goto(f"{site}{ROLES}/new")
    page.get_by_label("Name").fill("Auditor")
    page.get_by_role("button", name="Create role").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Auditor")


@pytest.mark.drawn(2)
def test_what_only_many_people_or_a_link_show_has_no_barrier(site, opened):
    page = opened()
    reset = password_resets.create(urn=JANE, by=authorizer.SYSTEM, channel=DOOR).text
    invite = invitations.create(role="urn:li:dataHubRole:steward", by=authorizer.SYSTEM, channel=DOOR).text
    service = User.objects.get(kind=User.Kind.SERVICE).urn
    found = {}
    for address in (f"/reset?reset_token={reset}", f"/signup?invite_token={invite}", "/signup"):
        page.goto(f"{site}{address}")
        found[address] = problems(page)
    sign_in(page, f"{site}{USERS}", *ROOT)
    for address in (
        USERS,
        f"{USERS}/{JANE}",
        f"{GROUPS}/urn:li:corpGroup:crew",
        f"{GROUPS}/urn:li:corpGroup:hr",
        f"{GROUPS}/times/urn:li:corpGroup:crew?member={JANE}",
        f"{ROLES}/urn:li:dataHubRole:steward",
        f"{ROLES}/times/urn:li:dataHubRole:steward?actor={JANE}",
        f"{SERVICES}/{service}",
        "/settings/tokens?whose=ALL",
        f"/signup?invite_token={invite}",
    ):
        page.goto(f"{site}{address}")
        found[address] = problems(page)
    page.goto(f"{site}{USERS}/new")
    page.get_by_role("button", name="Create user").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    found["mistakes"] = problems(page)
    assert {address: lines for address, lines in found.items() if lines} == {}


def test_what_a_role_would_give_is_said_while_people_are_chosen(site, opened):
    document = {
        "displayName": "Stewards manage tags",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"roles": ["urn:li:dataHubRole:steward"]},
        "editable": True,
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)
    root = opened()
    sign_in(root, f"{site}{ROLES}/assign/urn:li:dataHubRole:steward", *ROOT)
    effect = root.get_by_role("region", name="Who gains and who loses")
    expect(effect).to_contain_text("No one's access changes today")
    root.get_by_label("Search users and groups").fill("reader 07")
    root.get_by_role("checkbox", name=re.compile("Reader 07")).check()
    expect(effect).to_contain_text("Reader 07 gains the platform privilege Manage Tags.")
    assert barriers(root) == []
    root.get_by_role("button", name="Assign").click()
    expect(root.get_by_text("1 more holds Data Steward.")).to_be_visible()

    plain = opened(java_script_enabled=False)
    sign_in(plain, f"{site}{ROLES}/assign/urn:li:dataHubRole:steward", *ROOT)
    plain.get_by_text("Paste URNs").click()
    plain.get_by_label("Users and groups: URNs, one a line").fill("urn:li:corpuser:reader08")
    plain.get_by_role("button", name="Show the effect of saving").click()
    expect(plain.get_by_role("region", name="Who gains and who loses")).to_contain_text("Reader 08 gains")
    expect(plain.get_by_role("checkbox", name=re.compile("Reader 08"))).to_be_checked()


def test_the_second_of_two_sees_both_versions_and_a_list_keeps_its_length(site, opened):
    root = opened()
    sign_in(root, f"{site}{USERS}/edit/{JANE}", *ROOT)
    users.update(urn=JANE, title="Baker", description="Bakes bread", by=authorizer.SYSTEM, channel=DOOR)
    root.get_by_label("Title").fill("Brewer")
    root.get_by_role("button", name="Save").click()
    both = root.get_by_role("table")
    expect(both.get_by_role("row", name="Title")).to_contain_text("Baker")
    expect(both.get_by_role("row", name="Title")).to_contain_text("Brewer")
    expect(root.get_by_label("Title")).to_have_value("Brewer")
    assert barriers(root) == []
    root.get_by_role("button", name="Save").click()
    expect(root.get_by_text("Saved Jane Doe.")).to_be_visible()

    root.goto(f"{site}{USERS}")
    sizes = root.get_by_role("navigation", name="Rows per page")
    sizes.get_by_role("link", name="10 rows").click()
    root.wait_for_url(f"{site}{USERS}?size=10")
    root.get_by_role("searchbox").fill("reader")
    expect(root.locator("#users")).to_contain_text("of 30")
    expect(root.locator("#users tbody tr")).to_have_count(10)
    assert barriers(root) == []
