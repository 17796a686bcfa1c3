"""/catalog/<urn>: one entity, in tabs, without anything that its viewer may not view."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from catalog import urns
from catalog.access import browsing, entity_lists
from catalog.access.entity_context import EntityContext, load_references
from catalog.aspects.facet_fields import PLATFORM
from catalog.entities.annotations import parse_owner
from catalog.entities.pages import browse, edit_controls, tab_registry, type_labels
from catalog.entities.pages.about import build_about_context
from catalog.entities.pages.columns import build_dataset_columns
from policies.http.guard import signed_in
from policies.http.pages.list_and_form_pages import build_columns, get_page, page_view
from policies.http.pages.request_links import build_giving_url, build_request_url

#: Number of entries per page in the Contents tab, and in the Columns tab.
TAB_PAGE_SIZE = 25
COLUMN_PAGE_SIZE = 100

#: Filter of the list that shows everything in an entity, by its type.
_LIST_FILTERS = {
    "container": "container",
    "dataPlatform": "platform",
    "domain": "domain",
    "glossaryNode": "term",
    "glossaryTerm": "term",
    "tag": "tag",
}

#: Types with a Contents tab.
_CONTAINER_TYPES = frozenset({*_LIST_FILTERS, "dataProduct", "project"})


@page_view(signed_in)
def show_entity(request: HttpRequest, urn: str) -> HttpResponse:
    """Show the entity with the requested tab."""
    entity_context = EntityContext.load(request, urn)
    tab = request.GET.get("show", "")
    tab = tab if tab in _tab_labels(entity_context) else "about"
    added = tab_registry.find_tab(tab)
    load = added.load if added is not None else _CONTEXT_BUILDERS[tab]
    template = f"catalog/_{tab}.html"
    return render_page(request, entity_context, tab=tab, template=template, **load(entity_context, request))


def render_page(
    request: HttpRequest,
    entity_context: EntityContext,
    *,
    tab: str,
    template: str,
    status: HTTPStatus = HTTPStatus.OK,
    **tab_context: Any,
) -> HttpResponse:
    """Render the page of an entity with this tab open; `tab_context` is the context of the tab's template."""
    tabs = {
        key: (label, _tab_url(entity_context, key)) for key, label in _tab_labels(entity_context).items()
    } | tab_registry.list_links(entity_context)
    context = {
        "entity": entity_context.entity,
        "tab": tab,
        "template": template,
        "tabs": [{"label": label, "url": url, "is_current": key == tab} for key, (label, url) in tabs.items()],
        **_build_header_context(entity_context),
        **tab_context,
    }
    return render(request, "catalog/entity.html", context, status=status)


def _tab_labels(entity_context: EntityContext) -> dict[str, str]:
    labels = {"about": "About"}
    if (
        "schemaMetadata" in entity_context.visible_documents
        or "editableSchemaMetadata" in entity_context.visible_documents
    ):
        labels["columns"] = "Columns"
    if entity_context.entity.type in _CONTAINER_TYPES:
        labels["contents"] = "Contents"
    return labels | tab_registry.list_tabs(entity_context) | {"documents": "Documents"}


def _tab_url(entity_context: EntityContext, tab: str) -> str:
    return entity_context.url if tab == "about" else f"{entity_context.url}?{urlencode({'show': tab})}"


def _build_header_context(entity_context: EntityContext) -> dict[str, Any]:
    row = entity_context.entity
    platforms = entity_lists.load_values(urns=[row.urn], field=PLATFORM).get(row.urn, [])
    trail = browsing.load_trail(entity=row, by=entity_context.by)
    deprecation = entity_context.document("deprecation")
    kinds = entity_context.document("subTypes").get("typeNames") or ()
    name = row.name or row.urn
    trail_links = [
        {"label": ancestor.name or ancestor.urn, "url": reverse("entity", args=[ancestor.urn])} for ancestor in trail
    ]
    return {
        "name": name,
        "word": type_labels.singular_label(row.type),
        "kinds": kinds,
        "platforms": list(load_references(platforms).values()),
        "is_deprecated": bool(deprecation.get("deprecated")),
        "trail": trail_links,
        "breadcrumbs": [{"label": "Catalog", "url": reverse("catalog")}, *trail_links, {"label": name}],
        "edits": edit_controls.list_edit_urls(entity_context),
        "request_url": build_request_url(resource=row.urn),
        "give_url": build_giving_url(row.urn) if _is_owner(entity_context) else "",
        "why_url": f"{reverse('why')}?{urlencode({'resource': row.urn})}",
    }


def _is_owner(entity_context: EntityContext) -> bool:
    entries = entity_context.document("ownership").get("owners") or ()
    return any(parse_owner(entry)[0] in entity_context.by.holders for entry in entries)


def _build_columns_context(entity_context: EntityContext, request: HttpRequest) -> dict[str, Any]:
    columns = build_dataset_columns(
        entity_context.document("schemaMetadata"), entity_context.document("editableSchemaMetadata")
    )
    text = request.GET.get("q", "").strip().casefold()
    columns = [column for column in columns if text in column.path.casefold()] if text else columns
    page = get_page(request, columns, COLUMN_PAGE_SIZE)
    references = load_references({urn for column in page for urn in (*column.tags, *column.terms)})
    return {
        "page": page,
        "query": request.GET.get("q", ""),
        "columns": build_columns("Column", "Type", "Description", "Tags and terms"),
        "rows": [
            {"column": column, "named": [references[urn] for urn in (*column.tags, *column.terms)]} for column in page
        ],
    }


def _build_contents_context(entity_context: EntityContext, request: HttpRequest) -> dict[str, Any]:
    """Return the contents of an entity: by its list filter with descendants, else assets or children."""
    row, by = entity_context.entity, entity_context.by
    name = _LIST_FILTERS.get(row.type)
    if name is not None:
        entities = browsing.find(by=by, **{name: row.urn}).exclude(pk=row.pk)
    else:
        list_entities = browsing.list_assets if row.type == "dataProduct" else browsing.list_children
        entities = list_entities(urn=row.urn, by=by)
    page = get_page(request, entities, TAB_PAGE_SIZE)
    return {
        "page": page,
        "rows": browse.build_rows(list(page)),
        "columns": browse.COLUMNS,
        "all_url": browse.list_url(**{name: row.urn}) if name else "",
    }


def _build_documents_context(entity_context: EntityContext, _request: HttpRequest) -> dict[str, Any]:
    key = urns.parse(entity_context.entity.urn).key_aspect
    references = load_references({aspect.created_by for aspect in entity_context.documents.values()})
    return {
        "documents": [
            {
                "name": name,
                "text": json.dumps(document, ensure_ascii=False, indent=2),
                "by": references[entity_context.documents[name].created_by].name,
                "at": None if name == key else entity_context.documents[name].created_at,
            }
            for name, document in entity_context.visible_documents.items()
        ]
    }


_CONTEXT_BUILDERS: Mapping[str, Callable[[EntityContext, HttpRequest], dict[str, Any]]] = {
    "about": build_about_context,
    "columns": _build_columns_context,
    "contents": _build_contents_context,
    "documents": _build_documents_context,
}
