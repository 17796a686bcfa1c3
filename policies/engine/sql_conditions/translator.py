"""The frame of a translation: nodes that all dialects share, and the order in which the parts are looked at."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from policies.engine.sql_conditions import values
from policies.engine.sql_conditions.values import Kind, SqlNode, UnsupportedCondition, Value, join_kinds

_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_ORDERINGS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_COMPARISONS = (*_EQUALITIES, *_ORDERINGS, exp.Is, exp.In, exp.Between, exp.Like)
_PREDICATES = (*_COMPARISONS, exp.Not, exp.And, exp.Or)
#: Arguments of nodes that say nothing about their meaning in Spark.
_FLAGS = frozenset({"safe", "coalesce", "_type"})


#: Functions of a dialect: node → what translates it.
Functions = Mapping[type[SqlNode], Callable[["Translator", SqlNode], Value]]


class Translator(ABC):
    """Translates one condition; `guards` are what has to hold of a row for the translation to mean the same.

    A subclass says what its dialect has: what is not in `FUNCTIONS`, and no node of this class, is refused.
    """

    #: The functions of the dialect.
    FUNCTIONS: ClassVar["Functions"] = {}

    def __init__(self) -> None:
        self.guards: dict[str, SqlNode] = {}

    def translate(self, tree: SqlNode) -> SqlNode:
        """Return the condition with its guards. Raises UnsupportedCondition."""
        condition = self.translate_truth(tree, is_top=True)
        if not self.guards:
            return condition
        return exp.and_(*self.guards.values(), exp.Paren(this=condition), copy=False)

    # -- what is true or false ----------------------------------------------------------------------------------------

    def translate_truth(self, node: SqlNode, *, is_top: bool = False) -> SqlNode:
        """Return a node that is true or false.

        With `is_top` null is as good as false there: nothing above shows a row because something is not true.
        """
        match node:
            case exp.Paren():
                return exp.Paren(this=self.translate_truth(node.this, is_top=is_top))
            case exp.And() | exp.Or():
                left, right = (self.translate_truth(part, is_top=is_top) for part in (node.this, node.expression))
                return type(node)(this=left, expression=right)
            case exp.Not():
                return exp.Not(this=_wrap_in_brackets(self.translate_truth(node.this)))
            case exp.Boolean() | exp.Null():
                return node.copy()
            case _:
                pass
        if type(node) in _COMPARISONS:
            return self._translate_comparison(node, is_top=is_top)
        value = self.require(self.translate_value(node), Kind.TRUTH)
        return value.node

    def _translate_comparison(self, node: SqlNode, *, is_top: bool) -> SqlNode:
        if type(node) in _EQUALITIES:
            left, right = self._translate_operands(node.this, node.expression)
            self.equate([left, right], is_top=is_top and type(node) is exp.EQ)
            return type(node)(this=left.node, expression=right.node)
        if type(node) in _ORDERINGS:
            left, right = self._translate_operands(node.this, node.expression)
            return type(node)(this=self.order([left, right]), expression=right.node)
        if isinstance(node, exp.In):
            return self._translate_in(node, is_top=is_top)
        if isinstance(node, exp.Is):
            return self._translate_is(node)
        return self._translate_between(node) if isinstance(node, exp.Between) else self._translate_like(node)

    def _translate_is(self, node: SqlNode) -> SqlNode:
        if isinstance(node.expression, exp.Null):
            operand = (
                _wrap_in_brackets(self.translate_truth(node.this))
                if isinstance(_open(node.this), _PREDICATES)
                else self.translate_value(node.this).node
            )
        elif isinstance(node.expression, exp.Boolean):
            operand = _wrap_in_brackets(self.translate_truth(node.this))
        else:
            raise UnsupportedCondition("IS with a value")
        return exp.Is(this=operand, expression=node.expression.copy())

    def _translate_in(self, node: SqlNode, *, is_top: bool) -> SqlNode:
        self.check_arguments(node, "this", "expressions")
        if not node.expressions:
            raise UnsupportedCondition("IN without values")
        operand, *members = self._translate_operands(node.this, *node.expressions)
        self.check_members(operand, members)
        self.equate([operand, *members], is_top=is_top)
        return exp.In(this=operand.node, expressions=[member.node for member in members])

    def _translate_between(self, node: SqlNode) -> SqlNode:
        self.check_arguments(node, "this", "low", "high")
        operands = self._translate_operands(node.this, node.args["low"], node.args["high"])
        left_node = self.order(operands)
        return exp.Between(this=left_node, low=operands[1].node, high=operands[2].node)

    def _translate_like(self, node: SqlNode) -> SqlNode:
        self.check_arguments(node, "this", "expression", "negate")
        (operand,) = self._translate_operands(node.this)
        self.require(operand, Kind.TEXT)
        if not values.is_whole_pattern(node.expression.name):
            raise UnsupportedCondition("a backslash in a pattern that stands before no %, _ or backslash")
        match = self.match_pattern(operand, node.expression.name)
        return exp.Not(this=exp.Paren(this=match)) if node.args.get("negate") else match

    def _translate_operands(self, *nodes: SqlNode) -> list[Value]:
        """Return operands. A comparison among them needs brackets: databases disagree about what binds first."""
        if any(isinstance(node, _PREDICATES) for node in nodes):
            raise UnsupportedCondition("a comparison as an operand without brackets")
        return [self.translate_value(node) for node in nodes]

    # -- values -------------------------------------------------------------------------------------------------------

    def translate_value(self, node: SqlNode) -> Value:
        """Return a value. Raises UnsupportedCondition for a node that the dialect has not."""
        if isinstance(node, _PREDICATES):
            return Value(_wrap_in_brackets(self.translate_truth(node)), Kind.TRUTH)
        translate = _VALUES.get(type(node)) or self.FUNCTIONS.get(type(node))
        if translate is None:
            raise UnsupportedCondition(node.sql(dialect="spark")[:60])
        return translate(self, node)

    def _translate_brackets(self, node: SqlNode) -> Value:
        inner = self.translate_value(node.this)
        return Value(exp.Paren(this=inner.node), inner.kind, inner.columns, inner.literal)

    def _translate_literal(self, node: SqlNode) -> Value:
        if not isinstance(node, exp.Literal):
            return Value(node.copy(), Kind.NULL if isinstance(node, exp.Null) else Kind.TRUTH)
        if node.is_string:
            return Value(self.write_text(node.name), Kind.TEXT, literal=node)
        return Value(self.write_number(node), Kind.NUMBER, literal=node)

    def _translate_column(self, node: SqlNode) -> Value:
        if not isinstance(node, exp.Column) or len(node.parts) > 1:
            raise UnsupportedCondition("a field of a column")
        column = exp.Column(this=node.this.copy())
        return Value(column, Kind.ANY, (column,))

    def _translate_negative(self, node: SqlNode) -> Value:
        value = self.require(self.translate_value(node.this), Kind.NUMBER)
        operand = value.node if isinstance(value.node, exp.Literal) else exp.Paren(this=value.node)
        return Value(exp.Neg(this=operand), Kind.NUMBER)

    def _translate_cast(self, node: SqlNode) -> Value:
        """Return a literal with a type: a date, a time, or a number as Spark writes it (`100L`, `2.5D`)."""
        self.check_arguments(node, "this", "to")
        literal, type_ = node.this, node.args["to"]
        if not isinstance(literal, exp.Literal) or type_.expressions:
            raise UnsupportedCondition(node.sql(dialect="spark")[:60])
        match type_.this:
            case exp.DType.DATE if literal.is_string and (day := values.parse_date(literal.name)) is not None:
                return Value(self.write_date(day.isoformat()), Kind.DATE)
            case exp.DType.TIMESTAMPTZ | exp.DType.TIMESTAMP if (
                literal.is_string and values.parse_time(literal.name) is not None
            ):
                return Value(self.write_time(literal.name), Kind.TIME)
            case exp.DType.BIGINT if not literal.is_string and literal.name.isdecimal():
                return Value(self.write_number(literal), Kind.NUMBER, literal=literal)
            case exp.DType.DOUBLE if not literal.is_string:
                return Value(self.write_double(literal), Kind.NUMBER, literal=literal)
            case _:
                raise UnsupportedCondition(node.sql(dialect="spark")[:60])

    def _translate_coalesce(self, node: SqlNode) -> Value:
        self.check_arguments(node, "this", "expressions")
        branches = [self.translate_value(part) for part in (node.this, *node.expressions)]
        if len(branches) == 1:
            return branches[0]
        others = [branch.node for branch in branches[1:]]
        return self._join_branches(branches, exp.Coalesce(this=branches[0].node, expressions=others))

    def _translate_case(self, node: SqlNode) -> Value:
        """Return CASE; IF is one with a single condition, and `CASE a WHEN b` compares."""
        if isinstance(node, exp.If):
            self.check_arguments(node, "this", "true", "false")
            ifs, operand, otherwise = [node], None, node.args.get("false")
        else:
            self.check_arguments(node, "this", "ifs", "default")
            ifs, operand, otherwise = node.args["ifs"], node.this, node.args.get("default")
        case, branches = exp.Case(), []
        for case_if in ifs:
            test = case_if.this if operand is None else exp.EQ(this=operand, expression=case_if.this)
            branches.append(self.translate_value(case_if.args["true"]))
            case.append("ifs", exp.If(this=self.translate_truth(test), true=branches[-1].node))
        if otherwise is not None:
            branches.append(self.translate_value(otherwise))
            case.set("default", branches[-1].node)
        return self._join_branches(branches, case)

    def _join_branches(self, branches: Sequence[Value], node: SqlNode) -> Value:
        kind = join_kinds(*branches)
        for branch in branches:
            self.require(branch, kind)
        self.check_branches(branches, kind)
        columns = tuple(column for branch in branches for column in branch.columns)
        return Value(node, kind, columns)

    # -- what a dialect decides ---------------------------------------------------------------------------------------

    @abstractmethod
    def equate(self, operands: Sequence[Value], *, is_top: bool) -> None:
        """Make sure that these values are equal here if they are in Spark; change literals, or add guards."""

    @abstractmethod
    def order(self, operands: Sequence[Value]) -> SqlNode:
        """Make sure that these values are ordered as in Spark; return the first of them."""

    def require(self, value: Value, kind: Kind) -> Value:
        """Return the value, which is of this kind. Raises UnsupportedCondition if it is known to be of another."""
        join_kinds(value, Value(exp.Null(), kind))
        self.guard_kind(value, kind)
        return value

    @abstractmethod
    def guard_kind(self, value: Value, kind: Kind) -> None:
        """Add guards unless the database itself refuses columns of another kind."""

    @abstractmethod
    def match_pattern(self, operand: Value, pattern: str) -> SqlNode:
        """Return LIKE of Spark, with its pattern."""

    @abstractmethod
    def write_text(self, text: str) -> SqlNode:
        """Return a text between quotes."""

    @abstractmethod
    def write_number(self, literal: exp.Literal) -> SqlNode:
        """Return a number as it is written, with or without an exponent."""

    @abstractmethod
    def write_double(self, literal: exp.Literal) -> SqlNode:
        """Return a number that is a double in Spark."""

    @abstractmethod
    def write_date(self, text: str) -> SqlNode:
        """Return a date."""

    @abstractmethod
    def write_time(self, text: str) -> SqlNode:
        """Return a time without a zone."""

    @abstractmethod
    def check_members(self, operand: Value, members: Sequence[Value]) -> None:
        """Refuse lists of IN that the dialect compares otherwise than one by one."""

    @abstractmethod
    def check_branches(self, branches: Sequence[Value], kind: Kind) -> None:
        """Refuse branches whose common type is another one than in Spark."""

    @abstractmethod
    def require_joinable(self, value: Value) -> None:
        """Make sure that a value is joined by `||` as in Spark."""
        self.require(value, Kind.TEXT)

    # -- for functions ------------------------------------------------------------------------------------------------

    def check_arguments(self, node: SqlNode, *argument_names: str) -> None:
        """Refuse a node with an argument that the translation does not look at."""
        unknown = [
            name for name, value in node.args.items() if value and name not in argument_names and name not in _FLAGS
        ]
        if unknown:
            raise UnsupportedCondition(node.sql(dialect="spark")[:60])

    def translate_text(self, node: SqlNode) -> Value:
        """Return an operand that has to be a text."""
        return self.require(self.translate_value(node), Kind.TEXT)

    def add_guard(self, node: SqlNode) -> None:
        """Leave out rows of which this does not hold."""
        self.guards.setdefault(node.sql(), node)


def refuse_dates_as_texts(operands: Sequence[Value]) -> None:
    """Raise UnsupportedCondition where a text that looks like a date is compared with a column."""
    has_columns = any(operand.columns for operand in operands)
    if has_columns and any(operand.text is not None and values.is_like_date(operand.text) for operand in operands):
        raise UnsupportedCondition("a text in place of a date (write date '2024-12-31')")


def translate_length(translator: Translator, node: SqlNode) -> Value:
    """Return the number of characters of a text."""
    translator.check_arguments(node, "this")
    return Value(exp.Length(this=translator.translate_text(node.this).node), Kind.NUMBER)


def translate_trim(translator: Translator, node: SqlNode) -> Value:
    """Return a text without the spaces around it; other characters than spaces differ between databases."""
    translator.check_arguments(node, "this")
    return Value(exp.Trim(this=translator.translate_text(node.this).node), Kind.TEXT)


def translate_absolute(translator: Translator, node: SqlNode) -> Value:
    """Return the absolute value of a number."""
    translator.check_arguments(node, "this")
    value = translator.require(translator.translate_value(node.this), Kind.NUMBER)
    return Value(exp.Abs(this=value.node), Kind.NUMBER)


def translate_nullif(translator: Translator, node: SqlNode) -> Value:
    """Return a value, or null where it equals another one."""
    translator.check_arguments(node, "this", "expression")
    value, other = translator.translate_value(node.this), translator.translate_value(node.expression)
    translator.equate([value, other], is_top=False)
    translator.check_branches([value, other], join_kinds(value, other))
    return Value(exp.Nullif(this=value.node, expression=other.node), value.kind, value.columns)


def translate_substring(translator: Translator, node: SqlNode) -> Value:
    """Return a part of a text that begins at a position from 1; databases count from 0, or the end, differently."""
    translator.check_arguments(node, "this", "start", "length")
    positions = [node.args.get("start"), node.args.get("length")]
    if not all(_is_count(position) for position in positions if position is not None) or (
        positions[0] is None or positions[0].name == "0"
    ):
        raise UnsupportedCondition(node.sql(dialect="spark")[:60])
    value = translator.translate_text(node.this)
    copies = {name: position.copy() for name, position in zip(("start", "length"), positions, strict=True) if position}
    return Value(exp.Substring(this=value.node, **copies), Kind.TEXT)


def translate_concatenation(translator: Translator, node: SqlNode) -> Value:
    """Return texts joined by `||`, which is null where one of them is, as in Spark."""
    translator.check_arguments(node, "this", "expression", "expressions")
    parts = list(_iterate_parts(node))
    if isinstance(node, exp.Concat) and all(isinstance(part, exp.Literal) and part.is_string for part in parts):
        # Spark joins texts that stand one after another, and `concat` of texts is no other text.
        return translator.translate_value(exp.Literal.string("".join(part.name for part in parts)))
    texts = [translator.translate_text(part) for part in parts]
    for text in texts:
        translator.require_joinable(text)
    joined = texts[0].node
    for text in texts[1:]:
        joined = exp.DPipe(this=joined, expression=text.node)
    return Value(exp.Paren(this=joined), Kind.TEXT)


def _iterate_parts(node: SqlNode) -> Iterable[SqlNode]:
    if isinstance(node, exp.DPipe):
        yield from _iterate_parts(node.this)
        yield from _iterate_parts(node.expression)
    elif type(node) is exp.Concat:
        yield from node.expressions
    else:
        yield node


def _is_count(node: SqlNode) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and len(node.name) < 10


def _open(node: SqlNode) -> SqlNode:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _wrap_in_brackets(node: SqlNode) -> SqlNode:
    is_closed = isinstance(node, (exp.Paren, exp.Column, exp.Boolean, exp.Null, exp.Case))
    return node if is_closed else exp.Paren(this=node)


#: Values of every dialect.
_VALUES: Functions = {
    exp.Paren: Translator._translate_brackets,
    exp.Column: Translator._translate_column,
    exp.Null: Translator._translate_literal,
    exp.Boolean: Translator._translate_literal,
    exp.Literal: Translator._translate_literal,
    exp.Neg: Translator._translate_negative,
    exp.Case: Translator._translate_case,
    exp.If: Translator._translate_case,
    exp.Coalesce: Translator._translate_coalesce,
    exp.Cast: Translator._translate_cast,
    exp.TryCast: Translator._translate_cast,
}
