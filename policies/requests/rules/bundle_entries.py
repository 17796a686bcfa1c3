"""Approval rules in a bundle: `approval-rules/NAME.yaml` has the members of the API."""

from collections.abc import Sequence
from typing import Any

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
from policies.errors import Invalid
from policies.models import ApprovalRule
from policies.requests.rules import approval_rules
from policies.requests.rules.terms import TERM_FIELDS
from policies.writes import required_privileges

_COLUMNS = ("name", "order", "state")


class ApprovalRuleEntries(RowEntries):
    """The kind of approval rules."""

    folder, noun, model = "approval-rules", "approval rule", ApprovalRule
    requirement = required_privileges.MANAGE_POLICIES

    def list_stored(self) -> list[StoredEntry]:
        """Return the approval rules."""
        return [build_stored_entry(rule, _build_value(rule)) for rule in ApprovalRule.objects.order_by("urn")]

    def read_entries(self, files: Sequence[BundleFile], _context: ReadContext, /) -> list[FileEntry]:
        """Return the rules of files. Raises Invalid with every problem."""
        return read_each(files, find_problems=_find_problems, build_value=_complete)

    def write(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Delete, change and create approval rules."""
        for change in choose_changes(changes, ChangeKind.DELETE):
            approval_rules.delete(urn=change.key, by=by, channel=channel)
        for change in choose_changes(changes, ChangeKind.CHANGE, ChangeKind.CREATE):
            if change.entry is None:
                continue
            value = change.entry.value
            columns = {name: value[name] for name in _COLUMNS}
            terms = {name: value[name] for name in TERM_FIELDS if name in value}
            write = approval_rules.create if change.action is ChangeKind.CREATE else approval_rules.update
            write(urn=change.key, by=by, channel=channel, terms=terms, **columns)


def _build_value(rule: ApprovalRule) -> dict[str, Any]:
    return {"urn": rule.urn, "name": rule.name, "order": rule.order, "state": rule.state, **rule.terms}


def _complete(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a file says as it would be stored."""
    terms = {name: value[name] for name in TERM_FIELDS if name in value}
    state = value.get("state", ApprovalRule.State.ACTIVE.value)
    return {"urn": value["urn"], "name": value["name"], "order": value["order"], "state": state, **terms}


def _find_problems(value: object) -> list[Problem]:
    if not isinstance(value, dict):
        return [Problem("type.object", "", "An approval rule is a mapping with `urn`, `name`, `order` and its steps.")]
    known_fields = ("urn", *_COLUMNS, *TERM_FIELDS)
    problems = [
        Problem("field.unknown", f"/{escape(name)}", f"There is no field {name!r} here.")
        for name in value
        if name not in known_fields
    ]
    problems += [
        Problem(f"{name}.missing", f"/{name}", f"`{name}` is missing.")
        for name in ("urn", "name", "order")
        if name not in value
    ]
    if problems:
        return problems
    try:
        approval_rules.validate_urn(str(value["urn"]))
        complete_value = _complete(value)
        terms = {name: complete_value[name] for name in TERM_FIELDS if name in complete_value}
        approval_rules.validate_values({**{name: complete_value[name] for name in _COLUMNS}, "terms": terms})
    except Invalid as error:
        problems += error.problems
    return problems
