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
_HERE = "policy-new"


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def new(request: HttpRequest) -> HttpResponse:
    """Show the page that writes policies of a family, the one named or that of the policy to be copied."""
    family = request.GET.get("family", "")
    if like := request.GET.get("like"):
        event = policies.versions(urn=like).first()
        family = event.family if event is not None else family
    route = presenters.of(family).maker if family in presenters.PRESENTERS else ""
    if route in ("", _HERE):
        return builder.new(request)
    query = request.GET.copy()
    query.pop("family", None)
    return redirect(f"{reverse(route)}?{query.urlencode()}")
