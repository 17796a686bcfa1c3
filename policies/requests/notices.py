"""Notices about requests: approvers learn that a step waits for them, askers how it ended."""

from collections.abc import Callable, Mapping

from django.urls import reverse

from policies.events.sources import NoticeDraft, RuleSource
from policies.models import EventType, OutboxEvent, RequestStep, SubmittedRequest
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names
from policies.requests.decision_links import build_path

_ENDINGS: Mapping[EventType, str] = {
    EventType.REQUEST_DENIED: "{request} was denied",
    EventType.REQUEST_DONE: "{request} is granted",
    EventType.REQUEST_WAITING: "{request} is approved and waits for another system",
    EventType.REQUEST_EXPIRED: "{request} was not decided in time",
    EventType.REQUEST_ENDED: "{request}: access has ended",
}


def _describe_step(event: OutboxEvent) -> NoticeDraft | None:
    """Return the notice to the approvers of a step, or to administrators where no person is named.

    None for a step that no longer waits: a rule or an owner who asks for others has decided it at once.
    """
    steps = RequestStep.objects.filter(request__urn=event.subject, name=event.data["step"])
    if not steps.filter(state=RequestStep.State.WAITING).exists():
        return None
    actor, asker = event.data["actor"], event.data["by"]
    names = display_names.load_names(urns={actor, asker})
    others = "" if actor == asker else f" for {names.get(actor, actor)}"
    urns = frozenset(event.data["approvers"])
    return NoticeDraft(
        f"{names.get(asker, asker)} asks for access{others}, and you can decide",
        f"Step: {event.data['step']}. {_word_reason(event)}",
        build_path(request=event.subject, key=str(event.position)),
        user_urns=frozenset(urn for urn in urns if urn.startswith(USER_PREFIX)),
        group_urns=frozenset(urn for urn in urns if urn.startswith(GROUP_PREFIX)),
        role_urns=frozenset(urn for urn in urns if urn.startswith(ROLE_PREFIX)),
        untold_urns=frozenset({actor, asker}),
        to_administrators=bool(event.data["by_privilege"]),
    )


def _describe_ending(event: OutboxEvent) -> NoticeDraft:
    actor, asker = event.data["actor"], event.data["by"]
    request = "Your request"
    if actor != asker:
        names = display_names.load_names(urns={actor, asker})
        request = f"The request by {names.get(asker, asker)} for {names.get(actor, actor)}"
    return NoticeDraft(
        _ENDINGS[EventType(event.type)].format(request=request),
        _word_reason(event),
        reverse("request", args=[event.subject]),
        user_urns=frozenset({actor, asker}),
    )


def _word_reason(event: OutboxEvent) -> str:
    """Return the reason of the request, by which people know which one it is."""
    reason = SubmittedRequest.objects.filter(urn=event.subject).values_list("reason", flat=True).first()
    return f"Reason: {reason}" if reason else ""


_RULES: Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]] = {
    EventType.REQUEST_STEP.value: _describe_step,
    **{type_.value: _describe_ending for type_ in _ENDINGS},
}

#: The registry `notice_sources` names it.
SOURCE = RuleSource(_RULES)
