"""Searches that the builder's pickers and trees send while somebody types in them or opens a node."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.authoring.pages import builder_fields
from policies.authoring.pages.builder_fields import FIELD_ENTITY_TYPES, TREE_FIELDS
from policies.errors import NotFound
from policies.http.guard import needs
from policies.pdp import authorizer

#: Most results of a search.
_MAX_OPTIONS = 20


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def search_options(request: HttpRequest, field: str) -> HttpResponse:
    """Options for a picker: the first matches of a search in the catalog."""
    if field not in FIELD_ENTITY_TYPES:
        raise NotFound("There is no such search.")
    entities = authorizer.directory().search(
        text=request.GET.get("q", "")[:200], types=FIELD_ENTITY_TYPES[field], limit=_MAX_OPTIONS + 1
    )
    rows = [
        {"urn": entity.urn, "label": entity.name or entity.urn, "hint": entity.urn, "type": entity.type}
        for entity in entities
    ]
    context = {"name": _picker_name(request), "options": rows[:_MAX_OPTIONS], "is_more": len(rows) > _MAX_OPTIONS}
    return render(request, "components/picker_options.html", context)


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def list_branches(request: HttpRequest, field: str) -> HttpResponse:
    """Children of a node of a tree, loaded when it is opened."""
    if field not in TREE_FIELDS:
        raise NotFound("There is no such tree.")
    name = _picker_name(request)
    node = builder_fields.load_branches(field, request.GET.get("parent", ""), name)
    return render(request, "policies/_branches.html", {"name": name, **node})


def _picker_name(request: HttpRequest) -> str:
    return request.GET.get("name", "")[:60]
