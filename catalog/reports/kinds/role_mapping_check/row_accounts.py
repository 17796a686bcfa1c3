"""The account of every row of the exports: compared, passed by a named rule, or quarantined."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check import tables
from catalog.reports.kinds.role_mapping_check.blocks import PLACE_COLUMNS, Block, collect_blocks
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.reports.kinds.role_mapping_check.role_closure import find_circles
from catalog.reports.spark.frames import collect_table
from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import SEPARATOR, FactKind
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.warehouse import Export

#: Memberships of roles in a circle that are named.
_MAX_EDGES = 20
#: Rows of a rule that are shown.
_SAMPLE_COUNT = 3


class RowAccounts:
    """Counts and samples of the rows of all exports; `grants` says which of them reach no dataset."""

    def __init__(self, facts: DataFrame, survey: FactSurvey, grants: DataFrame) -> None:
        self._facts = facts
        self._survey = survey
        self._line_numbers = survey.line_numbers
        counted_blocks = [block for block in survey.blocks if block["is_counted"]]
        #: Rows by (export, kind of fact), and those passed by (export, rule).
        self._kind_counts: Counter[tuple[str, str]] = Counter()
        for block in counted_blocks:
            if block["what"] != FactKind.NO_ROW:
                self._kind_counts[block["export"], block["what"]] += block["count"]
        self._passed_blocks = [block for block in counted_blocks if block["what"] == FactKind.PASSED]
        self._passed_grants = grants.filter("rule IS NOT NULL AND is_counted")
        self._grant_blocks = collect_blocks(self._passed_grants, ["rule"])
        self._rule_counts: Counter[tuple[str, str]] = Counter()
        for block in (*self._passed_blocks, *self._grant_blocks):
            self._rule_counts[block["export"], block["rule"]] += block["count"]

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
            "dialect": export.dialect.name if export.dialect else None,
            "limits": " ".join(self._survey.find_coverage(export).limits) or None,
        }

    def collect_quarantine(self) -> list[dict[str, Any]]:
        """Return the first rows that were not understood, in the order of the files."""
        if not self.count_quarantined():
            return []
        bad_rows = self._facts.filter(f"what = '{FactKind.BAD}'")
        row = f"left(object, {tables.MAX_EXAMPLE_LENGTH}) AS `row`"
        bad_rows = bad_rows.selectExpr(*PLACE_COLUMNS, f"left(reason, {tables.MAX_REASON_LENGTH}) AS reason", row)
        first_rows = bad_rows.orderBy(*PLACE_COLUMNS, "row").limit(tables.MAX_BAD_ROWS)
        return self._line_numbers.number_rows(collect_table(first_rows).to_pylist())

    def describe_circles(self, inherited_roles: DataFrame) -> Iterator[str]:
        """Yield a sentence for each export in which roles hold each other, with where it says so."""
        if FactKind.INHERIT not in self._survey.fact_kinds:
            return
        rows = find_circles(self._facts.filter("is_counted"), inherited_roles)
        first_rows = rows.selectExpr(*PLACE_COLUMNS, "grantee", "object").orderBy(*PLACE_COLUMNS).limit(_MAX_EDGES)
        edges = self._line_numbers.number_rows(collect_table(first_rows).to_pylist())
        for export, export_edges in groupby(edges, key=itemgetter("export")):
            steps = (
                f"{describe_principal(edge['grantee'])} has {describe_principal(edge['object'])} "
                f"({edge['file']}:{edge['line']})"
                for edge in export_edges
            )
            yield (
                f"In {export} roles hold each other in a circle, which systems refuse: {', '.join(steps)}. "
                "Each is judged as having what the others have."
            )

    def build_passed(self) -> Sequence[Mapping[str, Any]]:
        """Return the rules that passed rows over, with the number of rows and a sample of them."""
        samples = self._collect_samples()
        return [
            {"export": export, "rule": rule, "count": count, "sample": " · ".join(samples.get((export, rule), ()))}
            for (export, rule), count in sorted(self._rule_counts.items())
        ]

    def _collect_samples(self) -> dict[tuple[str, str], list[str]]:
        """Return the first rows that each rule of an export passed, as people name and read them.

        They are looked for among the first and last rows of the blocks, whose places are known.
        """
        separator = quote_text(SEPARATOR)
        granted = f"concat_ws(' to ', translate(object, {separator}, '.'), translate(grantee, {separator}, ' '))"
        passed_facts = self._facts.filter(f"what = '{FactKind.PASSED}' AND is_counted")
        rows = [
            *self._collect_lines(passed_facts, "object", self._passed_blocks),
            *self._collect_lines(self._passed_grants, granted, self._grant_blocks),
        ]
        samples: dict[tuple[str, str], list[str]] = {}
        for row in self._line_numbers.number_rows(sorted(rows, key=itemgetter("text"))):
            texts = samples.setdefault((row["export"], row["rule"]), [])
            if len(texts) < _SAMPLE_COUNT:
                texts.append(f"{row['file']}:{row['line']} {row['text']}")
        return samples

    def _collect_lines(self, rows: DataFrame, text: str, blocks: Sequence[Block]) -> list[dict[str, Any]]:
        """Return rule, place and text of the rows in the first lines that each rule passed in these blocks.

        `text` is an expression of SQL.
        """
        lines_by_rule: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for block in blocks:
            # The first and the last line of a block may be one.
            block_ends = ({**block, "line": line} for line in {block["first"], block["last"]})
            lines_by_rule.setdefault((block["export"], block["rule"]), []).extend(block_ends)
        sample_lines = {
            _get_sample_line(line)
            for lines in lines_by_rule.values()
            for line in sorted(lines, key=self._line_numbers.find_place)[:_SAMPLE_COUNT]
        }
        if not sample_lines:
            return []
        # Lines of other blocks may have the same number, and are few.
        numbers = sorted({line[-1] for line in sample_lines})
        samples = rows.filter(f"line IN ({', '.join(map(str, numbers))})")
        # Cut by Spark: a row may be as long as a file.
        example = f"left(coalesce({text}, ''), {tables.MAX_EXAMPLE_LENGTH}) AS text"
        samples = samples.selectExpr("rule", *PLACE_COLUMNS, example)
        return [row for row in collect_table(samples).to_pylist() if _get_sample_line(row) in sample_lines]


_get_sample_line = itemgetter("rule", *PLACE_COLUMNS)
