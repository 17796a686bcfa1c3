"""Settings > Users & Groups > Groups: list, detail with members, creation, editing and deletion."""

from functools import partial
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Phase, Validity
from policies.engine.requirements import Requirement
from policies.errors import NotFound
from policies.http.guard import Guard, get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.list_and_form_pages import (
    Section,
    build_columns,
    form_view,
    page_view,
    render_filtered_list,
)
from policies.http.pages.people_picker import PeoplePicker
from policies.http.pages.record_pages import RecordPages
from policies.http.pages.times import build_times_badge
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import account_row, created_fact
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import GroupFilterForm, GroupForm, NewNamedForm, SearchFilterForm
from policies.identity.pages.membership_forms import ASSIGN_GUARD, choose_roles
from policies.identity.queries import credentials, policy_mentions, users_groups_roles
from policies.identity.queries.users_groups_roles import HolderTimes
from policies.identity.services import groups, people_writer
from policies.models import GroupProfile, User
from policies.pdp import authorizer
from policies.pdp.access_requests import ResourceRef
from policies.writes import deleted_names, required_privileges

SECTION = Section("Groups", "groups", ("Settings", "Users & Groups"))
PAGES = RecordPages(
    SECTION,
    "group",
    "group",
    subtitle="People who share the same access.",
    rows_template="people/_group_rows.html",
    icon="group",
    empty_text="A group gives many people the same access.",
)

VIEW_GUARD = Guard(any_of=required_privileges.VIEW_GROUPS)
CREATE_GUARD = Guard.from_requirement(required_privileges.privilege_group("group.create"))
REMOVE_GUARD = Guard.from_requirement(required_privileges.privilege_group("group.delete"))

_MAX_WARNED_POLICIES = 5


@page_view(VIEW_GUARD)
def list_groups(request: HttpRequest) -> HttpResponse:
    """Page with the list of groups, searched, filtered and paged; htmx requests get only the list."""
    may = _check_rights(request)
    return PAGES.render_list(
        request,
        form=GroupFilterForm(request.GET),
        query=users_groups_roles.list_groups,
        build_rows=_build_rows,
        columns=build_columns("Name", "Description", "Members", "Roles", "Actions", numbers=["Members"]),
        has_new=may["create"],
        may=may,
    )


@page_view(signed_in)
def show_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one group with a page of its members; needs the privilege to change its members."""
    require_on_group(request, required_privileges.group_members(), urn)
    group = get_present_group(urn)
    return render_filtered_list(
        request,
        "people/group.html",
        "people/_members.html",
        form=SearchFilterForm(request.GET),
        query=partial(users_groups_roles.list_members, group=group, address_condition=Q()),
        build_rows=partial(_build_member_rows, group),
        columns=build_columns("Name", "State", "Time", "Actions"),
        group=group,
        facts=[
            {"label": "Origin", "badges": [{"label": group.get_origin_display(), "kind": "info"}]},
            {"label": "Email", "value": group.email},
            {"label": "URN", "template": "policies/_urn.html", "urn": group.urn},
            {"label": "Roles", "lines": group.role_names},
            created_fact(group),
        ],
        is_external=group.origin == GroupProfile.Origin.EXTERNAL,
        policies=policy_mentions.list_mentions(actor=urn),
        may=_check_rights(request, urn),
        breadcrumbs=SECTION.breadcrumbs(group.name),
    )


@form_view(CREATE_GUARD)
def create_group(request: HttpRequest) -> HttpResponse:
    """Page that creates a group with its first members."""
    return PAGES.create(
        request,
        NewNamedForm,
        groups.create,
        pickers=[PeoplePicker("members", "Members", "user")],
        conflict_field="identifier",
        error_field_map={"id": "identifier"},
    )


@form_view(signed_in)
def edit_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the profile of a group."""
    require_on_group(request, required_privileges.group_profile(), urn)
    resource = ResourceRef(urn, groups.ENTITY_TYPE)
    may = list_and_form_pages.check_permissions(
        request,
        **{column: (required_privileges.group_profile(column), resource) for column in groups.PROFILE_LENGTHS},
        members=(required_privileges.group_members(), resource),
    )
    return handle_edit(
        request,
        GroupForm,
        section=SECTION,
        # Who may change ways to reach the group, and not its members, does not see its page.
        url=reverse("group" if may["members"] else "group-edit", args=[urn]),
        editable=[column for column in groups.PROFILE_LENGTHS if may[column]],
        urn=urn,
        record=find_posted_group(request, urn),
        load_facts=people_writer.facts,
        save=groups.update,
    )


@form_view(REMOVE_GUARD)
def delete_group(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a group."""
    group = get_present_group(urn)
    return PAGES.delete(
        request,
        group,
        groups.remove,
        text="This cannot be undone. The people in the group stay.",
        losses=lambda: _list_losses(group),
        change="delete_group",
    )


@form_view(ASSIGN_GUARD)
def edit_group_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that selects the roles of a group."""
    group = get_present_group(urn)
    return choose_roles(
        request,
        urn=urn,
        name=group.name,
        current_urns=group.role_urns,
        back_url=PAGES.get_url(urn),
        section=SECTION,
        crumb=group.name,
    )


def require_on_group(request: HttpRequest, requirement: Requirement, urn: str) -> None:
    """Raise Forbidden unless the caller meets a requirement on a group."""
    authorizer.require(by=get_actor(request), requirement=requirement, resource=ResourceRef(urn, groups.ENTITY_TYPE))


def get_present_group(urn: str) -> GroupProfile:
    """Return a group that is not removed; raises NotFound."""
    group = users_groups_roles.get_group(urn=urn)
    if group.is_removed:
        raise NotFound(f"There is no group {urn!r}.")
    return group


def find_posted_group(request: HttpRequest, urn: str) -> GroupProfile | None:
    """Return the group of a form; once somebody typed into it None is possible, as the form says then."""
    return get_present_group(urn) if is_opened(request) else users_groups_roles.find_group(urn=urn)


def _build_rows(group_rows: list[GroupProfile]) -> list[dict[str, Any]]:
    counts = credentials.count_members(groups=group_rows)
    return [{"group": group, "members": counts[group.urn], "roles": group.role_names} for group in group_rows]


def _build_member_rows(group: GroupProfile, members: list[User]) -> list[dict[str, Any]]:
    native_urns = set(users_groups_roles.list_native_member_urns(group=group, users=members))
    times = users_groups_roles.load_member_times(group=group, users=members)
    rows = []
    for user in members:
        begins, ends, phase = times.get(user.urn, HolderTimes())
        rows.append(
            {
                **account_row(user),
                "is_native": user.urn in native_urns or phase is Phase.PENDING,
                "times": build_times_badge(Validity(begins, ends), phase),
            }
        )
    return rows


def _list_losses(group: GroupProfile) -> list[str]:
    members = credentials.count_members(groups=[group])[group.urn]
    policy_count = len(users_groups_roles.load_policy_urns_by_actor(actors=[group.urn])[group.urn])
    losses = [f"{members} member{' leaves' if members == 1 else 's leave'} it."]
    if group.role_names:
        losses.append(f"Its roles are no longer assigned: {', '.join(group.role_names)}.")
    if policy_count:
        losses.append(f"Policies that name it ({policy_count}) lose its name, but for denies and exclusions.")
    if narrowing_urns := deleted_names.list_narrowing_policies(group.urn):
        names = authorizer.load_names(urns=narrowing_urns)
        named_policies = sorted(names.get(policy, policy) for policy in narrowing_urns)
        suffix = " and others" if len(named_policies) > _MAX_WARNED_POLICIES else ""
        names_text = ", ".join(named_policies[:_MAX_WARNED_POLICIES])
        losses.insert(
            0, f"It cannot be deleted while these policies deny it something, or exclude it: {names_text}{suffix}."
        )
    return [*losses, *removal_warnings.list_losses(urn=group.urn)]


def _check_rights(request: HttpRequest, urn: str = "") -> dict[str, bool]:
    update = required_privileges.privilege_group("group.update")
    resource = ResourceRef(urn, groups.ENTITY_TYPE)
    return list_and_form_pages.check_permissions(
        request,
        create=required_privileges.privilege_group("group.create"),
        edit=(required_privileges.group_profile(), resource) if urn else update,
        members=(required_privileges.group_members(), resource) if urn else update,
        remove=required_privileges.privilege_group("group.delete"),
        assign=required_privileges.MANAGE_POLICIES,
    )
