"""What became of every row of the exports: compared, passed by a named rule, or quarantined."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import tables
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.lines import count_blocks, number_lines
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind
from catalog.reports.spark.frames import collect_table

#: Rows of a rule that are shown.
_SAMPLE_COUNT = 3


class RowAccounts:
    """Counts and samples of the rows of all exports; `grants` says which of them reach no dataset.

    `fact_blocks` is what `count_fact_blocks` returned.
    """

    def __init__(self, facts: DataFrame, grants: DataFrame, fact_blocks: DataFrame, stage: Stage) -> None:
        self._facts = facts
        self._fact_blocks = fact_blocks
        self._passed_grants = grants.filter("rule IS NOT NULL AND is_counted")
        self._grant_blocks = stage("passed", count_blocks(self._passed_grants, ["rule"]))
        #: Rows by (export, kind of fact), and those passed by (export, rule).
        self._kind_counts: Counter[tuple[str, str]] = Counter()
        self._rule_counts: Counter[tuple[str, str]] = Counter()
        self._count_rows()

    def _count_rows(self) -> None:
        blocks = self._fact_blocks.filter(f.col("is_counted") & (f.col("what") != FactKind.NO_ROW))
        for row in blocks.groupBy("export", "what", "rule").agg(f.sum("count").alias("count")).collect():
            self._kind_counts[row["export"], row["what"]] += row["count"]
            if row["what"] == FactKind.PASSED:
                self._rule_counts[row["export"], row["rule"]] += row["count"]
        for row in self._grant_blocks.groupBy("export", "rule").agg(f.sum("count").alias("count")).collect():
            self._rule_counts[row["export"], row["rule"]] += row["count"]

    def count_quarantined(self) -> int:
        """Return the number of rows of all exports that were not understood."""
        return sum(number for (_, fact_kind), number in self._kind_counts.items() if fact_kind == FactKind.BAD)

    def describe_export(self, export: Export) -> dict[str, Any]:
        """Return the row of an export in the table of exports; `rows` is the sum of the three that follow it."""
        kinds = Counter({kind: number for (name, kind), number in self._kind_counts.items() if name == export.name})
        passed = sum(number for (name, _), number in self._rule_counts.items() if name == export.name)
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

    def collect_quarantine(self) -> pa.Table:
        """Return the first rows that were not understood, in the order of the files."""
        bad_rows = self._facts.filter(f.col("what") == FactKind.BAD)
        first_rows = bad_rows.orderBy("export", "file", "block", "line", "object").limit(tables.MAX_BAD_ROWS)
        rows = number_lines(first_rows, self._fact_blocks)
        rows = rows.select("export", "file", "line", "reason", f.col("object").alias("row"))
        return collect_table(rows.orderBy("export", "file", "line", "row"))

    def build_passed(self) -> Sequence[Mapping[str, Any]]:
        """Return the rules that passed rows over, with the number of rows and a sample of them."""
        is_passed = (f.col("what") == FactKind.PASSED) & f.col("is_counted")
        passed_facts = self._facts.filter(is_passed)
        granted = f.concat_ws(" to ", f.translate("object", SEPARATOR, "."), f.translate("grantee", SEPARATOR, " "))
        samples = _select_samples(passed_facts.withColumn("text", f.col("object")), self._fact_blocks.filter(is_passed))
        samples = samples.union(_select_samples(self._passed_grants.withColumn("text", granted), self._grant_blocks))
        first_samples = Window.partitionBy("export", "rule").orderBy("file", "line", "text")
        rows = number_lines(samples, self._fact_blocks).withColumn("number", f.row_number().over(first_samples))
        texts: dict[tuple[str, str], list[str]] = {}
        for row in rows.filter(f.col("number") <= _SAMPLE_COUNT).orderBy("number").collect():
            texts.setdefault((row["export"], row["rule"]), []).append(f"{row['file']}:{row['line']} {row['text']}")
        return [
            {"export": export, "rule": rule, "count": count, "sample": " · ".join(texts.get((export, rule), ()))}
            for (export, rule), count in sorted(self._rule_counts.items())
        ]


def _select_samples(rows: DataFrame, blocks: DataFrame) -> DataFrame:
    """Return (export, rule, file, block, line, text) of the first and the last row of each block."""
    columns = ["export", "rule", "file", "block", "line"]
    lines = blocks.withColumn("line", f.explode(f.array_distinct(f.array("first", "last")))).select(*columns)
    return rows.join(f.broadcast(lines), columns).select(*columns, "text")
