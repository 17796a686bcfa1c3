"""Writes the tables of docs/clients.md that say of each operation of DataHub's clients whether it works here.

The operations are facts: `tests/doors/graphql/operations/*.json` holds the fields and arguments that each client's own
documents select, read from the public sources that the files name. An operation works when its document is valid for
the schema served here; the tests execute every one of these. With ``--check`` it writes nothing and fails when the page
says something else.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphql import parse, validate

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "clients.md"
FACTS = ROOT / "tests" / "doors" / "graphql" / "operations"

BEGIN = "<!-- operations: written by `python .make/operations.py`, kept true by a test -->"
END = "<!-- operations: end -->"

WORKS, REFUSED, MISSING = "works", "refused by design", "missing"

#: What a client sends: its facts, parsed.
Client = Mapping[str, Any]


def load_clients() -> list[Client]:
    """Return the facts of every client, in the order of their files."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FACTS.glob("*.json"))]


def build_document(operation: Mapping[str, Any], fragments: Mapping[str, Any]) -> str:
    """Return the GraphQL document of an operation, with the fragments that it reaches."""
    reached: dict[str, None] = {}
    body = "".join(_selections(operation["selects"]))
    _reach(body, fragments, reached)
    variables = ", ".join(f"${name}: {type_}" for name, type_ in operation["variables"].items())
    head = f"{operation['kind']} {operation['name']}" + (f"({variables})" if variables else "")
    parts = [f"{head} {{ {body} }}"]
    for name in reached:
        one = fragments[name]
        parts.append(f"fragment {name} on {one['on']} {{ {''.join(_selections(one['selects']))} }}")
    return "\n".join(parts)


def classify(operation: Mapping[str, Any], fragments: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether an operation works, and what to say of it: why it is refused, or what is missing for it."""
    from catalog.protocols.datahub_graphql import refused_operations, schema_builder

    document = parse(build_document(operation, fragments))
    if refused_operations.find_refusals(document):
        reasons = [refused_operations.REASONS[name] for name in _roots(operation) if name in refused_operations.REASONS]
        return REFUSED, " ".join(dict.fromkeys(reasons))
    errors = validate(schema_builder.build_schema(), document, max_errors=3)
    # Without the suggestions, which change with everything that is added to the schema.
    return (MISSING, f"`{errors[0].message.partition(' Did you mean')[0]}`") if errors else (WORKS, "")


def render_tables() -> str:
    """Return the tables of all clients as Markdown."""
    parts = []
    for client in load_clients():
        rows, counts = [], dict.fromkeys((WORKS, REFUSED, MISSING), 0)
        for operation in client["operations"]:
            state, note = classify(operation, client["fragments"])
            counts[state] += 1
            name = operation["name"] or f"{_roots(operation)[0]} (without a name)"
            rows.append(f"| {operation['kind']} `{name}` | {state} | {operation['read_from']} | {note} |\n")
        numbers = ", ".join(f"{number} {state}" for state, number in counts.items())
        parts.append(
            f"### {client['client']}\n\nVersion: {client['version']}. Of {len(rows)} operations: {numbers}.\n\n"
            f"| operation | here | read from | note |\n| --- | --- | --- | --- |\n{''.join(rows)}"
        )
    return "\n".join(parts)


def render_page() -> str:
    """Return the page with the tables as they are to be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_tables()}\n{END}{after}"


def _roots(operation: Mapping[str, Any]) -> list[str]:
    selects = operation["selects"]
    keys = selects if isinstance(selects, list) else [*selects.get("", ()), *(key for key in selects if key)]
    return [key.partition("(")[0].rpartition(": ")[2].strip() for key in keys]


def _selections(selects: Any) -> Iterator[str]:
    if isinstance(selects, list):
        yield " ".join(selects)
        return
    for key, below in selects.items():
        if key:
            yield f" {key} {{ {''.join(_selections(below))} }}"
        else:
            yield " ".join(below)


def _reach(text: str, fragments: Mapping[str, Any], reached: dict[str, None]) -> None:
    for name, one in fragments.items():
        if name not in reached and f"...{name}" in text.replace("{", " ").split():
            reached[name] = None
            _reach("".join(_selections(one["selects"])), fragments, reached)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    import django

    django.setup()
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == render_page() else f"{PAGE.name} is not what is served")
    PAGE.write_text(render_page(), encoding="utf-8")
