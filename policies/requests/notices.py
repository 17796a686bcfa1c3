"""Notices about requests: approvers learn that a step waits for them, askers how it ended."""

from collections.abc import Callable, Mapping

from django.urls import reverse

from policies.events.sources import NoticeDraft, RuleSource
from policies.models import EventType, OutboxEvent
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import display_names
from policies.requests.decision_links import build_path

_ENDINGS: Mapping[EventType, str] = {
    EventType.REQUEST_DENIED: "Your request was denied",
    EventType.REQUEST_DONE: "Your request is granted",
    EventType.REQUEST_WAITING: "Your request is approved and waits for another system",
    EventType.REQUEST_EXPIRED: "Your request was not decided in time",
    EventType.REQUEST_ENDED: "Access that you asked for has ended",
}


def _describe_step(event: OutboxEvent) -> NoticeDraft:
    """Return the notice to the approvers of a step that waits, or to administrators where no person is named."""
    asker = event.data["by"]
    name = display_names.load_names(urns=[asker]).get(asker, asker)
    urns = frozenset(event.data["approvers"]) - {event.data["actor"], asker}
    return NoticeDraft(
        f"{name} asks for access, and you can decide",
        f"The step is called {event.data['step']}.",
        build_path(request=event.subject, key=str(event.position)),
        user_urns=frozenset(urn for urn in urns if urn.startswith(USER_PREFIX)),
        group_urns=frozenset(urn for urn in urns if urn.startswith(GROUP_PREFIX)),
        to_administrators=bool(event.data["by_privilege"]),
    )


def _describe_ending(event: OutboxEvent) -> NoticeDraft:
    return NoticeDraft(
        _ENDINGS[EventType(event.type)],
        path=reverse("request", args=[event.subject]),
        user_urns=frozenset({event.data["actor"], event.data["by"]}),
    )


_RULES: Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]] = {
    EventType.REQUEST_STEP.value: _describe_step,
    **{type_.value: _describe_ending for type_ in _ENDINGS},
}

#: The registry `notice_sources` names it.
SOURCE = RuleSource(_RULES)
