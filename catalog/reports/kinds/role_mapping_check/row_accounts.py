"""What became of every row of the exports: compared, passed by a named rule, or quarantined."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import tables
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.lines import number_lines
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind
from catalog.reports.spark.frames import collect_table

#: Rows of a rule that are shown.
_SAMPLE_COUNT = 3


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of exports: by (export, kind of fact), and those passed by (export, rule)."""

    by_kind: Mapping[tuple[str, str], int]
    by_rule: Mapping[tuple[str, str], int]

    def count_quarantined(self) -> int:
        """Return the number of rows of all exports that were not understood."""
        return sum(number for (_, fact_kind), number in self.by_kind.items() if fact_kind == FactKind.BAD)

    def describe_export(self, export: Export) -> dict[str, Any]:
        """Return the row of an export in the table of exports; `rows` is the sum of the three that follow it."""
        kinds = Counter({kind: number for (name, kind), number in self.by_kind.items() if name == export.name})
        passed = sum(number for (name, _), number in self.by_rule.items() if name == export.name)
        quarantined, total = kinds[FactKind.BAD], kinds.total()
        return {
            "export": export.name,
            "platform": export.platform,
            "rows": total,
            "compared": total - passed - quarantined,
            "passed": passed,
            "quarantined": quarantined,
            "grants": kinds[FactKind.GRANT],
            "members": kinds[FactKind.MEMBER],
            "inherited": kinds[FactKind.INHERIT],
        }


def count_rows(facts: DataFrame, grants: DataFrame) -> RowCounts:
    """Count the rows of `facts`; `grants` says which of them reach no dataset."""
    counted_facts = facts.filter(f.col("is_counted") & (f.col("what") != FactKind.NO_ROW))
    by_kind: Counter[tuple[str, str]] = Counter()
    by_rule: Counter[tuple[str, str]] = Counter()
    for row in counted_facts.groupBy("export", "what", "rule").count().collect():
        by_kind[row["export"], row["what"]] += row["count"]
        if row["what"] == FactKind.PASSED:
            by_rule[row["export"], row["rule"]] += row["count"]
    for row in grants.filter("rule IS NOT NULL AND is_counted").groupBy("export", "rule").count().collect():
        by_rule[row["export"], row["rule"]] += row["count"]
    return RowCounts(by_kind, by_rule)


def collect_quarantine(facts: DataFrame) -> pa.Table:
    """Return the first rows that were not understood, in the order of the files."""
    bad_rows = facts.filter(f.col("what") == FactKind.BAD)
    first_rows = bad_rows.orderBy("export", "file", "block", "line", "object").limit(tables.MAX_BAD_ROWS)
    rows = number_lines(first_rows, facts).select("export", "file", "line", "reason", f.col("object").alias("row"))
    return collect_table(rows.orderBy("export", "file", "line", "row"))


def build_passed(facts: DataFrame, grants: DataFrame, counts: RowCounts) -> Sequence[Mapping[str, Any]]:
    """Return the rules that passed rows over, with the number of rows and a sample of them."""
    passed_facts = facts.filter((f.col("what") == FactKind.PASSED) & f.col("is_counted"))
    granted = f.concat_ws(" to ", f.translate("object", SEPARATOR, "."), f.translate("grantee", SEPARATOR, " "))
    columns = ["export", "rule", "file", "block", "line"]
    samples = _select_samples(passed_facts.select(*columns, f.col("object").alias("text"))).union(
        _select_samples(grants.filter("rule IS NOT NULL AND is_counted").select(*columns, granted.alias("text")))
    )
    first_samples = Window.partitionBy("export", "rule").orderBy("file", "line", "text")
    rows = number_lines(samples, facts).withColumn("number", f.row_number().over(first_samples))
    texts: dict[tuple[str, str], list[str]] = {}
    for row in rows.filter(f.col("number") <= _SAMPLE_COUNT).orderBy("number").collect():
        texts.setdefault((row["export"], row["rule"]), []).append(f"{row['file']}:{row['line']} {row['text']}")
    return [
        {"export": export, "rule": rule, "count": count, "sample": " · ".join(texts.get((export, rule), ()))}
        for (export, rule), count in sorted(counts.by_rule.items())
    ]


def _select_samples(rows: DataFrame) -> DataFrame:
    """Return rows of each rule and block of a file: the first and the last one."""
    # Numbers alone are grouped, which Spark does without sorting all of the rows.
    blocks = rows.groupBy("export", "rule", "file", "block").agg(
        f.min("line").alias("first"), f.max("line").alias("last")
    )
    lines = blocks.select(
        "export", "rule", "file", "block", f.explode(f.array_distinct(f.array("first", "last"))).alias("line")
    )
    return rows.join(f.broadcast(lines), ["export", "rule", "file", "block", "line"])
