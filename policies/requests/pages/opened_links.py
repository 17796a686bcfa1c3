"""The link of a notice: it leads its receiver, once, to the page of the decision."""

from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.events.channels.inbox import storage
from policies.http.guard import signed_in
from policies.http.pages.list_and_form_pages import page_view
from policies.requests.decision_links import read_token

if TYPE_CHECKING:
    from policies.models import User


@page_view(signed_in)
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Redirect to the request of a link, or where it was opened before to the list of what waits for the reader."""
    urn, key = read_token(token)
    user = cast("User", request.user)
    if storage.open_once(user_id=user.pk, key=key):
        return redirect("request", urn)
    messages.info(request, "This link was opened before. The list has everything that waits for you.")
    return redirect("requests-to-decide")
