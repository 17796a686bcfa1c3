"""What the builder's pickers and trees ask for while somebody types in them or opens them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.authoring.pages import builder_fields
from policies.authoring.pages.builder_fields import TREES, TYPES
from policies.errors import NotFound
from policies.http.guard import needs
from policies.pdp import authorizer

#: How many answers a search shows.
_SHOWN = 20


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def options(request: HttpRequest, field: str) -> HttpResponse:
    """Answer a picker's search in the catalog with the first few that match."""
    if field not in TYPES:
        raise NotFound("There is no such search.")
    found = authorizer.directory().search(text=request.GET.get("q", "")[:200], types=TYPES[field], limit=_SHOWN + 1)
    listed = [{"urn": one.urn, "label": one.name or one.urn, "hint": one.urn, "type": one.type} for one in found]
    context = {"name": _name(request), "options": listed[:_SHOWN], "is_more": len(listed) > _SHOWN}
    return render(request, "components/picker_options.html", context)


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def branches(request: HttpRequest, field: str) -> HttpResponse:
    """Answer with what lies in a node of a tree, when it is opened."""
    if field not in TREES:
        raise NotFound("There is no such tree.")
    name = _name(request)
    listed = builder_fields.branches(field, request.GET.get("parent", ""), name)
    context = {"name": name, "branches": listed, "is_more": len(listed) == builder_fields.BRANCHES}
    return render(request, "policies/_branches.html", context)


def _name(request: HttpRequest) -> str:
    return request.GET.get("name", "")[:60]
