"""Signing in and up by name and password, as DataHub's command line and SDK do (clients.md 1.11).

`logIn` begins a session like that of the sign-in page; DataHub's clients use it for one call, which makes a token.
`signUp` makes an account with an invitation, and begins no session. Both answer before anybody is known, so a page of
another site may not have a browser call them: it could sign its reader in as somebody else.
"""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth import authenticate, login
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from catalog.protocols.authentication import is_foreign
from catalog.protocols.datahub_rest import request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import CHANNEL
from policies.engine.errors import Problem
from policies.errors import Forbidden, Invalid, NotFound, PolicyAppError
from policies.http.guard import public
from policies.identity.services import invitations
from policies.models.fields import is_storable
from policies.models.people import MAX_IDENTIFIER_LENGTH, USER_PREFIX
from policies.outages import find_outage

#: Where the services place a problem → the member of the body that it stands in.
_BODY_POINTERS = {"/username": "/userUrn", "/display_name": "/fullName"}


class WrongPassword(PolicyAppError):
    """Name and password open nothing: unknown, wrong, or of an account that may not act. All are told alike."""

    code = "unauthenticated"
    status = 401

    def __init__(self) -> None:
        super().__init__("That user name and password do not belong together, or the account may not sign in.")


def _public_view(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Make a view of a function: an answer, or a refusal in JSON."""

    @wraps(view)
    def handle(request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            response = responses.error_response(405, "This path knows POST only.")
            response.headers["Allow"] = "POST"
            return response
        try:
            if is_foreign(request):
                raise Forbidden((), "This call is not for pages of other sites.")
            return view(request)
        except PolicyAppError as error:
            response = responses.error_response(error.status, error.detail)
            if error.status == WrongPassword.status:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response
        except DatabaseError as error:
            outage = find_outage(error)
            if outage is None:
                raise
            return responses.error_response(outage.status, outage.detail)

    return csrf_exempt(never_cache(public.with_channel(CHANNEL)(handle)))


@_public_view
def log_in(request: HttpRequest) -> HttpResponse:
    """Begin a session for `{"username", "password"}`, by the means and under the lock-out of the sign-in page."""
    body = request_bodies.read(request)
    username, password = request_bodies.read_text(body, "username"), request_bodies.read_text(body, "password")
    if not is_storable(username + password) or len(username) > MAX_IDENTIFIER_LENGTH:
        # Nobody is called so, and no password is like this.
        raise WrongPassword
    user = authenticate(request, username=username, password=password)
    if user is None:
        raise WrongPassword
    login(request, user)
    return responses.json_response("{}")


@_public_view
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make an account for `{"userUrn", "email", "fullName", "password", "title", "inviteToken"}`.

    It holds the role of the invitation at once. `email`, `fullName` and `title` may be left out; without `userUrn` the
    address is the user name.
    """
    body = request_bodies.read(request)
    email, invitation = request_bodies.read_text(body, "email", ""), request_bodies.read_text(body, "inviteToken")
    urn = request_bodies.read_text(body, "userUrn", f"{USER_PREFIX}{email}" if email else None)
    if not urn.startswith(USER_PREFIX):
        raise Invalid.from_problem(
            code="urn.invalid", pointer="/userUrn", detail=f"The URN of a user starts {USER_PREFIX}."
        )
    try:
        invitations.sign_up(
            text=invitation,
            username=urn.removeprefix(USER_PREFIX),
            password=request_bodies.read_text(body, "password"),
            display_name=request_bodies.read_text(body, "fullName", ""),
            email=email,
            title=request_bodies.read_text(body, "title", ""),
            channel=CHANNEL,
        )
    except NotFound as refusal:
        # The address of the call is right; what it carries is not.
        raise Invalid.from_problem(code="invite.dead", pointer="/inviteToken", detail=refusal.detail) from None
    except Invalid as refusal:
        raise Invalid([_with_body_pointer(problem) for problem in refusal.problems]) from None
    return responses.json_response("{}")


def _with_body_pointer(problem: Problem) -> Problem:
    return Problem(problem.code, _BODY_POINTERS.get(problem.pointer, problem.pointer), problem.detail)
