"""Expressions of CEL, the language of conditions of IAM, as trees whose nodes have the names of `cel.lark`."""

import re
from functools import cache

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

Expression = Tree[Token]
#: Google allows twelve operators in a condition: nobody can write a longer one.
_MAX_LENGTH = 10_000
_ESCAPE_PATTERN = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class BadExpression(Exception):
    """A text that is no expression of CEL; the message is a sentence."""


def parse_expression(text: str) -> Expression:
    """Return the tree of an expression. Raises BadExpression."""
    if len(text) > _MAX_LENGTH:
        raise BadExpression("Its condition is too long.")
    try:
        return _load_parser().parse(text)
    except UnexpectedInput as error:
        raise BadExpression(_describe_error(text, error)) from error


@cache
def _load_parser() -> Lark:
    return Lark.open("cel.lark", rel_to=__file__, parser="lalr", lexer="basic", maybe_placeholders=False)


def _describe_error(text: str, error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream
        return f"Its condition has a {text[position]!r} at {position + 1} that begins nothing."
    word = str(error.token) if isinstance(error, UnexpectedToken) else ""
    return f"Its condition has an unexpected {word!r}." if word else "Its condition ends too early."


def find_name(node: Expression) -> str:
    """Return the name of an attribute, as `resource.name`; '' for anything else."""
    parts: list[str] = []
    while node.data == "field":
        node, part = node.children
        parts.append(part)
    return ".".join([*node.children, *reversed(parts)]) if node.data == "name" else ""


def find_text(node: Expression) -> str | None:
    """Return the text that a literal stands for; None for anything else."""
    if node.data != "text":
        return None
    (token,) = node.children
    if token[0] in "rR":
        return str(token[2:-1])
    return _ESCAPE_PATTERN.sub(
        lambda match: chr(int(match[1] or match[2], 16)) if match[3] is None else _ESCAPES.get(match[3], match[3]),
        token[1:-1],
    )
