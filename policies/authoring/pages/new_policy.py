"""One URL for new policies of every family; it leads to the family's own page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.authoring.pages import builder, presenters
from policies.authoring.queries import policies
from policies.http.guard import needs

#: The route of the builder, which is also the route of this view.
_BUILDER_URL_NAME = "policy-new"


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def route_to_editor(request: HttpRequest) -> HttpResponse:
    """Show or redirect to the editor of a family: of the policy to be copied, else of the one named in the query."""
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
