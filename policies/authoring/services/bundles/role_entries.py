"""Roles in a bundle: their names and descriptions. Who holds a role is no part of it: people are not code."""

from collections.abc import Collection, Sequence
from functools import partial

from policies.authoring.services.bundles.files import BundleFile
from policies.authoring.services.bundles.kinds import (
    BundleChange,
    ChangeKind,
    FileEntry,
    ReadContext,
    StoredEntry,
    choose_changes,
)
from policies.authoring.services.bundles.row_entries import RowEntries, build_stored_entry, read_each
from policies.engine.errors import Problem
from policies.engine.families.document_reader import escape
from policies.engine.model import Actor
from policies.identity.services import roles
from policies.models import Role
from policies.models.people import MAX_NAME_LENGTH
from policies.models.roles import ROLE_PREFIX
from policies.writes import required_privileges
from policies.writes.validation import MAX_TEXT_LENGTH, Checks

_FIELDS = ("urn", "name", "description")


class RoleEntries(RowEntries):
    """The kind of roles."""

    folder, noun, model = "roles", "role", Role
    requirement = required_privileges.MANAGE_POLICIES

    def list_stored(self) -> list[StoredEntry]:
        """Return the roles that can be changed."""
        return [
            build_stored_entry(role, _build_value(role.urn, role.name, role.description))
            for role in Role.objects.filter(is_editable=True).order_by("urn")
        ]

    def read_entries(self, files: Sequence[BundleFile], _context: ReadContext, /) -> list[FileEntry]:
        """Return the roles of files. Raises Invalid with every problem."""
        fixed_urns = set(Role.objects.filter(is_editable=False).values_list("urn", flat=True))
        return read_each(
            files,
            find_problems=partial(_find_problems, fixed_urns=fixed_urns),
            build_value=lambda value: _build_value(value["urn"], value["name"], value.get("description") or ""),
        )

    def write(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Create and change roles, before policies name them."""
        for change in choose_changes(changes, ChangeKind.CREATE, ChangeKind.CHANGE):
            if change.entry is None:
                continue
            name, description = change.entry.value["name"], change.entry.value.get("description", "")
            if change.action is ChangeKind.CREATE:
                identifier = change.key.removeprefix(ROLE_PREFIX)
                roles.create(name=name, description=description, identifier=identifier, by=by, channel=channel)
            else:
                roles.update(urn=change.key, name=name, description=description, by=by, channel=channel)

    def write_last(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Delete roles, once no policy names them."""
        for change in choose_changes(changes, ChangeKind.DELETE):
            roles.delete(urn=change.key, by=by, channel=channel)


def _build_value(urn: str, name: str, description: str) -> dict[str, str]:
    return {"urn": urn, "name": name, **({"description": description} if description else {})}


def _find_problems(value: object, fixed_urns: Collection[str]) -> list[Problem]:
    if not isinstance(value, dict):
        return [Problem("type.object", "", "A role is a mapping with `urn`, `name` and `description`.")]
    checks = Checks()
    for name in value:
        if name not in _FIELDS:
            checks.add("field.unknown", f"/{escape(name)}", f"There is no field {name!r} here.")
    urn = value.get("urn")
    if not isinstance(urn, str) or not urn.startswith(ROLE_PREFIX):
        checks.add("urn.invalid", "/urn", f"`urn` is {ROLE_PREFIX} and an id.")
    else:
        checks.validate_identifier(urn.removeprefix(ROLE_PREFIX), "/urn")
        if urn in fixed_urns:
            checks.add("role.fixed", "/urn", "This role is built in and cannot be changed.")
    checks.validate_text(value.get("name", ""), "/name", limit=MAX_NAME_LENGTH, is_required=True)
    if value.get("description") is not None:
        checks.validate_text(value["description"], "/description", limit=MAX_TEXT_LENGTH)
    return checks.problems
