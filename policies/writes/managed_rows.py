"""Rows managed as code: marked, released, and refused to every other write (docs/policies-as-code.md)."""

from collections.abc import Collection
from typing import Any, Protocol

from django.db.models import Q

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Conflict
from policies.models.managed import ManagedRow
from policies.models.people import ROOT_USERNAME, USER_PREFIX


class NamedManagedRow(Protocol):
    """A row with a name that may be managed as code."""

    name: Any
    is_managed: Any
    source: Any


def describe_source(row: NamedManagedRow) -> str:
    """Return where a managed row is changed, for a sentence."""
    return row.source or "the files that it was applied from"


def build_editing_fact(row: NamedManagedRow, *, label: str, is_editable: bool, fixed: str = "No") -> dict[str, Any]:
    """Return the fact whether pages can change a row, with a link to its source; `fixed` says that nobody can."""
    if not is_editable:
        return {"label": label, "value": fixed}
    if not row.is_managed:
        return {"label": label, "value": "Yes"}
    value = describe_source(row)
    return {"label": label, "template": "components/source.html", "value": value, "url": row.source}


def refuse_managed(row: NamedManagedRow, *, by: Actor | None = None, is_restoration: bool = False) -> None:
    """Raise Conflict for a managed row, naming its source; the system may change it, and root restore a version.

    Without `by` it is asked whether pages can change the row.
    """
    is_exempt = by is not None and (
        by.urn == SYSTEM_ACTOR or (is_restoration and by.urn == f"{USER_PREFIX}{ROOT_USERNAME}")
    )
    if row.is_managed and not is_exempt:
        raise Conflict(f"{row.name} is managed as code. Change it in {describe_source(row)}, or release it there.")


def mark_rows(model: type[ManagedRow], urns: Collection[str], *, source: str | None) -> None:
    """Mark rows as managed from now on; without a source they keep theirs."""
    columns = {"is_managed": True} if source is None else {"is_managed": True, "source": source}
    _select_rows(model, urns).update(**columns)


def release_rows(model: type[ManagedRow], urns: Collection[str]) -> None:
    """Remove the mark of rows; their source is kept, for who manages them again."""
    _select_rows(model, urns).update(is_managed=False)


def _select_rows(model: type[ManagedRow], urns: Collection[str]) -> Any:
    # Every model that has the mark has a URN; the abstract one does not say so.
    return model._default_manager.filter(Q(("urn__in", urns)))
