"""Views whose module is imported by their first request instead of with the URL configuration."""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.module_loading import import_string

from policies.http.guard import Guard

#: Held while a module of addresses or views is imported: what two threads begin to import at different ends, either
#: might find unfinished.
_import_lock = RLock()


def lazy_view(path: str, guard: Guard) -> Callable[..., HttpResponse]:
    """Return a view that imports and calls the view at this dotted path, marked with the guard which that view applies.

    Some protocol libraries take longer to import than all else together, and many installations never use them.
    """

    def call_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = import_view(path)(request, *args, **kwargs)
        return response

    call_view.guard = guard  # type: ignore[attr-defined]
    return call_view


def import_view(path: str) -> Callable[..., HttpResponse]:
    """Return the view at this dotted path, whose module is imported if nobody has asked for it before."""
    with _import_lock:
        view: Callable[..., HttpResponse] = import_string(path)
    return view


def lazy_paths(route: str, module: str, namespace: str | None = None) -> URLResolver:
    """Return the paths of a URL module below a route, as `include` does; the first request for one imports the module.

    Code that goes through all addresses (`reverse`, `manage.py check`) imports it as well.
    """
    return _LazyResolver(RoutePattern(route), module, app_name=namespace, namespace=namespace)


class _LazyResolver(URLResolver):
    """The resolver of the paths of a module that is imported when it is asked for one."""

    @cached_property
    def urlconf_module(self) -> Any:
        """The module of addresses."""
        with _import_lock:
            return import_module(str(self.urlconf_name))
