"""Who gets in by a provider of identities, as whom, and with what: asked of a real provider on loopback."""

import base64
import hashlib

import pytest
from allauth.socialaccount.models import SocialAccount
from django.core.management import call_command
from django.test import Client

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies, policy_drafts
from policies.errors import Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, service_accounts, users
from policies.identity.services.oidc_claims import ExternalIdentity, parse_identity
from policies.models import ChangeEvent, GroupProfile, Membership, User
from policies.pdp import authorizer, snapshot_store
from tests.doors.oidc.conftest import consent, leave, query_of, sign_in

DOOR = "test"
PASSWORD = "correct horse battery"
JANE = "urn:li:corpuser:jane"


def jane(place, **more):
    claims = {"preferred_username": "jane", "name": "Jane Doe", "email": "jane@acme.example", "email_verified": True}
    place.knows("0001", **claims | more)


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def reason(response) -> str:
    return " ".join(response.content.decode().partition('role="alert">')[2].partition("</p>")[0].split())


def held(urn: str = JANE) -> User:
    return users_groups_roles.get_user(urn=urn)


def test_the_first_sign_in_makes_an_account_and_leads_where_one_wanted_to_go(provider, client):
    jane(provider, groups=["engineers"])
    response = sign_in(client, "0001", next_url="/why?x=1")
    assert (response.status_code, response.headers["Location"]) == (302, "/why?x=1")
    user = held()
    assert (user.display_name, user.email, user.created_by) == ("Jane Doe", "jane@acme.example", JANE)
    assert user.group_urns == ["urn:li:corpGroup:engineers"]
    assert not user.has_usable_password()
    assert client.get("/why").status_code == 200
    assert set(ChangeEvent.objects.filter(object_urn=JANE).values_list("door", flat=True)) == {"oidc"}


def test_the_provider_is_asked_with_state_nonce_and_a_challenge_that_nobody_chose(provider, client):
    jane(provider)
    answer = client.get("/login/oidc?scope=admin&process=connect&auth_params=nonce%3Dmine%26prompt%3Dnone&state=mine")
    asked = query_of(answer.headers["Location"])
    assert asked["response_type"] == "code"
    assert asked["redirect_uri"] == "http://testserver/login/oidc/callback"
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}
    assert asked["code_challenge_method"] == "S256"
    again = query_of(leave(client))
    for name in ("state", "nonce", "code_challenge"):
        assert len(asked[name]) >= 32
        assert asked[name] != again[name]
    assert asked["nonce"] != asked["state"]
    assert "prompt" not in asked
    verifiers = [state[0]["pkce_code_verifier"] for state in client.session["socialaccount_states"].values()]
    made = [base64.urlsafe_b64encode(hashlib.sha256(one.encode()).digest()).rstrip(b"=").decode() for one in verifiers]
    assert made == [asked["code_challenge"], again["code_challenge"]]


def test_the_way_back_is_below_the_public_address(provider, client, settings):
    settings.PUBLIC_URL = "https://authz.example"
    assert query_of(leave(client))["redirect_uri"] == "https://authz.example/login/oidc/callback"


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "https:///x"])
def test_nobody_is_sent_elsewhere(provider, client, elsewhere):
    jane(provider)
    assert sign_in(client, "0001", next_url=elsewhere).headers["Location"] == "/"
    assert client.get("/login/oidc", {"next": elsewhere}).headers["Location"] == "/"


def test_who_is_signed_in_is_not_sent_to_the_provider(provider, client):
    jane(provider)
    sign_in(client, "0001")
    assert client.get("/login/oidc?next=/why").headers["Location"] == "/why"


def test_a_person_is_the_subject_whatever_the_name_and_address_become(provider):
    jane(provider)
    sign_in(Client(), "0001")
    jane(provider, preferred_username="jane.smith", name="Jane Smith", email="smith@acme.example")
    assert sign_in(Client(), "0001").status_code == 302
    assert (held().display_name, held().email) == ("Jane Smith", "smith@acme.example")
    assert not User.objects.filter(username="jane.smith").exists()
    assert SocialAccount.objects.count() == 1


def test_what_the_provider_does_not_say_stays(provider):
    jane(provider)
    sign_in(Client(), "0001")
    provider.knows("0001", preferred_username="jane")
    sign_in(Client(), "0001")
    assert (held().display_name, held().email) == ("Jane Doe", "jane@acme.example")


def test_an_address_opens_nothing(provider, client):
    users.create(username="boss", email="jane@acme.example", by=authorizer.SYSTEM, channel=DOOR)
    jane(provider)
    sign_in(client, "0001")
    assert held().email == "jane@acme.example"
    assert not SocialAccount.objects.filter(user__username="boss").exists()


def test_a_provisioned_account_without_a_password_is_the_persons_own(provider, client):
    users.create(username="jane", by=authorizer.SYSTEM, channel=DOOR)
    jane(provider)
    assert sign_in(client, "0001").status_code == 302
    assert User.objects.filter(username="jane").count() == 1
    assert held().display_name == "Jane Doe"


def test_an_account_with_a_password_is_taken_over_only_when_the_operator_says_so(provider, client, configured):
    users.create(username="jane", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)
    jane(provider)
    refused = sign_in(client, "0001")
    assert refused.status_code == 403
    assert "with a password here" in reason(refused)
    assert not is_in(client)
    assert held().display_name == ""
    configured(links_accounts=True)
    assert sign_in(client, "0001").status_code == 302
    configured(links_accounts=False)
    assert sign_in(Client(), "0001").status_code == 302


def test_another_subject_of_the_same_name_is_somebody_else_until_the_link_is_ended(provider, capsys):
    jane(provider)
    sign_in(Client(), "0001")
    provider.knows("0002", preferred_username="jane")
    client = Client()
    refused = sign_in(client, "0002")
    assert (refused.status_code, is_in(client)) == (403, False)
    assert "belongs to somebody else" in reason(refused)
    call_command("unlink_identity", JANE)
    assert capsys.readouterr().out == "1 link of urn:li:corpuser:jane removed.\n"
    assert sign_in(client, "0002").status_code == 302
    assert sign_in(Client(), "0001").status_code == 403


def test_the_same_subject_of_another_issuer_is_somebody_else(provider, client):
    user = users.create(username="mallory", by=authorizer.SYSTEM, channel=DOOR)
    other = ExternalIdentity("https://elsewhere.example", "0001", "mallory", {}, None, ())
    SocialAccount.objects.create(user=user, provider="oidc", uid=other.digest, extra_data={"iss": other.issuer})
    jane(provider)
    sign_in(client, "0001")
    assert client.session["_auth_user_id"] == str(held().pk)


def test_under_another_issuer_people_are_found_by_their_names_again(provider, client):
    former = ExternalIdentity("https://former.example", "0001", "jane", {}, None, ())
    user = users.create(username="jane", by=authorizer.SYSTEM, channel=DOOR)
    SocialAccount.objects.create(user=user, provider="oidc", uid=former.digest, extra_data={"iss": former.issuer})
    jane(provider)
    assert sign_in(client, "0001").status_code == 302
    assert client.session["_auth_user_id"] == str(user.pk)


@pytest.mark.parametrize("name", ["datahub", "__datahub_system", "DataHub", "d\u0430t\u0430hub"])
def test_nobody_becomes_root_or_the_system(installed, client, configured, name):
    configured(links_accounts=True)
    installed.knows("0666", preferred_username=name)
    refused = sign_in(client, "0666")
    assert (refused.status_code, is_in(client)) == (403, False)
    assert reason(refused) == f"Nobody can sign in as {name} this way."


def test_a_link_to_root_that_got_into_the_table_opens_nothing(installed, client):
    jane(installed)
    arrival = ExternalIdentity(installed.issuer, "0001", "jane", {}, None, ())
    root = User.objects.get(username="datahub")
    SocialAccount.objects.create(user=root, provider="oidc", uid=arrival.digest, extra_data={"iss": installed.issuer})
    assert sign_in(client, "0001").status_code == 403
    assert not is_in(client)


def test_services_do_not_sign_in(provider, client):
    service = service_accounts.create(display_name="Loader", by=authorizer.SYSTEM, channel=DOOR)
    provider.knows("0003", preferred_username=service.username)
    assert "service accounts do not sign in" in reason(sign_in(client, "0003"))
    assert not is_in(client)


def test_the_suspended_stay_out_and_nothing_of_theirs_changes(provider, client):
    jane(provider)
    before = Client()
    sign_in(before, "0001")
    users.suspend(urn=JANE, by=authorizer.SYSTEM, channel=DOOR)
    assert before.get("/why").status_code == 302
    jane(provider, name="Another Name", groups=["engineers"])
    refused = sign_in(client, "0001")
    assert (refused.status_code, is_in(client)) == (403, False)
    assert "suspended" in reason(refused)
    assert (held().display_name, held().group_urns) == ("Jane Doe", [])
    users.activate(urn=JANE, by=authorizer.SYSTEM, channel=DOOR)
    assert sign_in(client, "0001").status_code == 302


def test_sign_up_may_be_closed(provider, client, configured):
    configured(is_sign_up_open=False)
    jane(provider)
    refused = sign_in(client, "0001")
    assert (refused.status_code, User.objects.filter(username="jane").exists()) == (403, False)
    assert reason(refused) == "There is no account jane here, and accounts are not made by signing in."
    users.create(username="jane", by=authorizer.SYSTEM, channel=DOOR)
    assert sign_in(client, "0001").status_code == 302


def test_groups_are_replaced_at_each_sign_in_and_those_made_by_hand_stay(provider):
    for name in ("by-hand", "native-too"):
        groups.create(name=name, identifier=name, by=authorizer.SYSTEM, channel=DOOR)
    jane(provider, groups=["engineers", "sales", "by-hand", "/team/x", "CN=a,OU=b", ""])
    sign_in(Client(), "0001")
    assert held().group_urns == [f"urn:li:corpGroup:{name}" for name in ("/team/x", "engineers", "sales")]
    assert GroupProfile.objects.get(identifier="sales").origin == "EXTERNAL"
    groups.add_members(urn="urn:li:corpGroup:native-too", members=[JANE], by=authorizer.SYSTEM, channel=DOOR)
    Membership.objects.filter(group__profile__identifier="engineers").update(is_native=True)
    jane(provider, groups="sales")
    sign_in(Client(), "0001")
    rows = Membership.objects.filter(user__urn=JANE).values_list(
        "group__profile__identifier", "is_native", "is_external"
    )
    assert set(rows) == {("sales", False, True), ("native-too", True, False), ("engineers", True, False)}
    jane(provider)
    sign_in(Client(), "0001")
    assert held().group_urns == ["urn:li:corpGroup:engineers", "urn:li:corpGroup:native-too"]


def test_nobody_is_put_into_a_removed_group_until_it_is_restored(provider):
    urn = "urn:li:corpGroup:closed"
    groups.create(name="Closed", identifier="closed", origin="EXTERNAL", by=authorizer.SYSTEM, channel=DOOR)

    def close(*, removed: bool) -> None:
        change = AspectChange(urn, "corpGroup", "status", {"removed": removed})
        aspect_services.apply(changes=[change], by=authorizer.SYSTEM, channel=DOOR)

    close(removed=True)
    jane(provider, groups=["closed", "sales"])
    sign_in(Client(), "0001")
    assert set(Membership.objects.values_list("group__profile__identifier", flat=True)) == {"sales"}
    close(removed=False)
    sign_in(Client(), "0001")
    assert held().group_urns == [urn, "urn:li:corpGroup:sales"]
    close(removed=True)
    sign_in(Client(), "0001")
    assert Membership.objects.filter(user__urn=JANE).count() == 2


@pytest.mark.parametrize(
    ("said", "groups_of_jane"),
    [
        ({"groups": "sales,engineers"}, ["engineers", "sales"]),
        ({"groups": " sales , engineers, "}, ["engineers", "sales"]),
        ({"groups": ""}, []),
        ({"groups": []}, []),
        ({"hasgroups": False}, []),
        ({"hasgroups": True, "groups": ["sales"]}, ["sales"]),
    ],
)
def test_groups_in_one_text_are_read(provider, said, groups_of_jane):
    jane(provider, groups=["engineers"])
    sign_in(Client(), "0001")
    jane(provider, **said)
    assert sign_in(Client(), "0001").status_code == 302
    assert sorted(held().group_urns) == [f"urn:li:corpGroup:{name}" for name in groups_of_jane]


@pytest.mark.parametrize(
    "said",
    [
        {"hasgroups": True},
        {"hasgroups": "true"},
        {"_claim_names": {"groups": "src1"}},
        {"groups": "CN=sales,OU=acme"},
        {"groups": '["sales"]'},
        {"groups": "sales;engineers"},
        {"groups": ["CN=sales,OU=acme", "CN=staff,OU=acme"]},
        {"groups": True},
    ],
)
def test_groups_that_are_not_understood_are_kept_and_the_claim_is_named(provider, client, said):
    jane(provider, groups=["engineers"])
    sign_in(Client(), "0001")
    jane(provider, **said)
    refused = sign_in(client, "0001")
    assert refused.status_code == 403
    assert "claim groups" in reason(refused)
    assert held().group_urns == ["urn:li:corpGroup:engineers"]


def test_groups_are_left_alone_where_no_claim_is_asked_for_them(provider, configured):
    jane(provider, groups=["engineers"])
    sign_in(Client(), "0001")
    configured(groups_claim="")
    jane(provider, groups=["sales"])
    sign_in(Client(), "0001")
    assert held().group_urns == ["urn:li:corpGroup:engineers"]


def test_roles_are_given_and_taken_as_they_are_mapped(installed, configured):
    mapped = {"authz-admins": "Admin", "authz-readers": "Reader", "gone": "NoSuchRole"}
    configured(roles_claim="realm_access.roles", roles=mapped)
    jane(installed, realm_access={"roles": ["authz-admins", "authz-readers", "gone", "unmapped", "Editor"]})
    sign_in(Client(), "0001")
    assert held().role_names == ["Admin", "Reader"]
    roles.grant(urn="urn:li:dataHubRole:Editor", actors=[JANE], by=authorizer.SYSTEM, channel=DOOR)
    jane(installed, realm_access={"roles": ["authz-readers"]})
    sign_in(Client(), "0001")
    assert held().role_names == ["Editor", "Reader"]
    jane(installed)
    sign_in(Client(), "0001")
    assert held().role_names == ["Editor"]


def test_only_some_domains_or_groups_may_be_let_in(provider, client, configured):
    configured(allowed_domains=frozenset({"acme.example"}))
    jane(provider, email="jane@other.example")
    assert reason(sign_in(client, "0001")) == "Addresses of your domain may not sign in here."
    jane(provider, email="jane@evil.example@acme.example.evil")
    assert sign_in(client, "0001").status_code == 403
    jane(provider, email_verified=False)
    assert "does not confirm your address" in reason(sign_in(client, "0001"))
    configured(allowed_groups=frozenset({"staff"}))
    jane(provider, groups=["visitors"], email="jane@ACME.example")
    assert reason(sign_in(client, "0001")) == "None of your groups may sign in here."
    assert not User.objects.filter(username="jane").exists()
    jane(provider, groups=["staff"], email="jane@ACME.example")
    assert sign_in(client, "0001").status_code == 302


def test_an_address_as_user_name_has_to_be_confirmed(provider, client, configured):
    configured(username_claim="email")
    for more in ({"email_verified": False}, {"email_verified": "true"}):
        jane(provider, **more)
        assert "does not confirm your address" in reason(sign_in(client, "0001"))
    jane(provider)
    assert sign_in(client, "0001").status_code == 302
    assert held("urn:li:corpuser:jane@acme.example").email == "jane@acme.example"


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"preferred_username": ""},
        {"preferred_username": 7},
        {"preferred_username": ["jane"]},
        {"preferred_username": "a,b"},
        {"preferred_username": "urn(li"},
        {"preferred_username": " jane "},
        {"preferred_username": "x" * 201},
        {"preferred_username": "ja\x00ne"},
        {"preferred_username": "jane", "groups": {"a": 1}},
        {"preferred_username": "jane", "groups": [1]},
        {"preferred_username": "jane", "_claim_names": {"groups": "src1"}},
    ],
)
def test_claims_that_say_nothing_usable_are_a_clear_refusal(provider, client, claims):
    provider.knows("0004", **claims)
    refused = sign_in(client, "0004")
    assert (refused.status_code, is_in(client)) == (403, False)
    assert reason(refused).startswith("Acme ID ")
    assert not User.objects.filter(username="jane").exists()


def test_odd_claims_beside_the_name_are_left_out(provider, client):
    provider.knows("0001", preferred_username="jane", name="J\x00", email=["x"], groups=["g\x00", "fine", "fine"])
    assert sign_in(client, "0001").status_code == 302
    assert (held().display_name, held().email, held().group_urns) == ("", "", ["urn:li:corpGroup:fine"])


@pytest.mark.parametrize(
    "claims",
    [{"sub": "1", "preferred_username": "ja\ud800ne"}, {"sub": "\ud800"}, {"sub": ""}, {"sub": "x" * 256}],
)
def test_halves_of_characters_and_subjects_that_are_none_are_refused(provider, claims):
    with pytest.raises(Forbidden):
        parse_identity({"iss": provider.issuer, "preferred_username": "jane"} | claims)


def test_halves_of_characters_beside_the_name_are_left_out(provider):
    said = {"sub": "1", "preferred_username": "jane", "name": "J\ud800", "email": "\udfff", "groups": ["g\ud800", "x"]}
    arrival = parse_identity({"iss": provider.issuer} | said)
    assert (arrival.profile, arrival.groups) == ({}, ("x",))


def test_what_changes_nothing_writes_one_number_and_no_event(provider):
    jane(provider, groups=["engineers"])
    sign_in(Client(), "0001")
    before = ChangeEvent.objects.count()
    sign_in(Client(), "0001")
    assert ChangeEvent.objects.count() == before


@pytest.mark.parametrize("many", [1, 60])
def test_a_sign_in_asks_as_often_whatever_the_groups(provider, client, many, django_assert_max_num_queries):
    jane(provider, groups=[f"group-{number}" for number in range(many)])
    path = consent(leave(client), "0001")
    with django_assert_max_num_queries(70):
        assert client.get(path).status_code == 302


def test_unlinking_somebody_unknown_says_so(provider):
    with pytest.raises(Exception, match="There is no user"):
        call_command("unlink_identity", "urn:li:corpuser:nobody")


# -- bounded delegation ----------------------------------------------------------------------------------------------


def gives(name: str, actors: dict[str, list[str]]) -> None:
    document = {
        "displayName": name,
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS", "MANAGE_USERS_AND_GROUPS"],
        "actors": actors,
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.reset()


def test_groups_of_the_claim_bring_no_platform_privileges_unless_the_settings_name_them(installed, client, configured):
    """A group by itself, by its role, and one that a policy named before there was such a group."""
    for name in ("by-role", "by-name"):
        groups.create(identifier=name, name=name, origin="EXTERNAL", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:Admin", actors=["urn:li:corpGroup:by-role"], by=authorizer.SYSTEM, channel=DOOR)
    gives("groups", {"groups": ["urn:li:corpGroup:by-name", "urn:li:corpGroup:unheard"]})
    jane(installed, groups=["staff", "by-role", "by-name", "unheard"])
    assert sign_in(client, "0001").status_code == 302
    assert held().group_urns == ["urn:li:corpGroup:staff"]
    configured(platform_groups=frozenset({"by-name"}))
    assert sign_in(Client(), "0001").status_code == 302
    # Both give the same, so the second brings nothing that the settings have not allowed.
    assert held().group_urns == [f"urn:li:corpGroup:{name}" for name in ("by-name", "staff", "unheard")]
    configured(platform_groups=frozenset({"by-role"}))
    assert sign_in(Client(), "0001").status_code == 302
    assert "urn:li:corpGroup:by-role" in held().group_urns


def test_what_the_settings_say_of_roles_is_given(installed, client, configured):
    configured(roles_claim="roles", roles={"boss": "Admin"})
    jane(installed, groups=["staff"], roles=["boss"])
    assert sign_in(client, "0001").status_code == 302
    assert held().role_urns == ["urn:li:dataHubRole:Admin"]


def test_a_name_that_a_policy_gives_platform_privileges_makes_no_account(installed, client):
    gives("jane", {"users": [JANE]})
    jane(installed)
    response = sign_in(client, "0001")
    assert response.status_code == 403
    assert "MANAGE_USERS_AND_GROUPS, MANAGE_TAGS" in reason(response)
    assert not User.objects.filter(urn=JANE).exists()
    # Somebody who may give it makes the account, and the provider says whose it is.
    users.create(username="jane", by=authorizer.SYSTEM, channel=DOOR)
    assert sign_in(Client(), "0001").status_code == 302


def test_the_rule_of_datahub_puts_people_into_every_group_of_the_claim(installed, client, settings):
    settings.BOUNDED_DELEGATION = False
    gives("groups", {"groups": ["urn:li:corpGroup:unheard"]})
    jane(installed, groups=["unheard"])
    assert sign_in(client, "0001").status_code == 302
    assert held().group_urns == ["urn:li:corpGroup:unheard"]
