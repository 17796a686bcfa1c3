"""Which doors are open to whom: every view says whether it is public, for signed-in callers, or for a privilege.

A view without such a mark stays shut, and a test walks every URL to find one. What a privilege opens is decided by the
same authority that answers everybody else's questions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import ResolverMatch
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from policies.engine.model import Actor
from policies.pdp import authorizer, decision_log, fact_cache

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module while it is being imported

#: Where a request keeps who is calling.
_ACTOR = "actor"

#: Channels: what people look at, Django's admin, and the project's own API.
PAGES, ADMIN, API = "pages", "admin", "api"

AnyView = TypeVar("AnyView", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Guard:
    """Who may pass: everybody, whoever is signed in, or holders of one of the lists of privileges.

    Marks a view (function or class) when used as a decorator. `channel` is the name of the interface that the view
    belongs to, as records of changes and decisions have it.
    """

    is_public: bool = False
    any_of: tuple[tuple[str, ...], ...] = ()
    channel: str = PAGES

    def __call__(self, view: AnyView) -> AnyView:
        """Mark a view and, unless it is one of the API's (`IsGuarded` asks there), make it ask first."""
        if isinstance(view, type):
            is_api = hasattr(view, "permission_classes")
            if issubclass(view, View) and not is_api:
                view.dispatch = method_decorator(self._asking)(view.dispatch)  # type: ignore[method-assign]
            view.guard = self.with_channel(API) if is_api else self  # type: ignore[attr-defined]
            return view
        asking = self._asking(view)
        asking.guard = self  # type: ignore[attr-defined]
        return asking

    def with_channel(self, channel: str) -> "Guard":
        """Return the same guard for views of another interface."""
        return replace(self, channel=channel)

    def admit(self, request: HttpRequest | Request) -> None:
        """Let a signed-in caller pass, or raise Forbidden naming what is missing."""
        if self.any_of:
            authorizer.require(by=actor_of(request), any_of=self.any_of)

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


def channel_of(match: ResolverMatch | None) -> str:
    """Return the channel of the view that an address leads to; what leads nowhere is answered by a page."""
    if match is None:
        return PAGES
    if ADMIN in match.app_names:
        return ADMIN
    guard = guard_of(match.func)
    return PAGES if guard is None else guard.channel


def actor_of(request: HttpRequest | Request) -> Actor:
    """Return who is calling, with groups and roles; resolved once for each request. Raises NotAuthenticated."""
    found: Actor | None = request.__dict__.get(_ACTOR)
    if found is None:
        if not request.user.is_authenticated:
            raise NotAuthenticated
        found = fact_cache.actor(urn=request.user.urn)
        setattr(request, _ACTOR, found)
    return found


def reading(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: whoever calls reads the answer, so that it names and lists nothing the caller may not view.

    What is asked meanwhile was asked through the door that the caller came in by.
    """

    def answered(request: HttpRequest) -> HttpResponse:
        with authorizer.read_by(lambda: _reader_of(request)), decision_log.through(_door_of(request)):
            return get_response(request)

    return answered


def _door_of(request: HttpRequest) -> decision_log.Door:
    return decision_log.Door(
        name=lambda: channel_of(request.resolver_match),
        by=lambda: getattr(request.user, "urn", ""),
        request_id=lambda: str(structlog.contextvars.get_contextvars().get("request_id", "")),
    )


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
