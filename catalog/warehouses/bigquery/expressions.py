"""Expressions of CEL, the language of conditions of IAM, as trees."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

#: Google allows twelve operators in a condition; deeper or longer than this nobody can write one.
_MAX_DEPTH, _MAX_TOKENS = 40, 400
_OPERATORS = ("||", "&&", "==", "!=", "<=", ">=", *"<>+-*/%!?:.,()[]")
_TOKEN_PATTERN = re.compile(
    r"""(?P<space>\s+)"""
    r"""|(?P<text>[rR]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"""|(?P<number>\d+(?:\.\d+)?u?)"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    rf"""|(?P<sign>{"|".join(map(re.escape, _OPERATORS))})"""
)
_ESCAPE_PATTERN = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
#: Operators between two expressions, those that bind least first.
_BINARY_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))


class BadExpression(Exception):
    """A text that is no expression of CEL; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of the tree.

    `sign` is an operator, "?" for a choice, "." for a field, "()" for a call (its parts are what it is called on, if
    anything, and the arguments), "[]" for a list, or "text", "number", "name"; `value` is the text or name of these,
    and of fields and functions.
    """

    sign: str
    value: str = ""
    parts: tuple["Expression", ...] = ()
    is_method: bool = False

    @property
    def dotted_name(self) -> str:
        """The name of an attribute, as `resource.name`; '' for anything else."""
        if self.sign == "name":
            return self.value
        owner = self.parts[0].dotted_name if self.sign == "." else ""
        return f"{owner}.{self.value}" if owner else ""


def parse_expression(text: str) -> Expression:
    """Return the tree of an expression. Raises BadExpression."""
    tokens = list(islice(_split_tokens(text), _MAX_TOKENS + 1))
    if len(tokens) > _MAX_TOKENS:
        raise BadExpression("Its condition is too long.")
    parser = _Parser(tokens)
    expression = parser.parse_choice(0)
    if parser.token != ("end", ""):
        raise parser.build_error()
    return expression


def _split_tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN_PATTERN.match(text, position)
        if match is None:
            raise BadExpression(f"Its condition has a {text[position]!r} at {position + 1} that begins nothing.")
        position = match.end()
        kind = str(match.lastgroup)
        if kind != "space":
            yield kind, match[0]


def _unescape_text(token: str) -> str:
    """Return the text of a literal."""
    if token[0] in "rR":
        return token[2:-1]
    return _ESCAPE_PATTERN.sub(
        lambda match: chr(int(match[1] or match[2], 16)) if match[3] is None else _ESCAPES.get(match[3], match[3]),
        token[1:-1],
    )


class _Parser:
    """Reads tokens from left to right. Raises BadExpression."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._index = 0

    @property
    def token(self) -> tuple[str, str]:
        """The token that is read next."""
        return self._tokens[self._index]

    def build_error(self) -> BadExpression:
        word = self.token[1]
        return BadExpression(f"Its condition has an unexpected {word!r}." if word else "Its condition ends too early.")

    def parse_choice(self, depth: int) -> Expression:
        """Return `condition ? expression : expression`, or what is no choice."""
        if depth > _MAX_DEPTH:
            raise BadExpression("Its condition is nested too deeply.")
        expression = self._parse_binary(0, depth)
        if not self._take("?"):
            return expression
        first = self.parse_choice(depth + 1)
        self._require(":")
        return Expression("?", parts=(expression, first, self.parse_choice(depth + 1)))

    def _parse_binary(self, level: int, depth: int) -> Expression:
        if level == len(_BINARY_LEVELS):
            return self._parse_unary(depth)
        expression = self._parse_binary(level + 1, depth)
        while self.token[0] in ("sign", "name") and self.token[1] in _BINARY_LEVELS[level]:
            sign = self._read_token()
            expression = Expression(sign, parts=(expression, self._parse_binary(level + 1, depth)))
        return expression

    def _parse_unary(self, depth: int) -> Expression:
        if depth > _MAX_DEPTH:
            raise BadExpression("Its condition is nested too deeply.")
        for sign in ("!", "-"):
            if self._take(sign):
                return Expression(sign, parts=(self._parse_unary(depth + 1),))
        return self._parse_member(depth)

    def _parse_member(self, depth: int) -> Expression:
        """Return an expression with the fields, calls and indexes behind it."""
        expression = self._parse_primary(depth)
        while True:
            if self._take("."):
                if self.token[0] != "name":
                    raise self.build_error()
                name = self._read_token()
                if self._take("("):
                    arguments = self._parse_items(")", depth)
                    expression = Expression("()", name, (expression, *arguments), is_method=True)
                else:
                    expression = Expression(".", name, (expression,))
            elif self._take("["):
                index = self.parse_choice(depth + 1)
                self._require("]")
                expression = Expression("index", parts=(expression, index))
            else:
                return expression

    def _parse_primary(self, depth: int) -> Expression:
        kind, word = self.token
        if kind == "text":
            return Expression("text", _unescape_text(self._read_token()))
        if kind == "number":
            return Expression("number", self._read_token())
        if kind == "name" and word != "in":
            self._read_token()
            return (
                Expression("()", word, self._parse_items(")", depth)) if self._take("(") else Expression("name", word)
            )
        if self._take("("):
            expression = self.parse_choice(depth + 1)
            self._require(")")
            return expression
        if self._take("["):
            return Expression("[]", parts=self._parse_items("]", depth))
        raise self.build_error()

    def _parse_items(self, end: str, depth: int) -> tuple[Expression, ...]:
        items: list[Expression] = []
        while not self._take(end):
            if items:
                self._require(",")
            items.append(self.parse_choice(depth + 1))
        return tuple(items)

    def _read_token(self) -> str:
        word = self.token[1]
        self._index += 1
        return word

    def _take(self, sign: str) -> bool:
        """Whether a sign is next; it is then read."""
        is_next = self.token == ("sign", sign)
        self._index += is_next
        return is_next

    def _require(self, sign: str) -> None:
        if not self._take(sign):
            raise self.build_error()
