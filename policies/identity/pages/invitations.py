"""Settings > Users & Groups > Invitations: one valid link for each role, and one without a role."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL
from policies.identity.pages.forms import InviteForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import invitations
from policies.pdp import authorizer

INVITE_GUARD = needs("MANAGE_USER_CREDENTIALS")

#: Maximum number of roles in the form; the API creates links for the others.
_MAX_ROLES = 500


@require_http_methods(["GET", "POST"])
@never_cache
@INVITE_GUARD
def invite_users(request: HttpRequest) -> HttpResponse:
    """Page that creates an invitation and lists the valid ones; htmx requests get only the form, for a dialog."""
    role_choices = [(role.urn, role.name) for role in users_groups_roles.list_roles()[:_MAX_ROLES]]
    form = InviteForm(
        list_and_form_pages.get_post_data(request), roles=role_choices, initial={"role": request.GET.get("role", "")}
    )
    status = 200
    if request.method == "POST":
        if form.is_valid():
            cleaned_data = form.cleaned_data
            new_invitation = invitations.create(
                role=cleaned_data["role"] or None,
                duration=cleaned_data["duration"],
                by=get_actor(request),
                channel=CHANNEL,
            )
            return _render_link(request, new_invitation)
        status = list_and_form_pages.UNPROCESSABLE_STATUS
    open_invitations = list(credentials.list_invitations()[: _MAX_ROLES + 1])
    creator_urns = {invitation.created_by for invitation in open_invitations}
    names = {urn: urn for urn in creator_urns} | authorizer.load_names(urns=creator_urns) | {SYSTEM_ACTOR: "the system"}
    context = {
        "form": form,
        "live": [{"invite": invitation, "by": names[invitation.created_by]} for invitation in open_invitations],
        "columns": [
            {"label": "Role"},
            {"label": "Created"},
            {"label": "Ends"},
            {"label": "Actions", "is_hidden_label": True},
        ],
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs(
            "Users & Groups", ("Users", reverse("users")), ("Invite users", "")
        ),
    }
    template = "people/_invite.html" if list_and_form_pages.is_fragment_request(request) else "people/invite.html"
    return render(request, template, context, status=status)


@require_http_methods(["GET", "POST"])
@never_cache
@INVITE_GUARD
def revoke_invitation(request: HttpRequest, invite_id: uuid.UUID) -> HttpResponse:
    """Confirmation page and revocation of an invitation."""
    if request.method == "POST":
        invitations.revoke(invite_id=invite_id, by=get_actor(request), channel=CHANNEL)
        messages.success(request, "The invitation was revoked.")
        return redirect("invite")
    invitation = credentials.list_invitations().filter(pk=invite_id).first()
    if invitation is None:
        raise NotFound("There is no such invitation: it was replaced, revoked or has expired.")
    role = "without a role" if invitation.role is None else f"as {invitation.role.name}"
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Revoke the invitation {role}?",
        text="Nobody can sign up with the link any more. People who did so keep what they have.",
        label="Revoke the invitation",
        cancel_url=reverse("invite"),
    )


def _render_link(request: HttpRequest, new_invitation: invitations.IssuedInvitation) -> HttpResponse:
    role = new_invitation.invite.role
    role_text = "No role comes with it." if role is None else f"It gives the role {role.name}."
    context = {
        "title": "Invitation" if role is None else f"Invitation as {role.name}",
        "text": (
            f"Anyone who opens the link can sign up. {role_text} The previous link for the same role no longer works."
        ),
        "secret": list_and_form_pages.build_absolute_link(request, "sign-up", invite_token=new_invitation.text),
        "secret_label": "Invitation link",
        "expires_at": new_invitation.invite.expires_at,
        "back_url": reverse("invite"),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs(
            "Users & Groups", ("Users", reverse("users")), ("Invite users", "")
        ),
    }
    return render(request, "people/secret.html", context)
