"""The addresses of the pages, spelt as DataHub's users type them."""

from django.urls import path

from policies.authoring.pages import urls as authoring_urls
from policies.decisions.pages import audit, explore, status, why
from policies.http.guard import public
from policies.http.lazy_view import late
from policies.http.pages import refresh
from policies.identity.pages import sign_in
from policies.identity.pages import urls as identity_urls

urlpatterns = [
    path("", sign_in.home, name="home"),
    path("login", sign_in.sign_in, name="sign-in"),
    path("login/oidc", late("policies.identity.pages.oidc_views.begin", public), name="sign-in-oidc"),
    path("login/oidc/callback", late("policies.identity.pages.oidc_views.back", public), name="sign-in-oidc-back"),
    path("logout", sign_in.sign_out, name="sign-out"),
    path("why", why.why, name="why"),
    path("why/can", explore.can, name="why-can"),
    path("why/who", explore.who, name="why-who"),
    path("why/what", explore.what, name="why-what"),
    *authoring_urls.urlpatterns,
    *identity_urls.urlpatterns,
    path("settings/audit", audit.decisions, name="audit"),
    path("settings/audit/policies", audit.policy_changes, name="audit-policies"),
    path("settings/audit/people", audit.people_changes, name="audit-people"),
    path("settings/status", status.status, name="status"),
    path("settings/status/refresh", refresh.refresh, name="status-refresh"),
    path("settings/status/workers", status.workers, name="status-workers"),
]
