"""Conditions of IAM bindings and deny rules, as far as a time and the name of a table decide them.

The meaning of a condition is two patterns of names of tables: those for which it surely holds, and those for which it
may hold. Where they differ, something decides of which an export tells nothing, such as a tag.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from catalog.warehouses.bigquery.expressions import BadExpression, Expression, parse_expression

#: Patterns of all names and of none. Patterns look ahead from the start, so that one after the other is both of them.
_ALL, _NONE = "", "(?!)"
#: What is asked for is the data of a table.
_CONSTANTS = {"resource.service": "bigquery.googleapis.com", "resource.type": "bigquery.googleapis.com/Table"}
_NAME, _TIME = "resource.name", "request.time"
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
#: The parts of a method with one argument: what it is called on, and the argument.
_METHOD_SIZE = 2
_TEMPLATE_PATTERN = re.compile(r"([^{}]*)\{\w+\}([^{}]*)")


class ConditionState(StrEnum):
    """The meaning of a condition when a run starts.

    OUTSIDE: it holds for no table. BY_NAME: for some. UNKNOWN: an export does not tell. BAD: it is no expression.
    """

    HOLDS = "HOLDS"
    EXPIRED = "EXPIRED"
    EARLY = "EARLY"
    OUTSIDE = "OUTSIDE"
    BY_NAME = "BY_NAME"
    UNKNOWN = "UNKNOWN"
    BAD = "BAD"


#: Of several reasons for which a condition does not hold, the one that counts if all parts have to hold, the first one
#: first, and if one part has to.
_REASONS = (ConditionState.EXPIRED, ConditionState.EARLY, ConditionState.OUTSIDE)
_LASTING_REASONS = (ConditionState.EARLY, ConditionState.EXPIRED, ConditionState.OUTSIDE)


@dataclass(frozen=True, slots=True)
class ConditionJudgement:
    """The state of a condition; `names` is the pattern of names of tables of one BY_NAME, `problem` a sentence."""

    state: ConditionState
    names: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The names for which a part surely holds, those for which it may, and why it holds for none."""

    sure: str
    possible: str
    reason: ConditionState = ConditionState.OUTSIDE


_UNKNOWN = _Verdict(_NONE, _ALL)


def judge_condition(expression: str | None, now: datetime) -> ConditionJudgement:
    """Return what a condition comes to; one that is not there holds."""
    if not (expression or "").strip():
        return ConditionJudgement(ConditionState.HOLDS)
    try:
        verdict = _judge(parse_expression(str(expression)), now, is_negated=False)
    except BadExpression as error:
        return ConditionJudgement(ConditionState.BAD, problem=str(error))
    except RecursionError:
        return ConditionJudgement(ConditionState.BAD, problem="Its condition is nested too deeply.")
    if verdict.possible == _NONE:
        return ConditionJudgement(verdict.reason)
    if verdict.sure == _ALL:
        return ConditionJudgement(ConditionState.HOLDS)
    if verdict.sure == verdict.possible:
        return ConditionJudgement(ConditionState.BY_NAME, names=f"^{verdict.sure}")
    return ConditionJudgement(ConditionState.UNKNOWN)


# -- logic ------------------------------------------------------------------------------------------------------------


def _judge(node: Expression, now: datetime, *, is_negated: bool) -> _Verdict:
    """Return the verdict about an expression, or about its negation."""
    if node.kind == "negation":
        return _judge(node.parts[0], now, is_negated=not is_negated)
    if node.kind in ("all", "any"):
        parts = [_judge(part, now, is_negated=is_negated) for part in node.parts]
        return _judge_all(parts) if (node.kind == "all") != is_negated else _judge_any(parts)
    if node.kind == "choice":
        condition, first, second = node.parts
        return _judge_any(
            [
                _judge_all([_judge(condition, now, is_negated=False), _judge(first, now, is_negated=is_negated)]),
                _judge_all([_judge(condition, now, is_negated=True), _judge(second, now, is_negated=is_negated)]),
            ]
        )
    verdict = _judge_time(node, now, is_negated=is_negated)
    if verdict is not None:
        return verdict
    verdict = _judge_text(node)
    return _Verdict(_negate(verdict.possible), _negate(verdict.sure)) if is_negated else verdict


def _judge_all(parts: Sequence[_Verdict]) -> _Verdict:
    reasons = {part.reason for part in parts if part.possible == _NONE}
    return _Verdict(
        _intersect([part.sure for part in parts]),
        _intersect([part.possible for part in parts]),
        next((reason for reason in _REASONS if reason in reasons), ConditionState.OUTSIDE),
    )


def _judge_any(parts: Sequence[_Verdict]) -> _Verdict:
    reasons = {part.reason for part in parts}
    return _Verdict(
        _unite([part.sure for part in parts]),
        _unite([part.possible for part in parts]),
        next(reason for reason in _LASTING_REASONS if reason in reasons),
    )


def _intersect(patterns: Sequence[str]) -> str:
    return _NONE if _NONE in patterns else "".join(dict.fromkeys(patterns))


def _unite(patterns: Sequence[str]) -> str:
    if _ALL in patterns:
        return _ALL
    choices = list(dict.fromkeys(pattern for pattern in patterns if pattern != _NONE))
    return f"(?:{'|'.join(choices)})" if len(choices) > 1 else "".join(choices) or _NONE


def _negate(pattern: str) -> str:
    return {_ALL: _NONE, _NONE: _ALL}.get(pattern, f"(?!{pattern})")


# -- times ------------------------------------------------------------------------------------------------------------


def _judge_time(node: Expression, now: datetime, *, is_negated: bool) -> _Verdict | None:
    """Return the verdict about a comparison of the present with a time, None for anything else."""
    if node.kind != "comparison" or node.words[0] not in _MIRRORED:
        return None
    (left, right), (sign,) = node.parts, node.words
    sign, time = (sign, right) if left.dotted_name == _TIME else (_MIRRORED[sign], left)
    if _TIME not in (left.dotted_name, right.dotted_name) or (time.kind, time.words) != ("call", ("timestamp",)):
        return None
    limit = _parse_time(time.parts)
    sign = _OPPOSITE[sign] if is_negated else sign
    holds = {"<": now < limit, "<=": now <= limit, ">": now > limit, ">=": now >= limit}[sign]
    if holds:
        return _Verdict(_ALL, _ALL)
    return _Verdict(_NONE, _NONE, ConditionState.EXPIRED if "<" in sign else ConditionState.EARLY)


def _parse_time(arguments: Sequence[Expression]) -> datetime:
    text = (arguments[0].text if len(arguments) == 1 else None) or ""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadExpression(f"Its condition has {text!r} in place of a time.") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# -- texts ------------------------------------------------------------------------------------------------------------


def _judge_text(node: Expression) -> _Verdict:
    """Return the verdict about a comparison of texts, or about what nothing is known of."""
    if node.dotted_name in ("true", "false"):
        return _decide(holds=node.dotted_name == "true")
    if node.kind == "comparison":
        (left, right), (sign,) = node.parts, node.words
        if sign == "in" and right.kind == "list":
            return _judge_any([_decide(holds=False), *(_compare_texts(left, item, "==") for item in right.parts)])
        if sign in ("==", "!="):
            verdict = _compare_texts(right, left, "==") if left.kind == "text" else _compare_texts(left, right, "==")
            return verdict if sign == "==" else _Verdict(_negate(verdict.possible), _negate(verdict.sure))
    if node.kind == "method" and len(node.parts) == _METHOD_SIZE:
        (subject, argument), (name,) = node.parts, node.words
        return _compare_texts(subject, argument, name)
    return _UNKNOWN


def _decide(*, holds: bool) -> _Verdict:
    return _Verdict(_ALL, _ALL) if holds else _Verdict(_NONE, _NONE)


def _compare_texts(subject: Expression, operand: Expression, comparison: str) -> _Verdict:
    """Return whether a text is another one, or starts or ends with it."""
    value = operand.text
    if value is None or comparison not in ("==", "startsWith", "endsWith"):
        return _UNKNOWN
    text = subject.text if subject.kind == "text" else _CONSTANTS.get(subject.dotted_name)
    if text is not None:
        matches = {"==": text == value, "startsWith": text.startswith(value)}
        return _decide(holds=matches.get(comparison, text.endswith(value)))
    pattern = None
    if subject.dotted_name == _NAME:
        start, end = "" if comparison != "endsWith" else ".*", "" if comparison == "startsWith" else "$"
        pattern = f"(?={start}{re.escape(value)}{end})"
    elif (subject.kind, subject.words) == ("method", ("extract",)) and len(subject.parts) == _METHOD_SIZE:
        source, template = subject.parts
        pattern = _match_extract(source, template, value, comparison)
    return _UNKNOWN if pattern is None else _Verdict(pattern, pattern)


def _match_extract(source: Expression, template: Expression, text: str, comparison: str) -> str | None:
    """Return the pattern of names of which a template extracts a text, None where that cannot be said.

    `/datasets/{dataset}/` extracts what stands between the first /datasets/ and the next slash, else nothing.
    """
    match = _TEMPLATE_PATTERN.fullmatch(template.text or "")
    if match is None or source.dotted_name != _NAME or not text or comparison == "endsWith":
        return None
    prefix, suffix = map(re.escape, match.groups())
    if match[2] and match[2] in text:
        # What is extracted ends before the suffix.
        return _NONE
    start = f"(?:(?!{prefix}).)*{prefix}" if prefix else ""
    rest = ".*" if comparison == "startsWith" else ""
    return f"(?={start}{re.escape(text)}{rest}{suffix or '$'})"
