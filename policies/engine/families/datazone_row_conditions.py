"""Row conditions: one self-contained boolean expression each, checked against an allow-list (rules/datazone.md DZ-50).

The text is parsed as Spark SQL and every node of the tree must be of a kind named here, so that what nobody thought of
is refused. Nothing is ever pasted: what is rendered later is printed from the same tree.
"""

import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

#: Longest expression, in characters, and deepest tree, in nodes.
LONGEST = 4_000
DEEPEST = 100

#: The language of conditions.
READ = "spark"

_TOO_DEEP = f"the condition is nested more than {DEEPEST} deep."

Node = exp.Expr

#: What is true or false, and what may stand anywhere in a condition. A node that is in neither list is refused.
_PREDICATES: tuple[type[Node], ...] = (
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
_PARTS: tuple[type[Node], ...] = (
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
_ALLOWED = (*_PREDICATES, *_PARTS)

#: Types a value may be cast to; nothing that is a structure or a table.
_CASTS = frozenset(
    exp.DType[name]
    for name in ("TEXT", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "INT", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN")
)

#: Words that a database may take for a question about who is asking or where, when no column has the name.
_WORDS = frozenset(
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


def complaint(text: str) -> str | None:
    """Say what is wrong with a row condition, or return None."""
    if len(text) > LONGEST:
        return f"the condition has {len(text):,} characters; up to {LONGEST:,} are allowed."
    try:
        tokens = sqlglot.tokenize(text, read=READ)
        if any(token.comments for token in tokens):
            return "comments are not allowed."
        if any(token.token_type.name == "SEMICOLON" for token in tokens):
            return "it cannot be read as one condition: a semicolon ends nothing here."
        tree = parsed(text)
        return _of_tree(tree) or next(filter(None, map(_of_node, tree.walk())), None)
    except RecursionError:
        return _TOO_DEEP
    except SqlglotError as error:
        return _told(error)


@lru_cache(maxsize=4096)
def parsed(text: str) -> Node:
    """Return the tree of a condition; raises sqlglot's ParseError. Callers must not change it: copy it first."""
    return sqlglot.parse_one(text, read=READ, into=exp.Condition)


def columns(text: str) -> tuple[str, ...]:
    """Return the columns a condition reads, nested ones as dotted paths, each once."""
    return tuple(dict.fromkeys(".".join(part.name for part in one.parts) for one in parsed(text).find_all(exp.Column)))


def _of_tree(tree: Node) -> str | None:
    if not isinstance(tree, _PREDICATES):
        return "this is not true or false: a condition compares something."
    return _TOO_DEEP if _is_deep(tree) else None


def _is_deep(tree: Node) -> bool:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            return True
        level = [child for node in level for child in node.iter_expressions()]
    return False


def _of_node(node: Node) -> str | None:
    if not isinstance(node, _ALLOWED):
        return f"{_name(node)} is not allowed in a condition."
    if node.comments:
        return "comments are not allowed."
    match node:
        case exp.In() if any(node.args.get(name) for name in ("query", "unnest", "field")):
            return "IN takes a list of values."
        case exp.Like() | exp.ILike() | exp.RegexpLike() if not _is_text(node.expression):
            return "a pattern is a text between quotes."
        case exp.Cast() if node.to.this not in _CASTS or node.args.get("format"):
            return f"a value cannot be cast to {node.to.sql(dialect=READ)}."
        case exp.Identifier():
            return _of_name(node)
        case _:
            return None


def _of_name(node: exp.Identifier) -> str | None:
    name = node.name
    if not name or not name.isprintable():
        return "a name holds printable characters."
    if node.args.get("quoted"):
        return None
    if not name.isascii():
        return f"{name!r} holds letters outside ASCII; such a name stands between backticks."
    if name.lower() in _WORDS:
        return f"{name!r} may mean who is asking; a column of this name stands between backticks."
    return None


def _is_text(node: Node) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _name(node: Node) -> str:
    """Name a kind of expression for a sentence, without words of the parser."""
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
    said = names.get(type(node))
    return said or f"the expression {re.sub('(?<=.)(?=[A-Z])', ' ', type(node).__name__).lower()}"


def _told(error: SqlglotError) -> str:
    if isinstance(error, TokenError):
        return "a quote or bracket is not closed."
    places = [found["col"] for found in error.errors if found.get("col")] if isinstance(error, ParseError) else []
    return f"it cannot be read at character {places[0]}." if places else "it cannot be read as one condition."
