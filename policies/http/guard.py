"""Guards of views: every view is marked as public, for signed-in callers, or for holders of a privilege.

An unmarked API view refuses every call, and a test walks every URL to find unmarked views. Privileges are decided by
the same authorizer that answers all other questions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from itertools import product
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
from policies.engine.requirements import Requirement
from policies.http import unanswered_posts
from policies.pdp import authorizer, fact_cache
from policies.pdp.log import decision_log

if TYPE_CHECKING:
    from rest_framework.views import APIView  # a circular import at run time

#: Attribute of a request that caches its actor.
_ACTOR_ATTRIBUTE = "actor"

#: Channels: the pages, Django's admin, and the project's own API.
PAGES, ADMIN, API = "pages", "admin", "api"

AnyView = TypeVar("AnyView", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Guard:
    """Access rule of a view: everybody, signed-in callers, or holders of every privilege of one list in `any_of`.

    Used as a decorator it marks a view (function or class). `channel` is the name of the interface that the view
    belongs to, as stored in records of changes and decisions.
    """

    is_public: bool = False
    any_of: tuple[tuple[str, ...], ...] = ()
    channel: str = PAGES

    def __call__(self, view: AnyView) -> AnyView:
        """Mark a view; unless it is an API view (`IsGuarded` checks those), also wrap it with the check."""
        if isinstance(view, type):
            is_api = hasattr(view, "permission_classes")
            if issubclass(view, View) and not is_api:
                view.dispatch = method_decorator(self._wrap_view)(view.dispatch)  # type: ignore[method-assign]
            view.guard = self.with_channel(API) if is_api else self  # type: ignore[attr-defined]
            return view
        guarded_view = self._wrap_view(view)
        guarded_view.guard = self  # type: ignore[attr-defined]
        return guarded_view

    @classmethod
    def from_requirement(cls, requirement: Requirement) -> "Guard":
        """Return the guard of views whose callers must meet a requirement on the platform."""
        return cls(
            any_of=tuple(
                privileges
                for alternative in requirement.any_of
                for privileges in product(*(need.privileges for need in alternative))
            )
        )

    def with_channel(self, channel: str) -> "Guard":
        """Return the same guard for views of another interface."""
        return replace(self, channel=channel)

    def check_access(self, request: HttpRequest | Request) -> None:
        """Raise Forbidden naming the missing privileges unless the signed-in caller meets `any_of`."""
        if self.any_of:
            authorizer.require(by=get_actor(request), any_of=self.any_of)

    def _wrap_view(self, view: AnyView) -> AnyView:
        @wraps(view)
        def check_and_call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.is_public:
                if not request.user.is_authenticated:
                    return redirect_to_login(unanswered_posts.keep_post(request) or request.get_full_path())
                self.check_access(request)
            response: HttpResponseBase = view(request, *args, **kwargs)
            return response

        return check_and_call  # type: ignore[return-value]


#: Guard of public views.
public = Guard(is_public=True)
#: Guard for any signed-in caller; the view checks further privileges itself.
signed_in = Guard()


def needs(*privileges: str) -> Guard:
    """Return the guard of views that need any one of these platform privileges."""
    return Guard(any_of=tuple((privilege,) for privilege in privileges))


def get_guard(view: Callable[..., Any]) -> Guard | None:
    """Return the guard of a view as a URL pattern holds it, or None for an unmarked view."""
    guard = getattr(view, "guard", None) or getattr(getattr(view, "view_class", None), "guard", None)
    return guard if isinstance(guard, Guard) else None


def get_channel(match: ResolverMatch | None) -> str:
    """Return the channel of the view that a URL resolves to; an unresolved URL is answered by a page."""
    if match is None:
        return PAGES
    if ADMIN in match.app_names:
        return ADMIN
    guard = get_guard(match.func)
    return PAGES if guard is None else guard.channel


def get_actor(request: HttpRequest | Request) -> Actor:
    """Return the calling actor with groups and roles, resolved once per request; raises NotAuthenticated."""
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
    """Middleware: bind the caller as the viewer, so that an answer names and lists nothing the caller may not view.

    It also binds the channel, caller and request id to the entries that the decision log writes meanwhile.
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
    """DRF permission that applies the guard of an API view; an unmarked view is refused."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Return whether the guard admits the caller; raises NotAuthenticated, or Forbidden naming what is missing."""
        guard = getattr(view, "guard", None)
        if not isinstance(guard, Guard):
            return False
        if guard.is_public:
            return True
        if not request.user.is_authenticated:
            raise NotAuthenticated
        guard.check_access(request)
        return True
