"""What was asked of a source: done once the source shows it."""

from policies.engine.model import Actor
from policies.models import Gate, RequestItem, open_write
from policies.models.request import RequestState
from policies.pdp import actor_resolution, authorizer
from policies.requests.items import ItemKind, RequestedItem, load_item
from policies.requests.services import trail
from policies.requests.services.trail import What

#: Most items that are looked at in one pass.
_MAX_ITEMS = 5_000


def settle_sources() -> int:
    """Mark what sources have done since it was asked of them, and return how many items that are."""
    waiting = RequestItem.objects.filter(state=RequestState.WAITING_FOR_SOURCE).select_related("request")
    items = list(waiting.order_by("pk")[:_MAX_ITEMS])
    actors = actor_resolution.load_actors(urns={item.request.actor for item in items})
    shown_keys = [item.pk for item in items if _is_shown(item, actors[item.request.actor])]
    if not shown_keys:
        return 0
    with open_write(Gate.PEOPLE):
        for item in waiting.filter(pk__in=shown_keys):
            item.state = RequestState.DONE
            item.save(update_fields=["state"])
            trail.add(item.request, What.DONE, by=authorizer.SYSTEM.urn)
            trail.settle(item.request)
    return len(shown_keys)


def _is_shown(item: RequestItem, actor: Actor) -> bool:
    """Return whether an actor is in the group, or holds the role, that was asked of a source."""
    for change in (item.way or {}).get("changes", ()):
        for value in change.values():
            if value.get("group") not in (None, *actor.groups):
                return False
    asked_item: RequestedItem = load_item(item.document)
    return asked_item.kind is not ItemKind.EXTERNAL_ROLE
