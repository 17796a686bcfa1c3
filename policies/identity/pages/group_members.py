"""Members of a group: adding them, also for a time, changing their times, and removing them."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Phase, Validity
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.list_and_form_pages import ask_and_act, form_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages.groups import SECTION, find_posted_group, get_present_group, require_on_group
from policies.identity.pages.holder_forms import HolderForms
from policies.identity.queries import users_groups_roles
from policies.identity.queries.users_groups_roles import HolderTimes
from policies.identity.services import groups
from policies.models import GroupProfile
from policies.models.fields import is_storable
from policies.models.people import USER_PREFIX
from policies.writes import required_privileges


@form_view(signed_in)
def add_members(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that adds users to a group, now or for a time."""
    require_on_group(request, required_privileges.group_members(), urn)
    group = find_posted_group(request, urn)
    name = urn if group is None else group.name
    picker = PeoplePicker("members", "People", "user", help="User names will do, too.", group=urn, is_required=True)
    return _build_forms(request, urn, name).run_addition(
        picker,
        title=f"Add members to {name}",
        label="Add members",
        report=lambda number: f"Added {number} member{'' if number == 1 else 's'}.",
    )


@form_view(signed_in)
def change_member_times(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that sets the time in which somebody is a member of a group."""
    require_on_group(request, required_privileges.group_members(), urn)
    group, member = get_present_group(urn), request.GET.get("member", "")
    if not member:
        raise NotFound("Choose a member on the page of the group.")
    name, times = _load_member(group, member)
    return _build_forms(request, urn, group.name).run_time_change(
        member,
        Validity(times.valid_from, times.valid_until),
        title=f"Time of {name} in {group.name}",
        subtitle="At its end the membership is removed, and the change log says so.",
        message=f"Saved the time of {name} in {group.name}.",
    )


@form_view(signed_in)
def remove_member(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and removal of one member."""
    require_on_group(request, required_privileges.group_members(), urn)
    group = get_present_group(urn)
    member = request.POST.get("member") or request.GET.get("member", "")
    if not member:
        raise NotFound("Choose a member on the page of the group.")
    name = member.removeprefix(USER_PREFIX)

    def report_removal(removed_urns: list[str]) -> HttpResponse:
        message = (
            f"{name} was removed from the group." if removed_urns else f"{name} is no member of it by what is set here."
        )
        return redirect_with_message(request, message, "group", urn)

    return ask_and_act(
        request,
        partial(groups.remove_members, urn=urn, members=[member]),
        report_removal,
        title=f"Remove {name} from {group.name}?",
        text="It is in effect at once, and the person can be added again.",
        effect=lambda: describe_effect({"remove_members": {"group": urn, "members": [member]}}, by=get_actor(request)),
        label="Remove member",
        cancel_url=reverse("group", args=[urn]),
    )


def _load_member(group: GroupProfile, urn: str) -> tuple[str, HolderTimes]:
    """Return the name and times of a member whose times are set here; raises NotFound."""
    users = list(users_groups_roles.list_members(group=group).filter(urn=urn)) if is_storable(urn) else []
    times = users_groups_roles.load_member_times(group=group, users=users).get(urn)
    native_urns = users_groups_roles.list_native_member_urns(group=group, users=users)
    if times is None or not (times.phase is Phase.PENDING or native_urns):
        raise NotFound(f"There is no member {urn!r} of {group.name} whose time is set here.")
    return users[0].name, times


def _build_forms(request: HttpRequest, group: str, name: str) -> HolderForms:
    return HolderForms(
        request,
        SECTION,
        page="group",
        urn=group,
        name=name,
        field="members",
        give=partial(groups.add_members, urn=group),
        build_change=lambda members: {"add_members": {"group": group, "members": members}},
    )
