"""External roles as rows: on the Access tab of an entity, in lists, and on the pages of those who hold them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from catalog.access.entity_context import Subject
from catalog.aspects.web_links import is_web_address
from catalog.entities.pages.tab_registry import EntityTab
from catalog.external_roles import queries as external_role_queries
from catalog.external_roles.queries import ExternalRole
from policies.engine.model import Actor

#: Longest description that is shown at once, in characters (rules/datahub.md e).
SHORT = 150


@dataclass(frozen=True, slots=True)
class Row:
    """An external role: `request_url` is empty for who holds it, and where there is no address that may be a link."""

    role: ExternalRole
    url: str
    short: str
    rest: str
    request_url: str
    count: int = 0


def access_rows(document: Mapping[str, Any], *, text: str, by: Actor) -> list[Row]:
    """Return the external roles that an access document names, those whose name has the text."""
    urns = list(dict.fromkeys(entry["urn"] for entry in document.get("roles") or ()))
    found = external_role_queries.described(urns=urns, by=by)
    wanted = text.strip().casefold()
    return rows([role for role in found if wanted in f"{role.name}\n{role.urn}".casefold()])


def rows(found: Sequence[ExternalRole], counts: Mapping[str, int] | None = None) -> list[Row]:
    """Return roles as rows; `counts` is how many entities each opens."""
    return [_row(role, (counts or {}).get(role.urn, 0)) for role in found]


def _row(role: ExternalRole, count: int) -> Row:
    is_offered = not role.is_mine and is_web_address(role.request_url)
    return Row(
        role=role,
        url=reverse("external-role", args=[role.urn]),
        short=role.description[:SHORT],
        rest=role.description[SHORT:],
        request_url=(role.request_url or "") if is_offered else "",
        count=count,
    )


def _applies_to(subject: Subject) -> bool:
    return settings.SHOW_ACCESS_MANAGEMENT and subject.entity.type in external_role_queries.REACHED_TYPES


def _load(subject: Subject, request: HttpRequest) -> dict[str, Any]:
    text = request.GET.get("q", "")
    return {
        "rows": access_rows(subject.document("access"), text=text, by=subject.by),
        "query": text,
        "columns": (
            {"label": "Role"},
            {"label": "Description"},
            {"label": "Access type"},
            {"label": "Access"},
        ),
    }


#: The tab of an entity that external roles open.
TAB = EntityTab("access", "Access", _applies_to, _load)
