"""Where a new policy is written: each family has a page of its own, and one address leads to all of them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.authoring.pages import builder, presenters
from policies.authoring.queries import policies
from policies.http.guard import needs

#: The route of the builder, which this address is itself.
_BUILDER_URL_NAME = "policy-new"


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def route_to_editor(request: HttpRequest) -> HttpResponse:
    """Show the page that writes policies of a family, the one named or that of the policy to be copied."""
    family = request.GET.get("family", "")
    if source_urn := request.GET.get("like"):
        event = policies.list_versions(urn=source_urn).first()
        family = event.family if event is not None else family
    url_name = presenters.get_presenter(family).new_url_name if family in presenters.PRESENTERS else ""
    if url_name in ("", _BUILDER_URL_NAME):
        return builder.create(request)
    query = request.GET.copy()
    query.pop("family", None)
    return redirect(f"{reverse(url_name)}?{query.urlencode()}")
