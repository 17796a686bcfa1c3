"""/catalog/tree/<urn>: contents of a CDAP instance, namespace or application that the viewer may list.

With view authorization on, entities listable but not viewable (a dataset by DataHub's rules) are not counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog.access import view_permissions
from catalog.access.entity_context import EntityContext, Reference, load_references
from catalog.cdap import entity_tabs, operation_services
from catalog.cdap.operation_services import OperationListing
from catalog.entities.pages import entity, type_labels
from catalog.models import Entity
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.families.cdap_requests import OperationRequest
from policies.errors import NotFound
from policies.http.guard import signed_in

CHANNEL = "pages"
TREE_PAGE_SIZE = 25

#: Maximum number of programs shown under their application; its own page shows all.
_MAX_PROGRAMS = 10


@require_GET
@never_cache
@signed_in
def show_tree(request: HttpRequest, urn: str) -> HttpResponse:
    """Show one kind of the contents, with the counts of all kinds; applications with their programs."""
    entity_context = EntityContext.load(request, urn)
    container = entity_tabs.require_cdap_name(entity_context)
    if container.kind not in cdap_entity_ids.CONTAINER_KINDS:
        raise NotFound("This type of entity contains nothing.")
    listings = _filter_viewable(
        {kind: _list_kind(kind, container, entity_context) for kind in _tree_kinds(container)}, entity_context
    )
    kind = request.GET.get("kind", "")
    kind = (
        kind
        if kind in listings
        else next((listed_kind for listed_kind in listings if listings[listed_kind].urns), next(iter(listings)))
    )
    page = Paginator(listings[kind].urns, TREE_PAGE_SIZE).get_page(request.GET.get("page"))
    programs_by_application = _group_programs(listings) if kind == cdap_entity_ids.APPLICATION else {}
    row_urns = [
        *page,
        *(program for row_urn in page for program in programs_by_application.get(row_urn, ())[:_MAX_PROGRAMS]),
    ]
    references = load_references(set(row_urns))
    accessible_urns = listings[kind].accessible_urns
    tree_url = entity_tabs.tab_url(entity_tabs.TREE, entity_context)
    rows: list[dict[str, Any]] = [
        {
            **_build_item(row_urn, references),
            "is_accessible": accessible_urns is None or row_urn in accessible_urns,
            "count": len(programs_by_application.get(row_urn, ())),
            "programs": [
                _build_item(program, references) for program in programs_by_application.get(row_urn, ())[:_MAX_PROGRAMS]
            ],
        }
        for row_urn in page
    ]
    return entity.render_page(
        request,
        entity_context,
        tab=entity_tabs.TREE,
        template="catalog/grants/tree.html",
        kinds_there=[
            {
                "label": f"{type_labels.plural_label(listed_kind)} ({len(listing.urns)})",
                "url": f"{tree_url}?{urlencode({'kind': listed_kind})}",
                "is_current": listed_kind == kind,
            }
            for listed_kind, listing in listings.items()
        ],
        kind=kind,
        label=type_labels.plural_label(kind),
        page=page,
        rows=rows,
        columns=_table_columns(kind),
    )


def _tree_kinds(container: CdapName) -> Sequence[str]:
    """Return the kinds shown for a container; programs appear with their applications."""
    if container.kind == cdap_entity_ids.INSTANCE:
        return (cdap_entity_ids.NAMESPACE,)
    if container.kind == cdap_entity_ids.APPLICATION:
        return (cdap_entity_ids.PROGRAM,)
    kinds = [kind for kind in cdap.list_kinds() if kind != cdap_entity_ids.NAMESPACE]
    return sorted(kinds, key=lambda kind: kind != cdap_entity_ids.APPLICATION)


def _list_kind(kind: str, container: CdapName, entity_context: EntityContext) -> OperationListing:
    operation_request = OperationRequest(f"{kind}.list", container.urn)
    listing = operation_services.perform(
        operation_request=operation_request, actor=None, by=entity_context.by, channel=CHANNEL
    )
    return listing if isinstance(listing, OperationListing) else OperationListing(())


def _filter_viewable(
    listings: Mapping[str, OperationListing], entity_context: EntityContext
) -> dict[str, OperationListing]:
    """Leave out entities that the viewer may not view, for all kinds in one query."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return dict(listings)
    listed_urns = [urn for listing in listings.values() for urn in listing.urns]
    rows = view_permissions.filter_viewable(Entity.objects.filter(urn__among=listed_urns), by=entity_context.by)
    viewable_urns = set(rows.order_by().values_list("urn", flat=True))
    return {
        kind: replace(listing, urns=tuple(urn for urn in listing.urns if urn in viewable_urns))
        for kind, listing in listings.items()
    }


def _group_programs(listings: Mapping[str, OperationListing]) -> Mapping[str, Sequence[str]]:
    programs_by_application: dict[str, list[str]] = {}
    for urn in listings[cdap_entity_ids.PROGRAM].urns:
        name = cdap_entity_ids.parse(urn)
        if name is not None and name.parent is not None:
            programs_by_application.setdefault(name.parent, []).append(urn)
    return programs_by_application


def _build_item(urn: str, references: Mapping[str, Reference]) -> dict[str, Any]:
    reference = references[urn]
    return {"urn": urn, "name": reference.name, "type": reference.type, "url": reference.url}


def _table_columns(kind: str) -> Sequence[Mapping[str, Any]]:
    if kind == cdap_entity_ids.APPLICATION:
        return ({"label": "Application"}, {"label": "Programs", "is_number": True})
    return (
        ({"label": type_labels.singular_label(kind)}, {"label": "Access"})
        if kind == cdap_entity_ids.NAMESPACE
        else ({"label": type_labels.singular_label(kind)},)
    )
