"""The response to too many wrong passwords for one name from one address (counted by django-axes).

The name remains usable from other addresses, so nobody can lock the root user out; `manage.py axes_reset_username` ends
the lockout too.
"""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from authzsite.middleware_responses import render_refusal
from policies.events import failed_sign_ins
from policies.http.guard import get_channel

#: Length of the library's column, in characters, which is more than any user name has.
_MAX_USERNAME_LENGTH = 255


def get_attempted_username(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Return the user name of a sign-in attempt, made storable and cut to the length of the column."""
    name = str((credentials or request.POST).get("username") or "")
    return name.encode(errors="replace").decode().replace("\0", "?")[:_MAX_USERNAME_LENGTH]


def respond_locked_out(request: HttpRequest, *_: Any) -> HttpResponse:
    """Answer with 429 and Retry-After: a page at the sign-in page, else in the format of the interface."""
    failed_sign_ins.record_lockout(
        username=get_attempted_username(request), channel=get_channel(request.resolver_match)
    )
    minutes: int = settings.LOCKOUT_MINUTES
    detail = f"These were too many wrong passwords. Wait {minutes} minutes, or ask who runs this site."
    wait_seconds = str(minutes * 60)
    if request.path != reverse("sign-in"):
        return render_refusal(request, HTTPStatus.TOO_MANY_REQUESTS, detail, {"Retry-After": wait_seconds})
    page = render(request, "registration/locked_out.html", {"reason": detail}, status=HTTPStatus.TOO_MANY_REQUESTS)
    page.headers["Retry-After"] = wait_seconds
    return page
