"""Redirects from the URLs of DataHub's own web pages, so that links and bookmarks keep working.

A redirect depends on the URL alone: it is the same for a hidden, a missing and an existing entity.
"""

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, re_path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from policies.http.guard import signed_in
from policies.http.pages import layout_context

#: First path segment of entity pages in DataHub's web application.
ENTITY_PATHS = (
    "application",
    "businessTerm",
    "chart",
    "container",
    "dashboard",
    "dataProducts",
    "dataset",
    "domain",
    "featureTables",
    "features",
    "glossaryNode",
    "glossaryTerm",
    "mlModelGroup",
    "mlModels",
    "mlPrimaryKeys",
    "notebook",
    "pipelines",
    "platform",
    "tag",
    "tasks",
)

#: Matches the name of a page tab after the URN of an entity.
_TAB_SUFFIX = re.compile(r"(?<=\))/.*$|/[A-Z][A-Za-z ]*/?$")

#: DataHub's settings pages, by the path after /settings/: the section of our menu to which they belong.
_SETTINGS_SECTIONS = {"permissions": "Permissions", "identities": "Users & Groups"}


@require_safe
@signed_in
def redirect_to_entity(_request: HttpRequest, urn: str, route: str = "entity") -> HttpResponse:
    """Redirect to the page of the entity, without the tab name after the URN."""
    return redirect(route, urn=_TAB_SUFFIX.sub("", urn))


@require_safe
@signed_in
def redirect_to_search(request: HttpRequest, **_parts: str) -> HttpResponse:
    """Redirect to the catalog with the search text; DataHub's filters are left out."""
    query = request.GET.get("query", "").strip()
    return redirect(reverse("catalog") + (f"?{urlencode({'q': query})}" if query not in ("", "*") else ""))


@require_safe
@signed_in
def redirect_to_settings(request: HttpRequest, part: str = "") -> HttpResponse:
    """Redirect to the first settings page (of a section) that the caller may use, else to the profile."""
    return redirect(
        layout_context.find_settings_url(request, section=_SETTINGS_SECTIONS.get(part, "")) or reverse("profile")
    )


def _build_redirect(address: str, route: str, **parts: str) -> URLPattern:
    """Return the pattern of a URL that redirects to one of our pages."""
    view = signed_in(RedirectView.as_view(pattern_name=route))
    return path(address, view, parts, name=f"datahub-{address.replace('/', '-')}")


urlpatterns = [
    path("settings", redirect_to_settings, name="settings"),
    re_path(r"^settings/(?P<part>permissions|identities)$", redirect_to_settings, name="settings-section"),
    re_path(r"^(?P<part>permissions|identities)$", redirect_to_settings, name="datahub-section"),
    _build_redirect("policies", "policies"),
    _build_redirect("settings/policies", "policies"),
    _build_redirect("permissions/policies", "policies"),
    _build_redirect("settings/personal", "profile"),
    _build_redirect("datasets", "catalog"),
    _build_redirect("glossary", "catalog"),
    _build_redirect("domains", "catalog-browse", way="domains"),
    _build_redirect("authenticate", "home"),
    path("search", redirect_to_search, name="datahub-search"),
    path("search/<path:kind>", redirect_to_search, name="datahub-search-kind"),
    path("browse", redirect_to_search, name="datahub-browse"),
    path("browse/<path:kind>", redirect_to_search, name="datahub-browse-kind"),
    re_path(rf"^(?:{'|'.join(ENTITY_PATHS)})/(?P<urn>urn:li:.+)$", redirect_to_entity, name="datahub-entity"),
    path("role/<path:urn>", redirect_to_entity, {"route": "external-role"}, name="datahub-role"),
    path("user/<path:urn>", redirect_to_entity, {"route": "user"}, name="datahub-user"),
    path("group/<path:urn>", redirect_to_entity, {"route": "group"}, name="datahub-group"),
]
