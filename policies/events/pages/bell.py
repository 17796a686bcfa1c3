"""The bell of every page: how many notices the viewer has not read."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from policies.events.channels.inbox import storage


def build_context(request: HttpRequest) -> dict[str, Any]:
    """Return the bell for `base.html`, by one query; nothing for an anonymous caller."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    count = storage.count_unread(user_id=request.user.pk)
    label = f"{storage.MAX_COUNTED}+" if count > storage.MAX_COUNTED else str(count)
    return {"bell": {"url": reverse("notifications"), "count": count, "label": label}}
