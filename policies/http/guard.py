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
_ACTOR_ATTRIBUTE = "actor"

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
                view.dispatch = method_decorator(self._wrap_view)(view.dispatch)  # type: ignore[method-assign]
            view.guard = self.with_channel(API) if is_api else self  # type: ignore[attr-defined]
            return view
        guarded_view = self._wrap_view(view)
        guarded_view.guard = self  # type: ignore[attr-defined]
        return guarded_view

    def with_channel(self, channel: str) -> "Guard":
        """Return the same guard for views of another interface."""
        return replace(self, channel=channel)

    def check_access(self, request: HttpRequest | Request) -> None:
        """Let a signed-in caller pass, or raise Forbidden naming what is missing."""
        if self.any_of:
            authorizer.require(by=get_actor(request), any_of=self.any_of)

    def _wrap_view(self, view: AnyView) -> AnyView:
        @wraps(view)
        def check_and_call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.is_public:
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                self.check_access(request)
            response: HttpResponseBase = view(request, *args, **kwargs)
            return response

        return check_and_call  # type: ignore[return-value]


#: Open to everybody.
public = Guard(is_public=True)
#: For whoever is signed in; what each may do is asked further in.
signed_in = Guard()


def needs(*privileges: str) -> Guard:
    """Return the guard of views for which any one of these platform privileges is needed."""
    return Guard(any_of=tuple((privilege,) for privilege in privileges))


def get_guard(view: Callable[..., Any]) -> Guard | None:
    """Return the mark of a view as a URL pattern holds it, or None when it has none."""
    guard = getattr(view, "guard", None) or getattr(getattr(view, "view_class", None), "guard", None)
    return guard if isinstance(guard, Guard) else None


def get_channel(match: ResolverMatch | None) -> str:
    """Return the channel of the view that an address leads to; what leads nowhere is answered by a page."""
    if match is None:
        return PAGES
    if ADMIN in match.app_names:
        return ADMIN
    guard = get_guard(match.func)
    return PAGES if guard is None else guard.channel


def get_actor(request: HttpRequest | Request) -> Actor:
    """Return who is calling, with groups and roles; resolved once for each request. Raises NotAuthenticated."""
    actor: Actor | None = request.__dict__.get(_ACTOR_ATTRIBUTE)
    if actor is None:
        if not request.user.is_authenticated:
            raise NotAuthenticated
        actor = fact_cache.get_actor(urn=request.user.urn)
        setattr(request, _ACTOR_ATTRIBUTE, actor)
    return actor


def viewer_context_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: whoever calls reads the answer, so that it names and lists nothing the caller may not view.

    What is asked meanwhile was asked through the door that the caller came in by.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        with (
            authorizer.bind_viewer(lambda: _get_viewer(request)),
            decision_log.bind_request(_build_request_channel(request)),
        ):
            return get_response(request)

    return handle


def _build_request_channel(request: HttpRequest) -> decision_log.RequestChannel:
    return decision_log.RequestChannel(
        name=lambda: get_channel(request.resolver_match),
        by=lambda: getattr(request.user, "urn", ""),
        request_id=lambda: str(structlog.contextvars.get_contextvars().get("request_id", "")),
    )


def _get_viewer(request: HttpRequest) -> Actor:
    return get_actor(request) if request.user.is_authenticated else Actor("", is_active=False)


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
        guard.check_access(request)
        return True
