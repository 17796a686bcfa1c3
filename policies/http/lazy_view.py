"""Views whose module is imported by the first request that they get, and not with the addresses of the site."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from policies.http.guard import Guard


def lazy_view(path: str, guard: Guard) -> Callable[..., HttpResponse]:
    """Return the view with this dotted path, marked with the guard that it keeps to by itself.

    Some libraries of protocols take longer to import than all else together, and many installations never use them.
    """

    def call_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = import_string(path)(request, *args, **kwargs)
        return response

    call_view.guard = guard  # type: ignore[attr-defined]
    return call_view
