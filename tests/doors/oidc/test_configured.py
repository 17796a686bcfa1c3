"""What the environment may say about a provider, and the sentences that stop the start when it makes no sense."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from authzsite import oidc_settings

WHOLE = {"OIDC_ISSUER": "https://id.acme.example/", "OIDC_CLIENT_ID": "authzsite", "OIDC_CLIENT_SECRET": "s3cret"}


@pytest.fixture
def told(monkeypatch):
    def tell(**variables: str) -> oidc_settings.OidcProvider:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return oidc_settings.load_provider()

    return tell


def test_nothing_said_is_no_provider(told):
    assert told() == oidc_settings.OidcProvider()
    assert not told(OIDC_ISSUER="", OIDC_CLIENT_ID="").is_configured


def test_everything_said(told):
    more = {
        "OIDC_SCOPES": "openid, groups",
        "OIDC_LABEL": "Acme ID",
        "OIDC_USERNAME_CLAIM": "upn",
        "OIDC_GROUPS_CLAIM": "groups",
        "OIDC_ROLES_CLAIM": "realm_access.roles",
        "OIDC_ROLES": "authz-admins=Admin, authz-readers=Reader",
        "OIDC_PLATFORM_GROUPS": "authz-keepers",
        "OIDC_ALLOWED_DOMAINS": "Acme.example",
        "OIDC_ALLOWED_GROUPS": "staff",
        "OIDC_SIGN_UP": "false",
        "OIDC_LINK_ACCOUNTS": "true",
    }
    found = told(**WHOLE, **more)
    assert found == oidc_settings.OidcProvider(
        issuer="https://id.acme.example/",
        client_id="authzsite",
        client_secret="s3cret",
        scopes=("openid", "groups"),
        label="Acme ID",
        username_claim="upn",
        groups_claim="groups",
        roles_claim="realm_access.roles",
        roles={"authz-admins": "Admin", "authz-readers": "Reader"},
        platform_groups=frozenset({"authz-keepers"}),
        allowed_domains=frozenset({"acme.example"}),
        allowed_groups=frozenset({"staff"}),
        is_sign_up_open=False,
        links_accounts=True,
    )
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize("issuer", ["http://localhost:9400", "http://127.0.0.1:9400", "http://[::1]:9400"])
def test_a_provider_on_this_machine_needs_no_tls(told, issuer):
    assert told(**WHOLE | {"OIDC_ISSUER": issuer}).is_configured


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"OIDC_ISSUER": ""}, "OIDC_CLIENT_ID is set, but OIDC_ISSUER does not say which provider it is about."),
        ({"OIDC_ISSUER": "id.acme.example"}, "OIDC_ISSUER has to start with https:// or http://."),
        ({"OIDC_ISSUER": "http://id.acme.example"}, "OIDC_ISSUER has to start with https:// unless the provider"),
        ({"OIDC_ISSUER": "https://"}, "OIDC_ISSUER is spelt like"),
        ({"OIDC_ISSUER": "https://id.example/?x=1"}, "OIDC_ISSUER is spelt like"),
        ({"OIDC_ISSUER": "https://me:pw@id.example/"}, "OIDC_ISSUER is spelt like"),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_ISSUER is set, so OIDC_CLIENT_ID has to be set as well."),
        ({"OIDC_CLIENT_SECRET": ""}, "OIDC_ISSUER is set, so OIDC_CLIENT_SECRET has to be set as well."),
        ({"OIDC_SCOPES": "profile"}, "OIDC_SCOPES has to name openid among the scopes."),
        ({"OIDC_ROLES": "a=Admin"}, "OIDC_ROLES_CLAIM and OIDC_ROLES go together"),
        ({"OIDC_ROLES_CLAIM": "roles"}, "OIDC_ROLES_CLAIM and OIDC_ROLES go together"),
        ({"OIDC_ROLES_CLAIM": "roles", "OIDC_ROLES": "Admin"}, "OIDC_ROLES has 'Admin', but each part is spelt like"),
        ({"OIDC_ALLOWED_GROUPS": "staff"}, "OIDC_ALLOWED_GROUPS needs OIDC_GROUPS_CLAIM"),
        ({"OIDC_PLATFORM_GROUPS": "staff"}, "OIDC_PLATFORM_GROUPS needs OIDC_GROUPS_CLAIM"),
        ({"OIDC_ALLOWED_DOMAINS": "@acme.example"}, "OIDC_ALLOWED_DOMAINS names '@acme.example', but"),
        ({"OIDC_SIGN_UP": "maybe"}, "OIDC_SIGN_UP is 'maybe', but it has to be true or false."),
    ],
)
def test_nonsense_is_one_sentence(told, changes, sentence):
    with pytest.raises(ImproperlyConfigured) as refused:
        told(**WHOLE | changes)
    assert str(refused.value).startswith(sentence)
    assert "s3cret" not in str(refused.value)
