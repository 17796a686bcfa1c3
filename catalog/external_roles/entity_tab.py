"""External roles as table rows: on the Access tab of an entity, in lists, and on the pages of their holders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from catalog.access.entity_context import EntityContext
from catalog.entities.pages.tab_registry import EntityTab
from catalog.external_roles import queries as external_role_queries
from catalog.external_roles.queries import ExternalRole
from catalog.models import Facet
from catalog.reports.pages import warehouse_access as warehouse_pages
from catalog.reports.queries import warehouse_access
from catalog.reports.services import reports
from policies.engine import requirements
from policies.engine.model import Actor
from policies.engine.selectors import OWNER
from policies.http.pages.list_and_form_pages import check_permissions
from policies.http.pages.request_links import build_request_url
from policies.pdp import inverse_queries
from policies.pdp.access_requests import ResourceRef

#: Rows of access in the warehouse on the tab.
MAX_POSITIONS = 100

#: Maximum length of a description shown without expanding, in characters (rules/datahub.md e).
SHORT_DESCRIPTION_LENGTH = 150


@dataclass(frozen=True, slots=True)
class ExternalRoleRow:
    """An external role; `request_url` is the form that asks for it, empty for its holders."""

    role: ExternalRole
    url: str
    short_description: str
    remaining_description: str
    request_url: str
    count: int = 0


def list_access_rows(document: Mapping[str, Any], *, text: str, by: Actor) -> list[ExternalRoleRow]:
    """Return the external roles in an access document whose name or URN contains the text."""
    urns = list(dict.fromkeys(entry["urn"] for entry in document.get("roles") or ()))
    roles = external_role_queries.load_roles(urns=urns, by=by)
    search_text = text.strip().casefold()
    return build_rows([role for role in roles if search_text in f"{role.name}\n{role.urn}".casefold()])


def build_rows(roles: Sequence[ExternalRole], counts: Mapping[str, int] | None = None) -> list[ExternalRoleRow]:
    """Return the rows of roles; `counts` is role URN -> number of entities that it opens."""
    return [_build_row(role, (counts or {}).get(role.urn, 0)) for role in roles]


def _build_row(role: ExternalRole, count: int) -> ExternalRoleRow:
    return ExternalRoleRow(
        role=role,
        url=reverse("external-role", args=[role.urn]),
        short_description=role.description[:SHORT_DESCRIPTION_LENGTH],
        remaining_description=role.description[SHORT_DESCRIPTION_LENGTH:],
        request_url="" if role.is_mine else build_request_url(external_role=role.urn),
        count=count,
    )


def _applies_to(entity_context: EntityContext) -> bool:
    return settings.SHOW_ACCESS_MANAGEMENT and entity_context.entity.type in external_role_queries.ACCESS_TYPES


def _load_access_context(entity_context: EntityContext, request: HttpRequest) -> dict[str, Any]:
    text = request.GET.get("q", "")
    urn = entity_context.entity.urn
    is_owner = _is_owner(urn=urn, by=entity_context.by)
    return {
        **_load_warehouse_context(entity_context, request, is_owner=is_owner),
        "rows": list_access_rows(entity_context.document("access"), text=text, by=entity_context.by),
        "query": text,
        "columns": (
            {"label": "Role"},
            {"label": "Description"},
            {"label": "Access type"},
            {"label": "Access"},
        ),
    }


def _load_warehouse_context(entity_context: EntityContext, request: HttpRequest, *, is_owner: bool) -> dict[str, Any]:
    """Return who can read the dataset in the warehouse, for holders of MANAGE_POLICIES, and its owners."""
    urn, by = entity_context.entity.urn, entity_context.by
    if entity_context.entity.type != "dataset":
        return {}
    requirement = requirements.privilege_requirement(reports.REQUIRED_PRIVILEGE)
    may_see_all = check_permissions(request, see=(requirement, None))["see"]
    if not may_see_all and not is_owner:
        return {}
    runs = warehouse_access.find_runs()
    if runs.mapping is None:
        return {}
    access_rows = list(warehouse_access.list_rows(runs.mapping, dataset=urn)[: MAX_POSITIONS + 1])
    positions = warehouse_access.build_positions(runs, access_rows[:MAX_POSITIONS])
    return {
        "positions": warehouse_pages.render_positions(positions, by),
        "position_columns": warehouse_pages.list_position_headings(),
        "has_more_positions": len(access_rows) > MAX_POSITIONS,
        "is_listed": warehouse_access.is_listed(runs, dataset=urn),
        "unexplained": warehouse_pages.render_unexplained(runs, urn, by),
        "viewers": _describe_viewers(urn),
        **warehouse_pages.describe_runs(runs),
        "is_linked": may_see_all,
    }


def _is_owner(*, urn: str, by: Actor) -> bool:
    owners = Facet.objects.filter(entity__urn=urn, field=OWNER, value__among=sorted(by.holders))
    return owners.exists()


def _describe_viewers(urn: str) -> dict[str, Any]:
    """Return whom the policies of the catalog let view a dataset: everybody, or how many of each kind."""
    allowed = inverse_queries.find_allowed_actors(privilege="VIEW_ENTITY_PAGE", resource=ResourceRef(urn, "dataset"))
    return {
        "is_everybody": allowed.is_all_users,
        "users": len(allowed.users),
        "groups": len(allowed.groups),
        "roles": len(allowed.roles),
        "is_more": not allowed.is_complete or allowed.is_conditional,
        "url": f"{reverse('why-who')}?{urlencode({'privilege': 'VIEW_ENTITY_PAGE', 'resource': urn})}",
    }


#: The tab of an entity that external roles can open.
ACCESS_TAB = EntityTab("access", "Access", _applies_to, _load_access_context)
