"""URL patterns of questions to the API, under /api/v1/."""

from django.urls import URLPattern

from policies.decisions.api import authorize
from policies.http.api.paths import api_paths

urlpatterns: list[URLPattern] = [
    *api_paths("authorize", authorize.AuthorizeView, "api-authorize"),
    *api_paths("authorize/batch", authorize.AuthorizeBatchView, "api-authorize-batch"),
    *api_paths("granted-privileges", authorize.AllowedPrivilegesView, "api-granted-privileges"),
    *api_paths("who", authorize.AllowedActorsView, "api-who"),
]
