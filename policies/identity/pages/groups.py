"""Settings > Users & Groups > Groups: the list, one group with its members, and what is done to it."""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import Guard, actor_of, needs, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR, Crumb, FormPage
from policies.http.pages.people_picker import Picker
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import row_of
from policies.identity.pages.forms import ChoiceForm, GroupFilters, GroupForm, NewGroupForm, SearchFilters
from policies.identity.pages.membership_forms import ASSIGNS, choose_roles
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import groups
from policies.models import GroupProfile
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer
from policies.pdp.authorizer import Asked
from policies.writes import required_privileges as wanted

SEES = Guard(any_of=wanted.SEEING_GROUPS)
CREATES = needs("MANAGE_USERS_AND_GROUPS", "CREATE_GROUPS", "CREATE_USERS_AND_GROUPS", "UPDATE_GROUPS")
REMOVES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS")

TYPE = "corpGroup"

_COLUMNS = [
    {"label": "Name"},
    {"label": "Description"},
    {"label": "Members", "is_number": True},
    {"label": "Roles"},
    {"label": "Actions", "is_hidden_label": True},
]
_MEMBER_COLUMNS = [{"label": "Name"}, {"label": "State"}, {"label": "Actions", "is_hidden_label": True}]


@require_GET
@never_cache
@SEES
def group_list(request: HttpRequest) -> HttpResponse:
    """The groups, searched, filtered and paged; an htmx request gets the list alone."""
    form = GroupFilters(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    page = list_and_form_pages.page_of(request, users_groups_roles.groups(**filters))
    counts = credentials.member_counts(groups=list(page))
    context = {
        "form": form,
        "page": page,
        "rows": [{"group": group, "members": counts[group.urn], "roles": group.role_names} for group in page],
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
        "may": _rights(request),
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Groups", "")),
    }
    return list_and_form_pages.listed(request, whole="people/groups.html", part="people/_groups.html", context=context)


@require_GET
@never_cache
@signed_in
def group_detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One group with a page of its members; for who may change it or its members."""
    authorizer.require(by=actor_of(request), requirement=wanted.group_members(), resource=Asked(urn, TYPE))
    group = _group(urn)
    form = SearchFilters(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.page_of(request, users_groups_roles.users(group=urn, q=text, seen=Q()))
    native = set(users_groups_roles.native_members(group=group, users=list(page)))
    names = authorizer.names(urns=[group.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "group": group,
        "facts": _facts_of(group, names),
        "form": form,
        "page": page,
        "rows": [{**row_of(user), "is_native": user.urn in native} for user in page],
        "columns": _MEMBER_COLUMNS,
        "is_filtered": bool(text),
        "is_external": group.origin == GroupProfile.Origin.EXTERNAL,
        "policies": credentials.named_policies(actor=urn),
        "roles": group.role_names,
        "may": _rights(request, urn),
        "breadcrumbs": _crumbs(group.name),
    }
    return list_and_form_pages.listed(request, whole="people/group.html", part="people/_members.html", context=context)


@require_http_methods(["GET", "POST"])
@never_cache
@CREATES
def group_new(request: HttpRequest) -> HttpResponse:
    """Make a group with its first members."""
    picker = Picker("members", "Members", "user")
    page = FormPage(
        title="New group",
        label="Create group",
        cancel_url=reverse("groups"),
        breadcrumbs=_crumbs("New group"),
        form=NewGroupForm(list_and_form_pages.posted(request)),
        pickers=[picker],
        conflict="identifier",
        shows={"id": "identifier"},
    )
    if request.method == "POST":
        picker.read(request.POST)
        made = page.try_to(lambda typed: _create(typed, picker, request))
        if made is not None:
            messages.success(request, f"{made.name} is there.")
            return redirect("group", urn=made.urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def group_edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change what a group is called."""
    authorizer.require(by=actor_of(request), requirement=wanted.group_profile(), resource=Asked(urn, TYPE))
    group = _group(urn) if request.method == "GET" else users_groups_roles.stored_group(urn=urn)
    now = None if group is None else groups.facts(group)
    name = urn if group is None else group.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("group", args=[urn]),
        breadcrumbs=_crumbs(name),
        form=GroupForm(list_and_form_pages.posted(request), initial=list_and_form_pages.initial(now)),
    )
    return rename_forms.answer(request, page=page, urn=urn, now=now, save=groups.update)


@require_http_methods(["GET", "POST"])
@never_cache
@REMOVES
def group_remove(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what will be lost, then delete a group."""
    group = _group(urn)
    if request.method == "POST":
        groups.remove(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{group.name} is deleted.")
        return redirect("groups")
    members = credentials.member_counts(groups=[group])[urn]
    naming = len(users_groups_roles.policies_naming(actors=[urn])[urn])
    who = "1 member loses" if members == 1 else f"{members} members lose"
    losses = [f"{who} what policies and roles give to the group."]
    losses += [f"Its roles are no longer assigned: {', '.join(group.role_names)}."] if group.role_names else []
    losses += [f"Policies that name it ({naming}) stay, and apply to nobody of that name."] if naming else []
    return list_and_form_pages.ask(
        request,
        title=f"Delete {group.name}?",
        text="This cannot be undone. The people in the group stay.",
        losses=[*losses, *removal_warnings.losses(urn=urn)],
        label="Delete group",
        cancel_url=reverse("group", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def group_add(request: HttpRequest, urn: str) -> HttpResponse:
    """Choose people and put them into a group."""
    authorizer.require(by=actor_of(request), requirement=wanted.group_members(), resource=Asked(urn, TYPE))
    group = _group(urn) if request.method == "GET" else users_groups_roles.stored_group(urn=urn)
    name = urn if group is None else group.name
    picker = Picker("members", "People", "user", help="User names will do, too.", group=urn)
    page = FormPage(
        title=f"Add members to {name}",
        label="Add members",
        cancel_url=reverse("group", args=[urn]),
        breadcrumbs=_crumbs(name),
        form=ChoiceForm(list_and_form_pages.posted(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST).require_choice()
        added = page.try_to(lambda _: groups.add_members(urn=urn, members=picker.urns, by=actor_of(request), door=DOOR))
        if added is not None:
            messages.success(request, f"Added {len(added)} member{'' if len(added) == 1 else 's'}.")
            return redirect("group", urn=urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def group_take(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, then take one member out of a group."""
    member = request.POST.get("member") or request.GET.get("member", "")
    name = member.removeprefix(USER_PREFIX)
    if request.method == "POST":
        removed = groups.remove_members(urn=urn, members=[member], by=actor_of(request), door=DOOR)
        said = f"{name} was removed from the group." if removed else f"{name} was not added to it here."
        messages.success(request, said)
        return redirect("group", urn=urn)
    authorizer.require(by=actor_of(request), requirement=wanted.group_members(), resource=Asked(urn, TYPE))
    group = _group(urn)
    if not member:
        raise NotFound("Choose a member on the page of the group.")
    return list_and_form_pages.ask(
        request,
        title=f"Remove {name} from {group.name}?",
        text="It counts at once, and the person can be added again.",
        losses=["What policies and roles give to the group is lost, unless the person has it in another way."],
        label="Remove member",
        cancel_url=reverse("group", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@ASSIGNS
def group_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Choose the roles that a group holds."""
    group = _group(urn)
    return choose_roles(request, urn=urn, name=group.name, held=group.role_urns, breadcrumbs=_crumbs(group.name))


def _create(typed: dict[str, Any], picker: Picker, request: HttpRequest) -> GroupProfile:
    identifier = typed.pop("identifier") or None
    return groups.create(**typed, identifier=identifier, members=picker.urns, by=actor_of(request), door=DOOR)


def _group(urn: str) -> GroupProfile:
    group = users_groups_roles.group(urn=urn)
    if group.is_removed:
        raise NotFound(f"There is no group {urn!r}.")
    return group


def _facts_of(group: GroupProfile, names: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"label": "Origin", "badges": [{"label": group.get_origin_display(), "kind": "info"}]},
        {"label": "Email", "value": group.email},
        {"label": "URN", "template": "policies/_urn.html", "urn": group.urn},
        {"label": "Roles", "lines": group.role_names},
        {
            "label": "Created",
            "template": "policies/_when.html",
            "at": group.created_at,
            "by": names.get(group.created_by, group.created_by),
        },
    ]


def _rights(request: HttpRequest, urn: str = "") -> dict[str, bool]:
    asked = Asked(urn, TYPE) if urn else None
    return list_and_form_pages.may(
        request,
        create=(wanted.group_of("group.create"), None),
        edit=(wanted.group_profile() if urn else wanted.group_of("group.update"), asked),
        members=(wanted.group_members() if urn else wanted.group_of("group.update"), asked),
        remove=(wanted.group_of("group.delete"), None),
        assign=(wanted.MANAGE_POLICIES, None),
    )


def _crumbs(label: str) -> list[Crumb]:
    return list_and_form_pages.crumbs("Users & Groups", ("Groups", reverse("groups")), (label, ""))
