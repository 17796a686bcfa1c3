"""Actions on a policy besides editing: duplicating, and with confirmation activating, deactivating and deleting."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from policies.authoring.changes import DeletePolicy, SetState
from policies.authoring.pages.policy_templates import copy_draft, policy_draft
from policies.authoring.pages.presenters import MANAGE_GUARD
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.changes.pages.net_change_wording import ChangeWording
from policies.changes.pages.verdict_wording import describe_policy_changes
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import get_actor
from policies.http.pages.list_and_form_pages import CHANNEL, action_view, ask_and_act, form_view, redirect_with_message
from policies.models import Policy

#: State → label of the button, its kind, the effect, and what the policy is afterwards.
_STATE_QUESTIONS = {
    Policy.State.ACTIVE.value: ("Activate", "primary", "Decisions follow it at once.", "active"),
    Policy.State.INACTIVE.value: (
        "Deactivate",
        "danger",
        "It stops working at once, and can be activated again.",
        "inactive",
    ),
}


@form_view(MANAGE_GUARD)
def set_state(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation of activating or deactivating a policy, with its impact (GET); the change itself (POST)."""
    policy = policies.get_policy(urn=urn)
    parameters = request.GET.dict() | request.POST.dict()
    state = parameters.get("state", "")
    if state not in _STATE_QUESTIONS and request.method == "GET":
        raise NotFound(
            f"A policy is ACTIVE or INACTIVE, and not {state}."
            if state
            else f"Choose on the page of the policy {policy.name} whether it shall be active."
        )
    verb, kind, effect, adjective = _STATE_QUESTIONS.get(state, ("", "", "", ""))
    url = return_url(parameters, reverse("policy", args=[urn]))
    return ask_and_change(
        request,
        partial(service.set_state, urn=urn, state=state, if_version=parse_version(parameters.get("version"))),
        f"{policy.name} is {adjective} now.",
        url,
        effect=lambda: describe_policy_changes(changes=[SetState(urn, state)], by=get_actor(request)),
        title=f"{verb} \N{LEFT DOUBLE QUOTATION MARK}{policy.name}\N{RIGHT DOUBLE QUOTATION MARK}?",
        text=effect,
        label=f"{verb} policy",
        kind=kind,
        cancel_url=url,
    )


@action_view(MANAGE_GUARD)
def duplicate(request: HttpRequest, urn: str) -> HttpResponse:
    """Store an inactive copy of a policy at once; the pages start one in the editor instead."""
    draft = copy_draft(policy_draft(policies.get_policy(urn=urn)))
    result = service.create(draft=draft, by=get_actor(request), channel=CHANNEL)
    return redirect_with_message(request, "This is the copy. It is not active.", "policy", result.policy.urn)


@form_view(MANAGE_GUARD)
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation of deleting a policy, with its impact (GET); the deletion itself (POST)."""
    policy = policies.get_policy(urn=urn)
    url = reverse("policy", args=[urn])
    return ask_and_change(
        request,
        partial(service.delete, urn=urn, if_version=parse_version(request.GET.get("version"))),
        f"{policy.name} is deleted.",
        reverse("policies"),
        refused_url=url,
        effect=lambda: describe_policy_changes(changes=[DeletePolicy(urn)], by=get_actor(request)),
        title=f"Delete \N{LEFT DOUBLE QUOTATION MARK}{policy.name}\N{RIGHT DOUBLE QUOTATION MARK}?",
        text="It stops working at once. Its history is kept, and a new policy can be made of any version in it.",
        label="Delete policy",
        cancel_url=url,
    )


def ask_and_change(
    request: HttpRequest,
    change: Callable[..., object],
    message: str,
    url: str,
    *,
    refused_url: str = "",
    losses: Callable[[], Iterable[str]] = tuple,
    effect: Callable[[], ChangeWording],
    **question: Any,
) -> HttpResponse:
    """Ask for a confirmation (GET), or change a policy and redirect with a message (POST), also where it is refused.

    `losses` and `question` are those of `ask_and_act`; `change` gets `by` and `channel`. Where the `effect` is too much
    to count, the question has the report that counts it all.
    """
    wording = ChangeWording([]) if request.method == "POST" else effect()

    def change_or_refuse(**origin: object) -> HttpResponse:
        try:
            change(**origin)
        except (Conflict, Forbidden, Invalid, Stale) as refusal:
            messages.error(request, _refusal_text(refusal))
            return redirect(refused_url or url)
        return redirect_with_message(request, message, url)

    return ask_and_act(
        request,
        change_or_refuse,
        lambda response: response,
        losses=losses,
        effect=lambda: wording.sentences,
        impact_report=None if wording.report is None else _build_report_parameter(wording.report),
        **question,
    )


def _build_report_parameter(report: Mapping[str, Any]) -> dict[str, str]:
    """Return name and value of the parameter of the impact report that says how one policy would be."""
    parameters = report["parameters"]
    if parameters["proposed"]:
        return {"name": "proposed", "value": json.dumps(parameters["proposed"], ensure_ascii=False)}
    return {"name": "removed", "value": "\n".join(parameters["removed"])}


def parse_version(version: str | None) -> int | None:
    """Return a version number from a query or form, None for any other text."""
    return int(version) if version and version.isdecimal() and len(version) < 10 else None


def return_url(parameters: Mapping[str, str], default_url: str) -> str:
    """Return the URL in the parameter `back` if it is a path of this site, else `default_url`."""
    url = parameters.get("back", "")
    is_local = url_has_allowed_host_and_scheme(url, allowed_hosts=None) and url.startswith("/")
    return url if is_local else default_url


def _refusal_text(refusal: Conflict | Forbidden | Invalid | Stale) -> str:
    """Return the reason of a refusal as text for a toast."""
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems[:3])
    if isinstance(refusal, Stale):
        return f"{refusal.detail} Nothing was changed; look at it again."
    return refusal.detail
