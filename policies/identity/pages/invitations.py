"""Settings > Users & Groups > Invitations: one live link for each role, and one without a role."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR
from policies.identity.pages.forms import InviteForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import invitations
from policies.pdp import authorizer

INVITES = needs("MANAGE_USER_CREDENTIALS")

#: How many roles the form offers; a link for another is made over the API.
_OFFERED = 500


@require_http_methods(["GET", "POST"])
@never_cache
@INVITES
def invite(request: HttpRequest) -> HttpResponse:
    """The form that makes a link, and the links that are live; htmx gets the form alone, for a dialog."""
    offered = [(role.urn, role.name) for role in users_groups_roles.roles()[:_OFFERED]]
    form = InviteForm(list_and_form_pages.posted(request), roles=offered, initial={"role": request.GET.get("role", "")})
    status = 200
    if request.method == "POST":
        if form.is_valid():
            typed = form.cleaned_data
            made = invitations.create(
                role=typed["role"] or None, duration=typed["duration"], by=actor_of(request), door=DOOR
            )
            return _shown(request, made)
        status = list_and_form_pages.UNPROCESSABLE
    live = list(credentials.invites()[: _OFFERED + 1])
    makers = {one.created_by for one in live}
    names = {urn: urn for urn in makers} | authorizer.names(urns=makers) | {SYSTEM_ACTOR: "the system"}
    context = {
        "form": form,
        "live": [{"invite": one, "by": names[one.created_by]} for one in live],
        "columns": [
            {"label": "Role"},
            {"label": "Created"},
            {"label": "Ends"},
            {"label": "Actions", "is_hidden_label": True},
        ],
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Invite users", "")),
    }
    template = "people/_invite.html" if list_and_form_pages.wants_fragment(request) else "people/invite.html"
    return render(request, template, context, status=status)


@require_http_methods(["GET", "POST"])
@never_cache
@INVITES
def invite_revoke(request: HttpRequest, invite_id: uuid.UUID) -> HttpResponse:
    """Ask, then end a link."""
    if request.method == "POST":
        invitations.revoke(invite_id=invite_id, by=actor_of(request), door=DOOR)
        messages.success(request, "The invitation was revoked.")
        return redirect("invite")
    found = credentials.invites().filter(pk=invite_id).first()
    if found is None:
        raise NotFound("There is no such invitation: it was replaced, revoked or has expired.")
    role = "without a role" if found.role is None else f"as {found.role.name}"
    return list_and_form_pages.ask(
        request,
        title=f"Revoke the invitation {role}?",
        text="Nobody can sign up with the link any more. People who did so keep what they have.",
        label="Revoke the invitation",
        cancel_url=reverse("invite"),
    )


def _shown(request: HttpRequest, made: invitations.Invited) -> HttpResponse:
    role = made.invite.role
    gains = "No role comes with it." if role is None else f"It gives the role {role.name}."
    context = {
        "title": "Invitation" if role is None else f"Invitation as {role.name}",
        "text": f"Anyone who opens the link can sign up. {gains} The previous link for the same role no longer works.",
        "secret": list_and_form_pages.link_to(request, "sign-up", invite_token=made.text),
        "secret_label": "Invitation link",
        "expires_at": made.invite.expires_at,
        "back_url": reverse("invite"),
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Users", reverse("users")), ("Invite users", "")),
    }
    return render(request, "people/secret.html", context)
