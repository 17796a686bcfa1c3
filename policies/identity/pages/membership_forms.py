"""Forms that assign roles to users and groups, and add users to groups."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.impact_rows import impact_context
from policies.http.pages.list_and_form_pages import CHANNEL, Breadcrumb, FormPage
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import PickerForm
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, role_impact, roles

ASSIGN_GUARD = needs("MANAGE_POLICIES")


@require_http_methods(["GET", "POST"])
@never_cache
@ASSIGN_GUARD
def edit_user_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that selects the direct roles of a user, person or service account."""
    user = users_groups_roles.get_user(urn=urn)
    crumbs = list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Users", reverse("users")), ("Roles", ""))
    return choose_roles(request, urn=urn, name=user.name, current_urns=user.role_urns, breadcrumbs=crumbs)


@require_http_methods(["GET", "POST"])
@never_cache
@needs("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS")
def add_user_to_groups(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that adds a user to groups."""
    user = users_groups_roles.get_user(urn=urn)
    picker = PeoplePicker(
        "groups", "Groups", "group", help="Groups whose members come from an identity source cannot be chosen."
    )
    page = FormPage(
        title=f"Add {user.name} to groups",
        label="Add",
        cancel_url=account_url(user),
        breadcrumbs=list_and_form_pages.settings_breadcrumbs(
            "Users & Groups", ("Users", reverse("users")), ("Groups", "")
        ),
        form=PickerForm(list_and_form_pages.get_post_data(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST).require_choice()
        added_urns = page.save_or_report(
            lambda _: groups.add_to_groups(user=urn, groups=picker.urns, by=get_actor(request), channel=CHANNEL)
        )
        if added_urns is not None:
            messages.success(request, f"Added to {len(added_urns)} group{'' if len(added_urns) == 1 else 's'}.")
            return redirect(account_url(user))
    return page.render(request)


def choose_roles(
    request: HttpRequest, *, urn: str, name: str, current_urns: Sequence[str], breadcrumbs: list[Breadcrumb]
) -> HttpResponse:
    """Render the form that selects the direct roles of a user or group, with a preview of the impact, and save it."""
    back_url = reverse("group" if urn.startswith("urn:li:corpGroup:") else "user", args=[urn])
    help_text = "Several roles add up. Clear a box to remove the role." if current_urns else "Several roles add up."
    picker = PeoplePicker("roles", "Roles", "role", help=help_text)
    page = FormPage(
        title=f"Roles of {name}",
        label="Save roles",
        cancel_url=back_url,
        breadcrumbs=breadcrumbs,
        form=PickerForm(list_and_form_pages.get_post_data(request)),
        pickers=[picker],
        impact=lambda: impact_context(
            role_impact.measure_role_change(actor=urn, before=current_urns, after=picker.urns)
            if picker.is_sound
            else None
        ),
    )
    if request.method == "POST":
        picker.read(request.POST)
    else:
        picker.chosen_urns = tuple(current_urns)
    if request.method == "POST" and not page.is_preview(request):
        previous_urns = page.save_or_report(
            lambda _: roles.set_roles(actor=urn, roles=picker.urns, by=get_actor(request), channel=CHANNEL)
        )
        if previous_urns is not None:
            messages.success(request, f"Saved the roles of {name}.")
            return redirect(back_url)
    return page.render(request)
