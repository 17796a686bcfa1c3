"""Findings of one type about one thing, which are one finding from ROLLUP_SIZE on.

The key of such a finding does not depend on its members, so that what people decided about it stays while these change;
its `fingerprint` does, and an acceptance ends when it changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

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
    aggregates = {"members": f.count("*"), "fingerprint": f.bit_xor(f.xxhash64(_describe_member(identity))), **totals}
    ranked = rows.select(
        *keys,
        f.struct(*columns).alias("row"),
        f.row_number().over(group.orderBy(*order)).alias("place"),
        *(aggregate.over(group).alias(name) for name, aggregate in aggregates.items()),
    )
    listed_rows = f.sort_array(f.collect_list(f.struct("place", "row"))).getField("row").alias("listed")
    first_values = [f.first(name).alias(name) for name in aggregates]
    gathered = ranked.filter(f.col("place") <= MAX_LISTED).groupBy(*keys).agg(*first_values, listed_rows)
    return gathered.withColumn("fingerprint", f.hex("fingerprint"))


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
    repairs = list(dict.fromkeys(finding["repair"] for finding in findings))
    unlisted_count = group["members"] - len(findings)
    if unlisted_count:
        repairs.append(f"-- And {unlisted_count:,} more.")
    datasets = dict.fromkeys(finding["entity"] for finding in findings if finding.get("entity"))
    return [
        shared
        | {
            "severity": first["severity"],
            "sentence": sentence,
            "entity": None,
            "datasets": "\n".join(datasets) or None,
            "members": group["members"],
            "fingerprint": group["fingerprint"],
            "repair": "\n".join(repairs),
            "key": key,
        }
    ]


def _describe_member(identity: Sequence[str]) -> Column:
    """Return what tells a member from another as one text with names: a hash of columns would leave out empty ones."""
    return f.to_json(f.struct(*identity))
