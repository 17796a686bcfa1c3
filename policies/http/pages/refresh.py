"""Settings > Status > Refresh now: the action of `manage.py refresh_policies` for administrators without a shell."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.http.guard import needs
from policies.http.pages.list_and_form_pages import action_view
from policies.pdp import policy_change_events, process_registry


@action_view(needs("MANAGE_POLICIES"))
def refresh_policies(request: HttpRequest) -> HttpResponse:
    """Reload all active policies, make the workers compare theirs, and report the web processes that are current."""
    version = policy_change_events.reload_all()
    web_processes = process_registry.list_web_processes()
    current_count = sum(process.version >= version for process in web_processes)
    process_count = len(web_processes)
    text = f"Policy version {version} was loaded anew. {current_count} of {process_count} web processes answer from it"
    messages.success(
        request, f"{text}." if current_count == process_count else f"{text}; the others look within a second."
    )
    return redirect("status")
