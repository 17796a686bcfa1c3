"""URL patterns of the pages, spelt as in DataHub."""

from django.urls import path

from policies.authoring.pages import urls as authoring_urls
from policies.decisions.pages import audit, explore, smallest_way, status, why
from policies.events.pages import notifications
from policies.guardrails.pages import urls as guardrail_urls
from policies.http.guard import public
from policies.http.lazy_view import lazy_view
from policies.http.pages import drafts, refresh
from policies.identity.pages import sign_in
from policies.identity.pages import urls as identity_urls
from policies.requests.pages import urls as request_urls

urlpatterns = [
    path("login", sign_in.sign_in, name="sign-in"),
    path("login/oidc", lazy_view("policies.identity.pages.oidc_views.begin", public), name="sign-in-oidc"),
    path(
        "login/oidc/callback", lazy_view("policies.identity.pages.oidc_views.finish", public), name="sign-in-oidc-back"
    ),
    path("logout", sign_in.sign_out, name="sign-out"),
    path("drafts", drafts.keep_draft, name="drafts"),
    path("drafts/discard", drafts.discard_draft, name="draft-discard"),
    path("notifications", notifications.list_notices, name="notifications"),
    path("notifications/read-all", notifications.mark_all, name="notifications-read-all"),
    path("notifications/mail", notifications.choose_mail, name="notifications-mail"),
    path("notifications/<int:number>/read", notifications.mark_notice, name="notification-mark"),
    path("why", why.show_explanation, name="why"),
    path("why/way", smallest_way.show_smallest_way, name="why-way"),
    path("why/can", explore.show_privileges, name="why-can"),
    path("why/who", explore.show_actors, name="why-who"),
    path("why/what", explore.show_entities, name="why-what"),
    *authoring_urls.urlpatterns,
    *guardrail_urls.urlpatterns,
    *identity_urls.urlpatterns,
    *request_urls.urlpatterns,
    path("settings/audit", audit.list_decisions, name="audit"),
    path("settings/audit/policies", audit.list_policy_changes, name="audit-policies"),
    path("settings/audit/people", audit.list_people_changes, name="audit-people"),
    path("settings/status", status.show_status, name="status"),
    path("settings/status/refresh", refresh.refresh_policies, name="status-refresh"),
    path("settings/status/workers", status.show_workers, name="status-workers"),
]
