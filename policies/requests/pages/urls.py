"""URLs of the pages about requests. The action precedes the URN."""

from django.urls import path

from policies.http.pages.availability import require_policies
from policies.requests.pages import asking, renewal, requests

_ADDRESSES = [
    path("requests", requests.list_requests, name="requests"),
    path("requests/to-decide", requests.list_to_decide, name="requests-to-decide"),
    path("requests/new", asking.request_access, name="request-new"),
    path("requests/give", asking.ask_for_others, name="access-give"),
    path("requests/withdraw/<path:urn>", requests.withdraw_request, name="request-withdraw"),
    path("requests/renew/<path:urn>", renewal.renew_request, name="request-renew"),
    path("requests/<path:urn>", requests.show_request, name="request"),
]

#: All of them answer 404 while policies are switched off.
urlpatterns = require_policies(_ADDRESSES)
