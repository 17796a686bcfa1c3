"""/drafts: keep what somebody types, discard it, and answer forms that are older than the sign-in."""

from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.encoding import escape_uri_path
from django.views.csrf import csrf_failure
from django.views.decorators.csrf import csrf_exempt

from policies.drafts import keeping
from policies.errors import NotFound
from policies.http.guard import public, signed_in
from policies.http.pages.form_drafts import describe_kept, parse_id
from policies.http.pages.list_and_form_pages import action_view, redirect_with_message
from policies.http.unanswered_posts import DRAFT_PARAMETER, find_ticket, keep_post

if TYPE_CHECKING:
    from policies.models import User

_GONE = "This draft is no longer there."
_OTHER_USER = (
    "Somebody else has signed in since this form was opened. "
    "The text that was typed is kept for the account that typed it."
)
_OLD_FORM = "You have signed in since this form was opened, so nothing was saved yet. Here it is as you left it."


@csrf_exempt
@action_view(public)
def keep_draft(request: HttpRequest) -> HttpResponse:
    """Keep a form while somebody types; whether the user of its ticket is still signed in is part of the answer.

    The signed ticket, which no other site can know, stands for the session and for the token against forged requests.
    """
    ticket = find_ticket(request)
    if ticket is None:
        return JsonResponse({"detail": "This form keeps no drafts."}, status=HTTPStatus.BAD_REQUEST)
    draft = keeping.keep(ticket, request.POST)
    if draft is None:
        return JsonResponse({"detail": "This cannot be kept."}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return JsonResponse(describe_kept(draft, is_signed_in=request.user.pk == ticket.user_id))


@action_view(signed_in)
def discard_draft(request: HttpRequest) -> HttpResponse:
    """Discard a draft of the caller, and show its form without it."""
    user, draft_id = cast("User", request.user), parse_id(request.POST.get(DRAFT_PARAMETER, ""))
    path = None if draft_id is None else keeping.delete_draft(user_id=user.pk, draft_id=draft_id)
    if path is None:
        raise NotFound(_GONE)
    return redirect_with_message(request, "The draft is discarded.", escape_uri_path(path))


def answer_old_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid token against forged requests: its user gets it back, nobody else sees anything.

    The token changes with each sign-in, so this is also the form that was open while its user signed in elsewhere.
    """
    ticket = find_ticket(request)
    address = keep_post(request)
    if ticket is None or address is None:
        return csrf_failure(request, reason=reason)
    if not request.user.is_authenticated:
        return redirect_to_login(address)
    if request.user.pk != ticket.user_id:
        return render(request, "403.html", {"reason": _OTHER_USER}, status=HTTPStatus.FORBIDDEN)
    messages.warning(request, _OLD_FORM)
    return HttpResponse(headers={"HX-Redirect": address}) if getattr(request, "htmx", False) else redirect(address)
