"""Pages that answer 404 while policies are switched off (AUTH_POLICIES_ENABLED), as in DataHub."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import URLPattern


def require_policies(patterns: Iterable[URLPattern]) -> list[URLPattern]:
    """Return the URL patterns with each view wrapped to answer 404 while policies are switched off."""
    url_patterns = list(patterns)
    for pattern in url_patterns:
        pattern.callback = _require_policies(pattern.callback)
    return url_patterns


def _require_policies(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def call_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.AUTH_POLICIES_ENABLED:
            raise Http404("Policies are switched off.")
        return view(request, *args, **kwargs)

    return call_view
