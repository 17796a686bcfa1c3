"""Settings > Users & Groups > Invitations: one valid link for each role, and one without a role."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, ask_and_act, form_view, redirect_with_message
from policies.identity.pages.forms import InviteForm
from policies.identity.pages.users import SECTION
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import invitations
from policies.pdp import authorizer

INVITE_GUARD = needs("MANAGE_USER_CREDENTIALS")

#: Maximum number of roles in the form; the API creates links for the others.
_MAX_ROLES = 500
_PAGE_SIZE = 100


@form_view(INVITE_GUARD)
def invite_users(request: HttpRequest) -> HttpResponse:
    """Page that creates an invitation and lists the valid ones; htmx requests get only the form, for a dialog."""
    role_choices = [(role.urn, role.name) for role in users_groups_roles.list_roles()[:_MAX_ROLES]]
    form = InviteForm(
        list_and_form_pages.get_post_data(request), roles=role_choices, initial={"role": request.GET.get("role", "")}
    )
    if form.is_valid():
        return _render_link(request, invitations.create(**form.cleaned_data, by=get_actor(request), channel=CHANNEL))
    page = list_and_form_pages.get_page(request, credentials.list_invitations(), _PAGE_SIZE)
    creator_urns = {invitation.created_by for invitation in page}
    names = {urn: urn for urn in creator_urns} | authorizer.load_names(urns=creator_urns) | {SYSTEM_ACTOR: "the system"}
    context = {
        "form": form,
        "page": page,
        "live": [{"invite": invitation, "by": names[invitation.created_by]} for invitation in page],
        "columns": list_and_form_pages.build_columns("Role", "Created", "Ends", "Actions"),
        "breadcrumbs": SECTION.breadcrumbs("Invite users"),
    }
    template = "people/_invite.html" if list_and_form_pages.is_fragment_request(request) else "people/invite.html"
    status = list_and_form_pages.UNPROCESSABLE_STATUS if form.is_bound else 200
    return render(request, template, context, status=status)


@form_view(INVITE_GUARD)
def revoke_invitation(request: HttpRequest, invite_id: uuid.UUID) -> HttpResponse:
    """Confirmation page and revocation of an invitation."""
    invitation = credentials.list_invitations().filter(pk=invite_id).first()
    if invitation is None:
        raise NotFound("There is no such invitation: it was replaced, revoked or has expired.")
    role = "without a role" if invitation.role is None else f"as {invitation.role.name}"
    return ask_and_act(
        request,
        partial(invitations.revoke, invite_id=invite_id),
        lambda _: redirect_with_message(request, "The invitation was revoked.", "invite"),
        title=f"Revoke the invitation {role}?",
        text="Nobody can sign up with the link any more. People who did so keep what they have.",
        label="Revoke the invitation",
        cancel_url=reverse("invite"),
    )


def _render_link(request: HttpRequest, new_invitation: invitations.IssuedInvitation) -> HttpResponse:
    role = new_invitation.invite.role
    role_text = "No role comes with it." if role is None else f"It gives the role {role.name}."
    return list_and_form_pages.render_secret(
        request,
        title="Invitation" if role is None else f"Invitation as {role.name}",
        text=f"Anyone who opens the link can sign up. {role_text} The previous link for the same role no longer works.",
        secret=list_and_form_pages.build_absolute_link(request, "sign-up", invite_token=new_invitation.text),
        label="Invitation link",
        expires_at=new_invitation.invite.expires_at,
        back_url=reverse("invite"),
        breadcrumbs=SECTION.breadcrumbs("Invite users"),
    )
