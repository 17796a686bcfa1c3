"""/catalog/<urn>: one entity, in tabs; what its reader may not view is not on it."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog import urns
from catalog.access import browsing, entity_lists
from catalog.access.entity_context import Subject, references
from catalog.aspects.base import PLATFORM
from catalog.entities.pages import browse, edit_controls, tab_registry, type_labels
from catalog.entities.pages.about import about
from catalog.entities.pages.columns import columns_of
from catalog.models import Entity
from policies.http.guard import signed_in

#: How many entries of a list a tab shows, and how many assets of a page of contents.
PAGE_SIZE = 25

#: The filter of the list that shows everything in an entity of this type.
_LISTED_BY = {
    "container": "container",
    "dataPlatform": "platform",
    "domain": "domain",
    "glossaryNode": "term",
    "glossaryTerm": "term",
    "tag": "tag",
}

#: Types that other entities lie in or under.
_HOLDERS = frozenset({*_LISTED_BY, "dataProduct", "project"})


@require_GET
@never_cache
@signed_in
def entity(request: HttpRequest, urn: str) -> HttpResponse:
    """The entity, on the tab that is asked for."""
    subject = Subject.of(request, urn)
    tab = request.GET.get("show", "")
    tab = tab if tab in _tabs(subject) else "about"
    added = tab_registry.find_tab(tab)
    load = added.load if added is not None else _FILLED[tab]
    return draw(request, subject, tab=tab, template=f"catalog/_{tab}.html", **load(subject, request))


def draw(
    request: HttpRequest,
    subject: Subject,
    *,
    tab: str,
    template: str,
    status: HTTPStatus = HTTPStatus.OK,
    **filled: Any,
) -> HttpResponse:
    """Answer the page of an entity with this tab open; `filled` is what the tab's template sees."""
    tabs = {key: (label, _tab_url(subject, key)) for key, label in _tabs(subject).items()} | tab_registry.list_links(
        subject
    )
    context = {
        "entity": subject.entity,
        "tab": tab,
        "template": template,
        "tabs": [{"label": label, "url": url, "is_current": key == tab} for key, (label, url) in tabs.items()],
        **_around(subject),
        **filled,
    }
    return render(request, "catalog/entity.html", context, status=status)


def _tabs(subject: Subject) -> dict[str, str]:
    found = {"about": "About"}
    if "schemaMetadata" in subject.said or "editableSchemaMetadata" in subject.said:
        found["columns"] = "Columns"
    if subject.entity.type in _HOLDERS:
        found["contents"] = "Contents"
    return found | tab_registry.list_tabs(subject) | {"documents": "Documents"}


def _tab_url(subject: Subject, tab: str) -> str:
    return subject.url if tab == "about" else f"{subject.url}?{urlencode({'show': tab})}"


def _around(subject: Subject) -> dict[str, Any]:
    row = subject.entity
    platforms = entity_lists.values_of(urns=[row.urn], field=PLATFORM).get(row.urn, [])
    trail = browsing.trail(entity=row, by=subject.by)
    deprecation = subject.document("deprecation")
    kinds = subject.document("subTypes").get("typeNames") or ()
    return {
        "name": row.name or row.urn,
        "word": type_labels.one(row.type),
        "kinds": kinds,
        "platforms": [references(platforms)[urn] for urn in platforms],
        "is_deprecated": bool(deprecation.get("deprecated")),
        "trail": [{"label": one.name or one.urn, "url": reverse("entity", args=[one.urn])} for one in trail],
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            *({"label": one.name or one.urn, "url": reverse("entity", args=[one.urn])} for one in trail),
            {"label": row.name or row.urn},
        ],
        "edits": edit_controls.offered(subject),
        "why_url": f"{reverse('why')}?{urlencode({'resource': row.urn})}",
    }


def _columns(subject: Subject, request: HttpRequest) -> dict[str, Any]:
    found = columns_of(subject.document("schemaMetadata"), subject.document("editableSchemaMetadata"))
    text = request.GET.get("q", "").strip().casefold()
    found = [column for column in found if text in column.path.casefold()] if text else found
    page = Paginator(found, 100).get_page(request.GET.get("page"))
    named = references({urn for column in page for urn in (*column.tags, *column.terms)})
    return {
        "page": page,
        "query": request.GET.get("q", ""),
        "columns": ({"label": "Column"}, {"label": "Type"}, {"label": "Description"}, {"label": "Tags and terms"}),
        "rows": [{"column": column, "named": [named[urn] for urn in (*column.tags, *column.terms)]} for column in page],
    }


def _contents(subject: Subject, request: HttpRequest) -> dict[str, Any]:
    row = subject.entity
    name = _LISTED_BY.get(row.type)
    found = browsing.assets(urn=row.urn, by=subject.by) if row.type == "dataProduct" else _inside(row, subject)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "page": page,
        "rows": browse.rows(list(page)),
        "columns": browse.COLUMNS,
        "all_url": browse.list_url(**{name: row.urn}) if name else "",
    }


def _inside(row: Entity, subject: Subject) -> Any:
    """Return what lies in an entity: by its filter everything below as well, otherwise the direct children."""
    name = _LISTED_BY.get(row.type)
    if name is None:
        return browsing.children(urn=row.urn, by=subject.by)
    return browsing.find(by=subject.by, **{name: row.urn}).exclude(pk=row.pk)


def _documents(subject: Subject, _request: HttpRequest) -> dict[str, Any]:
    key = urns.parse(subject.entity.urn).key_aspect
    named = references({aspect.created_by for aspect in subject.stored.values()})
    return {
        "documents": [
            {
                "name": name,
                "text": json.dumps(said, ensure_ascii=False, indent=2),
                "by": named[subject.stored[name].created_by].name,
                "at": None if name == key else subject.stored[name].created_at,
            }
            for name, said in subject.said.items()
        ]
    }


_FILLED: Mapping[str, Callable[[Subject, HttpRequest], dict[str, Any]]] = {
    "about": about,
    "columns": _columns,
    "contents": _contents,
    "documents": _documents,
}
