"""Row conditions: one self-contained boolean expression each, checked against an allow-list (rules/datazone.md DZ-50).

The text is parsed as Spark SQL and every node of the tree must be of a kind listed here, so that unforeseen syntax is
refused. The text itself is never pasted into a query: SQL is printed from the same tree.
"""

import re
from functools import lru_cache

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

#: Longest expression, in characters, and deepest tree, in nodes.
MAX_CONDITION_LENGTH = 4_000
MAX_CONDITION_DEPTH = 100

#: The SQL dialect of conditions.
CONDITION_DIALECT = "spark"

_TOO_DEEP_PROBLEM = f"the condition is nested more than {MAX_CONDITION_DEPTH} deep."

SqlNode = exp.Expr

#: Nodes that are true or false, and other nodes allowed in a condition. A node in neither list is refused.
_PREDICATE_NODES: tuple[type[SqlNode], ...] = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.StartsWith,
    exp.EndsWith,
    exp.Contains,
    exp.Boolean,
    exp.Column,
    exp.Dot,
    exp.Paren,
    exp.Case,
    exp.If,
    exp.Coalesce,
)
_OPERAND_NODES: tuple[type[SqlNode], ...] = (
    exp.Identifier,
    exp.Literal,
    exp.Null,
    exp.Neg,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Cast,
    exp.TryCast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Lower,
    exp.Upper,
    exp.Trim,
    exp.Length,
    exp.Substring,
    exp.Concat,
    exp.DPipe,
    exp.Abs,
    exp.Round,
    exp.Nullif,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.TsOrDsToDate,
)
_ALLOWED_NODES = (*_PREDICATE_NODES, *_OPERAND_NODES)

#: Types a value may be cast to; no structures or tables.
_CAST_TYPES = frozenset(
    exp.DType[name]
    for name in ("TEXT", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "INT", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN")
)

#: Words that a database may read as session functions (user, catalog, time), if no column has the name.
_SESSION_WORDS = frozenset(
    {
        "current_catalog",
        "current_database",
        "current_role",
        "current_schema",
        "current_timezone",
        "current_user",
        "localtime",
        "localtimestamp",
        "session_user",
        "system_user",
        "user",
    }
)


def find_problem(text: str) -> str | None:
    """Return the problem of a row condition as a sentence, or None."""
    if len(text) > MAX_CONDITION_LENGTH:
        return f"the condition has {len(text):,} characters; up to {MAX_CONDITION_LENGTH:,} are allowed."
    try:
        tokens = sqlglot.tokenize(text, read=CONDITION_DIALECT)
        if any(token.comments for token in tokens):
            return "comments are not allowed."
        if any(token.token_type.name == "SEMICOLON" for token in tokens):
            return "it cannot be read as one condition: a semicolon ends nothing here."
        if any(map(_is_doubled_quote, tokens, tokens[1:])):
            return "a quote within a text is written \\'; versions of Spark read two quotes differently."
        tree = parse_condition(text)
        return _find_tree_problem(tree) or next(filter(None, map(_find_node_problem, tree.walk())), None)
    except RecursionError:
        return _TOO_DEEP_PROBLEM
    except SqlglotError as error:
        return _word_error(error)


@lru_cache(maxsize=4096)
def parse_condition(text: str) -> SqlNode:
    """Return the tree of a condition; raises sqlglot's ParseError. Callers must not change it: copy it first."""
    return sqlglot.parse_one(text, read=CONDITION_DIALECT, into=exp.Condition)


def list_columns(text: str) -> tuple[str, ...]:
    """Return the columns a condition reads, nested ones as dotted paths, each once."""
    return tuple(
        dict.fromkeys(
            ".".join(part.name for part in column.parts) for column in parse_condition(text).find_all(exp.Column)
        )
    )


def _is_doubled_quote(token: Token, next_token: Token) -> bool:
    """Whether a text begins where another one ends: before Spark 4 `'a''b'` is `ab`, and since then `a'b`."""
    are_texts = token.token_type is next_token.token_type is TokenType.STRING
    return are_texts and token.end + 1 == next_token.start


def _find_tree_problem(tree: SqlNode) -> str | None:
    if not isinstance(tree, _PREDICATE_NODES):
        return "this is not true or false: a condition compares something."
    return _TOO_DEEP_PROBLEM if _is_deep(tree) else None


def _is_deep(tree: SqlNode) -> bool:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > MAX_CONDITION_DEPTH:
            return True
        level = [child for node in level for child in node.iter_expressions()]
    return False


def _find_node_problem(node: SqlNode) -> str | None:
    if not isinstance(node, _ALLOWED_NODES):
        return f"{_word_node(node)} is not allowed in a condition."
    if node.comments:
        return "comments are not allowed."
    match node:
        case exp.In() if any(node.args.get(name) for name in ("query", "unnest", "field")):
            return "IN takes a list of values."
        case exp.Like() | exp.ILike() | exp.RegexpLike() if not _is_text(node.expression):
            return "a pattern is a text between quotes."
        case exp.Cast() if node.to.this not in _CAST_TYPES or node.args.get("format"):
            return f"a value cannot be cast to {node.to.sql(dialect=CONDITION_DIALECT)}."
        case exp.Identifier():
            return _find_name_problem(node)
        case _:
            return None


def _find_name_problem(node: exp.Identifier) -> str | None:
    name = node.name
    if not name or not name.isprintable():
        return "a name holds printable characters."
    if node.args.get("quoted"):
        return None
    if not name.isascii():
        return f"{name!r} holds letters outside ASCII; such a name stands between backticks."
    if name.lower() in _SESSION_WORDS:
        return f"{name!r} may mean who is asking; a column of this name stands between backticks."
    return None


def _is_text(node: SqlNode) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _word_node(node: SqlNode) -> str:
    """Return the name of a kind of expression for a sentence, without terms of the parser."""
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name[:40]}"
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {type(node).__name__.lower()}"
    names = {
        exp.Select: "a query",
        exp.Subquery: "a query",
        exp.Star: "a star",
        exp.Window: "a window",
        exp.Lambda: "a lambda",
        exp.Placeholder: "a parameter",
        exp.Parameter: "a variable",
    }
    wording = names.get(type(node))
    return wording or f"the expression {re.sub('(?<=.)(?=[A-Z])', ' ', type(node).__name__).lower()}"


def _word_error(error: SqlglotError) -> str:
    if isinstance(error, TokenError):
        return "a quote or bracket is not closed."
    positions = (
        [error_detail["col"] for error_detail in error.errors if error_detail.get("col")]
        if isinstance(error, ParseError)
        else []
    )
    return f"it cannot be read at character {positions[0]}." if positions else "it cannot be read as one condition."
