"""The number beside Requests on every page: how many requests the viewer can decide."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from policies.http.guard import get_actor
from policies.requests.queries import requests


def build_context(request: HttpRequest) -> dict[str, Any]:
    """Return the number for `base.html`, by two queries; nothing for an anonymous caller or with policies off."""
    if not getattr(request, "user", None) or not request.user.is_authenticated or not settings.AUTH_POLICIES_ENABLED:
        return {}
    count = requests.count_to_decide(by=get_actor(request))
    label = f"{requests.MAX_COUNTED}+" if count > requests.MAX_COUNTED else str(count)
    return {"to_decide": {"route": "requests", "url": reverse("requests-to-decide"), "count": count, "label": label}}
