"""Every page about people: it answers, who may not is told the privilege, and its cost does not grow with its rows."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from policies.authoring.services import policies
from policies.identity.services import (
    access_tokens,
    groups,
    invitations,
    password_resets,
    roles,
    service_accounts,
    users,
)
from policies.pdp import authorizer
from tests.costs import compare_costs
from tests.web.conftest import DOOR, client_of
from tests.web.test_markup import HOSTILE, check

SYSTEM = authorizer.SYSTEM
USERS, GROUPS = "/settings/identities/users", "/settings/identities/groups"
ROLES, SERVICES = "/settings/permissions/roles", "/settings/identities/service-accounts"

#: Privileges of which one is needed: the answer names the first of them.
ALTERNATIVES = {
    "MANAGE_USERS_AND_GROUPS": ("UPDATE_USERS_AND_GROUPS", "CREATE_USERS_AND_GROUPS"),
    "MANAGE_SERVICE_ACCOUNTS": ("MANAGE_ACCESS_TOKENS",),
}


def pages(crew):
    """Address → the privilege that alone opens it."""
    group, external, role, service = (crew[name].urn for name in ("group", "external", "role", "service"))
    user = "urn:li:corpuser:stella"
    return {
        USERS: "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/new": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/{user}": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/edit/{user}": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/suspend/{user}": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/remove/{user}": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/groups/{user}": "MANAGE_USERS_AND_GROUPS",
        f"{USERS}/reset/{user}": "MANAGE_USER_CREDENTIALS",
        f"{USERS}/roles/{user}": "MANAGE_POLICIES",
        f"{USERS}/invite": "MANAGE_USER_CREDENTIALS",
        GROUPS: "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/new": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/{group}": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/{external}": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/edit/{group}": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/delete/{group}": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/add/{group}": "MANAGE_USERS_AND_GROUPS",
        f"{GROUPS}/roles/{group}": "MANAGE_POLICIES",
        ROLES: "MANAGE_POLICIES",
        f"{ROLES}/new": "MANAGE_POLICIES",
        f"{ROLES}/{role}": "MANAGE_POLICIES",
        f"{ROLES}/edit/{role}": "MANAGE_POLICIES",
        f"{ROLES}/delete/{role}": "MANAGE_POLICIES",
        f"{ROLES}/assign/{role}": "MANAGE_POLICIES",
        SERVICES: "MANAGE_SERVICE_ACCOUNTS",
        f"{SERVICES}/new": "MANAGE_SERVICE_ACCOUNTS",
        f"{SERVICES}/{service}": "MANAGE_SERVICE_ACCOUNTS",
        f"{SERVICES}/edit/{service}": "MANAGE_SERVICE_ACCOUNTS",
        f"{SERVICES}/delete/{service}": "MANAGE_SERVICE_ACCOUNTS",
        "/settings/tokens?whose=ALL": "MANAGE_ACCESS_TOKENS",
        "/settings/tokens/new?owner=urn:li:corpuser:stella": "MANAGE_ACCESS_TOKENS",
        f"/settings/tokens/new?owner={service}": "MANAGE_SERVICE_ACCOUNTS",
        f"/settings/tokens/revoke/{crew['token'].token.pk}": "MANAGE_SERVICE_ACCOUNTS",
    }


def test_root_sees_them_all_and_an_outsider_is_told_the_privilege(browse, crew):
    root, outsider = browse("root"), browse("outsider")
    for address, privilege in pages(crew).items():
        response = root.get(address)
        assert response.status_code == 200, address
        check(response)
        refused = outsider.get(address)
        assert refused.status_code == 403, address
        named = {need["privilege"] for need in refused.context["missing"]}
        assert len(named) == 1, address
        assert named & {privilege, *ALTERNATIVES.get(privilege, ())}, address
        assert Client().get(address).headers["Location"].startswith("/login?next=")


def test_the_privilege_alone_opens_the_page(manager, crew, write):
    found: dict[str, int] = {}
    for privilege in sorted(set(pages(crew).values())):
        client = manager(privilege)
        found |= {
            address: client.get(address).status_code for address, needed in pages(crew).items() if needed == privilege
        }
        policies.delete(urn="urn:li:dataHubPolicy:managers", by=SYSTEM, channel=DOOR)
    assert {address for address, status in found.items() if status != 200} == set()


def test_what_somebody_may_not_use_is_not_shown(manager, crew):
    client = manager("MANAGE_USERS_AND_GROUPS")
    page = client.get(USERS).content.decode()
    assert "/settings/permissions" not in page
    assert "/settings/identities/service-accounts" not in page
    assert "Invite users" not in page
    assert "Reset link" not in page
    assert GROUPS in page
    stella = client.get(f"{USERS}/urn:li:corpuser:stella").content.decode()
    assert "Change roles" not in stella
    assert "Add to groups" in stella


LISTS = [USERS, GROUPS, ROLES, SERVICES, "/settings/tokens?whose=ALL"]


@pytest.fixture(scope="module")
def costs_of_lists(crew_of_module, module_transaction):
    """The queries of each list with five rows of everything and with fifty."""
    assert module_transaction
    group, role = crew_of_module["group"].urn, crew_of_module["role"].urn

    def fill(first, last):
        for number in range(first, last):
            user = users.create(username=f"u{number}", groups=[group], roles=[role], by=SYSTEM, channel=DOOR)
            groups.create(identifier=f"g{number}", name=f"G {number}", roles=[role], by=SYSTEM, channel=DOOR)
            roles.create(identifier=f"r{number}", name=f"R {number}", by=SYSTEM, channel=DOOR)
            service_accounts.create(display_name=f"S {number}", by=SYSTEM, channel=DOOR)
            access_tokens.create(owner=user.urn, name="t", by=SYSTEM, channel=DOOR)

    questions = {address: (f"{address}{'&' if '?' in address else '?'}size=50", ()) for address in LISTS}
    costs = compare_costs(client_of("root"), questions.values(), fill=fill, few=5, many=50)
    return {address: costs[question] for address, question in questions.items()}


@pytest.mark.parametrize("address", LISTS)
def test_a_list_costs_the_same_with_five_rows_and_with_fifty(costs_of_lists, db, address):
    few, many = costs_of_lists[address]
    assert many == few
    assert few <= 25


def test_members_and_holders_cost_the_same_however_many(browse, crew):
    client = browse("root")
    addresses = [f"{GROUPS}/{crew['group'].urn}", f"{ROLES}/{crew['role'].urn}"]

    def costs():
        found = []
        for address in addresses:
            with CaptureQueriesContext(connection) as caught:
                client.get(address)
            found.append(len(caught))
        return found

    costs()
    few = costs()
    for number in range(30):
        users.create(
            username=f"u{number}", groups=[crew["group"].urn], roles=[crew["role"].urn], by=SYSTEM, channel=DOOR
        )
    assert all(many <= before for many, before in zip(costs(), few, strict=True)), "a page without groups asks less"


def test_hostile_names_stay_text_on_every_page(browse, crew):
    name = HOSTILE[:200]
    users.create(username="hostile", display_name=name, email=name, title=name, by=SYSTEM, channel=DOOR)
    group = groups.create(
        identifier="<b>", name=name, description=HOSTILE, members=["urn:li:corpuser:hostile"], by=SYSTEM, channel=DOOR
    )
    role = roles.create(identifier="</title>", name=name, description=HOSTILE, by=SYSTEM, channel=DOOR)
    roles.grant(urn=role.urn, actors=["urn:li:corpuser:hostile", group.urn], by=SYSTEM, channel=DOOR)
    service = service_accounts.create(display_name=name, description=HOSTILE, by=SYSTEM, channel=DOOR)
    access_tokens.create(owner=service.urn, name=name, description=HOSTILE, by=SYSTEM, channel=DOOR)
    invitations.create(role=role.urn, by=SYSTEM, channel=DOOR)
    client = browse("root")
    addresses = [
        f"{USERS}?q=script",
        f"{USERS}/urn:li:corpuser:hostile",
        f"{USERS}/edit/urn:li:corpuser:hostile",
        f"{USERS}/remove/urn:li:corpuser:hostile",
        f"{USERS}/roles/urn:li:corpuser:hostile",
        f"{USERS}/invite",
        f"{GROUPS}?q=script",
        f"{GROUPS}/{group.urn}",
        f"{ROLES}?q=script",
        f"{ROLES}/{role.urn}",
        f"{SERVICES}/{service.urn}",
        "/settings/tokens?whose=ALL",
        "/settings/identities/options?kind=holder&name=%3Cb%3E&q=script",
    ]
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200, address
        check(response)
        assert "&lt;script&gt;alert(1)" in response.content.decode(), address


def test_the_public_pages_keep_to_it_too(browse, crew, person):
    person("jo", display_name=HOSTILE[:200])
    reset = password_resets.create(urn="urn:li:corpuser:jo", by=SYSTEM, channel=DOOR)
    invite = invitations.create(role=None, by=SYSTEM, channel=DOOR)
    for address in (
        f"/reset?reset_token={reset.text}",
        f"/signup?invite_token={invite.text}",
        "/signup?invite_token=%3Cscript%3E",
        "/reset",
    ):
        response = Client().get(address)
        assert response.status_code == (200 if "az" in address else 404)
        assert "no-store" in response.headers["Cache-Control"]
        check(response)


def test_htmx_gets_the_list_alone_and_a_question_for_the_dialog(browse, crew):
    client = browse("root")
    for address in (USERS, GROUPS, ROLES, SERVICES, "/settings/tokens", f"{GROUPS}/{crew['group'].urn}"):
        part = client.get(address, headers={"HX-Request": "true"})
        assert "<html" not in part.content.decode(), address
        assert "HX-Request" in part.headers["Vary"]
    for address in (f"{USERS}/suspend/urn:li:corpuser:stella", f"{USERS}/invite"):
        part = client.get(address, headers={"HX-Request": "true"}).content.decode()
        assert "<html" not in part
        assert 'id="dialog-title"' in part
