"""What the tests of several protocols ask of the guards of their views."""

from collections.abc import Callable
from typing import Any

from policies.http.guard import get_guard, signed_in


def asks_for_a_caller(view: Callable[..., Any]) -> bool:
    """Whether a view is for whoever is signed in, whatever its interface."""
    guard = get_guard(view)
    return guard is not None and guard.with_channel(signed_in.channel) == signed_in
