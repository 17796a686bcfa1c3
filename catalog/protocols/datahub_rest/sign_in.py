"""Sign-in and sign-up by name and password, as in DataHub's command line and SDK (clients.md 1.11).

`logIn` starts a session like that of the sign-in page; DataHub's clients use it for one call, which creates a token.
`signUp` creates an account from an invitation and starts no session. Neither needs authentication, so both refuse
requests that a browser sends on behalf of another site: they could sign its user in to another account.
"""

from types import MappingProxyType

from django.contrib.auth import authenticate, login
from django.http import HttpRequest, HttpResponse

from catalog.protocols.authentication import is_foreign
from catalog.protocols.datahub_rest import request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import CHANNEL
from policies.engine.errors import Problem
from policies.errors import Forbidden, Invalid, NotFound, PolicyAppError
from policies.http.guard import public
from policies.http.protocol_view import protocol_view
from policies.identity.services import invitations
from policies.models.fields import is_storable
from policies.models.people import MAX_IDENTIFIER_LENGTH, USER_PREFIX

#: Pointer of a problem in the services → pointer to the member of the body.
_BODY_POINTERS = {"/username": "/userUrn", "/display_name": "/fullName"}


class WrongPassword(PolicyAppError):
    """Rejected credentials: unknown name, wrong password or inactive account, with the same message for all."""

    code = "unauthenticated"
    status = 401
    headers = MappingProxyType({"WWW-Authenticate": "Bearer"})

    def __init__(self) -> None:
        super().__init__("That user name and password do not belong together, or the account may not sign in.")


def _refuse_foreign(request: HttpRequest) -> None:
    """Raise Forbidden for a request that a browser sends on behalf of another site."""
    if is_foreign(request):
        raise Forbidden((), "This call is not for pages of other sites.")


_public_view = protocol_view(
    "POST",
    guard=public.with_channel(CHANNEL),
    authenticate=_refuse_foreign,
    render_refusal=responses.render_refusal,
)


@_public_view
def log_in(request: HttpRequest, _caller: None) -> HttpResponse:
    """Start a session for `{"username", "password"}`, with the backends and the lockout of the sign-in page."""
    body = request_bodies.read(request)
    username, password = request_bodies.read_text(body, "username"), request_bodies.read_text(body, "password")
    if not is_storable(username + password) or len(username) > MAX_IDENTIFIER_LENGTH:
        # No account has such a name, and no password such characters.
        raise WrongPassword
    user = authenticate(request, username=username, password=password)
    if user is None:
        raise WrongPassword
    login(request, user)
    return responses.json_response("{}")


@_public_view
def sign_up(request: HttpRequest, _caller: None) -> HttpResponse:
    """Create an account for `{"userUrn", "email", "fullName", "password", "title", "inviteToken"}`.

    It has the role of the invitation at once. `email`, `fullName` and `title` are optional; without `userUrn` the email
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
        # The path is correct and only the token in the body is unknown, so this is no 404.
        raise Invalid.from_problem(code="invite.dead", pointer="/inviteToken", detail=refusal.detail) from None
    except Invalid as refusal:
        raise Invalid([_with_body_pointer(problem) for problem in refusal.problems]) from None
    return responses.json_response("{}")


def _with_body_pointer(problem: Problem) -> Problem:
    return Problem(problem.code, _BODY_POINTERS.get(problem.pointer, problem.pointer), problem.detail)
