"""URL patterns of endpoints of the API."""

from django.urls import URLPattern, re_path
from rest_framework.views import APIView


def api_paths(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    """Return the patterns of a route (a regular expression) as spelt and, if it has POST, with the other slash."""
    patterns = [re_path(rf"^{route}$", view.as_view(), name=name)]
    if hasattr(view, "post"):
        other_route = route.removesuffix("/") if route.endswith("/") else f"{route}/"
        patterns.append(re_path(rf"^{other_route}$", view.as_view(is_other_spelling=True), name=f"{name}-other"))
    return patterns
