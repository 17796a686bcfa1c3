"""Holders of a role: assigning the role, also for a time, changing the time, and taking it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Validity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import ask_and_act, form_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.http.pages.times import OptionalTimesForm, TimesForm, build_holders, describe_times
from policies.identity.pages.roles import MANAGE_GUARD, SECTION
from policies.identity.queries import policy_mentions, users_groups_roles
from policies.identity.services import roles
from policies.pdp import display_names
from policies.writes.timed_holders import TimedHolder

#: Maximum number of policies that a warning names.
_MAX_WARNED_POLICIES = 5


@form_view(MANAGE_GUARD)
def assign_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that assigns a role to users and groups in addition to their roles, now or for a time."""
    role = users_groups_roles.get_role(urn=urn) if request.method == "GET" else users_groups_roles.find_role(urn=urn)
    name = urn if role is None else role.name
    picker = PeoplePicker(
        "actors", "Users and groups", "holder", help="They keep the roles they have.", is_required=True
    )
    page = FormPage(
        request,
        OptionalTimesForm,
        title=f"Assign {name}",
        label="Assign",
        section=SECTION,
        crumb=name,
        cancel_url=reverse("role", args=[urn]),
        pickers=[picker],
        are_pickers_first=True,
        effect=lambda: _describe_assignment(page.form, urn, picker.chosen_urns, request) if picker.is_sound else [],
    )

    def assign(
        *,
        actors: Sequence[str],
        valid_from: datetime | None,
        valid_until: datetime | None,
        reason: str,
        by: Actor,
        channel: str,
    ) -> list[str]:
        holders = build_holders(actors, valid_from=valid_from, valid_until=valid_until, reason=reason)
        return roles.grant(urn=urn, actors=holders, by=by, channel=channel)

    def report_assignment(granted_urns: list[str]) -> HttpResponse:
        message = f"{len(granted_urns)} more hold{'s' if len(granted_urns) == 1 else ''} {name}."
        return redirect_with_message(request, message, "role", urn)

    return page.run(assign, report_assignment)


@form_view(MANAGE_GUARD)
def change_holder_times(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that sets the time in which a user or group holds a role."""
    role, actor = users_groups_roles.get_role(urn=urn), request.GET.get("actor", "")
    row = users_groups_roles.list_holder_times(role=role, holder=actor).first()
    if row is None:
        raise NotFound(f"{actor!r} does not hold {role.name}.")
    name = display_names.load_names(urns=[actor]).get(actor, actor)
    page = FormPage(
        request,
        TimesForm,
        title=f"Time of {name} as {role.name}",
        subtitle="At its end the role is taken away, and the change log says so.",
        label="Save",
        section=SECTION,
        crumb=role.name,
        cancel_url=reverse("role", args=[urn]),
        initial={"valid_from": row.valid_from, "valid_until": row.valid_until},
        effect=lambda: _describe_assignment(page.form, urn, [actor], request),
    )

    def save(
        *, valid_from: datetime | None, valid_until: datetime | None, reason: str, by: Actor, channel: str
    ) -> list[str]:
        holder = TimedHolder(actor, Validity(valid_from, valid_until), reason)
        return roles.grant(urn=urn, actors=[holder], by=by, channel=channel)

    return page.run(
        save, lambda _: redirect_with_message(request, f"Saved the time of {name} as {role.name}.", "role", urn)
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


def _describe_assignment(form: forms.Form, role: str, actors: Sequence[str], request: HttpRequest) -> list[str]:
    change = {"assign_roles": {"role": role, "actors": actors}}
    return [*describe_times(form), *describe_effect(change, by=get_actor(request))]
