"""Settings > Users & Groups > Users: the list, one person, making one and changing what one is called."""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.http.guard import Guard, actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR, FormPage
from policies.http.pages.people_picker import Picker
from policies.identity.pages import rename_forms
from policies.identity.pages.account_presenter import facts_of, person, row_of
from policies.identity.pages.forms import NewUserForm, UserFilters, UserForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
from policies.writes import required_privileges as wanted

#: Who sees people: whoever may change something about them.
SEES = Guard(any_of=wanted.SEEING_USERS)
CREATES = needs("MANAGE_USERS_AND_GROUPS", "CREATE_USERS", "CREATE_USERS_AND_GROUPS", "UPDATE_USERS")
UPDATES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS")

_COLUMNS = [
    {"label": "Name"},
    {"label": "State"},
    {"label": "Groups"},
    {"label": "Roles"},
    {"label": "Actions", "is_hidden_label": True},
]


@require_GET
@never_cache
@SEES
def user_list(request: HttpRequest) -> HttpResponse:
    """The people, searched, filtered and paged; an htmx request gets the list alone."""
    form = UserFilters(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    rows = users_groups_roles.users(kind=User.Kind.PERSON, seen=Q(), **filters)
    page = list_and_form_pages.page_of(request, rows)
    context = {
        "form": form,
        "page": page,
        "rows": [row_of(user) for user in page],
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
        "may": _rights(request),
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Users", "")),
    }
    return list_and_form_pages.listed(request, whole="people/users.html", part="people/_users.html", context=context)


@require_GET
@never_cache
@SEES
def user_detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One person: names, groups, roles, and what can be done."""
    user = person(urn)
    through = credentials.roles_through_groups(urn=urn)
    names = authorizer.names(urns=[user.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "user_shown": user,
        "facts": facts_of(user, names),
        "memberships": sorted(user.memberships.all(), key=lambda one: one.group.profile.name.casefold()),
        "roles": sorted((one.role for one in user.role_assignments.all()), key=lambda role: role.name.casefold()),
        "through_groups": through,
        "policies": credentials.named_policies(actor=urn),
        "may": _rights(request),
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), (user.name, "")),
    }
    return render(request, "people/user.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@CREATES
def user_new(request: HttpRequest) -> HttpResponse:
    """Make a person, with groups and, for who may give them, roles."""
    may = _rights(request)
    pickers = [Picker("groups", "Groups", "group")] if may["join"] else []
    pickers += [Picker("roles", "Roles", "role")] if may["assign"] else []
    page = FormPage(
        title="New user",
        label="Create user",
        cancel_url=reverse("users"),
        breadcrumbs=list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), ("New user", "")),
        form=NewUserForm(list_and_form_pages.posted(request)),
        pickers=pickers,
        conflict="username",
    )
    if request.method == "POST":
        chosen = {picker.name: picker.read(request.POST).urns for picker in pickers}
        made = page.try_to(lambda typed: _create(typed, chosen, request))
        if made is not None:
            messages.success(request, f"{made.name} can be invited with a reset link, or signs in with the password.")
            return redirect("user", urn=made.urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@UPDATES
def user_edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change what a person is called."""
    user = person(urn) if request.method == "GET" else users_groups_roles.stored_user(urn=urn)
    now = None if user is None else users.facts(user)
    name = urn if user is None else user.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("user", args=[urn]),
        breadcrumbs=list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), (name, "")),
        form=UserForm(list_and_form_pages.posted(request), initial=list_and_form_pages.initial(now)),
    )
    return rename_forms.answer(request, page=page, urn=urn, now=now, save=users.update)


def _create(typed: dict[str, Any], chosen: dict[str, tuple[str, ...]], request: HttpRequest) -> User:
    password = typed.pop("password") or None
    lists: dict[str, Any] = {"groups": chosen.get("groups", ()), "roles": chosen.get("roles", ())}
    return users.create(**typed, **lists, password=password, by=actor_of(request), door=DOOR)


def _rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.may(
        request,
        create=(wanted.group_of("user.create"), None),
        update=(wanted.group_of("user.update"), None),
        remove=(wanted.group_of("user.delete"), None),
        credentials=(wanted.MANAGE_CREDENTIALS, None),
        assign=(wanted.MANAGE_POLICIES, None),
        join=(wanted.group_of("group.update"), None),
        groups=(wanted.group_of("group.update"), None),
        tokens=(wanted.TOKENS_OF_OTHERS, None),
    )
