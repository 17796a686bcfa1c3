"""/catalog/tree/<urn>: contents of a CDAP instance, namespace or application that the viewer may list.

With view authorization on, entities listable but not viewable (a dataset by DataHub's rules) are not counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from catalog.access import view_permissions
from catalog.access.entity_context import load_references
from catalog.cdap import operation_services
from catalog.cdap.entity_tabs import TREE, CdapPage
from catalog.cdap.operation_services import OperationListing
from catalog.entities.pages import type_labels
from catalog.models import Entity
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.families.cdap_requests import OperationRequest
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import signed_in
from policies.http.pages.list_and_form_pages import CHANNEL, build_columns, get_page, page_view

TREE_PAGE_SIZE = 25

#: Maximum number of programs shown under their application; its own page shows all.
_MAX_PROGRAMS = 10


@page_view(signed_in)
def show_tree(request: HttpRequest, urn: str) -> HttpResponse:
    """Show one kind of the contents, with the counts of all kinds; applications with their programs."""
    cdap_page = CdapPage.load(request, urn)
    container = cdap_page.name
    if container.kind not in cdap_entity_ids.CONTAINER_KINDS:
        raise NotFound("This type of entity contains nothing.")
    listings = _filter_viewable({kind: _list_kind(kind, cdap_page) for kind in _tree_kinds(container)}, cdap_page.by)
    kind = request.GET.get("kind", "")
    if kind not in listings:
        kind = next((listed_kind for listed_kind in listings if listings[listed_kind].urns), next(iter(listings)))
    page = get_page(request, listings[kind].urns, TREE_PAGE_SIZE)
    programs_by_application = _group_programs(listings) if kind == cdap_entity_ids.APPLICATION else {}
    shown_programs = {row_urn: programs_by_application.get(row_urn, ())[:_MAX_PROGRAMS] for row_urn in page}
    references = load_references({*page, *(program for programs in shown_programs.values() for program in programs)})
    accessible_urns = listings[kind].accessible_urns
    return cdap_page.render(
        TREE,
        "tree",
        kinds_there=[
            {
                "label": f"{type_labels.plural_label(listed_kind)} ({len(listing.urns)})",
                "url": f"{cdap_page.find_url(TREE)}?{urlencode({'kind': listed_kind})}",
                "is_current": listed_kind == kind,
            }
            for listed_kind, listing in listings.items()
        ],
        kind=kind,
        label=type_labels.plural_label(kind),
        page=page,
        rows=[
            {
                "entity": references[row_urn],
                "is_accessible": accessible_urns is None or row_urn in accessible_urns,
                "count": len(programs_by_application.get(row_urn, ())),
                "programs": [references[program] for program in shown_programs[row_urn]],
            }
            for row_urn in page
        ],
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


def _list_kind(kind: str, page: CdapPage) -> OperationListing:
    listing = operation_services.perform(
        operation_request=OperationRequest(f"{kind}.list", page.name.urn), actor=None, by=page.by, channel=CHANNEL
    )
    return listing if isinstance(listing, OperationListing) else OperationListing(())


def _filter_viewable(listings: Mapping[str, OperationListing], by: Actor) -> dict[str, OperationListing]:
    """Leave out entities that the viewer may not view, for all kinds in one query."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return dict(listings)
    listed_urns = [urn for listing in listings.values() for urn in listing.urns]
    rows = view_permissions.filter_viewable(Entity.objects.filter(urn__among=listed_urns), by=by)
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


def _table_columns(kind: str) -> Sequence[Mapping[str, Any]]:
    label = type_labels.singular_label(kind)
    if kind == cdap_entity_ids.APPLICATION:
        return build_columns(label, "Programs", numbers=("Programs",))
    return build_columns(label, "Access") if kind == cdap_entity_ids.NAMESPACE else build_columns(label)
