"""Cells of result tables for pages, by the kind of their column, with links that the viewer may follow."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from catalog.access.entity_context import build_reference
from catalog.reports.run.result_reader import VisibleRow
from catalog.reports.tables import ColumnKind, ReportColumn
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine import families
from policies.engine.model import Actor
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer

_URN_COLUMN_KINDS = (ColumnKind.ENTITY, ColumnKind.ENTITIES, ColumnKind.ACTOR, ColumnKind.POLICY)

#: Entities, or lines, of one cell that are shown; files have all of them.
MAX_URNS = 50

#: Colours of severities and states; the label always accompanies the colour.
_COLOURS = {
    "danger": ("critical", "high", "fail", "failed", "missing", "lost"),
    "warning": ("medium", "warning", "unused", "open", "unsure"),
    "success": ("pass", "passed", "ready", "closed", "used", "gained", "in_use"),
    "info": ("low", "info", "assigned"),
}

Cell = dict[str, Any]


def list_headings(columns: Sequence[ReportColumn]) -> list[dict[str, Any]]:
    """Return the headings of columns for components/table.html."""
    return [{"label": column.title, "is_number": column.is_number} for column in columns]


def render_cells(columns: Sequence[ReportColumn], rows: Sequence[VisibleRow], by: Actor) -> list[list[Cell]]:
    """Return the cells of each row for reports/_cell.html; the number of queries is constant."""
    urn_columns = [index for index, column in enumerate(columns) if column.kind in _URN_COLUMN_KINDS]
    texts = (row.values[index] for row in rows for index in urn_columns if isinstance(row.values[index], str))
    urns = {urn for text in texts for urn in text.split("\n", MAX_URNS)[:MAX_URNS]}
    names = authorizer.load_names(urns=urns)
    viewer = AnswerViewer.from_actor(by)
    return [
        [
            {"kind": column.kind.lower(), "is_concealed": True}
            if index in row.concealed
            else _render_cell(column, row.values[index], names, viewer)
            for index, column in enumerate(columns)
        ]
        for row in rows
    ]


def _render_cell(column: ReportColumn, value: Any, names: dict[str, str], viewer: AnswerViewer) -> Cell:
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
            return cell | _link_cell(column.kind, value, names.get(value, ""), viewer)
        case ColumnKind.ENTITIES:
            shown_urns = value.split("\n", MAX_URNS)[:MAX_URNS]
            links = [
                {"value": urn, **_link_cell(ColumnKind.ENTITY, urn, names.get(urn, ""), viewer)} for urn in shown_urns
            ]
            more_count = value.count("\n") + 1 - len(links)
            return cell | {"links": links, "count": len(links) + more_count, "more": more_count}
        case _:
            return cell | _split_lines(value) if column.kind is ColumnKind.LINES else cell


def _split_lines(value: str) -> Cell:
    first_line, *other_lines = value.split("\n")
    return {"first": first_line, "others": other_lines[: MAX_URNS - 1], "count": len(other_lines)}


def _link_cell(kind: ColumnKind, urn: str, name: str, viewer: AnswerViewer) -> Cell:
    if kind is ColumnKind.POLICY:
        return {"name": name or urn, "url": viewer.entity_url(urn)}
    if kind is ColumnKind.ACTOR and not urn.startswith("urn:li:"):
        # A source knows somebody by this name, and the catalog does not.
        return {"kind": ColumnKind.TEXT.lower()}
    if kind is ColumnKind.ACTOR:
        return {"name": name or urn, "type": _holder_type(urn), "url": viewer.account_url(urn)}
    link = build_reference(urn, name)
    return {"name": link.name, "type": link.type, "url": link.url or viewer.account_url(urn)}


def badge(value: str, label: str = "") -> dict[str, str]:
    """Return the badge of a severity, state or type: label (else derived from the value), colour and code."""
    colour = next((colour for colour, words in _COLOURS.items() if value.casefold() in words), "neutral")
    return {"name": label or value.replace("_", " ").capitalize(), "badge": colour, "code": value if label else ""}


def _holder_type(urn: str) -> str:
    if urn.startswith(GROUP_PREFIX):
        return "group"
    return "role" if urn.startswith(ROLE_PREFIX) else "person"
