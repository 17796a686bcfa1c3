"""The facts that exports hold: asked of Spark once, so that no query has a part for facts that no export has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check.blocks import Block, LineNumbers, collect_surveyed_blocks
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.warehouse import Export, ExportCoverage


@dataclass(frozen=True)
class FactSurvey:
    """The facts of all exports, by the blocks of their files: `what`, `rule`, `is_counted`, `layout`.

    Each block says whether it `has_containers` (facts about containers) and `has_users` (facts about users), and
    `has_givers`: facts that say when, or by whom, something was granted.
    """

    blocks: Sequence[Block]

    @cached_property
    def fact_kinds(self) -> frozenset[str]:
        """The kinds of all facts."""
        return frozenset(block["what"] for block in self.blocks)

    @cached_property
    def line_numbers(self) -> LineNumbers:
        """The lines of all files."""
        return LineNumbers(self.blocks)

    @cached_property
    def layouts(self) -> Mapping[str, frozenset[str]]:
        """The names of the layouts of the files of each export."""
        names: dict[str, set[str]] = {}
        for block in self.blocks:
            if block["layout"] is not None:
                names.setdefault(block["export"], set()).add(block["layout"])
        return {export: frozenset(layouts) for export, layouts in names.items()}

    def find_coverage(self, export: Export) -> ExportCoverage:
        """Return what the files of an export show."""
        return export.warehouse.find_coverage(self.layouts.get(export.name, frozenset()))

    @property
    def has_container_grants(self) -> bool:
        """Whether some grants are on containers."""
        return self._has_grants("has_containers")

    @property
    def has_user_grants(self) -> bool:
        """Whether some grants are to users."""
        return self._has_grants("has_users")

    @property
    def has_givers(self) -> bool:
        """Whether some facts say when, or by whom, something was granted."""
        return any(block["has_givers"] for block in self.blocks)

    def select_facts(self, facts: DataFrame) -> DataFrame:
        """Return all facts, as rows of which Spark knows that they are of no other kind."""
        # With this, a condition for another kind is false for Spark, and it drops what depends on such facts. It would
        # not see that in a list of kinds.
        conditions = (f"what = '{fact_kind}'" for fact_kind in sorted(self.fact_kinds))
        return facts.filter(" OR ".join(conditions) or "false")

    def _has_grants(self, mark: str) -> bool:
        return any(block[mark] for block in self.blocks if block["what"] == FactKind.GRANT)


def survey_facts(facts: DataFrame) -> FactSurvey:
    """Return the survey of stored facts: they are read once."""
    return FactSurvey(
        collect_surveyed_blocks(
            facts,
            ["rule", "is_counted", "layout"],
            has_containers="max(is_container)",
            has_users=f"max(kind = '{Grantee.USER}')",
            has_givers="count(granted_by) > 0 OR count(grant_time) > 0",
        )
    )
