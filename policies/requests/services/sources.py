"""Items that a source was asked for: done once the source shows them."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max

from policies.models import Gate, RequestItem, RequestTrail, open_write
from policies.models.request import RequestState
from policies.pdp import actor_resolution, authorizer
from policies.requests.request_sources import IDENTITY, AskedOfSource, load_source
from policies.requests.services import trail
from policies.requests.services.trail import What

#: Most items that are looked at in one pass.
_MAX_ITEMS = 5_000


def settle_sources() -> int:
    """Mark what sources have done since it was asked of them, and return how many items that are."""
    waiting = RequestItem.objects.filter(state=RequestState.WAITING_FOR_SOURCE).select_related("request")
    items_by_source = _group_by_source(list(waiting.order_by("pk")[:_MAX_ITEMS]))
    shown_keys = {item.pk for source, items in items_by_source.items() for item in _find_shown(source, items)}
    if not shown_keys:
        return 0
    with open_write(Gate.PEOPLE):
        settled_items = list(waiting.filter(pk__in=shown_keys).order_by("pk"))
        for item in settled_items:
            item.state = RequestState.DONE
            item.save(update_fields=["state"])
            trail.add(item.request, What.DONE, by=authorizer.SYSTEM.urn)
            trail.settle(item.request)
    return len(settled_items)


def _group_by_source(items: Sequence[RequestItem]) -> dict[str, list[RequestItem]]:
    items_by_source: dict[str, list[RequestItem]] = {}
    for item in items:
        items_by_source.setdefault((item.way or {}).get("source") or IDENTITY, []).append(item)
    return items_by_source


def _find_shown(source: str, items: Sequence[RequestItem]) -> list[RequestItem]:
    """Return the items that their source shows as given."""
    if source == IDENTITY:
        actors = actor_resolution.load_actors(urns={item.request.actor for item in items})
        return [item for item in items if _list_groups(item) <= actors[item.request.actor].groups]
    times = _load_times(items)
    entries = {
        item.pk: AskedOfSource(item.request.actor, item.entity, times[item.request_id])
        for item in items
        if item.request_id in times
    }
    shown_entries = set(load_source(source).find_shown(expected=list(entries.values())))
    return [item for item in items if entries.get(item.pk) in shown_entries]


def _load_times(items: Sequence[RequestItem]) -> dict[int, datetime]:
    """Return when a source was last asked for the requests of these items, by their keys."""
    lines = RequestTrail.objects.filter(request__in={item.request_id for item in items}, what=RequestTrail.What.SOURCE)
    return dict(lines.order_by().values_list("request_id").annotate(Max("time")))


def _list_groups(item: RequestItem) -> set[str]:
    """Return the groups in which its way puts the actor."""
    changes = (item.way or {}).get("changes", ())
    return {value["group"] for change in changes for value in change.values() if "group" in value}
