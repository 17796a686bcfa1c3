"""Settings > Users & Groups > Groups: list, detail with members, creation, editing and deletion."""

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
from policies.http.guard import Guard, get_actor, needs, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, Breadcrumb, FormPage
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import account_row
from policies.identity.pages.forms import GroupFilterForm, GroupForm, NewGroupForm, PickerForm, SearchFilterForm
from policies.identity.pages.membership_forms import ASSIGN_GUARD, choose_roles
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import groups
from policies.models import GroupProfile
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer
from policies.pdp.authorizer import ResourceRef
from policies.writes import required_privileges

VIEW_GUARD = Guard(any_of=required_privileges.VIEW_GROUPS)
CREATE_GUARD = needs("MANAGE_USERS_AND_GROUPS", "CREATE_GROUPS", "CREATE_USERS_AND_GROUPS", "UPDATE_GROUPS")
REMOVE_GUARD = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS")

ENTITY_TYPE = "corpGroup"

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
@VIEW_GUARD
def list_groups(request: HttpRequest) -> HttpResponse:
    """Page with the list of groups, searched, filtered and paged; htmx requests get only the list."""
    form = GroupFilterForm(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    page = list_and_form_pages.get_page(request, users_groups_roles.list_groups(**filters))
    counts = credentials.count_members(groups=list(page))
    context = {
        "form": form,
        "page": page,
        "rows": [{"group": group, "members": counts[group.urn], "roles": group.role_names} for group in page],
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
        "may": _check_rights(request),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Groups", "")),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/groups.html", fragment_template="people/_groups.html", context=context
    )


@require_GET
@never_cache
@signed_in
def show_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one group with a page of its members; needs the privilege to change its members."""
    authorizer.require(
        by=get_actor(request), requirement=required_privileges.group_members(), resource=ResourceRef(urn, ENTITY_TYPE)
    )
    group = _get_group(urn)
    form = SearchFilterForm(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.get_page(
        request, users_groups_roles.list_users(group=urn, q=text, address_condition=Q())
    )
    native_urns = set(users_groups_roles.list_native_member_urns(group=group, users=list(page)))
    names = authorizer.load_names(urns=[group.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "group": group,
        "facts": _group_facts(group, names),
        "form": form,
        "page": page,
        "rows": [{**account_row(user), "is_native": user.urn in native_urns} for user in page],
        "columns": _MEMBER_COLUMNS,
        "is_filtered": bool(text),
        "is_external": group.origin == GroupProfile.Origin.EXTERNAL,
        "policies": credentials.list_policies_naming(actor=urn),
        "roles": group.role_names,
        "may": _check_rights(request, urn),
        "breadcrumbs": _breadcrumbs(group.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/group.html", fragment_template="people/_members.html", context=context
    )


@require_http_methods(["GET", "POST"])
@never_cache
@CREATE_GUARD
def create_group(request: HttpRequest) -> HttpResponse:
    """Page that creates a group with its first members."""
    picker = PeoplePicker("members", "Members", "user")
    page = FormPage(
        title="New group",
        label="Create group",
        cancel_url=reverse("groups"),
        breadcrumbs=_breadcrumbs("New group"),
        form=NewGroupForm(list_and_form_pages.get_post_data(request)),
        pickers=[picker],
        conflict_field="identifier",
        error_field_map={"id": "identifier"},
    )
    if request.method == "POST":
        picker.read(request.POST)
        group = page.save_or_report(lambda cleaned_data: _create(cleaned_data, picker, request))
        if group is not None:
            messages.success(request, f"{group.name} is there.")
            return redirect("group", urn=group.urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def edit_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the profile of a group."""
    authorizer.require(
        by=get_actor(request), requirement=required_privileges.group_profile(), resource=ResourceRef(urn, ENTITY_TYPE)
    )
    group = _get_group(urn) if request.method == "GET" else users_groups_roles.find_group(urn=urn)
    current_facts = None if group is None else groups.facts(group)
    name = urn if group is None else group.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("group", args=[urn]),
        breadcrumbs=_breadcrumbs(name),
        form=GroupForm(
            list_and_form_pages.get_post_data(request), initial=list_and_form_pages.build_initial_data(current_facts)
        ),
    )
    return rename_forms.handle_form(request, page=page, urn=urn, current_facts=current_facts, save=groups.update)


@require_http_methods(["GET", "POST"])
@never_cache
@REMOVE_GUARD
def delete_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a group."""
    group = _get_group(urn)
    if request.method == "POST":
        groups.remove(urn=urn, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{group.name} is deleted.")
        return redirect("groups")
    members = credentials.count_members(groups=[group])[urn]
    policy_count = len(users_groups_roles.load_policy_urns_by_actor(actors=[urn])[urn])
    members_text = "1 member loses" if members == 1 else f"{members} members lose"
    losses = [f"{members_text} what policies and roles give to the group."]
    losses += [f"Its roles are no longer assigned: {', '.join(group.role_names)}."] if group.role_names else []
    losses += (
        [f"Policies that name it ({policy_count}) stay, and apply to nobody of that name."] if policy_count else []
    )
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Delete {group.name}?",
        text="This cannot be undone. The people in the group stay.",
        losses=[*losses, *removal_warnings.list_losses(urn=urn)],
        label="Delete group",
        cancel_url=reverse("group", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def add_members(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that adds users to a group."""
    authorizer.require(
        by=get_actor(request), requirement=required_privileges.group_members(), resource=ResourceRef(urn, ENTITY_TYPE)
    )
    group = _get_group(urn) if request.method == "GET" else users_groups_roles.find_group(urn=urn)
    name = urn if group is None else group.name
    picker = PeoplePicker("members", "People", "user", help="User names will do, too.", group=urn)
    page = FormPage(
        title=f"Add members to {name}",
        label="Add members",
        cancel_url=reverse("group", args=[urn]),
        breadcrumbs=_breadcrumbs(name),
        form=PickerForm(list_and_form_pages.get_post_data(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST).require_choice()
        added_urns = page.save_or_report(
            lambda _: groups.add_members(urn=urn, members=picker.urns, by=get_actor(request), channel=CHANNEL)
        )
        if added_urns is not None:
            messages.success(request, f"Added {len(added_urns)} member{'' if len(added_urns) == 1 else 's'}.")
            return redirect("group", urn=urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def remove_member(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and removal of one member."""
    member = request.POST.get("member") or request.GET.get("member", "")
    name = member.removeprefix(USER_PREFIX)
    if request.method == "POST":
        removed_urns = groups.remove_members(urn=urn, members=[member], by=get_actor(request), channel=CHANNEL)
        message = f"{name} was removed from the group." if removed_urns else f"{name} was not added to it here."
        messages.success(request, message)
        return redirect("group", urn=urn)
    authorizer.require(
        by=get_actor(request), requirement=required_privileges.group_members(), resource=ResourceRef(urn, ENTITY_TYPE)
    )
    group = _get_group(urn)
    if not member:
        raise NotFound("Choose a member on the page of the group.")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Remove {name} from {group.name}?",
        text="It counts at once, and the person can be added again.",
        losses=["What policies and roles give to the group is lost, unless the person has it in another way."],
        label="Remove member",
        cancel_url=reverse("group", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@ASSIGN_GUARD
def edit_group_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that selects the roles of a group."""
    group = _get_group(urn)
    return choose_roles(
        request, urn=urn, name=group.name, current_urns=group.role_urns, breadcrumbs=_breadcrumbs(group.name)
    )


def _create(cleaned_data: dict[str, Any], picker: PeoplePicker, request: HttpRequest) -> GroupProfile:
    identifier = cleaned_data.pop("identifier") or None
    return groups.create(
        **cleaned_data, identifier=identifier, members=picker.urns, by=get_actor(request), channel=CHANNEL
    )


def _get_group(urn: str) -> GroupProfile:
    group = users_groups_roles.get_group(urn=urn)
    if group.is_removed:
        raise NotFound(f"There is no group {urn!r}.")
    return group


def _group_facts(group: GroupProfile, names: dict[str, str]) -> list[dict[str, Any]]:
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


def _check_rights(request: HttpRequest, urn: str = "") -> dict[str, bool]:
    resource = ResourceRef(urn, ENTITY_TYPE) if urn else None
    return list_and_form_pages.check_permissions(
        request,
        create=(required_privileges.privilege_group("group.create"), None),
        edit=(
            required_privileges.group_profile() if urn else required_privileges.privilege_group("group.update"),
            resource,
        ),
        members=(
            required_privileges.group_members() if urn else required_privileges.privilege_group("group.update"),
            resource,
        ),
        remove=(required_privileges.privilege_group("group.delete"), None),
        assign=(required_privileges.MANAGE_POLICIES, None),
    )


def _breadcrumbs(label: str) -> list[Breadcrumb]:
    return list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Groups", reverse("groups")), (label, ""))
