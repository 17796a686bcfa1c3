"""URL patterns of the API under /api/v1/, without those of questions (`policies.decisions.api.urls`).

Paths of section 1 of the contract have no slash at the end, those of section 3 have; POST works with both spellings. A
URN in a path is decoded once, by the server, so it may contain slashes and anything else.
"""

from django.urls import URLPattern, path

from policies.authoring.api import bundles, policies, privilege_registry
from policies.changes.api import preview
from policies.decisions.api import audit, status
from policies.events.api import events, notifications
from policies.guardrails.api import guardrails
from policies.http.api.paths import api_paths
from policies.http.guard import API, public, signed_in
from policies.http.lazy_view import lazy_view
from policies.identity.api import access_tokens, groups, invitations, roles, service_accounts, users
from policies.requests.api import urls as request_urls

POLICY = r"(?P<urn>urn:li:dataHubPolicy:.+)"
USER = r"(?P<urn>urn:li:corpuser:.+)"
GROUP = r"(?P<urn>urn:li:corpGroup:.+)"
ROLE = r"(?P<urn>urn:li:dataHubRole:.+)"
GUARDRAIL = r"(?P<urn>urn:li:guardrail:.+)"
NUMBER = r"(?P<number>[0-9]{1,9})"


urlpatterns: list[URLPattern] = [
    path(
        "openapi.json",
        lazy_view("policies.http.api.openapi_schema.serve_document", public.with_channel(API)),
        name="api-document",
    ),
    path("docs", lazy_view("policies.http.api.openapi_schema.show_docs", signed_in.with_channel(API)), name="api-docs"),
    *api_paths("policies/", policies.PolicyListView, "api-policies"),
    *api_paths("policies/validate/", policies.PolicyValidateView, "api-policies-validate"),
    *api_paths(rf"policies/{POLICY}/versions/{NUMBER}/restore/", policies.PolicyRestoreView, "api-policy-restore"),
    *api_paths(rf"policies/{POLICY}/versions/{NUMBER}/", policies.PolicyVersionDetailView, "api-policy-version"),
    *api_paths(rf"policies/{POLICY}/versions/", policies.PolicyVersionListView, "api-policy-versions"),
    *api_paths(rf"policies/{POLICY}/", policies.PolicyDetailView, "api-policy"),
    *api_paths("guardrails/", guardrails.GuardrailListView, "api-guardrails"),
    *api_paths(rf"guardrails/{GUARDRAIL}/", guardrails.GuardrailDetailView, "api-guardrail"),
    *request_urls.urlpatterns,
    *api_paths("preview", preview.PreviewView, "api-preview"),
    *api_paths("bundles/plan", bundles.BundlePlanView, "api-bundles-plan"),
    *api_paths("bundles/apply", bundles.BundleApplyView, "api-bundles-apply"),
    *api_paths("bundles/export", bundles.BundleExportView, "api-bundles-export"),
    *api_paths("privileges/", privilege_registry.PrivilegeListView, "api-privileges"),
    *api_paths("users/", users.UserListView, "api-users"),
    *api_paths(rf"users/{USER}/", users.UserDetailView, "api-user"),
    *api_paths("groups/", groups.GroupListView, "api-groups"),
    *api_paths(rf"groups/{GROUP}/members/", groups.GroupMemberListView, "api-group-members"),
    *api_paths(rf"groups/{GROUP}/", groups.GroupDetailView, "api-group"),
    *api_paths("roles/", roles.RoleListView, "api-roles"),
    *api_paths("roles/assign/", roles.RoleAssignView, "api-roles-assign"),
    *api_paths(
        rf"roles/{ROLE}/actors/(?P<actor>urn:li:(?:corpuser|corpGroup):.+)/",
        roles.RoleHolderDetailView,
        "api-role-actor",
    ),
    *api_paths(rf"roles/{ROLE}/actors/", roles.RoleHolderListView, "api-role-actors"),
    *api_paths(rf"roles/{ROLE}/", roles.RoleDetailView, "api-role"),
    *api_paths("tokens/", access_tokens.TokenListView, "api-tokens"),
    path("tokens/<uuid:token_id>/", access_tokens.TokenDetailView.as_view(), name="api-token"),
    *api_paths("service-accounts/", service_accounts.ServiceAccountListView, "api-service-accounts"),
    *api_paths(
        rf"service-accounts/{USER}/tokens/", service_accounts.ServiceAccountTokenListView, "api-service-account-tokens"
    ),
    *api_paths(rf"service-accounts/{USER}/", service_accounts.ServiceAccountDetailView, "api-service-account"),
    *api_paths("invite-tokens/", invitations.InviteListView, "api-invite-tokens"),
    *api_paths("invite-tokens/accept/", invitations.InviteAcceptView, "api-invite-tokens-accept"),
    path("invite-tokens/<uuid:invite_id>/", invitations.InviteDetailView.as_view(), name="api-invite-token"),
    *api_paths("audit/", audit.AuditListView, "api-audit"),
    *api_paths("events", events.EventStreamView, "api-events"),
    *api_paths("notifications/", notifications.NoticeListView, "api-notifications"),
    *api_paths("notifications/read-all/", notifications.NoticesReadView, "api-notifications-read-all"),
    *api_paths(r"notifications/(?P<number>[0-9]{1,18})/", notifications.NoticeDetailView, "api-notification"),
    *api_paths("status/", status.StatusView, "api-status"),
]
