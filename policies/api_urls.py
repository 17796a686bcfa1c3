"""Paths of the API under /api/v1/.

Section 1 of the contract has no slash at the end, section 3 has; POST works both ways. A URN in a path is decoded once,
by the server, so it may hold slashes and anything else.
"""

from django.urls import URLPattern, path, re_path
from rest_framework.views import APIView

from policies.authoring.api import policies, privilege_registry
from policies.decisions.api import audit, authorize, status
from policies.http.api import openapi_schema
from policies.identity.api import access_tokens, groups, invitations, roles, service_accounts, users

POLICY = r"(?P<urn>urn:li:dataHubPolicy:.+)"
USER = r"(?P<urn>urn:li:corpuser:.+)"
GROUP = r"(?P<urn>urn:li:corpGroup:.+)"
ROLE = r"(?P<urn>urn:li:dataHubRole:.+)"
NUMBER = r"(?P<number>[0-9]{1,9})"


def door(place: str, view: type[APIView], name: str) -> list[URLPattern]:
    """Return the patterns of one path (a regular expression) in the spelling given and, for POST, in the other."""
    patterns = [re_path(rf"^{place}$", view.as_view(), name=name)]
    if hasattr(view, "post"):
        other = place.removesuffix("/") if place.endswith("/") else f"{place}/"
        patterns.append(re_path(rf"^{other}$", view.as_view(is_other_spelling=True), name=f"{name}-other"))
    return patterns


urlpatterns: list[URLPattern] = [
    *door("authorize", authorize.Authorize, "api-authorize"),
    *door("authorize/batch", authorize.AuthorizeBatch, "api-authorize-batch"),
    path("openapi.json", openapi_schema.document, name="api-document"),
    path("docs", openapi_schema.page, name="api-docs"),
    *door("granted-privileges", authorize.GrantedPrivileges, "api-granted-privileges"),
    *door("who", authorize.Who, "api-who"),
    *door("policies/", policies.Policies, "api-policies"),
    *door("policies/validate/", policies.Validate, "api-policies-validate"),
    *door(rf"policies/{POLICY}/versions/{NUMBER}/restore/", policies.Restore, "api-policy-restore"),
    *door(rf"policies/{POLICY}/versions/{NUMBER}/", policies.OneVersion, "api-policy-version"),
    *door(rf"policies/{POLICY}/versions/", policies.Versions, "api-policy-versions"),
    *door(rf"policies/{POLICY}/", policies.OnePolicy, "api-policy"),
    *door("privileges/", privilege_registry.Privileges, "api-privileges"),
    *door("users/", users.Users, "api-users"),
    *door(rf"users/{USER}/", users.OneUser, "api-user"),
    *door("groups/", groups.Groups, "api-groups"),
    *door(rf"groups/{GROUP}/members/", groups.Members, "api-group-members"),
    *door(rf"groups/{GROUP}/", groups.OneGroup, "api-group"),
    *door("roles/", roles.Roles, "api-roles"),
    *door("roles/assign/", roles.Assign, "api-roles-assign"),
    *door(rf"roles/{ROLE}/actors/(?P<actor>urn:li:(?:corpuser|corpGroup):.+)/", roles.OneHolder, "api-role-actor"),
    *door(rf"roles/{ROLE}/actors/", roles.Holders, "api-role-actors"),
    *door(rf"roles/{ROLE}/", roles.OneRole, "api-role"),
    *door("tokens/", access_tokens.Tokens, "api-tokens"),
    path("tokens/<uuid:token_id>/", access_tokens.OneToken.as_view(), name="api-token"),
    *door("service-accounts/", service_accounts.ServiceAccounts, "api-service-accounts"),
    *door(rf"service-accounts/{USER}/tokens/", service_accounts.ServiceTokens, "api-service-account-tokens"),
    *door(rf"service-accounts/{USER}/", service_accounts.OneServiceAccount, "api-service-account"),
    *door("invite-tokens/", invitations.Invites, "api-invite-tokens"),
    *door("invite-tokens/accept/", invitations.Accept, "api-invite-tokens-accept"),
    path("invite-tokens/<uuid:invite_id>/", invitations.OneInvite.as_view(), name="api-invite-token"),
    *door("audit/", audit.Audit, "api-audit"),
    *door("status/", status.Status, "api-status"),
]
