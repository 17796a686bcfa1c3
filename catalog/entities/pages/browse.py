"""/catalog: search with filters, and browsing by domain, container, platform and tag."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from catalog.access import aspect_documents, browsing, entity_lists, view_permissions
from catalog.access.entity_context import load_references
from catalog.aspects.facet_fields import PLATFORM
from catalog.entities.pages import type_labels
from catalog.entities.pages.forms import CatalogFilterForm
from catalog.models import Entity
from policies.engine import selectors
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import (
    build_columns,
    get_page,
    is_fragment_request,
    page_view,
    read_filters,
    render_filtered_list,
)

#: Maximum number of values in a filter select; the browse pages show all.
MAX_CHOICES = 100

#: Browse pages: key -> label.
BROWSE_LABELS = {"domains": "Domains", "containers": "Containers", "platforms": "Platforms", "tags": "Tags"}

#: Browse pages with a tree: the type of the nodes, the facet of the entities in one, and the filter that lists them.
_TREE_FACETS = {
    "domains": ("domain", selectors.DOMAIN, "domain"),
    "containers": ("container", selectors.CONTAINER, "container"),
}
#: Browse pages with a list: the facet and the filter.
_LIST_FACETS = {"platforms": (PLATFORM, "platform"), "tags": (selectors.TAG, "tag")}

COLUMNS = build_columns("Name", "Type", "Platform", "State")


@page_view(signed_in)
def list_entities(request: HttpRequest) -> HttpResponse:
    """List the entities, searched, filtered and paged; an htmx request gets only the list."""
    by = get_actor(request)
    form = CatalogFilterForm(request.GET)
    context: dict[str, Any] = {"columns": COLUMNS}
    if not is_fragment_request(request):
        _fill_choices(form, by)
        context |= {
            "ways": build_tabs(""),
            "within": _build_hidden_filters(read_filters(form), request, by),
            "breadcrumbs": [{"label": "Catalog"}],
        }
    return render_filtered_list(
        request,
        "catalog/list.html",
        "catalog/_list.html",
        form=form,
        query=partial(browsing.find_counted, by=by),
        build_rows=build_rows,
        **context,
    )


@page_view(signed_in)
def browse(request: HttpRequest, way: str) -> HttpResponse:
    """Show one browse page: the nodes of a tree, or the values in use."""
    if way not in BROWSE_LABELS:
        raise NotFound("There is no such way into the catalog.")
    by = get_actor(request)
    context = _build_tree_context(request, way, by) if way in _TREE_FACETS else _build_list_context(request, way, by)
    context |= {
        "way": way,
        "label": BROWSE_LABELS[way],
        "ways": build_tabs(way),
        "columns": _BROWSE_COLUMNS[way],
    }
    return render(request, "catalog/browse.html", context)


_LIST_LINK_COLUMN = {"label": "Everything in it", "is_hidden_label": True}


def _build_tree_columns(label: str) -> list[dict[str, Any]]:
    numbers = (f"{label}s below", "Directly in it")
    return [*build_columns(label, *numbers, numbers=numbers), _LIST_LINK_COLUMN]


def _build_value_columns(label: str) -> list[dict[str, Any]]:
    return [*build_columns(label, "Entities", numbers=("Entities",)), _LIST_LINK_COLUMN]


_BROWSE_COLUMNS = {
    "domains": _build_tree_columns("Domain"),
    "containers": _build_tree_columns("Container"),
    "platforms": _build_value_columns("Platform"),
    "tags": _build_value_columns("Tag"),
}


def build_rows(entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Return the table rows of entities, in a constant number of queries."""
    urns = [entity.urn for entity in entities]
    platforms = entity_lists.load_values(urns=urns, field=PLATFORM)
    references = load_references({urn for platform_urns in platforms.values() for urn in platform_urns})
    deprecated_urns = aspect_documents.list_deprecated(urns=urns)
    return [
        {
            "urn": entity.urn,
            "name": entity.name or entity.urn,
            "type": entity.type,
            "word": type_labels.singular_label(entity.type),
            "url": reverse("entity", args=[entity.urn]),
            "platforms": [references[urn] for urn in platforms.get(entity.urn, ())],
            "is_deprecated": entity.urn in deprecated_urns,
        }
        for entity in entities
    ]


def list_url(**filters: str) -> str:
    """Return the URL of the list with these filters."""
    return f"{reverse('catalog')}?{urlencode(filters)}"


def build_tabs(current: str) -> list[dict[str, Any]]:
    """Return the tabs above the list and the trees."""
    tabs = [{"label": "Search", "url": reverse("catalog"), "is_current": not current}]
    return tabs + [
        {"label": label, "url": reverse("catalog-browse", args=[way]), "is_current": way == current}
        for way, label in BROWSE_LABELS.items()
    ]


def _fill_choices(form: CatalogFilterForm, by: Actor) -> None:
    counts_by_type = browsing.count_types(by=by)
    form.set_choices(
        "type",
        [(type_, f"{type_labels.plural_label(type_)} ({count})") for type_, count in counts_by_type.items()],
        "Any",
    )
    for name, type_ in (("platform", "dataPlatform"), ("domain", "domain"), ("tag", "tag")):
        form.set_choices(name, browsing.list_choices(type=type_, by=by, limit=MAX_CHOICES), "Any")


def _build_hidden_filters(filters: Mapping[str, str], request: HttpRequest, by: Actor) -> list[dict[str, str]]:
    """Return the filters without a select, each with the URL of the list without it."""
    urns_by_filter = {name: filters[name] for name in ("container", "term") if name in filters}
    concealed_urns = view_permissions.find_hidden(urns=list(urns_by_filter.values()), by=by)
    # A concealed entity is named by its URN, like one that is not stored.
    references = load_references(set(urns_by_filter.values()), known_names=dict.fromkeys(concealed_urns, ""))
    filter_links = []
    for name, urn in urns_by_filter.items():
        query = request.GET.copy()
        query.pop(name, None)
        query.pop("page", None)
        filter_links.append({"label": references[urn].name, "url": f"{reverse('catalog')}?{query.urlencode()}"})
    return filter_links


def _build_tree_context(request: HttpRequest, way: str, by: Actor) -> dict[str, Any]:
    type_, field, name = _TREE_FACETS[way]
    parent_urn = request.GET.get("under", "")
    node = _get_node(parent_urn, type_, by) if parent_urn else None
    page = get_page(request, browsing.list_child_nodes(type=type_, parent=parent_urn, by=by))
    urns = [entity.urn for entity in page]
    node_counts = browsing.count_child_nodes(parents=urns, type=type_, by=by)
    entity_counts = browsing.count_by_value(field=field, values=urns, by=by)
    browse_url = reverse("catalog-browse", args=[way])
    ancestors = browsing.load_trail(entity=node, by=by) if node else []
    crumbs = [{"label": "Catalog", "url": reverse("catalog")}, {"label": BROWSE_LABELS[way], "url": browse_url}]
    crumbs += [
        {"label": ancestor.name or ancestor.urn, "url": f"{browse_url}?{urlencode({'under': ancestor.urn})}"}
        for ancestor in ancestors
    ]
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
                "url": f"{browse_url}?{urlencode({'under': entity.urn})}" if node_counts.get(entity.urn) else "",
                "nodes": node_counts.get(entity.urn, 0),
                "count": entity_counts.get(entity.urn, 0),
                "list_url": list_url(**{name: entity.urn}),
                "entity_url": reverse("entity", args=[entity.urn]),
            }
            for entity in page
        ],
    }


def _get_node(urn: str, type_: str, by: Actor) -> Entity:
    node = entity_lists.get(urn=urn)
    if node.type != type_ or not view_permissions.may_view(node, by=by):
        raise NotFound(f"There is no entity {urn}.")
    return node


def _build_list_context(request: HttpRequest, way: str, by: Actor) -> dict[str, Any]:
    field, name = _LIST_FACETS[way]
    page = get_page(request, browsing.list_used_values(field=field, by=by))
    references = load_references([value_count.urn for value_count in page])
    return {
        "page": page,
        "breadcrumbs": [{"label": "Catalog", "url": reverse("catalog")}, {"label": BROWSE_LABELS[way]}],
        "rows": [
            {
                "urn": value_count.urn,
                "name": references[value_count.urn].name,
                "type": references[value_count.urn].type,
                "count": value_count.count,
                "list_url": list_url(**{name: value_count.urn}),
                "entity_url": references[value_count.urn].url,
            }
            for value_count in page
        ],
    }
