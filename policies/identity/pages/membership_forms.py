"""What users and groups are given: choosing the roles they hold, and the groups a user is in."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.impact_rows import meaning
from policies.http.pages.list_and_form_pages import DOOR, Crumb, FormPage
from policies.http.pages.people_picker import Picker
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import ChoiceForm
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, role_impact, roles

ASSIGNS = needs("MANAGE_POLICIES")


@require_http_methods(["GET", "POST"])
@never_cache
@ASSIGNS
def user_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Choose the roles that a user, person or service, holds itself."""
    user = users_groups_roles.user(urn=urn)
    crumbs = list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Roles", ""))
    return choose_roles(request, urn=urn, name=user.name, held=user.role_urns, breadcrumbs=crumbs)


@require_http_methods(["GET", "POST"])
@never_cache
@needs("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS")
def user_groups(request: HttpRequest, urn: str) -> HttpResponse:
    """Put a user into further groups."""
    user = users_groups_roles.user(urn=urn)
    picker = Picker(
        "groups", "Groups", "group", help="Groups whose members come from an identity source cannot be chosen."
    )
    page = FormPage(
        title=f"Add {user.name} to groups",
        label="Add",
        cancel_url=account_url(user),
        breadcrumbs=list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Groups", "")),
        form=ChoiceForm(list_and_form_pages.posted(request)),
        pickers=[picker],
    )
    if request.method == "POST":
        picker.read(request.POST).require_choice()
        added = page.try_to(lambda _: groups.put_into(user=urn, groups=picker.urns, by=actor_of(request), door=DOOR))
        if added is not None:
            messages.success(request, f"Added to {len(added)} group{'' if len(added) == 1 else 's'}.")
            return redirect(account_url(user))
    return page.draw(request)


def choose_roles(
    request: HttpRequest, *, urn: str, name: str, held: Sequence[str], breadcrumbs: list[Crumb]
) -> HttpResponse:
    """Answer the page on which the roles of a user or group are chosen, and make the choice."""
    back = reverse("group" if urn.startswith("urn:li:corpGroup:") else "user", args=[urn])
    help_text = "Several roles add up. Clear a box to remove the role." if held else "Several roles add up."
    picker = Picker("roles", "Roles", "role", help=help_text)
    page = FormPage(
        title=f"Roles of {name}",
        label="Save roles",
        cancel_url=back,
        breadcrumbs=breadcrumbs,
        form=ChoiceForm(list_and_form_pages.posted(request)),
        pickers=[picker],
        means=lambda: meaning(role_impact.held(actor=urn, before=held, after=picker.urns) if picker.is_sound else None),
    )
    if request.method == "POST":
        picker.read(request.POST)
    else:
        picker.chosen = tuple(held)
    if request.method == "POST" and not page.is_look(request):
        saved = page.try_to(lambda _: roles.set_roles(actor=urn, roles=picker.urns, by=actor_of(request), door=DOOR))
        if saved is not None:
            messages.success(request, f"Saved the roles of {name}.")
            return redirect(back)
    return page.draw(request)
