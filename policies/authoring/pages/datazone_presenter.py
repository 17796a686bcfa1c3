"""Presentation of Datazone policies: their statements, and the roles they apply to."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages import datazone_wording
from policies.authoring.pages.version_diff import DiffField, DiffFields
from policies.engine.families import datazone
from policies.engine.model import Effect
from policies.pdp import authorizer

PolicyDocument = Mapping[str, Any]

#: Most roles that the sentence names.
_MAX_NAMED_ROLES = 3

_EFFECT_BADGES = {"allow": ("Allow", "success"), "deny": ("Deny", "danger")}

#: Constraint of a statement → its label.
_CONSTRAINT_LABELS = {
    datazone.ROWS: "Rows",
    datazone.COLUMNS: "Columns",
    datazone.PATHS: "Paths beginning with",
}


def build_page_context(document: PolicyDocument) -> dict[str, Any]:
    """Return the context of the middle part of a policy's page."""
    roles = document.get("roles") or ()
    names = authorizer.load_names(urns=set(roles)) if roles else {}
    return {
        "roles": [{"urn": urn, "name": names.get(urn, urn)} for urn in roles],
        "statements": [
            {**_statement_context(item), "sentence": statement_sentence}
            for item, statement_sentence in zip(
                document["statements"], datazone_wording.describe_statements(document["statements"]), strict=True
            )
        ],
    }


def describe_policy(document: PolicyDocument) -> str:
    """Return the sentence for a document: its roles, and the number of statements of each effect."""
    roles = list(document.get("roles") or ())
    if not roles:
        return "Not finished: choose roles."
    names = authorizer.load_names(urns=set(roles[:_MAX_NAMED_ROLES]))
    subject = f"Holders of {_join_names((names.get(urn, urn) for urn in roles[:_MAX_NAMED_ROLES]), len(roles))}"
    kinds = [str(item.get("effect") or "allow").lower() for item in document["statements"]]
    allow, deny = (
        _count_phrase(kinds.count(kind), kind, verb) for kind, verb in (("allow", "allows"), ("deny", "denies"))
    )
    return f"{subject} may do what {allow}{f' and {deny}' if 'deny' in kinds else ''}."


def audience_badges(_document: PolicyDocument) -> list[str]:
    """Return no badges: these policies name roles only, no general actors."""
    return []


def list_actors(document: PolicyDocument) -> list[tuple[str, str]]:
    """Return the kind and URN of every actor that a policy names: its roles."""
    return [("role", urn) for urn in document.get("roles") or ()]


def list_exceptions(_document: PolicyDocument) -> list[tuple[str, str]]:
    """Return nobody: these policies except nobody."""
    return []


def list_effects(document: PolicyDocument) -> frozenset[Effect]:
    """Return the effects of the statements of a policy."""
    return frozenset(
        Effect.DENY if item.get("effect") == Effect.DENY.value else Effect.ALLOW for item in document["statements"]
    )


def diff_fields(document: PolicyDocument) -> DiffFields:
    """Return the fields of a document by label, for comparing versions."""
    fields = {
        "Name": DiffField.from_value(document.get("name") or ""),
        "Roles": DiffField(tuple(document.get("roles") or ())),
    }
    for index, item in enumerate(document["statements"], start=1):
        fields[f"Statement {index}"] = DiffField.from_value(json.dumps(item, ensure_ascii=False))
    return fields


def _statement_context(item: PolicyDocument) -> dict[str, Any]:
    label, kind = _EFFECT_BADGES.get(str(item.get("effect")).lower(), (str(item.get("effect")), "neutral"))
    constraints = item.get("extra_constraints") or {}
    return {
        "effect": {"label": label, "kind": kind},
        "resource": item.get("resource"),
        "actions": list(item.get("actions") or ()),
        "branch": item.get("branch"),
        "constraints": [
            {"label": _CONSTRAINT_LABELS.get(name, name), "lines": _text_lines(value)}
            for name, value in constraints.items()
        ],
    }


def _text_lines(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [member if isinstance(member, str) else json.dumps(member, ensure_ascii=False) for member in values]


def _count_phrase(number: int, plural_verb: str, singular_verb: str) -> str:
    noun = "" if plural_verb == "deny" else f" statement{'' if number == 1 else 's'}"
    return f"{number}{noun} {singular_verb if number == 1 else plural_verb}"


def _join_names(names: Iterable[str], count: int) -> str:
    visible_names = list(names)
    overflow_note = [f"{count - len(visible_names):,} more"] if count > len(visible_names) else []
    return ", ".join([*visible_names, *overflow_note])
