"""What a page of people counts, lists and links is all of it, or the page says that there is more."""

from datetime import timedelta

from django.test import RequestFactory
from django.utils import timezone

from policies.http.pages import list_and_form_pages
from policies.identity.services import access_tokens, roles
from policies.models import AccessToken, InviteToken
from policies.pdp import authorizer
from tests.web.conftest import DOOR

SERVICES = "/settings/identities/service-accounts"


def add_tokens(owner, count):
    ends = timezone.now() + timedelta(days=1)
    AccessToken.objects.bulk_create(
        AccessToken(
            user=owner,
            name=f"token {number:03}",
            digest=f"{number:064}",
            prefix="x",
            expires_at=ends,
            created_by=owner.urn,
        )
        for number in range(count)
    )


def test_the_tokens_of_a_service_account_go_on_on_the_next_page(browse, crew):
    add_tokens(crew["service"], 100)
    client = browse("root")
    address = f"{SERVICES}/{crew['service'].urn}"
    first, second = client.get(address), client.get(f"{address}?page=2")
    assert (len(first.context["tokens"]), len(second.context["tokens"])) == (100, 1)
    assert all("of 101" in " ".join(page.content.decode().split()) for page in (first, second))


def test_the_own_tokens_go_on_on_the_next_page(browse, world):
    client = browse("root")
    for number in range(21):
        access_tokens.create(owner="urn:li:corpuser:datahub", name=f"t{number}", by=authorizer.SYSTEM, channel=DOOR)
    first, second = client.get("/profile"), client.get("/profile?page=2")
    assert (len(first.context["tokens"]), len(second.context["tokens"])) == (20, 1)
    assert "of 21" in " ".join(first.content.decode().split())


def test_invitations_go_on_on_the_next_page(browse, world):
    made = [
        roles.create(identifier=f"r{number}", name=f"Role {number}", by=authorizer.SYSTEM, channel=DOOR)
        for number in range(101)
    ]
    ends = timezone.now() + timedelta(days=1)
    InviteToken.objects.bulk_create(
        InviteToken(role=role, digest=f"{number:064}", expires_at=ends, created_by="urn:li:corpuser:datahub")
        for number, role in enumerate(made)
    )
    client = browse("root")
    address = "/settings/identities/users/invite"
    first, second = client.get(address), client.get(f"{address}?page=2")
    assert (len(first.context["live"]), len(second.context["live"])) == (100, 1)
    assert "of 101" in " ".join(first.content.decode().split())


def test_a_link_with_a_secret_carries_any_text():
    request = RequestFactory().get("/")
    link = list_and_form_pages.build_absolute_link(request, "reset", reset_token="a&b c#d")
    assert link == "http://testserver/reset?reset_token=a%26b+c%23d"


def test_the_roles_of_a_service_account_lead_back_to_its_page(browse, crew):
    client = browse("root")
    urn = crew["service"].urn
    saved = client.post(f"/settings/identities/users/roles/{urn}", {"roles": [crew["role"].urn]})
    assert client.get(saved.headers["Location"]).status_code == 200
