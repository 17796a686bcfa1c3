"""URL patterns of the site.

A process that starts imports what answers decisions and tells of its health. Everything else is imported after its
first answer, or by the first request for it, or before workers are started that share it (`authzsite.later_views`).
"""

from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from authzsite import health, metrics_endpoint
from policies import admin
from policies.http.guard import public
from policies.http.lazy_view import lazy_paths

urlpatterns: list[URLPattern | URLResolver] = [
    # First, since decisions are requested more often than everything else together.
    path("api/v1/", include("policies.decisions.api.urls")),
    path("health", health.show_liveness),
    path("health/live", health.show_liveness, name="health-live"),
    path("health/ready", health.show_readiness, name="health-ready"),
    path("metrics", metrics_endpoint.show_metrics, name="metrics"),
    lazy_paths("api/v1/", "policies.api_urls"),
    lazy_paths("api/v1/", "catalog.api_urls"),
    lazy_paths("", "catalog.protocols.authzen.urls"),
    path("admin", public(RedirectView.as_view(pattern_name="admin:index"))),
    path("admin/", admin.site.urls),
    lazy_paths("", "catalog.protocols.datahub_rest.urls"),
    lazy_paths("", "catalog.protocols.datahub_openapi.urls"),
    lazy_paths("", "catalog.protocols.datahub_rest.signing_urls"),
    lazy_paths("", "catalog.protocols.datahub_graphql.urls"),
    lazy_paths("", "policies.identity.scim.urls"),
    lazy_paths("", "policies.urls"),
    lazy_paths("", "catalog.urls"),
]

# Interfaces for programs answer in their own format, everything else with a page.
handler400 = "authzsite.middleware_responses.handle_bad_request"
handler403 = "authzsite.middleware_responses.handle_forbidden"
handler404 = "authzsite.middleware_responses.handle_not_found"
handler500 = "authzsite.middleware_responses.handle_server_error"
