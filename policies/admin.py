"""Django's admin, read-only, with actions to repair what is stored.

It is open to staff accounts (`is_staff`, as the root user) that also hold MANAGE_POLICIES; `is_superuser` means
nothing. Everything is read-only, since a form that saved a row would bypass validation, version and change log. Repairs
are actions that call services.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver
from django.utils.html import format_html
from django.utils.safestring import SafeString

from policies.authoring.services import policies
from policies.changes.staging import MAX_CHANGES
from policies.engine.wording import word_count
from policies.errors import Forbidden, PolicyAppError
from policies.http.guard import get_actor, needs
from policies.http.pages.change_effect import ProposedChange, describe_effect
from policies.identity.services import access_tokens, users
from policies.models import (
    AccessToken,
    ChangeEvent,
    GroupProfile,
    Membership,
    Policy,
    PolicyEvent,
    PolicyVersion,
    Role,
    RoleAssignment,
    ScheduledMembership,
    ScheduledRoleAssignment,
    User,
)

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

CHANNEL = "admin"

#: Most policies and users that the confirmation page names.
_MAX_NAMED_ROWS = 10

_GUARD = needs("MANAGE_POLICIES")

#: Names of URLs of Django's admin that our own sign-in and services replace.
_OMITTED_URL_NAMES = frozenset({"login", "logout", "password_change", "password_change_done"})


class GuardedAdminSite(admin.AdminSite):
    """Django's admin behind our own sign-in and guard."""

    site_title = site_header = "authzsite"
    index_title = "Admin site"

    def get_urls(self) -> list[Any]:
        """Return the URL patterns of the admin, each guarded by MANAGE_POLICIES."""
        patterns = [
            pattern for pattern in super().get_urls() if getattr(pattern, "name", None) not in _OMITTED_URL_NAMES
        ]
        _guard(patterns)
        return patterns

    def has_permission(self, request: HttpRequest) -> bool:
        """Return True; raises Forbidden for an account that is not staff."""
        if not getattr(request.user, "is_staff", False):
            raise Forbidden((), "The admin site is open to staff accounts only.")
        return True


def _guard(patterns: Iterable[URLPattern | URLResolver]) -> None:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            _guard(pattern.url_patterns)
        else:
            pattern.callback = _GUARD(pattern.callback)


site = GuardedAdminSite(name="admin")


def _allow_all(*_: object, **__: object) -> bool:
    return True


def _deny_all(*_: object, **__: object) -> bool:
    return False


class ReadOnlyAdmin(_ModelAdmin):
    """A read-only table; the columns in `pretty_columns` are shown as indented JSON.

    Permissions are always granted, since the guard of the site has refused everybody else.
    """

    show_full_result_count = False
    pretty_columns: tuple[str, ...] = ()
    has_module_permission = has_view_permission = _allow_all
    has_add_permission = has_change_permission = has_delete_permission = _deny_all

    def get_fields(self, *_: object, **__: object) -> list[Any]:
        """Return every column."""
        columns = [field.name for field in self.opts.fields if field.name not in (self.exclude or ())]
        return [f"pretty_{name}" if name in self.pretty_columns else name for name in columns]

    def get_readonly_fields(self, *_: object, **__: object) -> list[Any]:
        """Return every column: all are read-only."""
        return self.get_fields()

    def pretty_document(self, row: Any) -> SafeString:
        """Return a document as HTML."""
        return _render_json(row.document)

    def pretty_extra(self, row: Any) -> SafeString:
        """Return the fields without a column as HTML."""
        return _render_json(row.extra)

    def pretty_before(self, row: Any) -> SafeString:
        """Return the state before a change as HTML."""
        return _render_json(row.before)

    def pretty_after(self, row: Any) -> SafeString:
        """Return the state after a change as HTML."""
        return _render_json(row.after)


def _render_json(value: Any) -> SafeString:
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, ensure_ascii=False))


def _render_confirmation(
    model_admin: ReadOnlyAdmin,
    request: HttpRequest,
    *,
    title: str,
    names: Sequence[str],
    changes: Sequence[ProposedChange],
) -> HttpResponse:
    """Return the page that asks before the chosen rows are changed, with who would gain and lose what."""
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "opts": model_admin.opts,
        "action": request.POST["action"],
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "checkbox": ACTION_CHECKBOX_NAME,
        "is_across": request.POST.get("select_across", "0"),
        "names": names[:_MAX_NAMED_ROWS],
        "more": max(len(names) - _MAX_NAMED_ROWS, 0),
        "effect": describe_effect(*changes[:MAX_CHANGES], by=get_actor(request)),
        "is_cut": len(changes) > MAX_CHANGES,
        "most": MAX_CHANGES,
    }
    return TemplateResponse(request, "admin/state_confirmation.html", context)


def _write_each(request: HttpRequest, rows: Iterable[Model], write: Callable[[Any], object]) -> None:
    """Call a service for each row, with a message for each success or refusal."""
    for row in rows:
        try:
            write(row)
        except PolicyAppError as error:
            messages.error(request, f"{row}: {error.detail}")
        else:
            messages.success(request, f"{row}: done.")


@admin.register(Policy, site=site)
class PolicyAdmin(ReadOnlyAdmin):
    """Policies, with actions to activate and deactivate them."""

    list_display = ("name", "urn", "family", "type", "state", "is_editable", "version")
    list_filter = ("family", "type", "state", "is_editable")
    search_fields = ("name", "=urn")
    pretty_columns = ("document", "extra")
    actions = ("activate", "deactivate")

    @admin.action(description="Activate")
    def activate(self, request: HttpRequest, queryset: QuerySet[Policy]) -> HttpResponse | None:
        """Activate policies after a confirmation."""
        return self._confirm_or_set_states(request, queryset, Policy.State.ACTIVE)

    @admin.action(description="Deactivate")
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Policy]) -> HttpResponse | None:
        """Deactivate policies after a confirmation."""
        return self._confirm_or_set_states(request, queryset, Policy.State.INACTIVE)

    def _confirm_or_set_states(self, request: HttpRequest, rows: QuerySet[Policy], state: str) -> HttpResponse | None:
        """Return the confirmation page with who would gain and lose what; once confirmed, set the states."""
        if request.POST.get("is_confirmed"):
            self._set_states(request, rows, state)
            return None
        policy_rows = [row for row in rows.order_by("name", "pk") if not row.is_state_fixed]
        verb = "Activate" if state == Policy.State.ACTIVE else "Deactivate"
        return _render_confirmation(
            self,
            request,
            title=f"{verb} {word_count(len(policy_rows), 'policy', 'policies')}?",
            names=[row.name for row in policy_rows],
            changes=[{"set_state": {"urn": row.urn, "state": state}} for row in policy_rows],
        )

    def _set_states(self, request: HttpRequest, rows: QuerySet[Policy], state: str) -> None:
        """Set the state of all policies whose state is not fixed in one write, with messages about the rest."""
        policy_rows = list(rows)
        for row in policy_rows:
            if row.is_state_fixed:
                messages.error(request, f"{row}: {row.name} cannot be changed.")
        urns = [row.urn for row in policy_rows if not row.is_state_fixed]
        if not urns:
            return
        try:
            version = policies.set_states(urns=urns, state=state, by=get_actor(request), channel=CHANNEL)
        except PolicyAppError as error:
            messages.error(request, f"None of {len(urns)}: {error.detail}")
        else:
            messages.success(request, f"{len(urns)} done. Saved as version {version}.")


@admin.register(User, site=site)
class UserAdmin(ReadOnlyAdmin):
    """Users, with actions to suspend and reactivate them. The password's digest is not shown."""

    list_display = ("username", "display_name", "email", "state", "kind", "is_removed", "is_staff")
    list_filter = ("state", "kind", "is_removed", "is_staff")
    search_fields = ("username", "display_name", "email")
    exclude = ("password",)
    pretty_columns = ("extra",)
    actions = ("suspend", "reactivate")

    @admin.action(description="Suspend")
    def suspend(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """Suspend users after a confirmation, which ends their sessions."""
        return self._confirm_or_set_states(request, queryset, User.State.SUSPENDED)

    @admin.action(description="End the suspension")
    def reactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """End the suspension of users after a confirmation."""
        return self._confirm_or_set_states(request, queryset, User.State.ACTIVE)

    def _confirm_or_set_states(self, request: HttpRequest, rows: QuerySet[User], state: str) -> HttpResponse | None:
        """Return the confirmation page; once confirmed, set the states."""
        if request.POST.get("is_confirmed"):
            by = get_actor(request)
            _write_each(request, rows, lambda row: users.update(urn=row.urn, state=state, by=by, channel=CHANNEL))
            return None
        verb, kind = ("Suspend", "suspend") if state == User.State.SUSPENDED else ("End the suspension of", "activate")
        user_rows = list(rows.order_by("urn"))
        return _render_confirmation(
            self,
            request,
            title=f"{verb} {word_count(len(user_rows), 'user', 'users')}?",
            names=[row.name for row in user_rows],
            changes=[{kind: row.urn} for row in user_rows if not row.is_root],
        )


@admin.register(AccessToken, site=site)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Access tokens, with an action to revoke them. Their digests are not shown."""

    list_display = ("name", "prefix", "user", "created_at", "expires_at", "last_used", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("name", "=prefix", "=user__username")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> None:
        """Revoke tokens."""
        by = get_actor(request)
        _write_each(request, queryset, lambda row: access_tokens.revoke(token_id=row.pk, by=by, channel=CHANNEL))


@admin.register(GroupProfile, site=site)
class GroupAdmin(ReadOnlyAdmin):
    """Groups."""

    list_display = ("name", "urn", "origin", "is_removed")
    list_filter = ("origin", "is_removed")
    search_fields = ("name", "=urn")
    pretty_columns = ("extra",)


@admin.register(Membership, site=site)
class MembershipAdmin(ReadOnlyAdmin):
    """Memberships of users in groups."""

    list_display = ("user", "group", "is_native", "is_external", "valid_until")
    list_select_related = ("user", "group")
    search_fields = ("=user__username", "=group__name")


@admin.register(ScheduledMembership, site=site)
class ScheduledMembershipAdmin(ReadOnlyAdmin):
    """Memberships that have not begun."""

    list_display = ("user", "group", "valid_from", "valid_until", "created_by")
    list_select_related = ("user", "group")
    search_fields = ("=user__username", "=group__name")


@admin.register(Role, site=site)
class RoleAdmin(ReadOnlyAdmin):
    """Roles."""

    list_display = ("name", "urn", "is_editable")
    search_fields = ("name", "=urn")
    pretty_columns = ("extra",)


@admin.register(RoleAssignment, site=site)
class RoleAssignmentAdmin(ReadOnlyAdmin):
    """Assignments of roles to users and groups."""

    list_display = ("role", "user", "group", "created_by", "created_at", "valid_until")
    list_select_related = ("role", "user", "group")
    search_fields = ("=role__urn", "=user__username", "=group__name")


@admin.register(ScheduledRoleAssignment, site=site)
class ScheduledRoleAssignmentAdmin(ReadOnlyAdmin):
    """Assignments of roles that have not begun."""

    list_display = ("role", "user", "group", "valid_from", "valid_until", "created_by")
    list_select_related = ("role", "user", "group")
    search_fields = ("=role__urn", "=user__username", "=group__name")


@admin.register(PolicyEvent, site=site)
class PolicyEventAdmin(ReadOnlyAdmin):
    """The change log of policies."""

    list_display = ("name", "verb", "by", "at", "door", "version", "policy_version")
    list_filter = ("verb", "door")
    search_fields = ("=policy_urn", "=by")
    pretty_columns = ("before", "after")


@admin.register(ChangeEvent, site=site)
class ChangeEventAdmin(ReadOnlyAdmin):
    """The change log of users, groups, roles, tokens, grants and the catalog."""

    list_display = ("name", "object_urn", "verb", "by", "at", "door", "change_set__change_seq")
    list_select_related = ("change_set",)
    list_filter = ("verb", "door")
    search_fields = ("=object_urn", "=by")
    pretty_columns = ("before", "after")


@admin.register(PolicyVersion, site=site)
class PolicyVersionAdmin(ReadOnlyAdmin):
    """The counters that order all changes."""

    list_display = ("version", "change_seq")
