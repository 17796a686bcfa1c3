"""Holders of a role: assigning the role, also for a time, changing the time, and taking it."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Validity
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.list_and_form_pages import ask_and_act, form_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages.holder_forms import HolderForms
from policies.identity.pages.roles import MANAGE_GUARD, SECTION
from policies.identity.queries import policy_mentions, users_groups_roles
from policies.identity.services import roles
from policies.pdp import display_names

#: Maximum number of policies that a warning names.
_MAX_WARNED_POLICIES = 5


@form_view(MANAGE_GUARD)
def assign_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that assigns a role to users and groups in addition to their roles, now or for a time."""
    role = users_groups_roles.get_role(urn=urn) if is_opened(request) else users_groups_roles.find_role(urn=urn)
    name = urn if role is None else role.name
    picker = PeoplePicker(
        "actors", "Users and groups", "holder", help="They keep the roles they have.", is_required=True
    )
    return _build_forms(request, urn, name).run_addition(
        picker,
        title=f"Assign {name}",
        label="Assign",
        report=lambda number: f"{number} more hold{'s' if number == 1 else ''} {name}.",
    )


@form_view(MANAGE_GUARD)
def change_holder_times(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that sets the time in which a user or group holds a role."""
    role, actor = users_groups_roles.get_role(urn=urn), request.GET.get("actor", "")
    row = users_groups_roles.list_holder_times(role=role, holder=actor).first()
    if not actor:
        raise NotFound("Choose a user or group on the page of the role.")
    if row is None:
        raise NotFound(f"{actor!r} does not hold {role.name}.")
    name = display_names.load_names(urns=[actor]).get(actor, actor)
    return _build_forms(request, urn, role.name).run_time_change(
        actor,
        Validity(row.valid_from, row.valid_until),
        title=f"Time of {name} as {role.name}",
        subtitle="At its end the role is taken away, and the change log says so.",
        message=f"Saved the time of {name} as {role.name}.",
    )


@form_view(MANAGE_GUARD)
def revoke_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the revocation of a role from one user or group."""
    role = users_groups_roles.get_role(urn=urn)
    actor = request.POST.get("actor") or request.GET.get("actor", "")
    if not actor:
        raise NotFound("Choose a user or group on the page of the role.")
    name = display_names.load_names(urns=[actor]).get(actor, actor)

    def report_revocation(revoked_urns: list[str]) -> HttpResponse:
        message = f"{name} no longer holds it." if revoked_urns else f"{name} did not hold it."
        return redirect_with_message(request, message, "role", urn)

    return ask_and_act(
        request,
        partial(roles.revoke, urn=urn, actors=[actor]),
        report_revocation,
        title=f"Remove the role {role.name} from {name}?",
        text="It stops counting at once, and can be assigned again.",
        losses=lambda: _list_lost_policies(urn),
        effect=lambda: describe_effect({"unassign_roles": {"role": urn, "actors": [actor]}}, by=get_actor(request)),
        label="Remove role",
        cancel_url=reverse("role", args=[urn]),
    )


def _list_lost_policies(urn: str) -> list[str]:
    mentions = policy_mentions.list_mentions(actor=urn)
    names_by_sentence = {
        "What these policies give to the role is lost": [mention.name for mention in mentions if mention.is_giving],
        "What these policies deny the role may be allowed again": [
            mention.name for mention in mentions if mention.is_denying
        ],
        "These policies no longer leave them out as holders of the role": [
            mention.name for mention in mentions if mention.is_excepted
        ],
    }
    return [f"{sentence}: {_join_policy_names(names)}." for sentence, names in names_by_sentence.items() if names]


def _join_policy_names(names: list[str]) -> str:
    suffix = " and others" if len(names) > _MAX_WARNED_POLICIES else ""
    return f"{', '.join(names[:_MAX_WARNED_POLICIES])}{suffix}"


def _build_forms(request: HttpRequest, role: str, name: str) -> HolderForms:
    return HolderForms(
        request,
        SECTION,
        page="role",
        urn=role,
        name=name,
        field="actors",
        give=partial(roles.grant, urn=role),
        build_change=lambda actors: {"assign_roles": {"role": role, "actors": actors}},
    )
