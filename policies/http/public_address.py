"""The address under which clients reach the site, for absolute addresses in answers of protocols."""

from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest

from policies.kept_settings import kept_settings
from policies.pdp.bound_value import BoundValue

_GET_ADDRESS: ContextVar[Callable[[], str] | None] = ContextVar("public_address", default=None)


def bind_request(get_request: Callable[[], HttpRequest]) -> BoundValue[Callable[[], str] | None]:
    """Let `get_address` return the address of this request inside the block; it is asked for only if needed."""
    return BoundValue(_GET_ADDRESS, lambda: find_address(get_request()))


def find_address(request: HttpRequest) -> str:
    """Return PUBLIC_URL if set, since a proxy may hide the requested host; else scheme and host of the request."""
    return kept_settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


def get_address() -> str:
    """Return the address of the bound request; PUBLIC_URL without one, and nothing where that is not set."""
    get_bound_address = _GET_ADDRESS.get()
    return (kept_settings.PUBLIC_URL or "") if get_bound_address is None else get_bound_address()
