"""The frame of views of protocols for programs: method, authentication, the work, and refusals in their format."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import structlog
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from policies.errors import PolicyAppError
from policies.http.guard import Guard
from policies.outages import Outage, find_outage

log = structlog.get_logger(__name__)

CallerT = TypeVar("CallerT")
ViewParameters = ParamSpec("ViewParameters")


class MethodNotAllowed(PolicyAppError):
    """The path has no such method."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, methods: tuple[str, ...]) -> None:
        self.headers = {"Allow": ", ".join(methods)}
        super().__init__(f"This path knows {' and '.join(methods)} only.")


class OutageRefusal(PolicyAppError):
    """The refusal of a call that met an outage."""

    def __init__(self, outage: Outage) -> None:
        self.code, self.status = outage.code, int(outage.status)
        super().__init__(outage.detail)


def protocol_view(
    *methods: str,
    guard: Guard,
    authenticate: Callable[[HttpRequest], CallerT],
    render_refusal: Callable[[PolicyAppError], HttpResponse],
) -> Callable[[Callable[Concatenate[HttpRequest, CallerT, ViewParameters], HttpResponse]], Callable[..., HttpResponse]]:
    """Return a decorator for views that take the request and the caller; they need no CSRF token and are not cached.

    Without `methods` the view answers every method. Errors other than refusals and outages are answered with 500.
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, CallerT, ViewParameters], HttpResponse],
    ) -> Callable[..., HttpResponse]:
        @wraps(view)
        def handle(request: HttpRequest, *args: ViewParameters.args, **kwargs: ViewParameters.kwargs) -> HttpResponse:
            refusal: PolicyAppError
            try:
                if methods and request.method not in methods:
                    raise MethodNotAllowed(methods)
                return view(request, authenticate(request), *args, **kwargs)
            except PolicyAppError as error:
                refusal = error
            except Exception as error:
                outage = find_outage(error)
                if outage is None:
                    raise
                log.exception(outage.event)
                refusal = OutageRefusal(outage)
            response = render_refusal(refusal)
            for name, value in refusal.headers.items():
                response.headers[name] = value
            return response

        handle.guard = guard  # type: ignore[attr-defined]
        return csrf_exempt(never_cache(handle))

    return decorate
