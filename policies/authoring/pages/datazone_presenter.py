"""Datazone policies in words: their statements one by one, and the roles they speak for."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages import datazone_wording
from policies.authoring.pages.datahub_templates import copy_name
from policies.authoring.pages.version_diff import Part, Parts
from policies.engine.families import datazone
from policies.pdp import authorizer

Document = Mapping[str, Any]

#: How many actions or roles the sentence names.
_NAMED = 3

_EFFECTS = {"allow": ("Allow", "success"), "deny": ("Deny", "danger")}

#: Constraints of a statement and what a page calls them.
_CONSTRAINTS = {
    datazone.ROWS: "Rows",
    datazone.COLUMNS: "Columns",
    datazone.PATHS: "Paths beginning with",
}


def body(document: Document) -> dict[str, Any]:
    """Return what the page of a policy draws between its head and its document."""
    roles = document.get("roles") or ()
    names = authorizer.names(urns=set(roles)) if roles else {}
    return {
        "roles": [{"urn": urn, "name": names.get(urn, urn)} for urn in roles],
        "statements": [
            {**_statement(item), "sentence": said}
            for item, said in zip(
                document["statements"], datazone_wording.sentences(document["statements"]), strict=True
            )
        ],
    }


def sentence(document: Document) -> str:
    """Return what a document says, in one sentence."""
    roles = list(document.get("roles") or ())
    names = authorizer.names(urns=set(roles[:_NAMED]))
    who = (
        f"Holders of {_joined((names.get(urn, urn) for urn in roles[:_NAMED]), len(roles))}" if roles else "Nobody yet"
    )
    kinds = [str(item.get("effect") or "allow").lower() for item in document["statements"]]
    allow, deny = (_counted(kinds.count(kind), kind, verb) for kind, verb in (("allow", "allows"), ("deny", "denies")))
    return f"{who} may do what {allow}{f' and {deny}' if 'deny' in kinds else ''}."


def pills(_document: Document) -> list[str]:
    """Return whom a policy is for without naming anybody: these policies name roles only."""
    return []


def listed_actors(document: Document) -> list[tuple[str, str]]:
    """Return the kind and URN of everybody a policy names."""
    return [("role", urn) for urn in document.get("roles") or ()]


def copied(document: Document) -> dict[str, Any]:
    """Return a copy under another name."""
    return {**document, "name": copy_name(document["name"])}


def parts(document: Document) -> Parts:
    """Return the fields of a document under the names that pages give them."""
    found = {"Name": Part.one(document.get("name") or ""), "Roles": Part(tuple(document.get("roles") or ()))}
    for index, item in enumerate(document["statements"], start=1):
        found[f"Statement {index}"] = Part.one(json.dumps(item, ensure_ascii=False))
    return found


def _statement(item: Document) -> dict[str, Any]:
    label, kind = _EFFECTS.get(str(item.get("effect")).lower(), (str(item.get("effect")), "neutral"))
    constraints = item.get("extra_constraints") or {}
    return {
        "effect": {"label": label, "kind": kind},
        "resource": item.get("resource"),
        "actions": list(item.get("actions") or ()),
        "branch": item.get("branch"),
        "constraints": [
            {"label": _CONSTRAINTS.get(name, name), "lines": _lines(value)} for name, value in constraints.items()
        ],
    }


def _lines(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in listed]


def _counted(number: int, many: str, one: str) -> str:
    noun = "" if many == "deny" else f" statement{'' if number == 1 else 's'}"
    return f"{number}{noun} {one if number == 1 else many}"


def _joined(names: Iterable[str], count: int) -> str:
    shown = list(names)
    more = [f"{count - len(shown):,} more"] if count > len(shown) else []
    return ", ".join([*shown, *more])
