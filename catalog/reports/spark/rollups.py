"""Findings of one type about one thing, which are one finding from ROLLUP_SIZE on.

The key of such a finding does not depend on its members, so that what people decided about it stays while these change;
its `fingerprint` does, and an acceptance ends when it changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from catalog.sql_text import quote_name

#: Findings that become one.
ROLLUP_SIZE = 3
#: Members of a finding whose repairs and datasets it has.
MAX_LISTED = 1_000

_NO_TOTALS: Mapping[str, Column] = {}


def gather_rows(
    rows: DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    *,
    order: Sequence[Column | str],
    identity: Sequence[str],
    totals: Mapping[str, Column] = _NO_TOTALS,
) -> DataFrame:
    """Return a row for each value of the keys: `members`, `fingerprint`, `listed` (the first rows by `order`), totals.

    `identity` are the columns that tell a member from another, `totals` aggregates over all of them.
    """
    group = Window.partitionBy(*keys)
    # One text with names: a hash of columns would leave out empty ones.
    member_text = f"to_json({_join_columns(identity)})"
    aggregates = {"members": f.expr("count(*)"), "fingerprint": f.expr(f"bit_xor(xxhash64({member_text}))"), **totals}
    ranked = rows.select(
        *keys,
        f.expr(f"{_join_columns(columns)} AS member"),
        f.expr("row_number()").over(group.orderBy(*order)).alias("place"),
        *(aggregate.over(group).alias(name) for name, aggregate in aggregates.items()),
    )
    gathered_columns = {name: f"first({quote_name(name)})" for name in aggregates}
    gathered_columns["fingerprint"] = f"hex({gathered_columns['fingerprint']})"
    gathered_columns["listed"] = "sort_array(collect_list(struct(place, member))).member"
    return (
        ranked.filter(f"place <= {MAX_LISTED}")
        .groupBy(*keys)
        .agg(*(f.expr(f"{value} AS {quote_name(name)}") for name, value in gathered_columns.items()))
    )


def roll_up(
    findings: Sequence[Mapping[str, Any]], group: Mapping[str, Any], *, sentence: str, key: str
) -> list[Mapping[str, Any]]:
    """Return the findings of a group of `gather_rows`, the highest severity first, or the one that they become.

    `sentence` is that of the one.
    """
    if group["members"] < ROLLUP_SIZE:
        return list(findings)
    first, *others = findings
    shared = {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
    unlisted_count = group["members"] - len(findings)
    more = [f"-- And {unlisted_count:,} more."] if unlisted_count else []
    statements = {
        name: "\n".join([*dict.fromkeys(finding[name] for finding in findings if finding[name]), *more])
        for name in ("repair", "inverse")
        if name in first
    }
    urn_texts = (finding.get("entity") or finding.get("datasets") or "" for finding in findings)
    datasets = list(dict.fromkeys(urn for text in urn_texts for urn in text.split("\n") if urn))
    evidence = dict.fromkeys(finding.get("evidence") for finding in findings)
    return [
        shared
        | {
            "severity": first["severity"],
            "sentence": sentence,
            "entity": None,
            "datasets": "\n".join(datasets[:MAX_LISTED]) or None,
            "evidence": "\n".join(filter(None, evidence)) or None,
            "members": group["members"],
            "fingerprint": group["fingerprint"],
            **statements,
            "key": key,
        }
    ]


def _join_columns(names: Sequence[str]) -> str:
    """Return an expression for a struct of columns."""
    return f"struct({', '.join(map(quote_name, names))})"
