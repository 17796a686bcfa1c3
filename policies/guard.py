"""Which doors are open to whom: every view says whether it is public, for signed-in callers, or for a privilege.

A view without such a mark stays shut, and a test walks every URL to find one. What a privilege opens is decided by the
same authority that answers everybody else's questions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from policies import authority, decision_log, recall
from policies.engine.model import Actor

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module while it is being imported

#: Where a request keeps who is calling.
_ACTOR = "actor"

AnyView = TypeVar("AnyView", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Guard:
    """Who may pass: everybody, whoever is signed in, or holders of one of the lists of privileges.

    Marks a view (function or class) when used as a decorator.
    """

    is_public: bool = False
    any_of: tuple[tuple[str, ...], ...] = ()

    def __call__(self, view: AnyView) -> AnyView:
        """Mark a view and, unless it is one of the API's (`IsGuarded` asks there), make it ask first."""
        if isinstance(view, type):
            if issubclass(view, View) and not hasattr(view, "permission_classes"):
                view.dispatch = method_decorator(self._asking)(view.dispatch)  # type: ignore[method-assign]
            view.guard = self  # type: ignore[attr-defined]
            return view
        asking = self._asking(view)
        asking.guard = self  # type: ignore[attr-defined]
        return asking

    def admit(self, request: HttpRequest | Request) -> None:
        """Let a signed-in caller pass, or raise Forbidden naming what is missing."""
        if self.any_of:
            authority.require(by=actor_of(request), any_of=self.any_of)

    def _asking(self, view: AnyView) -> AnyView:
        @wraps(view)
        def ask_first(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.is_public:
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                self.admit(request)
            answer: HttpResponseBase = view(request, *args, **kwargs)
            return answer

        return ask_first  # type: ignore[return-value]


#: Open to everybody.
public = Guard(is_public=True)
#: For whoever is signed in; what each may do is asked further in.
signed_in = Guard()


def needs(*privileges: str) -> Guard:
    """Return the guard of views for which any one of these platform privileges is needed."""
    return Guard(any_of=tuple((privilege,) for privilege in privileges))


def guard_of(view: Callable[..., Any]) -> Guard | None:
    """Return the mark of a view as a URL pattern holds it, or None when it has none."""
    found = getattr(view, "guard", None) or getattr(getattr(view, "view_class", None), "guard", None)
    return found if isinstance(found, Guard) else None


def actor_of(request: HttpRequest | Request) -> Actor:
    """Return who is calling, with groups and roles; resolved once for each request. Raises NotAuthenticated."""
    found: Actor | None = request.__dict__.get(_ACTOR)
    if found is None:
        if not request.user.is_authenticated:
            raise NotAuthenticated
        found = recall.actor(urn=request.user.urn)
        setattr(request, _ACTOR, found)
    return found


def reading(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: whoever calls reads the answer, so that it names and lists nothing the caller may not view.

    What is asked meanwhile was asked through the door that the caller came in by.
    """

    def answered(request: HttpRequest) -> HttpResponse:
        with authority.read_by(lambda: _reader_of(request)), decision_log.through(_door_of(request)):
            return get_response(request)

    return answered


def _door_of(request: HttpRequest) -> decision_log.Door:
    return decision_log.Door(
        name=lambda: _door_name(request),
        by=lambda: getattr(request.user, "urn", ""),
        request_id=lambda: str(structlog.contextvars.get_contextvars().get("request_id", "")),
    )


def _door_name(request: HttpRequest) -> str:
    """Return the name of the package whose view answers, as the record of changes calls it."""
    match = request.resolver_match
    view = match.func if match is not None else None
    rooms = getattr(getattr(view, "view_class", getattr(view, "cls", view)), "__module__", "").split(".")
    if "doors" in rooms:
        return rooms[rooms.index("doors") + 1]
    return next((room for room in ("api", "admin") if room in rooms), "pages")


def _reader_of(request: HttpRequest) -> Actor:
    return actor_of(request) if request.user.is_authenticated else Actor("", is_active=False)


class IsGuarded(BasePermission):
    """Lets a request of the API pass as the mark of its view says; a view without a mark lets nobody pass."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Raise NotAuthenticated without a caller, and Forbidden naming what the caller lacks."""
        guard = getattr(view, "guard", None)
        if not isinstance(guard, Guard):
            return False
        if guard.is_public:
            return True
        if not request.user.is_authenticated:
            raise NotAuthenticated
        guard.admit(request)
        return True
