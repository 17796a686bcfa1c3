"""URL patterns of the identity pages. The action stands before the URN, since a URN may contain any text."""

from django.urls import path

from policies.http.pages.availability import require_policies
from policies.identity.pages import (
    access_tokens,
    account_actions,
    group_members,
    groups,
    invitations,
    membership_forms,
    people_search,
    profile,
    role_holders,
    roles,
    service_accounts,
    sign_up,
    users,
)

_ROLES_PATH = "settings/permissions/roles"
_USERS_PATH = "settings/identities/users"
_GROUPS_PATH = "settings/identities/groups"
_SERVICE_ACCOUNTS_PATH = "settings/identities/service-accounts"

#: Roles have no effect without policies, so these pages exist only where policies are enabled.
_ROLE_URLPATTERNS = [
    path(_ROLES_PATH, roles.list_roles, name="roles"),
    path(f"{_ROLES_PATH}/new", roles.create_role, name="role-new"),
    path(f"{_ROLES_PATH}/edit/<path:urn>", roles.edit_role, name="role-edit"),
    path(f"{_ROLES_PATH}/delete/<path:urn>", roles.delete_role, name="role-remove"),
    path(f"{_ROLES_PATH}/assign/<path:urn>", role_holders.assign_role, name="role-assign"),
    path(f"{_ROLES_PATH}/take/<path:urn>", role_holders.revoke_role, name="role-take"),
    path(f"{_ROLES_PATH}/times/<path:urn>", role_holders.change_holder_times, name="role-times"),
    path(f"{_ROLES_PATH}/<path:urn>", roles.show_role, name="role"),
]

urlpatterns = [
    path("signup", sign_up.sign_up, name="sign-up"),
    path("reset", sign_up.reset_password, name="reset"),
    path("profile", profile.show_profile, name="profile"),
    path("profile/edit", profile.edit_profile, name="profile-edit"),
    path("profile/password", profile.change_password, name="own-password"),
    *require_policies(_ROLE_URLPATTERNS),
    path("settings/identities/options", people_search.list_options, name="people-options"),
    path(_USERS_PATH, users.list_users, name="users"),
    path(f"{_USERS_PATH}/new", users.create_user, name="user-new"),
    path(f"{_USERS_PATH}/invite", invitations.invite_users, name="invite"),
    path(f"{_USERS_PATH}/invite/end/<uuid:invite_id>", invitations.revoke_invitation, name="invite-revoke"),
    path(f"{_USERS_PATH}/edit/<path:urn>", users.edit_user, name="user-edit"),
    path(f"{_USERS_PATH}/suspend/<path:urn>", account_actions.suspend_user, name="user-suspend"),
    path(f"{_USERS_PATH}/activate/<path:urn>", account_actions.activate_user, name="user-activate"),
    path(f"{_USERS_PATH}/remove/<path:urn>", account_actions.delete_user, name="user-remove"),
    path(f"{_USERS_PATH}/reset/<path:urn>", account_actions.create_reset_link, name="user-reset"),
    path(f"{_USERS_PATH}/roles/<path:urn>", membership_forms.edit_user_roles, name="user-roles"),
    path(f"{_USERS_PATH}/groups/<path:urn>", membership_forms.add_user_to_groups, name="user-groups"),
    path(f"{_USERS_PATH}/<path:urn>", users.show_user, name="user"),
    path(_GROUPS_PATH, groups.list_groups, name="groups"),
    path(f"{_GROUPS_PATH}/new", groups.create_group, name="group-new"),
    path(f"{_GROUPS_PATH}/edit/<path:urn>", groups.edit_group, name="group-edit"),
    path(f"{_GROUPS_PATH}/delete/<path:urn>", groups.delete_group, name="group-remove"),
    path(f"{_GROUPS_PATH}/add/<path:urn>", group_members.add_members, name="group-add"),
    path(f"{_GROUPS_PATH}/take/<path:urn>", group_members.remove_member, name="group-take"),
    path(f"{_GROUPS_PATH}/times/<path:urn>", group_members.change_member_times, name="group-times"),
    path(f"{_GROUPS_PATH}/roles/<path:urn>", groups.edit_group_roles, name="group-roles"),
    path(f"{_GROUPS_PATH}/<path:urn>", groups.show_group, name="group"),
    path(_SERVICE_ACCOUNTS_PATH, service_accounts.list_service_accounts, name="service-accounts"),
    path(f"{_SERVICE_ACCOUNTS_PATH}/new", service_accounts.create_service_account, name="service-account-new"),
    path(
        f"{_SERVICE_ACCOUNTS_PATH}/edit/<path:urn>", service_accounts.edit_service_account, name="service-account-edit"
    ),
    path(
        f"{_SERVICE_ACCOUNTS_PATH}/state/<path:urn>",
        service_accounts.toggle_service_account,
        name="service-account-state",
    ),
    path(
        f"{_SERVICE_ACCOUNTS_PATH}/delete/<path:urn>",
        service_accounts.delete_service_account,
        name="service-account-remove",
    ),
    path(f"{_SERVICE_ACCOUNTS_PATH}/<path:urn>", service_accounts.show_service_account, name="service-account"),
    path("settings/tokens", access_tokens.list_tokens, name="tokens"),
    path("settings/tokens/new", access_tokens.create_token, name="token-new"),
    path("settings/tokens/revoke/<uuid:token_id>", access_tokens.revoke_token, name="token-revoke"),
]
