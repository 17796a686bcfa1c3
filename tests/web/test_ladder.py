"""Every page and who gets which answer: the table fails when a page is missing from it."""

from urllib.parse import quote

import pytest
from django.urls import URLPattern

from policies import admin
from policies import urls as policy_urls
from policies.http.guard import get_guard, needs
from tests.web.people import table as people
from tests.web.policies import table as policies

TO_SIGN_IN = "/login?next="
NO_REQUEST = "urn:li:accessRequest:none"

#: Route → address → what anonymous, outsider, steward, admin and root get; a path is a redirect to it.
TABLE: dict[str, dict[str, tuple]] = {
    "sign-in": {"/login": (200, "/", "/", "/", "/")},
    # Without a provider in the environment there is nothing here.
    "sign-in-oidc": {"/login/oidc": (404, 404, 404, 404, 404)},
    "sign-in-oidc-back": {"/login/oidc/callback": (404, 404, 404, 404, 404)},
    "sign-out": {"/logout": (405, 405, 405, 405, 405)},
    "drafts": {"/drafts": (405, 405, 405, 405, 405)},
    "draft-discard": {"/drafts/discard": (405, 405, 405, 405, 405)},
    "notifications": people.own("/notifications") | people.own("/notifications?unread=1"),
    "notifications-read-all": {"/notifications/read-all": (405, 405, 405, 405, 405)},
    "notifications-mail": {"/notifications/mail": (405, 405, 405, 405, 405)},
    "notification-mark": {"/notifications/1/read": (405, 405, 405, 405, 405)},
    "requests": people.own("/requests") | people.own("/requests?state=done"),
    "requests-to-decide": people.own("/requests/to-decide"),
    "access-give": people.own("/requests/give") | people.own("/requests/give?resource=urn:li:dataset:x"),
    "requests-together": people.own("/requests/together"),
    "request-open": {"/requests/open/none": (people.to_sign_in("/requests/open/none"), 404, 404, 404, 404)},
    "request-new": people.own("/requests/new") | people.own("/requests/new?privilege=EDIT_ENTITY_TAGS"),
    "request-renew": {
        f"/requests/renew/{NO_REQUEST}": (people.to_sign_in(f"/requests/renew/{NO_REQUEST}"), 404, 404, 404, 404)
    },
    "request": {f"/requests/{NO_REQUEST}": (people.to_sign_in(f"/requests/{NO_REQUEST}"), 404, 404, 404, 404)},
    "request-withdraw": {
        f"/requests/withdraw/{NO_REQUEST}": (
            people.to_sign_in(f"/requests/withdraw/{NO_REQUEST}"),
            404,
            404,
            404,
            404,
        )
    },
    "why": {
        "/why": (f"{TO_SIGN_IN}/why", 200, 200, 200, 200),
        "/why?privilege=EDIT_ENTITY_TAGS": (
            f"{TO_SIGN_IN}{quote('/why?privilege=EDIT_ENTITY_TAGS')}",
            200,
            200,
            200,
            200,
        ),
        "/why?privilege=X&actor=ada": (f"{TO_SIGN_IN}{quote('/why?privilege=X&actor=ada')}", 403, 200, 200, 200),
    },
    "why-can": people.own("/why/can")
    | {"/why/can?actor=ada": (people.to_sign_in("/why/can?actor=ada"), 403, 200, 200, 200)},
    "why-way": people.own("/why/way?privilege=VIEW_ENTITY_PAGE")
    | {"/why/way?privilege=X&actor=ada": (people.to_sign_in("/why/way?privilege=X&actor=ada"), 403, 200, 200, 200)},
    # Who may is always about others.
    "why-who": {"/why/who": (people.to_sign_in("/why/who"), 403, 200, 200, 200)},
    "why-what": people.own("/why/what?privilege=VIEW_ENTITY_PAGE")
    | {"/why/what?privilege=X&actor=ada": (people.to_sign_in("/why/what?privilege=X&actor=ada"), 403, 200, 200, 200)},
    "audit": people.managed("/settings/audit") | people.managed("/settings/audit?decision=DENY&actor=ada&since=never"),
    "audit-policies": people.managed("/settings/audit/policies"),
    "audit-people": people.managed("/settings/audit/people"),
    "status": people.managed("/settings/status"),
    "status-refresh": {"/settings/status/refresh": (405, 405, 405, 405, 405)},
    "status-workers": people.managed("/settings/status/workers"),
    "admin": {
        "/admin": ("/admin/", "/admin/", "/admin/", "/admin/", "/admin/"),
        "/admin/": (f"{TO_SIGN_IN}/admin/", 403, 403, 403, 200),
        "/admin/policies/policy/": (f"{TO_SIGN_IN}/admin/policies/policy/", 403, 403, 403, 200),
        "/admin/login/": (f"{TO_SIGN_IN}/admin/login/", 403, 403, 403, 404),
        "/admin/password_change/": (f"{TO_SIGN_IN}/admin/password_change/", 403, 403, 403, 404),
        "/admin/nothing-here": (f"{TO_SIGN_IN}/admin/nothing-here", 403, 403, 403, 404),
    },
}
TABLE |= people.TABLE | policies.TABLE
LADDER = ("anonymous", "outsider", "steward", "admin", "root")


@pytest.mark.parametrize(("place", "name"), list(enumerate(LADDER)))
def test_everybody_gets_what_the_table_says(browse, place, name):
    client = browse(name)
    expected = {address: answers[place] for addresses in TABLE.values() for address, answers in addresses.items()}
    found = {}
    for address in expected:
        response = client.get(address)
        found[address] = response.headers["Location"] if response.status_code == 302 else response.status_code
    assert found == expected


def test_the_table_names_every_page():
    assert {pattern.name for pattern in policy_urls.urlpatterns} <= TABLE.keys()


def test_every_address_of_the_back_room_is_guarded():
    def callbacks(patterns):
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield pattern.callback
            else:
                yield from callbacks(pattern.url_patterns)

    found = list(callbacks(admin.site.get_urls()))
    assert len(found) > 50
    assert {get_guard(callback) for callback in found} == {needs("MANAGE_POLICIES")}
