"""Settings > Status > Refresh now: what `manage.py refresh_policies` does, for who has no shell."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from policies.http.guard import needs
from policies.pdp import policy_change_events, process_registry


@require_POST
@never_cache
@needs("MANAGE_POLICIES")
def refresh(request: HttpRequest) -> HttpResponse:
    """Load all active policies anew, have the workers compare theirs, and say which processes answer from them."""
    version = policy_change_events.reload()
    serving = process_registry.web()
    following = sum(one.version >= version for one in serving)
    text = f"Policy version {version} was loaded anew. {following} of {len(serving)} web processes answer from it"
    messages.success(request, f"{text}." if following == len(serving) else f"{text}; the others look within a second.")
    return redirect("status")
