"""Words of differences that sentences and notes in repairs share."""

from collections.abc import Sequence

from catalog.warehouses.principals import SEPARATOR, describe_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.warehouse import DifferenceRow


def describe_role(difference: DifferenceRow) -> str:
    """Return the name of the role of a difference, with its new name in the source if it has one."""
    if difference["role_urn"]:
        is_known_elsewhere = difference["new_name"] and difference["type"] != "ROLE_RENAMED"
        now = f" (now {describe_principal(difference['new_name'])})" if is_known_elsewhere else ""
        return f"{difference['role']}{now}"
    return describe_principal(difference["grantee"] or difference["role"] or "")


def dotted_name(name: str | None) -> str:
    """Return the name of an object for people."""
    return (name or "").replace(SEPARATOR, ".")


def find_identifier(urn: str) -> str:
    """Return what a URN of a role, user or group names."""
    return urn.split(":", 3)[3]


def describe_stranger(person: str, role: str) -> str:
    """Return the comment on a person of whom the export names no account that could be given a role."""
    return render_note(f"The export names no account of {person}: make it, then give it {role}.")


def describe_dependents(item: str, holders: Sequence[str]) -> list[str]:
    """Return the comment on whom CASCADE takes a privilege or role from beside, [] where there is nobody."""
    names = ", ".join(map(describe_principal, holders))
    if len(holders) < 2:
        return [render_note(f"CASCADE also takes {item} from {names}, to whom it was passed on.")] if holders else []
    return [render_note(f"CASCADE also takes {item} from {len(holders)} to whom it was passed on: {names}.")]


def render_owner_doubts(name: str, statements: Sequence[str]) -> list[str]:
    """Return statements that take something as comments, where nothing says that somebody is not the owner."""
    return [render_note(f"Unless {name} owns it, which no file says: {statement}") for statement in statements]
