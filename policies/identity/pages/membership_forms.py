"""Forms that assign roles to users and groups, and add users to groups."""

from collections.abc import Collection, Sequence
from functools import partial

from django.http import HttpRequest, HttpResponse

from policies.engine.model import Actor
from policies.http.guard import Guard, get_actor, needs
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import Section, form_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages.account_presenter import account_url, get_account
from policies.identity.pages.forms import PickerForm
from policies.identity.pages.users import SECTION
from policies.identity.services import groups, roles
from policies.writes import required_privileges

ASSIGN_GUARD = needs("MANAGE_POLICIES")


@form_view(ASSIGN_GUARD)
def edit_user_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that selects the direct roles of a user, person or service account."""
    user = get_account(urn)
    return choose_roles(
        request,
        urn=urn,
        name=user.name,
        current_urns=user.role_urns,
        back_url=account_url(user),
        section=SECTION,
        crumb="Roles",
    )


@form_view(Guard.from_requirement(required_privileges.privilege_group("group.update")))
def add_user_to_groups(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that adds a user to groups."""
    user = get_account(urn)
    help_text = "Groups whose members come from an identity source cannot be chosen."
    picker = PeoplePicker("groups", "Groups", "group", help=help_text, is_required=True)
    page = FormPage(
        request,
        PickerForm,
        title=f"Add {user.name} to groups",
        label="Add",
        section=SECTION,
        crumb="Groups",
        cancel_url=account_url(user),
        pickers=[picker],
        effect=lambda: (
            describe_effect(
                *({"add_members": {"group": group, "members": [urn]}} for group in picker.chosen_urns),
                by=get_actor(request),
            )
            if picker.is_sound
            else []
        ),
    )

    def report_addition(added_urns: list[str]) -> HttpResponse:
        message = f"Added to {len(added_urns)} group{'' if len(added_urns) == 1 else 's'}."
        return redirect_with_message(request, message, account_url(user))

    return page.run(partial(groups.add_to_groups, user=urn), report_addition)


def choose_roles(
    request: HttpRequest,
    *,
    urn: str,
    name: str,
    current_urns: Sequence[str],
    back_url: str,
    section: Section,
    crumb: str,
) -> HttpResponse:
    """Render the form that selects the direct roles of a user or group, with a preview of the impact, and save it."""
    help_text = "Several roles add up. Clear a box to remove the role." if current_urns else "Several roles add up."
    picker = PeoplePicker("roles", "Roles", "role", help=help_text, chosen_urns=tuple(current_urns))
    page = FormPage(
        request,
        PickerForm,
        title=f"Roles of {name}",
        label="Save roles",
        section=section,
        crumb=crumb,
        cancel_url=back_url,
        pickers=[picker],
        effect=lambda: (
            _describe_role_change(urn, before=current_urns, after=picker.chosen_urns, by=get_actor(request))
            if picker.is_sound
            else []
        ),
    )
    return page.run(
        partial(roles.set_roles, actor=urn),
        lambda _: redirect_with_message(request, f"Saved the roles of {name}.", back_url),
    )


def _describe_role_change(holder: str, *, before: Collection[str], after: Collection[str], by: Actor) -> list[str]:
    changes = [{"unassign_roles": {"role": role, "actors": [holder]}} for role in before if role not in after]
    changes += [{"assign_roles": {"role": role, "actors": [holder]}} for role in after if role not in before]
    return describe_effect(*changes, by=by)
