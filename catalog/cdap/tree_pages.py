"""/catalog/tree/<urn>: what lies in a CDAP instance, namespace or application, as far as its reader may list it.

While view authorization is on, what may be listed and not viewed (a dataset by DataHub's rules) is not counted either.
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
from catalog.access.entity_context import Reference, Subject, references
from catalog.cdap import entity_tabs, operation_services
from catalog.cdap.operation_services import Found
from catalog.entities.pages import entity, type_labels
from catalog.models import Entity
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.families.cdap_requests import Said
from policies.errors import NotFound
from policies.http.guard import signed_in

DOOR = "pages"
PAGE_SIZE = 25

#: How many programs are shown under their application; its own page has all of them.
_SHOWN = 10


@require_GET
@never_cache
@signed_in
def tree(request: HttpRequest, urn: str) -> HttpResponse:
    """One kind of what lies there, with the counts of all; applications with their programs."""
    subject = Subject.of(request, urn)
    place = entity_tabs.name_of(subject)
    if place.kind not in cdap_entity_ids.PLACES:
        raise NotFound("This type of entity contains nothing.")
    found = _viewed({kind: _listed(kind, place, subject) for kind in _kinds(place)}, subject)
    kind = request.GET.get("kind", "")
    kind = kind if kind in found else next((one for one in found if found[one].returned), next(iter(found)))
    page = Paginator(found[kind].returned, PAGE_SIZE).get_page(request.GET.get("page"))
    below = _programs(found) if kind == cdap_entity_ids.APPLICATION else {}
    shown = [*page, *(program for root in page for program in below.get(root, ())[:_SHOWN])]
    named = references(set(shown))
    accessible = found[kind].accessible
    address = entity_tabs.address(entity_tabs.TREE, subject)
    rows: list[dict[str, Any]] = [
        {
            **_shown(root, named),
            "is_accessible": accessible is None or root in accessible,
            "count": len(below.get(root, ())),
            "programs": [_shown(program, named) for program in below.get(root, ())[:_SHOWN]],
        }
        for root in page
    ]
    return entity.draw(
        request,
        subject,
        tab=entity_tabs.TREE,
        template="catalog/grants/tree.html",
        kinds_there=[
            {
                "label": f"{type_labels.many(one)} ({len(listed.returned)})",
                "url": f"{address}?{urlencode({'kind': one})}",
                "is_current": one == kind,
            }
            for one, listed in found.items()
        ],
        kind=kind,
        label=type_labels.many(kind),
        page=page,
        rows=rows,
        columns=_columns(kind),
    )


def _kinds(place: CdapName) -> Sequence[str]:
    """Return the kinds of the tree below a place, programs shown with their applications."""
    if place.kind == cdap_entity_ids.INSTANCE:
        return (cdap_entity_ids.NAMESPACE,)
    if place.kind == cdap_entity_ids.APPLICATION:
        return (cdap_entity_ids.PROGRAM,)
    found = [kind for kind in cdap.listed_kinds() if kind != cdap_entity_ids.NAMESPACE]
    return sorted(found, key=lambda kind: kind != cdap_entity_ids.APPLICATION)


def _listed(kind: str, place: CdapName, subject: Subject) -> Found:
    said = Said(f"{kind}.list", place.urn)
    found = operation_services.perform(said=said, actor=None, by=subject.by, door=DOOR)
    return found if isinstance(found, Found) else Found(())


def _viewed(found: Mapping[str, Found], subject: Subject) -> dict[str, Found]:
    """Leave out what the reader may not view, for all kinds in one query."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return dict(found)
    listed = [urn for one in found.values() for urn in one.returned]
    rows = view_permissions.viewable(Entity.objects.filter(urn__among=listed), by=subject.by)
    seen = set(rows.order_by().values_list("urn", flat=True))
    return {
        kind: replace(one, returned=tuple(urn for urn in one.returned if urn in seen)) for kind, one in found.items()
    }


def _programs(found: Mapping[str, Found]) -> Mapping[str, Sequence[str]]:
    below: dict[str, list[str]] = {}
    for urn in found[cdap_entity_ids.PROGRAM].returned:
        name = cdap_entity_ids.read(urn)
        if name is not None and name.parent is not None:
            below.setdefault(name.parent, []).append(urn)
    return below


def _shown(urn: str, named: Mapping[str, Reference]) -> dict[str, Any]:
    one = named[urn]
    return {"urn": urn, "name": one.name, "type": one.type, "url": one.url}


def _columns(kind: str) -> Sequence[Mapping[str, Any]]:
    if kind == cdap_entity_ids.APPLICATION:
        return ({"label": "Application"}, {"label": "Programs", "is_number": True})
    return (
        ({"label": type_labels.one(kind)}, {"label": "Access"})
        if kind == cdap_entity_ids.NAMESPACE
        else ({"label": type_labels.one(kind)},)
    )
