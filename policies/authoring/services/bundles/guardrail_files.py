"""Guardrails as the files of a bundle say them."""

from collections.abc import Sequence
from typing import Any

from policies.authoring.services.bundles.kinds import BundleChange, ChangeKind, choose_changes
from policies.models import Guardrail

#: The folder of guardrails.
FOLDER = "guardrails"


def stage_guardrails(changes: Sequence[BundleChange]) -> list[Guardrail]:
    """Return all guardrails as these changes would leave them; nothing is stored."""
    guardrails_by_urn = {guardrail.urn: guardrail for guardrail in Guardrail.objects.all()}
    for change in choose_changes(changes, ChangeKind.DELETE):
        del guardrails_by_urn[change.key]
    for change in choose_changes(changes, ChangeKind.CHANGE, ChangeKind.CREATE):
        if change.entry is not None:
            guardrails_by_urn[change.key] = Guardrail(urn=change.key, **complete_fields(change.entry.value))
    return list(guardrails_by_urn.values())


def complete_fields(value: Any) -> dict[str, Any]:
    """Return the values of a guardrail with the fields that a file leaves out."""
    return {
        "name": value.get("name", ""),
        "description": "" if value.get("description") is None else value["description"],
        "mode": Guardrail.Mode.ENFORCE.value if value.get("mode") is None else value["mode"],
        "rule": value.get("rule"),
    }
