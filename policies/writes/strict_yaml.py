"""Strict parsing of YAML into JSON values; ambiguous or oversized input is refused with the line of the problem.

Plain words are read as JSON spells them: `null`, `true`, `false` and numbers; everything else (`yes`, `on`, dates) is a
text. Aliases, tags and several documents are refused, so a short text never expands. The library of YAML is imported
by the first text (`policies.writes.yaml_events`): few calls have one.
"""

from typing import Any

from policies.writes.yaml_values import MAX_LENGTH, InvalidYaml, YamlDocument, is_ambiguous

__all__ = ["MAX_LENGTH", "InvalidYaml", "YamlDocument", "dump", "is_ambiguous", "loads"]


def loads(text: str) -> YamlDocument:
    """Return the JSON value of a YAML text. Raises InvalidYaml for the first problem."""
    from policies.writes import yaml_events

    if len(text) > MAX_LENGTH:
        raise InvalidYaml(1, f"A file has up to {MAX_LENGTH:,} characters, not {len(text):,}.")
    return yaml_events.read_document(text)


def dump(value: Any) -> str:
    """Return a JSON value as the YAML text that `loads` reads back, with the keys in their order."""
    from policies.writes import yaml_events

    return yaml_events.write_document(value)
