"""/catalog: search with filters, and the ways in by domain, container, platform and tag."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog.access import aspect_documents, browsing, entity_lists, view_permissions
from catalog.access.entity_context import references
from catalog.aspects.base import PLATFORM
from catalog.entities.pages import type_labels
from catalog.entities.pages.forms import CatalogFilters
from catalog.models import Entity
from policies.engine import selectors
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import actor_of, signed_in
from policies.http.pages import list_and_form_pages

#: How many values a select of the filters offers; the ways in show all.
OFFERED = 100

#: The ways in: key → label.
WAYS = {"domains": "Domains", "containers": "Containers", "platforms": "Platforms", "tags": "Tags"}

#: Ways in that are trees: the type of the nodes, the facet that says what is in one, and the filter that lists it.
_TREES = {
    "domains": ("domain", selectors.DOMAIN, "domain"),
    "containers": ("container", selectors.CONTAINER, "container"),
}
#: Ways in that are lists: the facet, and the filter.
_FLAT = {"platforms": (PLATFORM, "platform"), "tags": (selectors.TAG, "tag")}

COLUMNS = ({"label": "Name"}, {"label": "Type"}, {"label": "Platform"}, {"label": "State"})


@require_GET
@never_cache
@signed_in
def entity_list(request: HttpRequest) -> HttpResponse:
    """The entities, searched, filtered and paged; an htmx request gets the list alone."""
    by = actor_of(request)
    form = CatalogFilters(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    found = browsing.find(**{"text" if name == "q" else name: value for name, value in filters.items()}, by=by)
    page = list_and_form_pages.page_of(request, found)
    is_fragment = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context = {
        "page": page,
        "rows": rows(list(page)),
        "columns": COLUMNS,
        "is_filtered": bool(filters),
    }
    if not is_fragment:
        _offer(form, by)
        context |= {
            "form": form,
            "ways": ways(""),
            "within": _within(filters, request, by),
            "breadcrumbs": [{"label": "Catalog"}],
        }
    response = render(request, "catalog/_list.html" if is_fragment else "catalog/list.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
@never_cache
@signed_in
def browse(request: HttpRequest, way: str) -> HttpResponse:
    """One way in: the nodes of a tree, or the values in use."""
    if way not in WAYS:
        raise NotFound("There is no such way into the catalog.")
    by = actor_of(request)
    context = _tree(request, way, by) if way in _TREES else _flat(request, way, by)
    context |= {
        "way": way,
        "label": WAYS[way],
        "ways": ways(way),
        "columns": _BROWSING[way],
    }
    return render(request, "catalog/browse.html", context)


_ALL = {"label": "Everything in it", "is_hidden_label": True}
_BROWSING: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "domains": (
        {"label": "Domain"},
        {"label": "Domains below", "is_number": True},
        {"label": "Directly in it", "is_number": True},
        _ALL,
    ),
    "containers": (
        {"label": "Container"},
        {"label": "Containers below", "is_number": True},
        {"label": "Directly in it", "is_number": True},
        _ALL,
    ),
    "platforms": ({"label": "Platform"}, {"label": "Entities", "is_number": True}, _ALL),
    "tags": ({"label": "Tag"}, {"label": "Entities", "is_number": True}, _ALL),
}


def rows(entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Return entities as lists show them, in a number of queries that does not grow."""
    urns = [entity.urn for entity in entities]
    platforms = entity_lists.values_of(urns=urns, field=PLATFORM)
    named = references({urn for found in platforms.values() for urn in found})
    deprecated = aspect_documents.deprecated(urns=urns)
    return [
        {
            "urn": entity.urn,
            "name": entity.name or entity.urn,
            "type": entity.type,
            "word": type_labels.one(entity.type),
            "url": reverse("entity", args=[entity.urn]),
            "platforms": [named[urn] for urn in platforms.get(entity.urn, ())],
            "is_deprecated": entity.urn in deprecated,
        }
        for entity in entities
    ]


def list_url(**filters: str) -> str:
    """Return the address of the list with these filters."""
    return f"{reverse('catalog')}?{urlencode(filters)}"


def ways(current: str) -> list[dict[str, Any]]:
    """Return the tabs above the list and the trees."""
    found = [{"label": "Search", "url": reverse("catalog"), "is_current": not current}]
    return found + [
        {"label": label, "url": reverse("catalog-browse", args=[way]), "is_current": way == current}
        for way, label in WAYS.items()
    ]


def _offer(form: CatalogFilters, by: Actor) -> None:
    counted = browsing.types(by=by)
    form.offer("type", [(type_, f"{type_labels.many(type_)} ({count})") for type_, count in counted.items()], "Any")
    for name, type_ in (("platform", "dataPlatform"), ("domain", "domain"), ("tag", "tag")):
        form.offer(name, browsing.choices(type=type_, by=by, limit=OFFERED), "Any")


def _within(filters: Mapping[str, str], request: HttpRequest, by: Actor) -> list[dict[str, str]]:
    """Return the filters that no select shows, each with the address of the list without it."""
    asked = {name: filters[name] for name in ("container", "term") if name in filters}
    concealed = view_permissions.hidden(urns=list(asked.values()), by=by)
    # Called by what its URN says, as one that is not stored.
    named = references(set(asked.values()), known=dict.fromkeys(concealed, ""))
    found = []
    for name, urn in asked.items():
        query = request.GET.copy()
        query.pop(name, None)
        query.pop("page", None)
        found.append({"label": named[urn].name, "url": f"{reverse('catalog')}?{query.urlencode()}"})
    return found


def _tree(request: HttpRequest, way: str, by: Actor) -> dict[str, Any]:
    type_, field, name = _TREES[way]
    under = request.GET.get("under", "")
    node = _node(under, type_, by) if under else None
    page = list_and_form_pages.page_of(request, browsing.below(type=type_, under=under, by=by))
    urns = [entity.urn for entity in page]
    nodes = browsing.node_counts(parents=urns, type=type_, by=by)
    inside = browsing.counts(field=field, values=urns, by=by)
    here = reverse("catalog-browse", args=[way])
    above = browsing.trail(entity=node, by=by) if node else []
    crumbs = [{"label": "Catalog", "url": reverse("catalog")}, {"label": WAYS[way], "url": here}]
    crumbs += [{"label": one.name or one.urn, "url": f"{here}?{urlencode({'under': one.urn})}"} for one in above]
    return {
        "page": page,
        "breadcrumbs": [*crumbs, {"label": node.name or node.urn}] if node else crumbs,
        "node": node,
        "node_url": reverse("entity", args=[node.urn]) if node else "",
        "all_url": list_url(**{name: node.urn}) if node else "",
        "rows": [
            {
                "urn": entity.urn,
                "name": entity.name or entity.urn,
                "type": entity.type,
                "url": f"{here}?{urlencode({'under': entity.urn})}" if nodes.get(entity.urn) else "",
                "nodes": nodes.get(entity.urn, 0),
                "count": inside.get(entity.urn, 0),
                "list_url": list_url(**{name: entity.urn}),
                "entity_url": reverse("entity", args=[entity.urn]),
            }
            for entity in page
        ],
    }


def _node(urn: str, type_: str, by: Actor) -> Entity:
    node = entity_lists.get(urn=urn)
    if node.type != type_ or not view_permissions.may_view(node, by=by):
        raise NotFound(f"There is no entity {urn}.")
    return node


def _flat(request: HttpRequest, way: str, by: Actor) -> dict[str, Any]:
    field, name = _FLAT[way]
    page = list_and_form_pages.page_of(request, browsing.in_use(field=field, by=by))
    named = references([one.urn for one in page])
    return {
        "page": page,
        "breadcrumbs": [{"label": "Catalog", "url": reverse("catalog")}, {"label": WAYS[way]}],
        "rows": [
            {
                "urn": one.urn,
                "name": named[one.urn].name,
                "type": named[one.urn].type,
                "count": one.count,
                "list_url": list_url(**{name: one.urn}),
                "entity_url": named[one.urn].url,
            }
            for one in page
        ],
    }
