"""Pages that are not there while policies are switched off (AUTH_POLICIES_ENABLED), as in DataHub."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import URLPattern


def require_policies(patterns: Iterable[URLPattern]) -> list[URLPattern]:
    """Return the addresses with each of their views answering 404 while policies are switched off."""
    found = list(patterns)
    for pattern in found:
        pattern.callback = _require(pattern.callback)
    return found


def _require(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **parts: Any) -> HttpResponseBase:
        if not settings.AUTH_POLICIES_ENABLED:
            raise Http404("Policies are switched off.")
        return view(request, *args, **parts)

    return answer
