"""The addresses of the pages about people. What is done stands before the URN, since a URN may hold any word."""

from django.urls import path

from policies.http.pages.availability import require_policies
from policies.identity.pages import (
    access_tokens,
    account_actions,
    groups,
    invitations,
    membership_forms,
    people_search,
    profile,
    roles,
    service_accounts,
    sign_up,
    users,
)

_ROLES = "settings/permissions/roles"
_USERS = "settings/identities/users"
_GROUPS = "settings/identities/groups"
_SERVICES = "settings/identities/service-accounts"

#: Roles have no power but by policies; they go with them.
_OF_ROLES = [
    path(_ROLES, roles.role_list, name="roles"),
    path(f"{_ROLES}/new", roles.role_new, name="role-new"),
    path(f"{_ROLES}/edit/<path:urn>", roles.role_edit, name="role-edit"),
    path(f"{_ROLES}/delete/<path:urn>", roles.role_remove, name="role-remove"),
    path(f"{_ROLES}/assign/<path:urn>", roles.role_assign, name="role-assign"),
    path(f"{_ROLES}/take/<path:urn>", roles.role_take, name="role-take"),
    path(f"{_ROLES}/<path:urn>", roles.role_detail, name="role"),
]

urlpatterns = [
    path("signup", sign_up.sign_up, name="sign-up"),
    path("reset", sign_up.reset, name="reset"),
    path("profile", profile.profile, name="profile"),
    path("profile/edit", profile.profile_edit, name="profile-edit"),
    path("profile/password", profile.own_password, name="own-password"),
    *require_policies(_OF_ROLES),
    path("settings/identities/options", people_search.options, name="people-options"),
    path(_USERS, users.user_list, name="users"),
    path(f"{_USERS}/new", users.user_new, name="user-new"),
    path(f"{_USERS}/invite", invitations.invite, name="invite"),
    path(f"{_USERS}/invite/end/<uuid:invite_id>", invitations.invite_revoke, name="invite-revoke"),
    path(f"{_USERS}/edit/<path:urn>", users.user_edit, name="user-edit"),
    path(f"{_USERS}/suspend/<path:urn>", account_actions.user_suspend, name="user-suspend"),
    path(f"{_USERS}/activate/<path:urn>", account_actions.user_activate, name="user-activate"),
    path(f"{_USERS}/remove/<path:urn>", account_actions.user_remove, name="user-remove"),
    path(f"{_USERS}/reset/<path:urn>", account_actions.user_reset, name="user-reset"),
    path(f"{_USERS}/roles/<path:urn>", membership_forms.user_roles, name="user-roles"),
    path(f"{_USERS}/groups/<path:urn>", membership_forms.user_groups, name="user-groups"),
    path(f"{_USERS}/<path:urn>", users.user_detail, name="user"),
    path(_GROUPS, groups.group_list, name="groups"),
    path(f"{_GROUPS}/new", groups.group_new, name="group-new"),
    path(f"{_GROUPS}/edit/<path:urn>", groups.group_edit, name="group-edit"),
    path(f"{_GROUPS}/delete/<path:urn>", groups.group_remove, name="group-remove"),
    path(f"{_GROUPS}/add/<path:urn>", groups.group_add, name="group-add"),
    path(f"{_GROUPS}/take/<path:urn>", groups.group_take, name="group-take"),
    path(f"{_GROUPS}/roles/<path:urn>", groups.group_roles, name="group-roles"),
    path(f"{_GROUPS}/<path:urn>", groups.group_detail, name="group"),
    path(_SERVICES, service_accounts.service_list, name="service-accounts"),
    path(f"{_SERVICES}/new", service_accounts.service_new, name="service-account-new"),
    path(f"{_SERVICES}/edit/<path:urn>", service_accounts.service_edit, name="service-account-edit"),
    path(f"{_SERVICES}/state/<path:urn>", service_accounts.service_state, name="service-account-state"),
    path(f"{_SERVICES}/delete/<path:urn>", service_accounts.service_remove, name="service-account-remove"),
    path(f"{_SERVICES}/<path:urn>", service_accounts.service_detail, name="service-account"),
    path("settings/tokens", access_tokens.token_list, name="tokens"),
    path("settings/tokens/new", access_tokens.token_new, name="token-new"),
    path("settings/tokens/revoke/<uuid:token_id>", access_tokens.token_revoke, name="token-revoke"),
]
