"""Views whose module is imported by their first request instead of with the URL configuration."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from policies.http.guard import Guard


def lazy_view(path: str, guard: Guard) -> Callable[..., HttpResponse]:
    """Return a view that imports and calls the view at this dotted path, marked with the guard which that view applies.

    Some protocol libraries take longer to import than all else together, and many installations never use them.
    """

    def call_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = import_string(path)(request, *args, **kwargs)
        return response

    call_view.guard = guard  # type: ignore[attr-defined]
    return call_view
