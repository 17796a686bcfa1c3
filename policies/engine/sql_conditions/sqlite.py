"""Conditions for SQLite, which compares values of any types: guards leave out rows whose values are of another kind.

Dates are texts there, such as 2024-12-31, and true and false are 1 and 0. Times have no form that all agree on.
"""

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from policies.engine.sql_conditions import translator, values
from policies.engine.sql_conditions.translator import Functions, Translator
from policies.engine.sql_conditions.values import Kind, SqlNode, UnsupportedCondition, Value, join_kinds

_STORAGE_CLASSES = {Kind.TEXT: ("text", "null"), Kind.NUMBER: ("integer", "real", "null")}


class SqliteTranslator(Translator):
    """Translates one condition for SQLite."""

    FUNCTIONS: ClassVar[Functions] = {
        exp.Length: translator.translate_length,
        exp.Trim: translator.translate_trim,
        exp.Abs: translator.translate_absolute,
        exp.Substring: translator.translate_substring,
        exp.Nullif: translator.translate_nullif,
        exp.Concat: translator.translate_concatenation,
        exp.DPipe: translator.translate_concatenation,
    }

    def equate(self, operands: Sequence[Value], *, is_top: bool) -> None:
        """Add guards, unless a column equals a literal at the top: other kinds are equal to none there."""
        kind = join_kinds(*operands)
        plain, *literals = operands
        is_plain = isinstance(plain.node, exp.Column) and all(other.literal is not None for other in literals)
        if is_top and is_plain and not any(_is_odd_number(other) for other in literals):
            return
        if kind is Kind.ANY and any(operand.kind is Kind.ANY for operand in operands):
            if is_top and len(operands) == 2:
                return
            if all(operand.kind is Kind.NULL or operand is plain for operand in operands):
                return
            raise UnsupportedCondition("a comparison of columns")
        if kind is Kind.TEXT:
            translator.refuse_dates_as_texts(operands)
        for operand in operands:
            self.require(operand, kind)

    def order(self, operands: Sequence[Value]) -> SqlNode:
        """Add guards; texts are ordered byte by byte, as in Spark."""
        kind = join_kinds(*operands)
        if kind is Kind.ANY and sum(operand.kind is Kind.ANY for operand in operands) > 1:
            raise UnsupportedCondition("a comparison of columns")
        if kind is Kind.TEXT:
            translator.refuse_dates_as_texts(operands)
        for operand in operands:
            self.require(operand, kind)
        return operands[0].node

    def guard_kind(self, value: Value, kind: Kind) -> None:
        """Leave out rows in which a column has a value of another kind."""
        if kind is Kind.TIME and value.columns:
            raise UnsupportedCondition("a time")
        for column in value.columns:
            if (guard := _build_guard(column, kind)) is not None:
                self.add_guard(guard)

    def match_pattern(self, operand: Value, pattern: str) -> SqlNode:
        """Return GLOB: LIKE of SQLite ignores case."""
        return exp.Glob(this=operand.node, expression=exp.Literal.string(_as_glob(pattern)))

    def write_text(self, text: str) -> SqlNode:
        """Return a text."""
        return exp.Literal.string(text)

    def write_number(self, literal: exp.Literal) -> SqlNode:
        """Return a number, of as many digits as a double keeps."""
        if sum(letter.isdecimal() for letter in literal.name) > 15:
            raise UnsupportedCondition("a number of more than 15 digits")
        return exp.Literal.number(literal.name.removesuffix("."))

    def write_double(self, literal: exp.Literal) -> SqlNode:
        """Return a number."""
        return self.write_number(literal)

    def write_date(self, text: str) -> SqlNode:
        """Return a date, as the text that SQLite has for it."""
        return exp.Literal.string(text)

    def write_time(self, text: str) -> SqlNode:  # noqa: ARG002
        """Refuse times: SQLite has several forms for them, which are not equal."""
        raise UnsupportedCondition("a time")

    def check_members(self, operand: Value, members: Sequence[Value]) -> None:
        """Refuse columns in a list: SQLite converts only the value that is looked for."""
        is_plain = isinstance(operand.node, exp.Column)
        if any(member.columns for member in members) or (not is_plain and operand.kind is Kind.ANY):
            raise UnsupportedCondition("IN with columns")

    def check_branches(self, branches: Sequence[Value], kind: Kind) -> None:
        """SQLite keeps the type of each value, so branches have no common one."""

    def require_joinable(self, value: Value) -> None:
        """SQLite joins texts as Spark does; their kind has been required."""


def _build_guard(column: exp.Column, kind: Kind) -> SqlNode | None:
    """Return the SQL that is true if the value of a column is null or of a kind."""
    if kind in _STORAGE_CLASSES:
        names = [exp.Literal.string(name) for name in _STORAGE_CLASSES[kind]]
        return exp.In(this=exp.Anonymous(this="typeof", expressions=[column.copy()]), expressions=names)
    if kind is Kind.DATE:
        day = exp.Anonymous(this="date", expressions=[column.copy()])
        return exp.NullSafeEQ(this=day, expression=column.copy())
    if kind is Kind.TRUTH:
        is_truth = exp.In(this=column.copy(), expressions=[exp.Literal.number(number) for number in (0, 1)])
        is_null = exp.Is(this=column.copy(), expression=exp.Null())
        return exp.Paren(this=exp.Or(this=is_null, expression=is_truth))
    return None


def _is_odd_number(value: Value) -> bool:
    """Whether a text is a number to SQLite, and perhaps another one, or none, to Spark."""
    return value.text is not None and values.is_like_number(value.text) and not values.is_canonical_integer(value.text)


def _as_glob(pattern: str) -> str:
    glob_parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == "\\":
            glob_parts.append(_escape_glob(next(letters, letter)))
        else:
            glob_parts.append({"%": "*", "_": "?"}.get(letter) or _escape_glob(letter))
    return "".join(glob_parts)


def _escape_glob(letter: str) -> str:
    return f"[{letter}]" if letter in "*?[" else letter
