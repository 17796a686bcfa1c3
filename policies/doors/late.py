"""Views whose module is imported by the first request that they get, and not with the addresses of the site."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt

from policies import guard


def late(path: str) -> Callable[..., HttpResponse]:
    """Return the view with this dotted path, which looks for itself who is calling; it takes no token against forgery.

    Some libraries of protocols take longer to import than all else together, and many installations never use them.
    """

    @csrf_exempt
    def view(request: HttpRequest, *args: Any, **parts: Any) -> HttpResponse:
        found: HttpResponse = import_string(path)(request, *args, **parts)
        return found

    # Records say through which door something came by the module of its view.
    view.__module__ = path.rpartition(".")[0]
    view.guard = guard.signed_in  # type: ignore[attr-defined]
    return view
