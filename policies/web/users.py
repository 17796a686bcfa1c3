"""Settings > Users & Groups > Users: the list, one user, and everything that is done to an account."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from policies import authority, queries
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.guard import actor_of, needs
from policies.models import User
from policies.services import groups as group_service
from policies.services import needs as wanted
from policies.services import people, resets, roles
from policies.web import pages
from policies.web.pages import DOOR, FormPage
from policies.web.people_forms import ChoiceForm, NewUserForm, UserFilters, UserForm
from policies.web.picking import Picker

#: Who sees people: whoever may change something about them.
SEES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS", "MANAGE_USER_CREDENTIALS")
CREATES = needs("MANAGE_USERS_AND_GROUPS", "CREATE_USERS", "CREATE_USERS_AND_GROUPS", "UPDATE_USERS")
UPDATES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS")
REMOVES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS")
CREDENTIALS = needs("MANAGE_USER_CREDENTIALS")
ASSIGNS = needs("MANAGE_POLICIES")

STATES = {"ACTIVE": ("Active", "success"), "SUSPENDED": ("Suspended", "warning")}

_COLUMNS = [
    {"label": "Name"},
    {"label": "State"},
    {"label": "Groups"},
    {"label": "Roles"},
    {"label": "Actions", "is_hidden_label": True},
]
#: How many groups or roles a row names.
_SHOWN = 3


@require_GET
@never_cache
@SEES
def user_list(request: HttpRequest) -> HttpResponse:
    """The people, searched, filtered and paged; an htmx request gets the list alone."""
    form = UserFilters(request.GET)
    form.is_valid()
    filters = {name: form.cleaned_data[name] for name in ("q", "state") if form.cleaned_data.get(name)}
    rows = queries.users(kind=User.Kind.PERSON, **filters)
    page = pages.page_of(request, rows, int(form.cleaned_data.get("size") or pages.PAGE_SIZE))
    context = {
        "form": form,
        "page": page,
        "rows": [row_of(user) for user in page],
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
        "may": _rights(request),
        "breadcrumbs": pages.crumbs("Users & Groups", ("Users", "")),
    }
    return pages.listed(request, whole="people/users.html", part="people/_users.html", context=context)


@require_GET
@never_cache
@SEES
def user_detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One person: names, groups, roles, and what can be done."""
    user = _person(urn)
    through = queries.roles_through_groups(urn=urn)
    names = authority.names(urns=[user.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "user_shown": user,
        "facts": facts_of(user, names),
        "memberships": sorted(user.memberships.all(), key=lambda one: one.group.profile.name.casefold()),
        "roles": sorted((one.role for one in user.role_assignments.all()), key=lambda role: role.name.casefold()),
        "through_groups": through,
        "policies": queries.named_policies(actor=urn),
        "may": _rights(request),
        "breadcrumbs": pages.crumbs("Users & Groups", ("Users", reverse("users")), (user.name, "")),
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
        breadcrumbs=pages.crumbs("Users & Groups", ("Users", reverse("users")), ("New user", "")),
        form=NewUserForm(pages.posted(request)),
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
    user = _person(urn) if request.method == "GET" else queries.stored_user(urn=urn)
    now = None if user is None else people.facts(user)
    name = urn if user is None else user.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("user", args=[urn]),
        breadcrumbs=pages.crumbs("Users & Groups", ("Users", reverse("users")), (name, "")),
        form=UserForm(pages.posted(request), initial=pages.initial(now)),
    )
    if request.method == "POST":
        saved = page.try_to(lambda typed: people.update(urn=urn, **typed, by=actor_of(request), door=DOOR))
        if saved is not None:
            messages.success(request, f"Saved {saved.name}.")
            return redirect("user", urn=urn)
        pages.renew(page.form, now)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@UPDATES
def user_suspend(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, then let a person do nothing any more."""
    if request.method == "POST":
        user = people.suspend(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{user.name} is suspended.")
        return redirect("user", urn=urn)
    user = _person(urn)
    is_own = urn == actor_of(request).urn
    return pages.ask(
        request,
        title=f"Suspend {user.name}?",
        text="Nobody can sign in as a suspended user. Groups and roles stay, and activating gives everything back.",
        losses=["Every session ends at once.", "Tokens answer nothing until the account is activated."]
        + (["This is your own account: you will be signed out."] if is_own else []),
        label="Suspend user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_POST
@UPDATES
def user_activate(request: HttpRequest, urn: str) -> HttpResponse:
    """Let a suspended person act again."""
    user = people.activate(urn=urn, by=actor_of(request), door=DOOR)
    messages.success(request, f"{user.name} is active.")
    return redirect("user", urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@REMOVES
def user_remove(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what will be lost, then delete a person."""
    user = _person(urn)
    if request.method == "POST":
        people.remove(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{user.name} is removed.")
        return redirect("users")
    return pages.ask(
        request,
        title=f"Remove {user.name}?",
        text="This cannot be undone. Suspending would keep the account and everything it has.",
        losses=losses_of(user),
        label="Remove user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@CREDENTIALS
def user_reset(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, then make a link with which a person sets a new password, and show it this once."""
    user = _person(urn)
    if request.method == "POST":
        made = resets.create(urn=urn, by=actor_of(request), door=DOOR)
        context = {
            "title": f"Reset link of {user.name}",
            "text": "Send it to that person by a way you trust: whoever opens it sets the password. It works once.",
            "secret": pages.link_to(request, "reset", reset_token=made.text),
            "secret_label": "Reset link",
            "expires_at": made.reset.expires_at,
            "back_url": reverse("user", args=[urn]),
            "breadcrumbs": pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Reset link", "")),
        }
        return render(request, "people/secret.html", context)
    return pages.ask(
        request,
        title=f"Make a reset link for {user.name}?",
        text="With the link that person sets a new password. It works once and for 24 hours; one made before ends now.",
        label="Make the link",
        kind="primary",
        cancel_url=reverse("user", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@ASSIGNS
def user_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Choose the roles that a user, person or service, holds itself."""
    return choose_roles(
        request,
        urn=urn,
        name=queries.user(urn=urn).name,
        held=lambda: queries.user(urn=urn).role_urns,
        breadcrumbs=pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Roles", "")),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@needs("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS")
def user_groups(request: HttpRequest, urn: str) -> HttpResponse:
    """Put a user into further groups."""
    user = queries.user(urn=urn)
    picker = Picker("groups", "Groups", "group", help="Groups whose members come from a source cannot be chosen.")
    page = FormPage(
        title=f"Add {user.name} to groups",
        label="Add",
        cancel_url=account_url(user),
        breadcrumbs=pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Groups", "")),
        form=ChoiceForm(pages.posted(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST)
        added = page.try_to(
            lambda _: group_service.put_into(user=urn, groups=picker.urns, by=actor_of(request), door=DOOR)
        )
        if added is not None:
            messages.success(request, f"Added to {len(added)} group{'' if len(added) == 1 else 's'}.")
            return redirect(account_url(user))
    return page.draw(request)


def choose_roles(
    request: HttpRequest, *, urn: str, name: str, held: Any, breadcrumbs: list[dict[str, str]]
) -> HttpResponse:
    """Answer the page on which the roles of a user or group are chosen, and make the choice."""
    back = reverse("group" if urn.startswith("urn:li:corpGroup:") else "user", args=[urn])
    picker = Picker("roles", "Roles", "role", help="Several roles add up. Untick one to take it away.")
    page = FormPage(
        title=f"Roles of {name}",
        label="Save roles",
        cancel_url=back,
        breadcrumbs=breadcrumbs,
        form=ChoiceForm(pages.posted(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST)
        before = page.try_to(lambda _: roles.set_roles(actor=urn, roles=picker.urns, by=actor_of(request), door=DOOR))
        if before is not None:
            messages.success(request, f"Saved the roles of {name}.")
            return redirect(back)
    else:
        picker.chosen = tuple(held())
    return page.draw(request)


def account_url(user: User) -> str:
    """Return the page of a person or service."""
    return reverse("service-account" if user.kind == User.Kind.SERVICE else "user", args=[user.urn])


def row_of(user: User) -> dict[str, Any]:
    """Return a row of a list of users."""
    label, kind = STATES[user.state]
    groups, held = user.group_names, user.role_names
    return {
        "user": user,
        "url": account_url(user),
        "state": {"label": label, "kind": kind},
        "groups": groups[:_SHOWN],
        "more_groups": max(0, len(groups) - _SHOWN),
        "roles": held[:_SHOWN],
        "more_roles": max(0, len(held) - _SHOWN),
    }


def facts_of(user: User, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the head of the page of an account."""
    label, kind = STATES[user.state]
    return [
        {"label": "State", "badges": [{"label": label, "kind": kind}]},
        {"label": "User name", "value": user.username},
        {"label": "Email", "value": user.email},
        {"label": "Title", "value": user.title},
        {"label": "About", "value": user.description},
        {"label": "URN", "template": "policies/_urn.html", "urn": user.urn},
        {
            "label": "Made",
            "template": "policies/_when.html",
            "at": user.created_at,
            "by": names.get(user.created_by, user.created_by),
        },
    ]


def losses_of(user: User) -> list[str]:
    """Return what goes with an account, in sentences."""
    counted = (
        (user.memberships.count(), "membership of a group", "memberships of groups"),
        (user.role_assignments.count(), "role", "roles"),
        (
            queries.tokens(owner=user.urn).count(),
            "access token, which stops working at once",
            "access tokens, which stop working at once",
        ),
    )
    found = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
    naming = len(queries.policies_naming(actors=[user.urn])[user.urn])
    if naming:
        found.append(f"Policies that name this user ({naming}) stay, and speak for nobody of that name.")
    return ["Every session, at once", *found, "Grants of single entities"]


def _create(typed: dict[str, Any], chosen: dict[str, tuple[str, ...]], request: HttpRequest) -> User:
    password = typed.pop("password") or None
    lists: dict[str, Any] = {"groups": chosen.get("groups", ()), "roles": chosen.get("roles", ())}
    return people.create(**typed, **lists, password=password, by=actor_of(request), door=DOOR)


def _person(urn: str) -> User:
    user = queries.user(urn=urn)
    if user.kind != User.Kind.PERSON or user.is_removed:
        raise NotFound(f"There is no user {urn!r}.")
    return user


def _rights(request: HttpRequest) -> dict[str, bool]:
    return pages.may(
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
