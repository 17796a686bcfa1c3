"""Values of results as pages show them: by the kind of their column, with links for who may follow them."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from catalog.access.entity_context import reference
from catalog.reports.run.result_reader import Shown
from catalog.reports.spec import Column, ColumnKind
from policies.decisions.pages.explore_common import Asker
from policies.engine import families
from policies.engine.model import Actor
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer

_NAMED = (ColumnKind.ENTITY, ColumnKind.ACTOR, ColumnKind.POLICY)

#: Words of severities and states that have a colour; the word stands beside it.
_COLOURS = {
    "danger": ("critical", "high", "fail", "failed", "missing", "lost"),
    "warning": ("medium", "warning", "unused", "open", "unsure"),
    "success": ("pass", "passed", "ready", "closed", "used", "gained", "in_use"),
    "info": ("low", "info", "assigned"),
}

Cell = dict[str, Any]


def drawn(columns: Sequence[Column], rows: Sequence[Shown], by: Actor) -> list[list[Cell]]:
    """Return the cells of each row for reports/_cell.html, in a number of queries that does not grow with them."""
    places = [place for place, column in enumerate(columns) if column.kind in _NAMED]
    urns = {row.values[place] for row in rows for place in places if isinstance(row.values[place], str)}
    names = authorizer.names(urns=urns)
    asker = Asker.of(by)
    return [
        [
            {"kind": column.kind.lower(), "is_concealed": True}
            if place in row.concealed
            else _cell(column, row.values[place], names, asker)
            for place, column in enumerate(columns)
        ]
        for row in rows
    ]


def _cell(column: Column, value: Any, names: dict[str, str], asker: Asker) -> Cell:
    cell: Cell = {"kind": column.kind.lower(), "value": value}
    if value is None or value == "":
        return cell
    match column.kind:
        case ColumnKind.NUMBER:
            return cell | {"value": f"{value:,}"}
        case ColumnKind.PRIVILEGE:
            url = f"{reverse('why-who')}?{urlencode({'privilege': value})}"
            return cell | {"name": families.display_privilege(value), "url": url}
        case ColumnKind.SEVERITY | ColumnKind.STATE:
            return cell | badge(value, column.labels.get(value, ""))
        case ColumnKind.ENTITY | ColumnKind.ACTOR | ColumnKind.POLICY:
            return cell | _named(column.kind, value, names.get(value, ""), asker)
        case ColumnKind.TEXT | ColumnKind.SQL:
            return cell


def _named(kind: ColumnKind, urn: str, name: str, asker: Asker) -> Cell:
    if kind is ColumnKind.POLICY:
        return {"name": name or urn, "url": asker.policy_url(urn)}
    if kind is ColumnKind.ACTOR:
        return {"name": name or urn, "type": _type(urn), "url": asker.holder_url(urn)}
    found = reference(urn, name)
    return {"name": found.name, "type": found.type, "url": found.url or asker.holder_url(urn)}


def badge(value: str, label: str = "") -> dict[str, str]:
    """Return a severity, state or type as a word (its label, else spelt from the value), a colour and its code."""
    colour = next((colour for colour, words in _COLOURS.items() if value.casefold() in words), "neutral")
    return {"name": label or value.replace("_", " ").capitalize(), "badge": colour, "code": value if label else ""}


def _type(urn: str) -> str:
    if urn.startswith(GROUP_PREFIX):
        return "group"
    return "role" if urn.startswith(ROLE_PREFIX) else "person"
