"""Members of a group: adding them, also for a time, changing their times, and removing them."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Phase, Validity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import ask_and_act, form_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.http.pages.times import OptionalTimesForm, TimesForm, build_holders, describe_times
from policies.identity.pages.groups import SECTION, find_posted_group, get_present_group, require_on_group
from policies.identity.queries import users_groups_roles
from policies.identity.queries.users_groups_roles import HolderTimes
from policies.identity.services import groups
from policies.models import GroupProfile
from policies.models.fields import is_storable
from policies.models.people import USER_PREFIX
from policies.writes import required_privileges
from policies.writes.timed_holders import TimedHolder


@form_view(signed_in)
def add_members(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that adds users to a group, now or for a time."""
    require_on_group(request, required_privileges.group_members(), urn)
    group = find_posted_group(request, urn)
    name = urn if group is None else group.name
    picker = PeoplePicker("members", "People", "user", help="User names will do, too.", group=urn, is_required=True)
    page = FormPage(
        request,
        OptionalTimesForm,
        title=f"Add members to {name}",
        label="Add members",
        section=SECTION,
        crumb=name,
        cancel_url=reverse("group", args=[urn]),
        pickers=[picker],
        are_pickers_first=True,
        effect=lambda: _describe_addition(page.form, urn, picker.chosen_urns, request) if picker.is_sound else [],
    )

    def add(
        *,
        members: Sequence[str],
        valid_from: datetime | None,
        valid_until: datetime | None,
        reason: str,
        by: Actor,
        channel: str,
    ) -> list[str]:
        holders = build_holders(members, valid_from=valid_from, valid_until=valid_until, reason=reason)
        return groups.add_members(urn=urn, members=holders, by=by, channel=channel)

    def report_addition(added_urns: list[str]) -> HttpResponse:
        message = f"Added {len(added_urns)} member{'' if len(added_urns) == 1 else 's'}."
        return redirect_with_message(request, message, "group", urn)

    return page.run(add, report_addition)


@form_view(signed_in)
def change_member_times(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that sets the time in which somebody is a member of a group."""
    require_on_group(request, required_privileges.group_members(), urn)
    group, member = get_present_group(urn), request.GET.get("member", "")
    name, times = _load_member(group, member)
    page = FormPage(
        request,
        TimesForm,
        title=f"Time of {name} in {group.name}",
        subtitle="At its end the membership is removed, and the change log says so.",
        label="Save",
        section=SECTION,
        crumb=group.name,
        cancel_url=reverse("group", args=[urn]),
        initial={"valid_from": times.valid_from, "valid_until": times.valid_until},
        effect=lambda: _describe_addition(page.form, urn, [member], request),
    )

    def save(
        *, valid_from: datetime | None, valid_until: datetime | None, reason: str, by: Actor, channel: str
    ) -> list[str]:
        holder = TimedHolder(member, Validity(valid_from, valid_until), reason)
        return groups.add_members(urn=urn, members=[holder], by=by, channel=channel)

    return page.run(
        save, lambda _: redirect_with_message(request, f"Saved the time of {name} in {group.name}.", "group", urn)
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
        text="It counts at once, and the person can be added again.",
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


def _describe_addition(form: forms.Form, group: str, members: Sequence[str], request: HttpRequest) -> list[str]:
    change = {"add_members": {"group": group, "members": members}}
    return [*describe_times(form), *describe_effect(change, by=get_actor(request))]
