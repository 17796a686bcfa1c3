"""The pages about people for the table of tests/web/test_ladder.py: route → address → what each of the ladder gets."""

from urllib.parse import quote

USERS, GROUPS = "/settings/identities/users", "/settings/identities/groups"
ROLES, SERVICES = "/settings/permissions/roles", "/settings/identities/service-accounts"
OPTIONS = "/settings/identities/options"
OTTO = "urn:li:corpuser:otto"
ADMIN = "urn:li:dataHubRole:Admin"
NOBODY, NO_GROUP = "urn:li:corpuser:nobody", "urn:li:corpGroup:none"
NO_ID = "00000000-0000-0000-0000-000000000000"

Answers = dict[str, tuple[str | int, ...]]


def to_sign_in(address: str) -> str:
    """Where somebody is led who is not signed in."""
    path, mark, query = address.partition("?")
    return f"/login?next={quote(quote(path, safe='/:') + mark + query, safe='/')}"


def managed(address: str, status: int = 200) -> Answers:
    """A page for who manages such things, and for nobody else."""
    return {address: (to_sign_in(address), 403, 403, status, status)}


def own(address: str) -> Answers:
    """A page for everybody who is signed in."""
    return {address: (to_sign_in(address), 200, 200, 200, 200)}


TABLE: dict[str, Answers] = {
    "sign-up": {"/signup": (404, 404, 404, 404, 404), "/signup?invite_token=x": (404, 404, 404, 404, 404)},
    "reset": {"/reset": (404, 404, 404, 404, 404), "/reset?reset_token=x": (404, 404, 404, 404, 404)},
    "profile": own("/profile"),
    "profile-edit": own("/profile/edit"),
    "own-password": own("/profile/password"),
    "roles": managed(ROLES),
    "role-new": managed(f"{ROLES}/new"),
    "role": managed(f"{ROLES}/{ADMIN}") | managed(f"{ROLES}/none", 404),
    "role-edit": managed(f"{ROLES}/edit/{ADMIN}", 403),
    "role-remove": managed(f"{ROLES}/delete/{ADMIN}", 403),
    "role-assign": managed(f"{ROLES}/assign/{ADMIN}"),
    "role-take": managed(f"{ROLES}/take/{ADMIN}?actor={OTTO}") | managed(f"{ROLES}/take/{ADMIN}", 404),
    "role-times": managed(f"{ROLES}/times/{ADMIN}?actor=urn%3Ali%3Acorpuser%3Aada")
    | managed(f"{ROLES}/times/{ADMIN}", 404),
    # Who may ask about others may search for them.
    "people-options": {OPTIONS: (to_sign_in(OPTIONS), 403, 404, 404, 404)}
    | managed(f"{OPTIONS}?group={NO_GROUP}", 404),
    "users": managed(USERS),
    "user-new": managed(f"{USERS}/new"),
    "invite": managed(f"{USERS}/invite"),
    "invite-revoke": managed(f"{USERS}/invite/end/{NO_ID}", 404),
    "user": managed(f"{USERS}/{OTTO}") | managed(f"{USERS}/{NOBODY}", 404),
    "user-edit": managed(f"{USERS}/edit/{OTTO}"),
    "user-suspend": managed(f"{USERS}/suspend/{OTTO}"),
    "user-activate": managed(f"{USERS}/activate/{OTTO}"),
    "user-remove": managed(f"{USERS}/remove/{OTTO}"),
    "user-reset": managed(f"{USERS}/reset/{OTTO}"),
    "user-roles": managed(f"{USERS}/roles/{OTTO}"),
    "user-groups": managed(f"{USERS}/groups/{OTTO}"),
    "groups": managed(GROUPS),
    "group-new": managed(f"{GROUPS}/new"),
    "group": managed(f"{GROUPS}/{NO_GROUP}", 404),
    "group-edit": managed(f"{GROUPS}/edit/{NO_GROUP}", 404),
    "group-remove": managed(f"{GROUPS}/delete/{NO_GROUP}", 404),
    "group-add": managed(f"{GROUPS}/add/{NO_GROUP}", 404),
    "group-take": managed(f"{GROUPS}/take/{NO_GROUP}?member={OTTO}", 404),
    "group-times": managed(f"{GROUPS}/times/{NO_GROUP}?member={OTTO}", 404),
    "group-roles": managed(f"{GROUPS}/roles/{NO_GROUP}", 404),
    "service-accounts": managed(SERVICES),
    "service-account-new": managed(f"{SERVICES}/new"),
    "service-account": managed(f"{SERVICES}/{OTTO}", 404),
    "service-account-edit": managed(f"{SERVICES}/edit/{NOBODY}", 404),
    "service-account-state": managed(f"{SERVICES}/state/{NOBODY}", 404),
    "service-account-remove": managed(f"{SERVICES}/delete/{OTTO}", 404),
    # Every user holds GENERATE_PERSONAL_ACCESS_TOKENS here.
    "tokens": own("/settings/tokens") | managed("/settings/tokens?whose=ALL"),
    "token-new": own("/settings/tokens/new") | managed(f"/settings/tokens/new?owner={NOBODY}", 404),
    "token-revoke": managed(f"/settings/tokens/revoke/{NO_ID}", 404),
}
