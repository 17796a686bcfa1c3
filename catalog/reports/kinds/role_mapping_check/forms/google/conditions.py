"""Conditions of IAM bindings and deny rules, as far as a time decides them.

An expression of CEL is understood where it joins comparisons of `request.time` with a timestamp, and of the service,
with &&. Of any other, nothing is known.
"""

from enum import StrEnum

from pyspark.sql import Column
from pyspark.sql import functions as f

_TIMESTAMP = r"""timestamp\(\s*["']([^"']+)["']\s*\)"""
_OPENING, _CLOSING = r"^[\s(]*", r"[\s)]*$"
#: Terms by the side of `request.time` on which it has to be.
_BEFORE_PATTERNS = (
    rf"{_OPENING}request\.time\s*<=?\s*{_TIMESTAMP}{_CLOSING}",
    rf"{_OPENING}{_TIMESTAMP}\s*>=?\s*request\.time{_CLOSING}",
)
_AFTER_PATTERNS = (
    rf"{_OPENING}request\.time\s*>=?\s*{_TIMESTAMP}{_CLOSING}",
    rf"{_OPENING}{_TIMESTAMP}\s*<=?\s*request\.time{_CLOSING}",
)
_SERVICE_PATTERN = rf"""{_OPENING}resource\.service\s*==\s*["']bigquery\.googleapis\.com["']{_CLOSING}"""


class ConditionState(StrEnum):
    """What a condition comes to when a run starts."""

    HOLDS = "HOLDS"
    EXPIRED = "EXPIRED"
    EARLY = "EARLY"
    UNKNOWN = "UNKNOWN"


def judge_condition(expression: Column) -> Column:
    """Return the ConditionState of expressions; one that is not there holds."""
    states = f.transform(f.split(expression, "&&"), _judge_term)
    is_joined_otherwise = expression.contains("||") | expression.contains("!") | expression.contains("?")
    return (
        f.when(f.coalesce(f.trim(expression), f.lit("")) == "", ConditionState.HOLDS)
        .when(is_joined_otherwise, ConditionState.UNKNOWN)
        # One term that is false decides; else one of which nothing is known.
        .when(f.array_contains(states, ConditionState.EXPIRED.value), ConditionState.EXPIRED)
        .when(f.array_contains(states, ConditionState.EARLY.value), ConditionState.EARLY)
        .when(f.array_contains(states, ConditionState.UNKNOWN.value), ConditionState.UNKNOWN)
        .otherwise(ConditionState.HOLDS)
    )


def _judge_term(term: Column) -> Column:
    end, start = _find_time(term, _BEFORE_PATTERNS), _find_time(term, _AFTER_PATTERNS)
    now = f.current_timestamp()
    return (
        f.when(end.isNotNull(), f.when(now < end, ConditionState.HOLDS).otherwise(ConditionState.EXPIRED))
        .when(start.isNotNull(), f.when(now >= start, ConditionState.HOLDS).otherwise(ConditionState.EARLY))
        .when(term.rlike(_SERVICE_PATTERN), ConditionState.HOLDS)
        .otherwise(ConditionState.UNKNOWN)
    )


def _find_time(term: Column, patterns: tuple[str, ...]) -> Column:
    texts = (f.nullif(f.regexp_extract(term, pattern, 1), f.lit("")) for pattern in patterns)
    return f.try_to_timestamp(f.coalesce(*texts))
