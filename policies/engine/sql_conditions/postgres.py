"""Conditions for PostgreSQL, which refuses to compare values of different types: a wrong type shows nothing."""

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from policies.engine.sql_conditions import translator, values
from policies.engine.sql_conditions.translator import Functions, Translator
from policies.engine.sql_conditions.values import Kind, SqlNode, UnsupportedCondition, Value, join_kinds

#: Types whose values are joined as in Spark, and types that are ordered as in Spark; texts are ordered by a collation.
_TEXT_TYPES = ("text", "character varying")
_ORDERED_TYPES = (
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "boolean",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
)


def _translate_start(translator_: Translator, node: SqlNode) -> Value:
    """Return whether a text starts with another one."""
    translator_.check_arguments(node, "this", "expression")
    text, start = translator_.translate_text(node.this), translator_.translate_text(node.expression)
    return Value(exp.StartsWith(this=text.node, expression=start.node), Kind.TRUTH)


def _translate_part_of_date(translator_: Translator, node: SqlNode) -> Value:
    """Return the year, month or day of a date or time."""
    translator_.check_arguments(node, "this")
    operand = node.this
    if type(operand) is exp.TsOrDsToDate:
        translator_.check_arguments(operand, "this")
        operand = operand.this
    value = translator_.translate_value(operand)
    if value.kind not in (Kind.ANY, Kind.DATE, Kind.TIME):
        raise UnsupportedCondition(node.sql(dialect="spark")[:60])
    part = exp.Var(this=type(node).__name__.upper())
    return Value(exp.Extract(this=part, expression=value.node), Kind.NUMBER)


def _translate_now(translator_: Translator, node: SqlNode) -> Value:
    """Return the current date or time."""
    translator_.check_arguments(node)
    return Value(type(node)(), Kind.DATE if isinstance(node, exp.CurrentDate) else Kind.TIME)


class PostgresTranslator(Translator):
    """Translates one condition for PostgreSQL."""

    FUNCTIONS: ClassVar[Functions] = {
        exp.Length: translator.translate_length,
        exp.Trim: translator.translate_trim,
        exp.Abs: translator.translate_absolute,
        exp.Substring: translator.translate_substring,
        exp.Nullif: translator.translate_nullif,
        exp.Concat: translator.translate_concatenation,
        exp.DPipe: translator.translate_concatenation,
        exp.StartsWith: _translate_start,
        exp.Year: _translate_part_of_date,
        exp.Month: _translate_part_of_date,
        exp.Day: _translate_part_of_date,
        exp.CurrentDate: _translate_now,
        exp.CurrentTimestamp: _translate_now,
    }

    def equate(self, operands: Sequence[Value], *, is_top: bool) -> None:  # noqa: ARG002  # a wrong type is refused
        """PostgreSQL compares no values of different types."""
        join_kinds(*operands)

    def order(self, operands: Sequence[Value]) -> SqlNode:
        """Order texts byte by byte, as Spark does, and not by the collation of the column."""
        kind = join_kinds(*operands)
        if kind is Kind.TEXT:
            translator.refuse_dates_as_texts(operands)
            return exp.Collate(this=operands[0].node, expression=exp.Identifier(this="C", quoted=True))
        if kind is Kind.ANY:
            for column in (column for operand in operands for column in operand.columns):
                self._guard_type(column, _ORDERED_TYPES)
        return operands[0].node

    def guard_kind(self, value: Value, kind: Kind) -> None:
        """PostgreSQL refuses values of another kind itself."""

    def match_pattern(self, operand: Value, pattern: str) -> SqlNode:
        """Return LIKE."""
        return exp.Like(this=operand.node, expression=exp.Literal.string(pattern))

    def write_text(self, text: str) -> SqlNode:
        """Return a text; one that PostgreSQL may read as another value than Spark does says that it is a text."""
        literal = exp.Literal.string(text)
        return literal if values.is_read_alike(text) else exp.Cast(this=literal, to=exp.DataType.build("text"))

    def write_number(self, literal: exp.Literal) -> SqlNode:
        """Return a number; with an exponent it is a double in Spark."""
        if "e" in literal.name.lower():
            return self.write_double(literal)
        _check_digits(literal, 38)
        return exp.Literal.number(literal.name.removesuffix("."))

    def write_double(self, literal: exp.Literal) -> SqlNode:
        """Return a double."""
        _check_digits(literal, 17)
        return exp.Cast(this=exp.Literal.number(literal.name), to=exp.DataType.build("double"))

    def write_date(self, text: str) -> SqlNode:
        """Return a date."""
        return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("date"))

    def write_time(self, text: str) -> SqlNode:
        """Return a time, in the zone of the session where the column has one."""
        return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("timestamp"))

    def check_members(self, operand: Value, members: Sequence[Value]) -> None:
        """PostgreSQL compares the members of a list one by one."""

    def check_branches(self, branches: Sequence[Value], kind: Kind) -> None:
        """Refuse fractions beside columns: PostgreSQL makes them values of the type `real` where the column has it."""
        has_columns = any(branch.columns for branch in branches)
        if kind is Kind.NUMBER and has_columns and any(_is_fraction(branch) for branch in branches):
            raise UnsupportedCondition("a fraction in place of a column")

    def require_joinable(self, value: Value) -> None:
        """Leave out rows unless the columns are texts: `||` would join others, too, as PostgreSQL writes them."""
        for column in value.columns:
            self._guard_type(column, _TEXT_TYPES)

    def _guard_type(self, column: exp.Column, types: Sequence[str]) -> None:
        # The type is no part of the row, so PostgreSQL looks once.
        type_name = exp.Cast(
            this=exp.Anonymous(this="pg_typeof", expressions=[column.copy()]), to=exp.DataType.build("text")
        )
        self.add_guard(exp.In(this=type_name, expressions=[exp.Literal.string(name) for name in types]))


def _is_fraction(value: Value) -> bool:
    number = value.node.find(exp.Literal)
    return not value.columns and number is not None and not number.name.isdecimal()


def _check_digits(literal: exp.Literal, limit: int) -> None:
    if sum(letter.isdecimal() for letter in literal.name) > limit:
        raise UnsupportedCondition(f"a number of more than {limit} digits")
