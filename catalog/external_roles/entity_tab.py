"""External roles as table rows: on the Access tab of an entity, in lists, and on the pages of their holders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from catalog.access.entity_context import EntityContext
from catalog.aspects.web_links import is_web_address
from catalog.entities.pages.tab_registry import EntityTab
from catalog.external_roles import queries as external_role_queries
from catalog.external_roles.queries import ExternalRole
from policies.engine.model import Actor

#: Maximum length of a description shown without expanding, in characters (rules/datahub.md e).
SHORT_DESCRIPTION_LENGTH = 150


@dataclass(frozen=True, slots=True)
class ExternalRoleRow:
    """An external role; `request_url` is empty for its holders, and when the address may not become a link."""

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
    is_offered = not role.is_mine and is_web_address(role.request_url)
    return ExternalRoleRow(
        role=role,
        url=reverse("external-role", args=[role.urn]),
        short_description=role.description[:SHORT_DESCRIPTION_LENGTH],
        remaining_description=role.description[SHORT_DESCRIPTION_LENGTH:],
        request_url=(role.request_url or "") if is_offered else "",
        count=count,
    )


def _applies_to(entity_context: EntityContext) -> bool:
    return settings.SHOW_ACCESS_MANAGEMENT and entity_context.entity.type in external_role_queries.ACCESS_TYPES


def _load_access_context(entity_context: EntityContext, request: HttpRequest) -> dict[str, Any]:
    text = request.GET.get("q", "")
    return {
        "rows": list_access_rows(entity_context.document("access"), text=text, by=entity_context.by),
        "query": text,
        "columns": (
            {"label": "Role"},
            {"label": "Description"},
            {"label": "Access type"},
            {"label": "Access"},
        ),
    }


#: The tab of an entity that external roles can open.
ACCESS_TAB = EntityTab("access", "Access", _applies_to, _load_access_context)
