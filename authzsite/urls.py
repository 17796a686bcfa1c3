"""URL patterns of the site."""

from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from authzsite import health, metrics_endpoint
from policies import admin
from policies.http.guard import public

urlpatterns: list[URLPattern | URLResolver] = [
    # First, since decisions are requested more often than everything else together.
    path("api/v1/", include("policies.api_urls")),
    path("api/v1/", include("catalog.api_urls")),
    path("health", health.show_liveness),
    path("health/live", health.show_liveness, name="health-live"),
    path("health/ready", health.show_readiness, name="health-ready"),
    path("metrics", metrics_endpoint.show_metrics, name="metrics"),
    path("admin", public(RedirectView.as_view(pattern_name="admin:index"))),
    path("admin/", admin.site.urls),
    path("", include("catalog.protocols.authzen.urls")),
    path("", include("catalog.protocols.datahub_rest.urls")),
    path("", include("catalog.protocols.datahub_openapi.urls")),
    path("", include("catalog.protocols.datahub_rest.signing_urls")),
    path("", include("catalog.protocols.datahub_graphql.urls")),
    path("", include("policies.identity.scim.urls")),
    path("", include("policies.urls")),
    path("", include("catalog.urls")),
]

# Interfaces for programs answer in their own format, everything else with a page.
handler400 = "authzsite.middleware_responses.handle_bad_request"
handler403 = "authzsite.middleware_responses.handle_forbidden"
handler404 = "authzsite.middleware_responses.handle_not_found"
handler500 = "authzsite.middleware_responses.handle_server_error"
