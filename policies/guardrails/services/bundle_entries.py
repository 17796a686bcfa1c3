"""Guardrails in a bundle. They are written first: the policies of the same bundle are held to them."""

from collections.abc import Sequence
from typing import Any

from policies.authoring.services.bundles.files import BundleFile
from policies.authoring.services.bundles.guardrail_files import FOLDER, complete_fields
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
from policies.errors import Invalid
from policies.guardrails.services import guardrails
from policies.models import Guardrail
from policies.models.guardrail import LOCKOUT_URN
from policies.pdp import snapshot_store
from policies.writes import required_privileges

_FIELDS = ("urn", "name", "description", "mode", "rule")


class GuardrailEntries(RowEntries):
    """The kind of guardrails."""

    folder, noun, model = FOLDER, "guardrail", Guardrail
    requirement = required_privileges.MANAGE_GUARDRAILS

    def list_stored(self) -> list[StoredEntry]:
        """Return the guardrails that can be changed."""
        return [
            build_stored_entry(guardrail, _build_value(guardrail.urn, guardrails.facts(guardrail)))
            for guardrail in Guardrail.objects.exclude(urn=LOCKOUT_URN).order_by("urn")
        ]

    def read_entries(self, files: Sequence[BundleFile], _context: ReadContext, /) -> list[FileEntry]:
        """Return the guardrails of files. Raises Invalid with every problem."""
        return read_each(
            files,
            find_problems=_find_problems,
            build_value=lambda value: _build_value(value["urn"], complete_fields(value)),
        )

    def write(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Delete, change and create guardrails, before what they judge is written."""
        for change in choose_changes(changes, ChangeKind.DELETE):
            guardrails.delete(urn=change.key, by=by, channel=channel)
        for change in choose_changes(changes, ChangeKind.CHANGE, ChangeKind.CREATE):
            if change.entry is None:
                continue
            values = complete_fields(change.entry.value)
            if change.action is ChangeKind.CREATE:
                guardrails.create(urn=change.key, by=by, channel=channel, **values)
            else:
                guardrails.update(urn=change.key, by=by, channel=channel, **values)

    def finish(self, changes: Sequence[BundleChange]) -> None:
        """Judge what was written again: when it was stored, the policies of the bundle were not."""
        keys = [change.key for change in choose_changes(changes, ChangeKind.CHANGE, ChangeKind.CREATE)]
        if keys:
            snapshot_store.refresh()
        for guardrail in Guardrail.objects.filter(urn__in=keys).exclude(mode=Guardrail.Mode.OFF):
            guardrails.refresh_status(guardrail)


def _build_value(urn: str, values: dict[str, Any]) -> dict[str, Any]:
    description = {"description": values["description"]} if values["description"] else {}
    return {"urn": urn, "name": values["name"], **description, "mode": values["mode"], "rule": values["rule"]}


def _find_problems(value: object) -> list[Problem]:
    if not isinstance(value, dict):
        return [Problem("type.object", "", "A guardrail is a mapping with `urn`, `name`, `mode` and `rule`.")]
    problems = [
        Problem("field.unknown", f"/{escape(name)}", f"There is no field {name!r} here.")
        for name in value
        if name not in _FIELDS
    ]
    try:
        if not isinstance(urn := value.get("urn"), str):
            raise Invalid.from_problem(code="urn.missing", pointer="/urn", detail="`urn` is missing.")
        guardrails.validate_urn(urn)
    except Invalid as error:
        problems += error.problems
    if "rule" not in value:
        return [*problems, Problem("rule.missing", "", "`rule` is missing: what may never, or must always be.")]
    try:
        guardrails.validate_values(complete_fields(value))
    except Invalid as error:
        problems += error.problems
    return problems
