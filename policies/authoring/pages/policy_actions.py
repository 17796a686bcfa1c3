"""Actions on a policy besides editing: duplicating, and with confirmation activating, deactivating and deleting."""

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from policies.authoring.pages import presenters
from policies.authoring.pages.impact_wording import OTHER_POLICIES, describe_change
from policies.authoring.queries import policies
from policies.authoring.services import change_impact
from policies.authoring.services import policies as service
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.models import Policy

_STATE_PHRASES = {Policy.State.ACTIVE: "is active", Policy.State.INACTIVE: "is inactive"}

#: State → label of the button, its kind, and the effect.
_STATE_QUESTIONS = {
    Policy.State.ACTIVE.value: ("Activate", "primary", "Decisions follow it at once."),
    Policy.State.INACTIVE.value: ("Deactivate", "danger", "It stops working at once, and can be activated again."),
}


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def set_state(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation of activating or deactivating a policy, with its impact (GET); the change itself (POST)."""
    if request.method == "GET":
        return _ask_state(request, policies.get_policy(urn=urn))
    parameters = request.GET.dict() | request.POST.dict()
    state = parameters.get("state", "")
    try:
        result = service.set_state(
            urn=urn,
            state=state,
            by=get_actor(request),
            channel=list_and_form_pages.CHANNEL,
            if_version=parse_version(parameters.get("version")),
        )
    except (Conflict, Forbidden, Invalid, Stale) as refusal:
        messages.error(request, refusal_text(refusal))
    else:
        phrase = _STATE_PHRASES[Policy.State(state)]
        messages.success(request, f"{result.policy.name} {phrase} now.")
    return redirect(return_url(parameters, reverse("policy", args=[urn])))


def _ask_state(request: HttpRequest, policy: Policy) -> HttpResponse:
    state = request.GET.get("state", "")
    question = _STATE_QUESTIONS.get(state)
    if question is None:
        raise NotFound(f"A policy cannot be {state!r}.")
    verb, kind, text = question
    return list_and_form_pages.render_confirmation(
        request,
        title=f"{verb} \N{LEFT DOUBLE QUOTATION MARK}{policy.name}\N{RIGHT DOUBLE QUOTATION MARK}?",
        text=f"{text} {OTHER_POLICIES}",
        losses=describe_change(policy=policy, after=service.draft_with_state(policy, state)),
        label=f"{verb} policy",
        kind=kind,
        cancel_url=return_url(request.GET.dict(), reverse("policy", args=[policy.urn])),
    )


@require_POST
@needs("MANAGE_POLICIES")
def duplicate(request: HttpRequest, urn: str) -> HttpResponse:
    """Store an inactive copy of a policy at once; the pages start one in the editor instead."""
    policy = policies.get_policy(urn=urn)
    draft = presenters.copy_draft(change_impact.policy_draft(policy))
    result = service.create(draft=draft, by=get_actor(request), channel=list_and_form_pages.CHANNEL)
    messages.success(request, "This is the copy. It is not active.")
    return redirect("policy", result.policy.urn)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation of deleting a policy, with its impact (GET); the deletion itself (POST)."""
    policy = policies.get_policy(urn=urn)
    version = parse_version(request.GET.get("version"))
    if request.method == "POST":
        try:
            service.delete(urn=urn, by=get_actor(request), channel=list_and_form_pages.CHANNEL, if_version=version)
        except (Conflict, Forbidden, Stale) as refusal:
            messages.error(request, refusal_text(refusal))
            return redirect("policy", urn)
        messages.success(request, f"{policy.name} is deleted.")
        return redirect("policies")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Delete \N{LEFT DOUBLE QUOTATION MARK}{policy.name}\N{RIGHT DOUBLE QUOTATION MARK}?",
        text="It stops working at once. Its history is kept, and a new policy can be made of any version in it. "
        f"{OTHER_POLICIES}",
        losses=describe_change(policy=policy, after=None),
        label="Delete policy",
        cancel_url=reverse("policy", args=[urn]),
    )


def parse_version(version: str | None) -> int | None:
    """Return a version number from a query or form, None for any other text."""
    return int(version) if version and version.isdecimal() and len(version) < 10 else None


def return_url(parameters: Mapping[str, str], default_url: str) -> str:
    """Return the URL in the parameter `back` if it is a path of this site, else `default_url`."""
    url = parameters.get("back", "")
    is_local = url_has_allowed_host_and_scheme(url, allowed_hosts=None) and url.startswith("/")
    return url if is_local else default_url


def refusal_text(refusal: Conflict | Forbidden | Invalid | Stale) -> str:
    """Return the reason of a refusal as text for a toast."""
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems[:3])
    if isinstance(refusal, Stale):
        return f"{refusal.detail} Nothing was changed; look at it again."
    return refusal.detail
