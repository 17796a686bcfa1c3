"""Expressions of CEL, the language of conditions of IAM, as trees (`cel.lark`)."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from lark import Lark, Token, Transformer, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

#: Google allows twelve operators in a condition: nobody can write a longer one.
_MAX_LENGTH = 10_000
_ESCAPE_PATTERN = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class BadExpression(Exception):
    """A text that is no expression of CEL; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of the tree.

    `kind` is a name of the grammar; `parts` are the expressions in it, `words` its names, operators and literals.
    """

    kind: str
    parts: tuple["Expression", ...]
    words: tuple[str, ...]

    @property
    def dotted_name(self) -> str:
        """The name of an attribute, as `resource.name`; '' for anything else."""
        if self.kind == "name":
            return self.words[0]
        owner = self.parts[0].dotted_name if self.kind == "field" else ""
        return f"{owner}.{self.words[0]}" if owner else ""

    @property
    def text(self) -> str | None:
        """The text that a literal stands for; None for anything else."""
        if self.kind != "text":
            return None
        (word,) = self.words
        if word[0] in "rR":
            return word[2:-1]
        return _ESCAPE_PATTERN.sub(
            lambda match: chr(int(match[1] or match[2], 16)) if match[3] is None else _ESCAPES.get(match[3], match[3]),
            word[1:-1],
        )


class _TreeBuilder(Transformer[Token, Expression]):
    """Makes nodes of what the grammar finds."""

    def __default__(self, data: str, children: list[Any], _meta: object) -> Any:
        if data.startswith("_"):
            # A list of the grammar's own, whose items become those of the node.
            return Tree(data, children)
        parts = tuple(child for child in children if isinstance(child, Expression))
        return Expression(str(data), parts, tuple(str(child) for child in children if isinstance(child, Token)))


def parse_expression(text: str) -> Expression:
    """Return the tree of an expression. Raises BadExpression."""
    if len(text) > _MAX_LENGTH:
        raise BadExpression("Its condition is too long.")
    try:
        return cast("Expression", _load_parser().parse(text))
    except UnexpectedInput as error:
        raise BadExpression(_describe_error(text, error)) from error


@cache
def _load_parser() -> Lark:
    options = {"parser": "lalr", "lexer": "basic", "maybe_placeholders": False}
    return Lark.open("cel.lark", rel_to=__file__, transformer=_TreeBuilder(), **options)


def _describe_error(text: str, error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedCharacters):
        position = error.column - 1 if error.pos_in_stream is None else error.pos_in_stream
        return f"Its condition has a {text[position]!r} at {position + 1} that begins nothing."
    word = str(error.token) if isinstance(error, UnexpectedToken) else ""
    return f"Its condition has an unexpected {word!r}." if word else "Its condition ends too early."
