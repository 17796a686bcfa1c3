"""What is managed as code: marked, released, and refused to every other write (docs/policies-as-code.md)."""

from collections.abc import Collection

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Conflict
from policies.models import Policy, Role
from policies.models.people import ROOT_USERNAME, USER_PREFIX


def describe_source(row: Policy | Role) -> str:
    """Return where a managed row is changed, for a sentence."""
    return row.source or "the files that it was applied from"


def describe_editing(row: Policy | Role) -> str:
    """Return whether pages can change a row, for its page."""
    if not row.is_editable:
        return "No"
    return f"In {describe_source(row)}" if row.is_managed else "Yes"


def refuse_managed(row: Policy | Role, *, by: Actor | None = None, is_restoration: bool = False) -> None:
    """Raise Conflict for a managed row, naming its source; the system may change it, and root restore a version.

    Without `by` it is asked whether pages can change the row.
    """
    is_exempt = by is not None and (
        by.urn == SYSTEM_ACTOR or (is_restoration and by.urn == f"{USER_PREFIX}{ROOT_USERNAME}")
    )
    if row.is_managed and not is_exempt:
        raise Conflict(f"{row.name} is managed as code. Change it in {describe_source(row)}, or release it there.")


def mark_rows(model: type[Policy] | type[Role], urns: Collection[str], *, source: str | None) -> None:
    """Mark rows as managed from now on; without a source they keep theirs."""
    columns = {"is_managed": True} if source is None else {"is_managed": True, "source": source}
    model.objects.filter(urn__in=urns).update(**columns)


def release_rows(model: type[Policy] | type[Role], urns: Collection[str]) -> None:
    """Remove the mark of rows; their source is kept, for who manages them again."""
    model.objects.filter(urn__in=urns).update(is_managed=False)
