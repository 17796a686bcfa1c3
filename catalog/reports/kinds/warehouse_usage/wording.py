"""Sentences and repairs of findings and proposals; the statements are those of the role mapping check."""

from collections.abc import Mapping
from typing import Any

from catalog.reports.kinds.role_mapping_check import repairs
from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS, DifferenceType
from catalog.reports.kinds.warehouse_usage.proposals import GrantAction
from catalog.warehouses.grant_facts import SEPARATOR, Grantee
from catalog.warehouses.warehouse import Export

Fields = Mapping[str, Any]


def render_grant_repair(export: Export, grant: Fields) -> str:
    """Return the statements that take a grant."""
    return _render(export, _find_revoke_type(grant), grant)


def render_member_repair(export: Export, member: Fields) -> str:
    """Return the statement that takes a membership."""
    return _render(export, DifferenceType.EXTRA_MEMBER, member)


def render_proposal(export: Export, grant: Fields) -> str:
    """Return the statements of a proposed change, '' for a grant that stays."""
    match grant["action"]:
        case GrantAction.REVOKE:
            return _render(export, DifferenceType.EXTRA_GRANT, grant)
        case GrantAction.GRANT:
            return _render(export, DifferenceType.GRANT_MISSING, grant)
        case GrantAction.NARROW:
            return _render(export, DifferenceType.WRONG_LEVEL, grant)
        case _:
            return ""


def render_name(row: Fields) -> str:
    """Return the name of the object of a grant, as the source has it, else as the catalog has it, and its condition."""
    name = str(row["object"] or row["name"] or "").replace(SEPARATOR, ".")
    return f"{name} if {row['condition']}" if row["condition"] else name


def _find_revoke_type(grant: Fields) -> DifferenceType:
    is_role = grant["kind"] == Grantee.ROLE
    return DifferenceType.EXTRA_GRANT if is_role else DifferenceType.DIRECT_USER_GRANT


def _render(export: Export, difference_type: DifferenceType, row: Fields) -> str:
    values = dict.fromkeys(DIFFERENCE_COLUMNS) | {name: row[name] for name in DIFFERENCE_COLUMNS if name in row}
    return repairs.render_repair(export, values | {"type": difference_type})
