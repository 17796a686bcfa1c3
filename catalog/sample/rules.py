"""Templates and rules of the sample company: how texts of `data` are filled in, and when a rule holds.

Everything here is a pure function of its arguments, so that the files come out the same on every machine.

A template is any YAML. `{fact}` in a text is filled in; a text that is nothing but `{fact}` becomes the fact itself,
whatever its type. `{fact:title}` is in one of the `WORDINGS`. A key `KEY if FACT` is left out when the fact is empty or
unknown; `if FACT and FACT` wants both.

A rule is a mapping from facts to the value, or the list of values, that each must have. Two keys are special: `not`
reverses another rule, and `chance` maps the key of a draw to the range [from, to) in which its number has to be. A list
of rules holds when one of them does.
"""

import random
import re
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

Facts = dict[str, Any]
Item = TypeVar("Item")

DATA = Path(__file__).with_name("data")
SEED = "fernweh-outdoor"
WHOLE_PLACEHOLDER = re.compile(r"\{([\w.\[\]-]+)\}")


def load_data(name: str) -> Facts:
    """Return the content of a file of `data`."""
    content: Facts = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def draw(key: str) -> float:
    """Return a number from 0 up to 1 that depends on the key alone: adding a dataset never reshuffles the others."""
    return random.Random(f"{SEED}/{key}").random()  # noqa: S311  # a believable spread, not a secret


def pick(items: Sequence[Item], key: str) -> Item:
    """Return one of the items, always the same one for the same key."""
    return items[int(draw(key) * len(items))]


def word_name(name: str) -> str:
    """Return `order_lines` as `Order lines`."""
    return name.replace("_", " ").replace("-", " ").capitalize()


WORDINGS: dict[str, Callable[[str], str]] = {
    "words": word_name,
    "title": lambda name: word_name(name).title(),
    "plain": lambda name: word_name(name).lower(),
    "name": lambda name: name.replace(".", "_"),
    "upper": str.upper,
    "lower": str.lower,
}


class WordingFormatter(string.Formatter):
    """Fills in `{fact:wording}`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a fact in a wording, or as it is where none is named."""
        return WORDINGS[format_spec](value) if format_spec else str(value)


FORMATTER = WordingFormatter()


def fill(template: Any, facts: Facts) -> Any:
    """Return a template with the facts filled in. Raises KeyError for a fact that is not there."""
    if isinstance(template, str):
        return _fill_text(template, facts)
    if isinstance(template, list):
        return [fill(part, facts) for part in template]
    if isinstance(template, dict):
        parts = ((*key.partition(" if "), value) for key, value in template.items())
        return {
            _fill_text(key, facts): fill(value, facts)
            for key, _, condition, value in parts
            if not condition or all(facts.get(name) for name in condition.split(" and "))
        }
    return template


def _fill_text(text: str, facts: Facts) -> Any:
    if "{" not in text:
        return text
    if whole := WHOLE_PLACEHOLDER.fullmatch(text):
        return FORMATTER.get_field(whole[1], (), facts)[0]
    return FORMATTER.vformat(text, (), facts)


def holds(rule: Any, facts: Facts) -> bool:
    """Return whether a rule, or one of a list of rules, holds. Raises KeyError for a fact that is not there."""
    if isinstance(rule, list):
        return any(holds(alternative, facts) for alternative in rule)
    return all(_holds_part(name, expected, facts) for name, expected in rule.items())


def _holds_part(name: str, expected: Any, facts: Facts) -> bool:
    if name == "not":
        return not holds(expected, facts)
    if name == "chance":
        return all(low <= draw(_fill_text(key, facts)) < high for key, (low, high) in expected.items())
    return facts[name] in expected if isinstance(expected, list) else bool(facts[name] == expected)
